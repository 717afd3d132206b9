/** Reads the body of a request into memory, up to a limit. */
import type { IncomingMessage } from 'node:http';
import { HttpProblem } from './problem.ts';

export async function readBody(request: IncomingMessage, bytesMax: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Uint8Array>) {
    bytes += piece.length;
    if (bytes > bytesMax) {
      throw new HttpProblem({
        status: 413,
        code: 'BODY_TOO_LARGE',
        message: 'the body of the request is too large',
        advice: `The limit is ${bytesMax} bytes.`,
        fields: { connection: 'close' },
      });
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
