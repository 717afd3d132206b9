/**
 * Starts threads, and passes failures from one thread to another. A failure would otherwise lose its class on the way.
 */
import { getCompileCacheDir } from 'node:module';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { PinakesError } from './error.ts';
import type { ErrorCode } from './error-catalogue.ts';

export function startThread(script: URL, options: WorkerOptions = {}): Worker {
  const cache = getCompileCacheDir();
  // A thread does not inherit the compile cache that its program enabled, and would compile everything again.
  return new Worker(script, { ...options, ...(cache && { env: { ...process.env, NODE_COMPILE_CACHE: cache } }) });
}

/** An error on its way to another thread. */
export type ThreadFailure = {
  /** Undefined for a fault in the program itself. */
  readonly code: ErrorCode | undefined;
  readonly where: string | undefined;
  readonly detail: string | undefined;
};

export function failureOf(cause: unknown): ThreadFailure {
  if (cause instanceof PinakesError) return { code: cause.code, where: cause.where, detail: cause.detail };
  return { code: undefined, where: undefined, detail: String((cause as Error)?.stack ?? cause) };
}

export function revived({ code, where, detail }: ThreadFailure): Error {
  if (code === undefined) return new Error(detail);
  return new PinakesError(code, { ...(where !== undefined && { where }), ...(detail !== undefined && { detail }) });
}
