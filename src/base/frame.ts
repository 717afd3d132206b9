/**
 * Frames: the messages between a command of the command line and the server that runs it. They travel over one request
 * and its reply, both open at the same time.
 *
 * ```
 *   1 byte kind | 4 bytes length, big-endian | that many bytes
 *
 *   client to server                            server to client
 *   C  the command, JSON; always the first      O  for standard output
 *   A  an answer, text                          E  for standard error
 *   N  no person to answer                      Q  a question for the person, text
 *   D  a piece of standard input                R  request for a piece of standard input
 *   Z  end of standard input                    H  empty; the connection is alive
 *   I  interrupted                              X  exit code, text; always the last
 * ```
 * Each piece of standard input is sent only on request, so an interruption never queues behind it.
 */

/** Media type of a request and a reply that consist of frames. */
export const FRAMES_MIME = 'application/x-pinakes-frames';

export const FRAME_BYTES_MAX = 1024 * 1024;
const HEAD_BYTES = 5;

export type Frame = { readonly kind: string; readonly bytes: Buffer };

export function formatFrame(kind: string, content: Uint8Array | string = ''): Buffer {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const frame = Buffer.allocUnsafe(HEAD_BYTES + bytes.length);
  frame.write(kind, 0, 1, 'latin1');
  frame.writeUInt32BE(bytes.length, 1);
  frame.set(bytes, HEAD_BYTES);
  return frame;
}

/** Cuts a stream into frames. Throws a RangeError for a frame that is too long or unfinished. */
export async function* readFrames(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  let held = Buffer.alloc(0);
  for await (const piece of stream) {
    held = held.length === 0 ? Buffer.from(piece) : Buffer.concat([held, piece]);
    while (held.length >= HEAD_BYTES) {
      const length = held.readUInt32BE(1);
      if (length > FRAME_BYTES_MAX) throw new RangeError('a frame is too long');
      if (held.length < HEAD_BYTES + length) break;
      yield { kind: held.toString('latin1', 0, 1), bytes: held.subarray(HEAD_BYTES, HEAD_BYTES + length) };
      held = held.subarray(HEAD_BYTES + length);
    }
  }
  if (held.length > 0) throw new RangeError('a frame is unfinished');
}
