/**
 * Sends the bytes of a file of the archive: whole or one range of them, with a tag by which a download that broke off
 * goes on safely.
 */
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type FileFacts, fileReply } from './file-reply.ts';

export type Downloadable = FileFacts & {
  /** For the person's disk. */
  readonly filename: string;
  /** The bytes from one offset up to another. A piece is good until the next is asked for. */
  readonly read: (from: number, to: number) => AsyncIterable<Uint8Array>;
};

export function download(request: FastifyRequest, reply: FastifyReply, file: Downloadable): FastifyReply {
  const { status, fields, from, to } = fileReply(request.raw, file);
  reply.code(status).headers(fields);
  if (status === 304) return reply.send();
  reply.header('content-disposition', `attachment; filename="${file.filename.replace(/[^\w.-]/g, '_')}"`);
  // An empty stream leaves the length of a HEAD reply as it was said.
  if (request.method === 'HEAD' || from === to) return reply.send(Readable.from([]));
  return reply.send(Readable.from(copied(file.read(from, to)), { objectMode: false }));
}

/** Pieces that stay good while they wait to be sent. */
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
