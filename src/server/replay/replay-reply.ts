/** Functions that the replay routes of both sockets share: they read header fields of requests and send replies. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ReplayResponse } from '../../replay/index.ts';
import { endReply } from '../http/reply-end.ts';
import { sendStream } from '../http/stream-reply.ts';

export function fieldOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

export async function sendReplay(response: ServerResponse, { status, fields, body }: ReplayResponse): Promise<void> {
  response.writeHead(status, fields.flat());
  if (body === undefined || body instanceof Uint8Array) endReply(response, body);
  else await sendStream(response, body);
}
