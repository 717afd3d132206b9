/**
 * The pace of long work that must not delay writers, such as a verification.
 *
 * The work is done in small pieces, and calls `rest` after each. While writers change the archive, the work rests so
 * long that it takes at most SHARE of the time: on the thread of the event loop, in the pool of threads that read files
 * and the catalog, and on the disk. While nobody writes, it only lets other work run between its pieces.
 *
 * A piece is measured from the end of one rest to the beginning of the next. If other work ran in between, this would
 * count that too, so the caller says how long such a piece takes at most.
 */
import { setImmediate, setTimeout } from 'node:timers/promises';

const SHARE = 0.15;
/** Writers are busy for this long after each change. */
const BUSY_MS = 2000;
/** Timers are not exact, so shorter rests are added up. */
const REST_MS_MIN = 4;
const REST_MS_MAX = 500;

export type PaceOptions = {
  /** A monotonic time in milliseconds. Without it, writers are not recognised, and `rest` only lets other work run. */
  readonly stopwatch: (() => number) | undefined;
  /** A number that grows with every change of the archive. */
  readonly changes: () => number;
  /** Replaced by tests. */
  readonly sleep?: (ms: number) => Promise<unknown>;
};

export class Pace {
  readonly #options: PaceOptions;
  readonly #sleep: (ms: number) => Promise<unknown>;
  #changes: number;
  #busyUntilMs = Number.NEGATIVE_INFINITY;
  #resumedMs: number;
  #owedMs = 0;

  constructor(options: PaceOptions) {
    this.#options = options;
    this.#sleep = options.sleep ?? ((ms) => (ms === 0 ? setImmediate() : setTimeout(ms)));
    this.#changes = options.changes();
    this.#resumedMs = options.stopwatch?.() ?? 0;
  }

  /** Rests after a piece of work that takes at most this long by itself. */
  async rest(pieceMsMax: number): Promise<void> {
    const { stopwatch } = this.#options;
    if (!stopwatch) {
      await this.#sleep(0);
      return;
    }
    const now = stopwatch();
    const changes = this.#options.changes();
    if (changes !== this.#changes) this.#busyUntilMs = now + BUSY_MS;
    this.#changes = changes;
    if (now < this.#busyUntilMs) this.#owedMs += (Math.min(now - this.#resumedMs, pieceMsMax) * (1 - SHARE)) / SHARE;
    else this.#owedMs = 0;
    const restMs = this.#owedMs < REST_MS_MIN ? 0 : Math.min(this.#owedMs, REST_MS_MAX);
    if (restMs > 0) this.#owedMs = 0;
    await this.#sleep(restMs);
    this.#resumedMs = stopwatch();
  }
}
