/**
 * Sends a request again while its failure may pass: with exponential back-off and jitter, up to a number of tries and
 * a time. A request whose answer is lost may have been carried out, so only requests that may be carried out twice are
 * sent through here.
 *
 * Reads have a time for each answer. A server that accepts connections and does not answer then fails a read in a few
 * seconds, and reading can fall back to a copy. Writes wait longer, because a server may sync a disk before it
 * answers, and their connections are watched for silence (see s3-connection.ts).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Random, whenAborted } from '../../base/index.ts';
import { failureOf } from './s3-error.ts';

export type RetryPolicy = {
  readonly triesMax: number;
  /** No further try begins after this time. */
  readonly timeMs: number;
  /** Limits the whole wait for an answer, tries included, to `timeMs`. */
  readonly isBounded: boolean;
};

export const READ_POLICY: RetryPolicy = { triesMax: 8, timeMs: 4_000, isBounded: true };
export const WRITE_POLICY: RetryPolicy = { triesMax: 8, timeMs: 30_000, isBounded: false };

/** Tries when nothing listens at the address: about 1.2 s. */
const UNREACHABLE_TRIES_MAX = 5;
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 5_000;

export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

export const sleepReally: Sleep = async (ms, signal) => {
  await delay(ms, undefined, { signal });
};

export type RetrySettings = {
  readonly random: Random;
  readonly sleep: Sleep;
  onFailure(error: unknown): void;
  onRetry(): void;
};

export async function withRetries<T>(
  { triesMax, timeMs, isBounded }: RetryPolicy,
  { random, sleep, onFailure, onRetry }: RetrySettings,
  signal: AbortSignal | undefined,
  attempt: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const control = new AbortController();
  using _abort = signal && whenAborted(signal, () => control.abort(signal.reason));
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    if (isBounded) control.abort();
  }, timeMs);
  try {
    for (let tried = 1; ; tried++) {
      try {
        return await attempt(control.signal);
      } catch (thrown) {
        signal?.throwIfAborted();
        const error = isBounded && isLate ? silence(timeMs, thrown) : thrown;
        onFailure(error);
        const { kind } = failureOf(error);
        const isLast = tried >= (kind === 'unreachable' ? Math.min(UNREACHABLE_TRIES_MAX, triesMax) : triesMax);
        if (kind === 'final' || isLast || isLate) throw error;
        try {
          await sleep(pauseMs(tried, random), control.signal);
        } catch {
          signal?.throwIfAborted();
          throw error;
        }
        onRetry();
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

/** The pause is between half of its full length and all of it. */
export function pauseMs(tried: number, random: Random): number {
  return Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** (tried - 1)) * (0.5 + random() / 2);
}

/** The error of an answer that does not come. */
export function silence(ms: number, cause?: unknown): Error {
  return Object.assign(new Error(`the server did not answer for ${ms} ms`, { cause }), { code: 'ETIMEDOUT' });
}
