/** Sends a file of the archive, or one range of it. Its tag lets an interrupted download continue safely. */
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type FileFacts, fileReply } from './file-reply.ts';

export type Downloadable = FileFacts & {
  /** The name under which the browser saves the file. */
  readonly filename: string;
  /** The bytes from one offset up to another. A piece is valid until the next is read. */
  readonly read: (from: number, to: number) => AsyncIterable<Uint8Array>;
};

export function download(request: FastifyRequest, reply: FastifyReply, file: Downloadable): FastifyReply {
  const { status, fields, from, to } = fileReply(request.raw, file);
  reply.code(status).headers(fields);
  if (status === 304) return reply.send();
  reply.header('content-disposition', `attachment; filename="${file.filename.replace(/[^\w.-]/g, '_')}"`);
  // An empty stream keeps the Content-Length of a HEAD reply.
  if (request.method === 'HEAD' || from === to) return reply.send(Readable.from([]));
  return reply.send(Readable.from(copied(file.read(from, to)), { objectMode: false }));
}

/** Copies pieces, so that they stay valid until they are sent. */
async function* copied(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield Buffer.from(piece);
}

const MIMES: readonly (readonly [RegExp, string])[] = [
  [/\.warc(\.gz|\.zst)?$/i, 'application/warc'],
  [/\.arc(\.gz)?$/i, 'application/x-internet-archive'],
  [/\.wacz$/i, 'application/wacz'],
  [/\.(cdx|cdxj)$/i, 'text/plain; charset=utf-8'],
  [/\.parquet$/i, 'application/vnd.apache.parquet'],
];

export function downloadMime(name: string): string {
  return MIMES.find(([pattern]) => pattern.test(name))?.[1] ?? 'application/octet-stream';
}
