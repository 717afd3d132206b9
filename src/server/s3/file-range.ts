/** Ranges of files: read in pieces, and sent as fast as the client takes them. */
import { once } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';

const PIECE_BYTES = 256 * 1024;

export async function* readRange(handle: FileHandle, from: number, to: number): AsyncGenerator<Uint8Array> {
  for (let at = from; at < to; ) {
    const wanted = Math.min(PIECE_BYTES, to - at);
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(wanted), 0, wanted, at);
    if (bytesRead === 0) throw new Error('a file became shorter while it was read');
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/**
 * Sends a range as the body of a reply whose head is written. When the file turns out to be shorter, the connection
 * breaks, so that the client does not take a part for the whole.
 */
export async function sendRange(handle: FileHandle, response: ServerResponse, from: number, to: number): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  try {
    for await (const piece of readRange(handle, from, to)) {
      if (response.destroyed) return;
      if (!response.write(piece)) await once(response, 'drain', { signal: gone.signal });
    }
    response.end();
  } catch (cause) {
    if (gone.signal.aborted) return;
    response.destroy();
    throw cause;
  }
}
