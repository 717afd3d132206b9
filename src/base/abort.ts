/** Waiting for a signal to abort, for as long as a block runs. */

/** Calls `onAborted` when the signal aborts: now when it has aborted already. Disposing of the result ends the wait. */
export function whenAborted(signal: AbortSignal, onAborted: () => void): Disposable {
  if (signal.aborted) onAborted();
  else signal.addEventListener('abort', onAborted, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', onAborted) };
}
