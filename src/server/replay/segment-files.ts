/**
 * `/warc/NAME`: the bytes of a segment by its bare file name, whole or one range, for tools that append the file name
 * of an index line to a base URL. Names are looked up in the list of segments and never used as paths. An open segment
 * is sent up to its last durable record.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { basename } from 'node:path';
import type { Archive } from '../../archive/index.ts';
import { downloadMime } from '../http/download.ts';
import { fileReply } from '../http/file-reply.ts';
import { HttpProblem, NOT_FOUND } from '../http/problem.ts';
import { sendStream } from '../http/stream-reply.ts';

export async function sendSegment(
  archive: Archive,
  request: IncomingMessage,
  response: ServerResponse,
  name: string,
): Promise<void> {
  const segment = (await archive.segments()).find((candidate) => basename(candidate.name) === name);
  if (!segment)
    throw new HttpProblem({ ...NOT_FOUND, message: 'the archive has no segment of this name', where: name });
  const { status, fields, from, to } = fileReply(request, {
    mime: downloadMime(segment.name),
    bytes: segment.bytes,
    tag: `${segment.number}-${segment.bytes}`,
  });
  response.writeHead(status, {
    ...fields,
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
  });
  if (request.method === 'HEAD' || from === to) response.end();
  else await sendStream(response, archive.segmentBytes(segment.name, from, to));
}
