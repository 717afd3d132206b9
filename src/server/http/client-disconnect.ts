/**
 * A signal that fires when a client leaves before its reply has ended. A reply that ended well fires nothing: making
 * the error of an abort is dear, and most replies do.
 */
import type { ServerResponse } from 'node:http';

export function disconnectSignal(response: ServerResponse): AbortSignal {
  const disconnect = new AbortController();
  if (response.destroyed) disconnect.abort();
  response.once('close', () => {
    if (!response.writableFinished) disconnect.abort();
  });
  return disconnect.signal;
}

/** What reading from a client, and writing to it, fails with when it has left. */
const LEFT: ReadonlySet<unknown> = new Set(['ABORT_ERR', 'ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE']);

/**
 * Whether a request failed because its client left, in the middle of its body or of the reply. That is not a fault of
 * the server.
 */
export function isDisconnect(error: unknown, response: ServerResponse): boolean {
  if (!response.destroyed || !(error instanceof Error)) return false;
  return error.name === 'AbortError' || LEFT.has((error as { code?: unknown }).code);
}
