/** Detects clients that disconnect before their reply is complete. */
import type { ServerResponse } from 'node:http';

/**
 * A signal that is aborted when the client disconnects before the reply is complete. It is not aborted after a complete
 * reply, because creating an AbortError is expensive.
 */
export function disconnectSignal(response: ServerResponse): AbortSignal {
  const disconnect = new AbortController();
  if (response.destroyed) disconnect.abort();
  response.once('close', () => {
    if (!response.writableFinished) disconnect.abort();
  });
  return disconnect.signal;
}

/** Error codes of reads and writes after the client has disconnected. */
const DISCONNECT_CODES: ReadonlySet<unknown> = new Set([
  'ABORT_ERR',
  'ECONNRESET',
  'EPIPE',
  'ERR_STREAM_PREMATURE_CLOSE',
]);

/** Whether a request failed because its client disconnected, which is not an error of the server. */
export function isDisconnect(error: unknown, response: ServerResponse): boolean {
  if (!response.destroyed || !(error instanceof Error)) return false;
  return error.name === 'AbortError' || DISCONNECT_CODES.has((error as { code?: unknown }).code);
}
