/**
 * The catalog of a cluster as readers use it. While another process adopts what is in the volumes, or makes the catalog
 * again, captures may be missing from it, and an answer would say that the archive does not hold them. So what readers
 * ask waits for the end, and fails with ARCHIVE_BUSY when that takes long.
 *
 * The state is asked for at most once in a second. A rebuild waits longer than that before it empties the catalog
 * (READERS_MS), so an answer is whole if it was there within that time after the state. After a slow answer, the state
 * is asked for again.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { PinakesError } from '../../base/index.ts';
import type { Catalog } from '../../catalog/index.ts';

/** How long an answer about the state holds. */
const STATE_MS = 1000;
/** How long a rebuild waits for readers before it empties the catalog. */
export const READERS_MS = 3 * STATE_MS;
const POLL_MS = 200;
const WAIT_MS_MAX = 30_000;

const ANSWERS: ReadonlySet<string | symbol> = new Set([
  'findCaptures',
  'capturesOf',
  'nearest',
  'getBlocks',
  'totals',
  'view',
]);
const SCANS: ReadonlySet<string | symbol> = new Set(['captures', 'blocks']);

/** `elapsed`: a time in milliseconds, best one that nobody can set. */
export function readableCatalog(catalog: Catalog, elapsed: () => number): Catalog {
  const state = new AdoptionState(catalog, elapsed);
  return new Proxy(catalog, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (ANSWERS.has(name))
        return (...args: unknown[]) => state.answer(() => value.apply(target, args) as Promise<unknown>);
      if (SCANS.has(name))
        return async function* (...args: unknown[]) {
          // All pages are of the instant of the first.
          const [pages, first] = await state.answer(async () => {
            const scan = value.apply(target, args) as AsyncGenerator<unknown>;
            return [scan, await scan.next()] as const;
          });
          if (first.done) return;
          yield first.value;
          yield* pages;
        };
      return value.bind(target);
    },
  });
}

class AdoptionState {
  readonly #catalog: Catalog;
  readonly #elapsed: () => number;
  /** When the catalog was known to be whole, and in which incarnation. */
  #known = { at: Number.NEGATIVE_INFINITY, incarnation: 0 };
  #asking: Promise<void> | undefined;

  constructor(catalog: Catalog, elapsed: () => number) {
    this.#catalog = catalog;
    this.#elapsed = elapsed;
  }

  /** An answer of a catalog that has everything. */
  async answer<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      await this.#whole();
      const { at, incarnation } = this.#known;
      const answer = await ask();
      if (this.#since(at) < READERS_MS) return answer;
      await this.#ask();
      if (this.#known.incarnation === incarnation) return answer;
    }
  }

  /** Waits until the catalog has everything. */
  async #whole(): Promise<void> {
    if (this.#since(this.#known.at) < STATE_MS) return;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    await this.#asking;
  }

  /** A clock that was set back must not make an old state look fresh. */
  #since(at: number): number {
    return Math.abs(this.#elapsed() - at);
  }

  async #ask(): Promise<void> {
    const begun = this.#elapsed();
    for (;;) {
      const at = this.#elapsed();
      const incarnation = await this.#catalog.incarnation();
      if (!(await this.#catalog.isAdopting())) {
        this.#known = { at, incarnation };
        return;
      }
      if (at - begun > WAIT_MS_MAX)
        throw new PinakesError('ARCHIVE_BUSY', { detail: 'the catalog is being brought in line with the volumes' });
      await wait(POLL_MS);
    }
  }
}
