/**
 * Keeps the search index up to date with the archive while a server runs.
 *
 * It checks at intervals whether the archive has changed. When the changes have stopped, or after CHANGING_CHECKS_MAX
 * checks, an indexer adds the new records. The thread of the indexer reads pages and fills tables. After each run there
 * is a pause, four times as long as the run. Between runs the index is closed, so that `pinakes index` can open it.
 *
 * A failure does not affect the archive or the server. It is reported once, shown in the status, and the run is
 * repeated later.
 */
import type { Archive } from '../archive/index.ts';
import { type Clock, type EpochMs, ERROR_CATALOGUE, PinakesError, whenAborted } from '../base/index.ts';
import { Indexer } from '../search/index.ts';

const CHECK_MS = 1000;
/** After this many checks, a run starts even though the archive is still changing. */
const CHANGING_CHECKS_MAX = 30;
const PAUSE_FACTOR = 4;
const PAUSE_MS_MAX = 5 * 60_000;
const PAUSE_AFTER_FAILURE_MS = 60_000;
/** Batches are smaller than for `pinakes index`, so that searches find new captures soon. */
const BATCH_DOCUMENTS = 1000;
/** How long a stop waits until the indexer has reached a safe point. */
const STOP_MS = 10_000;

export type IndexingStatus = {
  readonly state: 'off' | 'waiting' | 'working' | 'failed';
  /** The state in one line. */
  readonly message: string;
  /** When the index was last complete. */
  readonly caughtUpAt?: EpochMs;
  readonly problem?: { readonly code: string; readonly message: string; readonly advice: string };
};

export type IndexingOptions = {
  readonly archive: Archive;
  readonly clock: Clock;
  /** Milliseconds that never go back. */
  readonly stopwatch: () => number;
  /** Returns a text that changes whenever the archive changes. */
  readonly state: () => Promise<string>;
  /** While this returns true, no run starts: during a rebuild the catalog knows only part of the archive. */
  readonly isHeld: () => Promise<boolean>;
  readonly onFailure: (sentence: string) => void;
};

export const INDEXING_OFF: IndexingStatus = { state: 'off', message: 'this server does not update the index' };

export class Indexing {
  readonly #options: IndexingOptions;
  readonly #stopping = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #checking: Promise<void> = Promise.resolve();
  #indexer: Indexer | undefined;
  #status: IndexingStatus = { state: 'waiting', message: 'indexing is about to start' };
  #indexedState: string | undefined;
  #lastState: string | undefined;
  #changedChecks = 0;
  #pauseEndMs = Number.NEGATIVE_INFINITY;
  #reported: string | undefined;

  constructor(options: IndexingOptions) {
    this.#options = options;
  }

  start(): void {
    this.#checking = this.#check(true);
  }

  status(): IndexingStatus {
    return this.#status;
  }

  /**
   * Stops at a safe point and closes the index. With `force`, or when that takes too long, the index is left as after a
   * crash.
   */
  async stop(force?: AbortSignal): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    const timeouts = AbortSignal.timeout(STOP_MS);
    const end = force ? AbortSignal.any([force, timeouts]) : timeouts;
    using _ = whenAborted(end, () => void this.#indexer?.abandon());
    await this.#checking;
  }

  async #check(isFirst = false): Promise<void> {
    try {
      const state = await this.#options.state();
      const isDue = isFirst || this.#isDue(state);
      this.#lastState = state;
      if (isDue && !(await this.#options.isHeld())) await this.#run(state);
    } catch (error) {
      this.#fail(error);
    }
    if (this.#stopping.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#checking = this.#check();
    }, CHECK_MS);
    this.#timer.unref();
  }

  #isDue(state: string): boolean {
    if (state === this.#indexedState) {
      this.#changedChecks = 0;
      return false;
    }
    this.#changedChecks++;
    const isQuiet = state === this.#lastState;
    const mayStart = isQuiet || this.#changedChecks >= CHANGING_CHECKS_MAX;
    return mayStart && this.#options.stopwatch() >= this.#pauseEndMs;
  }

  async #run(state: string): Promise<void> {
    const { archive, clock, stopwatch } = this.#options;
    const { signal } = this.#stopping;
    const startedMs = stopwatch();
    this.#status = { ...this.#status, state: 'working', message: 'reading the archive' };
    try {
      this.#indexer = await Indexer.open(archive);
      signal.throwIfAborted();
      const { damaged } = await this.#indexer.catchUp({
        signal,
        batchDocuments: BATCH_DOCUMENTS,
        onProgress: ({ records, tally }) => {
          const message = `${records} new records scanned, ${tally.documents} new contents indexed`;
          this.#status = { ...this.#status, message };
        },
      });
      if (this.#indexer.isRankDue) {
        this.#status = { ...this.#status, message: 'ranking pages by their links' };
        await this.#indexer.rank();
      }
      this.#indexedState = state;
      this.#changedChecks = 0;
      this.#reported = undefined;
      const message =
        damaged === 0 ? 'the index is complete' : `the index is complete except for ${damaged} damaged records`;
      this.#status = { state: 'waiting', message, caughtUpAt: clock() };
    } finally {
      await this.#indexer?.close();
      this.#indexer = undefined;
      const ended = stopwatch();
      this.#pauseEndMs = ended + Math.min(PAUSE_MS_MAX, PAUSE_FACTOR * (ended - startedMs));
    }
  }

  #fail(error: unknown): void {
    if (this.#stopping.signal.aborted) return;
    this.#pauseEndMs = this.#options.stopwatch() + PAUSE_AFTER_FAILURE_MS;
    const { code, advice } =
      error instanceof PinakesError
        ? error
        : { code: 'INTERNAL', advice: 'Search uses the index as it is. Indexing is tried again later.' };
    const message = error instanceof Error ? error.message : String(error);
    // Every client may read the status. Details such as paths are for the operator only.
    const says = error instanceof PinakesError ? ERROR_CATALOGUE[error.code].says : 'an unexpected error in Pinakes';
    const { caughtUpAt } = this.#status;
    this.#status = {
      state: 'failed',
      message: 'the index could not be updated',
      ...(caughtUpAt !== undefined && { caughtUpAt }),
      problem: { code, message: says, advice },
    };
    if (this.#reported === message) return;
    this.#reported = message;
    this.#options.onFailure(`the search index is not updated: ${message}. ${advice}`);
  }
}
