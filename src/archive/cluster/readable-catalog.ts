/**
 * The catalog of a cluster as readers use it. While another process adopts what is in the volumes, or makes the catalog
 * again, captures may be missing from it, and an answer would say that the archive does not hold them. So what readers
 * ask waits for the end, and fails with ARCHIVE_BUSY when that takes long.
 *
 * The state is asked for at most once in a second. A rebuild waits longer than that before it empties the catalog
 * (READERS_MS), so that an answer that was begun before is whole.
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

/** `elapsed`: a monotonic time in milliseconds. */
export function readableCatalog(catalog: Catalog, elapsed: () => number): Catalog {
  const state = new AdoptionState(catalog, elapsed);
  return new Proxy(catalog, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (ANSWERS.has(name))
        return async (...args: unknown[]) => {
          await state.whole();
          return value.apply(target, args);
        };
      if (SCANS.has(name))
        return async function* (...args: unknown[]) {
          await state.whole();
          yield* value.apply(target, args) as AsyncGenerator<unknown>;
        };
      return value.bind(target);
    },
  });
}

class AdoptionState {
  readonly #catalog: Catalog;
  readonly #elapsed: () => number;
  #wholeAt = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | undefined;

  constructor(catalog: Catalog, elapsed: () => number) {
    this.#catalog = catalog;
    this.#elapsed = elapsed;
  }

  /** Waits until the catalog has everything. */
  async whole(): Promise<void> {
    if (this.#elapsed() - this.#wholeAt < STATE_MS) return;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    await this.#asking;
  }

  async #ask(): Promise<void> {
    const begun = this.#elapsed();
    for (;;) {
      const asked = this.#elapsed();
      if (!(await this.#catalog.isAdopting())) {
        this.#wholeAt = asked;
        return;
      }
      if (asked - begun > WAIT_MS_MAX)
        throw new PinakesError('ARCHIVE_BUSY', { detail: 'the catalog is being brought in line with the volumes' });
      await wait(POLL_MS);
    }
  }
}
