/**
 * A figure whose computation walks over the whole catalog. It is computed in the background, one walk at a time, and
 * cached with its time. `get` returns the cached figure, and starts a new walk when the archive has changed since. A
 * busy archive changes all the time, so each walk is followed by a pause of four times the duration of the walk.
 */
import type { Clock, EpochMs } from '../../base/index.ts';

const PAUSE_FACTOR = 4;

export type Cached<T> = { readonly value: T; readonly state: string; readonly computedAt: EpochMs };

type CachedFigureOptions<T> = {
  readonly clock: Clock;
  /** Returns a text that changes whenever the archive changes. */
  readonly state: () => Promise<string>;
  readonly compute: (signal: AbortSignal) => Promise<T>;
  readonly stopping: AbortSignal;
};

export class CachedFigure<T> {
  readonly #options: CachedFigureOptions<T>;
  #cached: Cached<T> | undefined;
  #walk: Promise<Cached<T>> | undefined;
  #pauseEnd: EpochMs = 0;

  constructor(options: CachedFigureOptions<T>) {
    this.#options = options;
  }

  /** `isFresh`: waits for the figure of the present state of the archive. */
  async get(isFresh = false): Promise<Cached<T>> {
    const { clock, state } = this.#options;
    const now = await state();
    const cached = this.#cached;
    if (cached?.state === now) return cached;
    if (!isFresh && cached) {
      if (clock() >= this.#pauseEnd) this.#walkOnce().catch(() => {});
      return cached;
    }
    const walked = await this.#walkOnce();
    // A running walk may have started before the change.
    return isFresh && walked.state !== now ? this.#walkOnce() : walked;
  }

  #walkOnce(): Promise<Cached<T>> {
    this.#walk ??= this.#compute().finally(() => {
      this.#walk = undefined;
    });
    return this.#walk;
  }

  async #compute(): Promise<Cached<T>> {
    const { clock, state, compute, stopping } = this.#options;
    const started = clock();
    const before = await state();
    const value = await compute(stopping);
    const ended = clock();
    this.#pauseEnd = ended + PAUSE_FACTOR * (ended - started);
    this.#cached = { value, state: before, computedAt: ended };
    return this.#cached;
  }
}
