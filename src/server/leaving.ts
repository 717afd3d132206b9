/** A signal that fires when a client leaves before its reply has ended. A reply that ended well fires nothing: making the error of an abort is dear, and most replies do. */
import type { ServerResponse } from 'node:http';

export function leavingSignal(response: ServerResponse): AbortSignal {
  const leaving = new AbortController();
  if (response.destroyed) leaving.abort();
  response.once('close', () => {
    if (!response.writableFinished) leaving.abort();
  });
  return leaving.signal;
}
