/** Sends the bytes of a file of the archive: whole or one range of them, with a tag by which a download that broke off goes on safely. */
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { byteRange } from '../../warc/index.ts';
import { rangeOutside } from '../problem.ts';

export type Downloadable = {
  /** For the person's disk. */
  readonly filename: string;
  readonly mime: string;
  readonly bytes: number;
  /** Changes whenever the bytes do. */
  readonly tag: string;
  /** The bytes from one offset up to another. A piece is good until the next is asked for. */
  readonly read: (from: number, to: number) => AsyncIterable<Uint8Array>;
};

export function download(request: FastifyRequest, reply: FastifyReply, file: Downloadable): FastifyReply {
  const etag = `"${file.tag}"`;
  reply.header('etag', etag);
  reply.header('accept-ranges', 'bytes');
  reply.header('cache-control', 'no-cache');
  reply.header('content-security-policy', "sandbox; default-src 'none'");
  if (isNamed(request.headers['if-none-match'], etag)) return reply.code(304).send();
  const guard = request.headers['if-range'];
  const isSame = guard === undefined || guard === etag;
  const range = byteRange(isSame ? request.headers.range : undefined, file.bytes);
  if (range.kind === 'outside') throw rangeOutside(file.bytes);
  const [from, to] = range.kind === 'part' ? [range.from, range.to] : [0, file.bytes];
  if (range.kind === 'part') reply.code(206).header('content-range', `bytes ${from}-${to - 1}/${file.bytes}`);
  reply.header('content-type', file.mime);
  reply.header('content-length', to - from);
  reply.header('content-disposition', `attachment; filename="${file.filename.replace(/[^\w.-]/g, '_')}"`);
  // An empty stream leaves the length of a HEAD reply as it was said.
  if (request.method === 'HEAD' || from === to) return reply.send(Readable.from([]));
  return reply.send(Readable.from(copied(file.read(from, to)), { objectMode: false }));
}

/** Pieces that stay good while they wait to be sent. */
async function* copied(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield Buffer.from(piece);
}

function isNamed(field: string | undefined, etag: string): boolean {
  if (field === undefined) return false;
  return field.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag);
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
