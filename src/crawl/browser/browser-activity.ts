/**
 * Decides when a page is idle: no request that it waits for is running, and none began or ended in the last IDLE_MS.
 * Scripts that repeat a request, or make many requests of one kind, do not keep the page busy.
 */
import { setTimeout } from 'node:timers/promises';
import type { EpochMs } from '../../base/index.ts';

const IDLE_MS = 500;
const POLL_MS = 100;
/**
 * How many different requests of one kind are waited for. Requests are of one kind if their URLs without the query are
 * equal.
 */
const OF_KIND_MAX = 50;
const REMEMBERED_MAX = 10_000;

/** `begin` returns this for a request that does not keep the page busy. */
export const NOT_AWAITED = () => {};

export class PageActivity {
  readonly #clock: () => EpochMs;
  readonly #requests = new Set<string>();
  readonly #kinds = new Map<string, number>();
  #pending = 0;
  #activeAt: EpochMs;

  constructor(clock: () => EpochMs) {
    this.#clock = clock;
    this.#activeAt = clock();
  }

  /**
   * Must be called when a request begins. Returns a function that must be called when the request ends. `variant`
   * distinguishes the request from others for the same URL.
   */
  begin(url: string, isFromScript: boolean, variant = ''): () => void {
    if (isFromScript && !this.#isNew(url, variant)) return NOT_AWAITED;
    this.#pending++;
    this.#activeAt = this.#clock();
    return () => {
      this.#pending--;
      this.#activeAt = this.#clock();
    };
  }

  #isNew(url: string, variant: string): boolean {
    const name = `${url} ${variant}`;
    const kind = url.replace(/\?.*$/s, '');
    const before = this.#kinds.get(kind) ?? 0;
    if (this.#requests.has(name) || before >= OF_KIND_MAX || this.#requests.size >= REMEMBERED_MAX) return false;
    this.#requests.add(name);
    this.#kinds.set(kind, before + 1);
    return true;
  }

  get isIdle(): boolean {
    return this.#pending === 0 && this.#clock() - this.#activeAt >= IDLE_MS;
  }

  /** Waits until the page is idle, or the signal is aborted. */
  async waitUntilIdle(signal: AbortSignal): Promise<void> {
    while (!this.isIdle && !signal.aborted) await pause(POLL_MS, signal);
  }
}

/** Waits for `ms`, or until the signal is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {});
}
