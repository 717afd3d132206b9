/**
 * Sends pieces as fast as the client takes them. A client that leaves ends the reading; reading that fails breaks the
 * connection, so that nobody takes a part for the whole.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { disconnectSignal } from './client-disconnect.ts';

export async function sendStream(response: ServerResponse, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const disconnect = disconnectSignal(response);
  try {
    for await (const piece of pieces) {
      if (response.destroyed) return;
      // The source may use the bytes of a piece again for the next; what waits in a socket must not change.
      if (!response.write(Buffer.from(piece))) await once(response, 'drain', { signal: disconnect });
    }
    response.end();
  } catch (error) {
    if (disconnect.aborted) return;
    response.destroy();
    throw error;
  }
}
