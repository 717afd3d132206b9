/**
 * An answer that takes a walk over the whole catalog: computed once for each state of the archive, in the background,
 * by one walker at a time. Who asks gets what stands, with the time it was computed, and sets off the next walk when
 * the archive has changed since. A busy archive changes all the time; walks rest in between, for longer the longer they
 * take.
 */
import type { Clock, EpochMs } from '../../base/index.ts';

const REST_FACTOR = 4;

export type Cached<T> = { readonly value: T; readonly state: string; readonly computedAt: EpochMs };

type FigureSource<T> = {
  readonly clock: Clock;
  readonly state: () => Promise<string>;
  readonly compute: (signal: AbortSignal) => Promise<T>;
  readonly stopping: AbortSignal;
};

export class CachedFigure<T> {
  readonly #parts: FigureSource<T>;
  #cached: Cached<T> | undefined;
  #walk: Promise<Cached<T>> | undefined;
  #restUntil: EpochMs = 0;

  constructor(parts: FigureSource<T>) {
    this.#parts = parts;
  }

  /** `isFresh`: as of now, however long that takes. */
  async get(isFresh = false): Promise<Cached<T>> {
    const { clock, state } = this.#parts;
    const now = await state();
    const cached = this.#cached;
    if (cached?.state === now) return cached;
    if (!isFresh && cached) {
      if (clock() >= this.#restUntil) this.#begin().catch(() => {});
      return cached;
    }
    const walked = await this.#begin();
    // A walk that was under way already may have begun before the change.
    return isFresh && walked.state !== now ? this.#begin() : walked;
  }

  #begin(): Promise<Cached<T>> {
    this.#walk ??= this.#compute().finally(() => {
      this.#walk = undefined;
    });
    return this.#walk;
  }

  async #compute(): Promise<Cached<T>> {
    const { clock, state, compute, stopping } = this.#parts;
    const begun = clock();
    const before = await state();
    const value = await compute(stopping);
    const ended = clock();
    this.#restUntil = ended + REST_FACTOR * (ended - begun);
    this.#cached = { value, state: before, computedAt: ended };
    return this.#cached;
  }
}
