/**
 * Watches calls that leave the process or wait for others: commits, requests to buckets, statements of a database. A
 * room that makes such calls is handed an observer, and knows nothing of what it is for.
 */
import { PinakesError } from './error.ts';

export type ObservedCall = {
  readonly system: 'ledger' | 's3' | 'postgresql';
  /** What is done, one of a few words: `commit`, `put`, `select`. */
  readonly name: string;
  /** Where it is done, one of a few names, such as that of a volume. */
  readonly target?: string;
};

/** Does the work of a call. `outcomeOf` names the outcome in one of a few words; without it, `ok`. */
export type CallObserver = <T>(
  call: ObservedCall,
  work: () => Promise<T>,
  outcomeOf?: (value: T) => string,
) => Promise<T>;

/** The outcome of a call that failed, in one of a few words. */
export function failureOutcome(error: unknown): string {
  if (error instanceof PinakesError) return error.code;
  return error instanceof Error && error.name === 'AbortError' ? 'aborted' : 'failed';
}
