/**
 * `/warc/NAME`: the bytes of a segment by its bare file name, whole or by range, for tools that join a path and the file name of an index line. Names are looked up among the
 * segments; none is ever taken for a path. An open segment is given up to where its records are durable.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { basename } from 'node:path';
import type { Archive } from '../archive/index.ts';
import { byteRange } from '../warc/index.ts';
import { HttpProblem, NOT_FOUND, rangeOutside } from './problem.ts';
import { sendStream } from './stream-reply.ts';

export async function sendSegment(
  archive: Archive,
  request: IncomingMessage,
  response: ServerResponse,
  name: string,
): Promise<void> {
  const segment = archive.segments().find((candidate) => basename(candidate.name) === name);
  if (!segment)
    throw new HttpProblem({ ...NOT_FOUND, message: 'the archive has no segment of this name', where: name });
  const etag = `"${segment.number}-${segment.bytes}"`;
  const guard = request.headers['if-range'];
  const range = byteRange(guard === undefined || guard === etag ? request.headers.range : undefined, segment.bytes);
  if (range.kind === 'outside') throw rangeOutside(segment.bytes);
  const [from, to] = range.kind === 'part' ? [range.from, range.to] : [0, segment.bytes];
  response.writeHead(range.kind === 'part' ? 206 : 200, {
    'accept-ranges': 'bytes',
    'cache-control': 'no-cache',
    'content-length': to - from,
    'content-security-policy': "sandbox; default-src 'none'",
    'content-type': 'application/warc',
    'cross-origin-resource-policy': 'same-origin',
    etag,
    'x-content-type-options': 'nosniff',
    ...(range.kind === 'part' && { 'content-range': `bytes ${from}-${to - 1}/${segment.bytes}` }),
  });
  if (request.method === 'HEAD') response.end();
  else await sendStream(response, archive.volumes.get(segment.volume).stream(segment.name, from, to));
}
