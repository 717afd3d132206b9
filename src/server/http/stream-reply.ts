/**
 * Sends pieces as fast as the client reads them. When the client disconnects, reading ends. When reading fails, the
 * connection is broken, so that the client does not take a part for the whole.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { disconnectSignal } from './client-disconnect.ts';

export async function sendStream(response: ServerResponse, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const disconnect = disconnectSignal(response);
  try {
    for await (const piece of pieces) {
      if (response.destroyed) return;
      // The source may reuse the memory of a piece, and bytes that wait in the socket must not change.
      if (!response.write(Buffer.from(piece))) await once(response, 'drain', { signal: disconnect });
    }
    response.end();
  } catch (error) {
    if (disconnect.aborted) return;
    response.destroy();
    throw error;
  }
}
