/**
 * When a page has come to waitUntilIdle: nothing that it waits for is under way, and nothing more was asked for in a moment.
 * Scripts that ask for the same thing again and again, or for ever new things of one kind, do not keep it awake.
 */
import type { EpochMs } from '../../base/index.ts';

const REST_MS = 500;
const LOOK_MS = 100;
/** How many different things of one kind, which is a URL without its query, are waited for. */
const OF_KIND_MAX = 50;
const REMEMBERED_MAX = 10_000;

/** What `begin` gives for a request that the page is not kept awake by. */
export const NOT_AWAITED = () => {};

export class PageIdle {
  readonly #clock: () => EpochMs;
  readonly #asked = new Set<string>();
  readonly #kinds = new Map<string, number>();
  #pending = 0;
  #movedAt: EpochMs;

  constructor(clock: () => EpochMs) {
    this.#clock = clock;
    this.#movedAt = clock();
  }

  /**
   * A request that begins. Gives what is to be called when it ends. `sent`: what makes it another than those of the
   * same URL.
   */
  begin(url: string, isOfScript: boolean, sent = ''): () => void {
    if (isOfScript && !this.#isNew(url, sent)) return NOT_AWAITED;
    this.#pending++;
    this.#movedAt = this.#clock();
    return () => {
      this.#pending--;
      this.#movedAt = this.#clock();
    };
  }

  #isNew(url: string, sent: string): boolean {
    const name = `${url} ${sent}`;
    const kind = url.replace(/\?.*$/s, '');
    const before = this.#kinds.get(kind) ?? 0;
    if (this.#asked.has(name) || before >= OF_KIND_MAX || this.#asked.size >= REMEMBERED_MAX) return false;
    this.#asked.add(name);
    this.#kinds.set(kind, before + 1);
    return true;
  }

  get isIdle(): boolean {
    return this.#pending === 0 && this.#clock() - this.#movedAt >= REST_MS;
  }

  /** Waits until the page is at waitUntilIdle, or the signal says that it is enough. */
  async waitUntilIdle(signal: AbortSignal): Promise<void> {
    while (!this.isIdle && !signal.aborted) await pause(LOOK_MS, signal);
  }
}

/** Waits so long, or until the signal. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      resolve();
    };
    const timer = setTimeout(stop, ms);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
