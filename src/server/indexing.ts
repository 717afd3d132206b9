/**
 * Keeps the search index up with the archive while a server runs.
 *
 * It looks from time to time whether the archive has changed. When a change is over, or has gone on for long, an
 * indexer takes in what is new; reading pages and filling tables happen on the indexer's own thread. Runs rest in
 * between, for longer the longer they take. Between runs nobody holds the index, so that `pinakes index` has its turn.
 *
 * Nothing that goes wrong here touches the archive or the server: it is told once, stands in the status, and is tried
 * again later.
 */
import type { Archive } from '../archive/index.ts';
import { type Clock, type EpochMs, ERROR_CATALOGUE, PinakesError } from '../base/index.ts';
import { Indexer } from '../search/index.ts';

const LOOK_MS = 1000;
/** Looks after which a change that does not come to rest is taken in as it stands. */
const RESTLESS_LOOKS = 30;
const REST_FACTOR = 4;
const REST_MS_MAX = 5 * 60_000;
const REST_AFTER_FAILURE_MS = 60_000;
/** Smaller than for `pinakes index`: what was archived should be found soon. */
const BATCH_DOCUMENTS = 1000;
/** How long a stop waits for the writer to come to a safe point. */
const STOP_MS = 10_000;

export type IndexingStatus = {
  readonly state: 'off' | 'waiting' | 'working' | 'failed';
  /** One line for people. */
  readonly message: string;
  /** When the index last had everything. */
  readonly caughtUpAt?: EpochMs;
  readonly problem?: { readonly code: string; readonly message: string; readonly advice: string };
};

export type IndexingParts = {
  readonly archive: Archive;
  readonly clock: Clock;
  /** Milliseconds that only grow. */
  readonly stopwatch: () => number;
  /** A text that changes whenever the archive does. */
  readonly state: () => Promise<string>;
  /** While true nothing begins: a catalog that is being made anew knows only part of the archive. */
  readonly isHeld: () => boolean;
  readonly onFailure: (sentence: string) => void;
};

export const INDEXING_OFF: IndexingStatus = { state: 'off', message: 'this server leaves the index as it is' };

export class Indexing {
  readonly #parts: IndexingParts;
  readonly #stopping = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #looking: Promise<void> = Promise.resolve();
  #indexer: Indexer | undefined;
  #status: IndexingStatus = { state: 'waiting', message: 'the index is about to be looked after' };
  #indexed: string | undefined;
  #seen: string | undefined;
  #changedLooks = 0;
  #restUntilMs = Number.NEGATIVE_INFINITY;
  #told: string | undefined;

  constructor(parts: IndexingParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#looking = this.#look(true);
  }

  status(): IndexingStatus {
    return this.#status;
  }

  /** Comes to a safe point and lets go of the index; with `force`, or when that takes long, as after a crash. */
  async stop(force?: AbortSignal): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    const timeouts = AbortSignal.timeout(STOP_MS);
    const end = force ? AbortSignal.any([force, timeouts]) : timeouts;
    const abandon = () => void this.#indexer?.abandon();
    end.addEventListener('abort', abandon, { once: true });
    if (end.aborted) abandon();
    await this.#looking;
    end.removeEventListener('abort', abandon);
  }

  async #look(isFirst = false): Promise<void> {
    try {
      const state = await this.#parts.state();
      const isDue = isFirst || this.#isDue(state);
      this.#seen = state;
      if (isDue && !this.#parts.isHeld()) await this.#run(state);
    } catch (error) {
      this.#fail(error);
    }
    if (this.#stopping.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.#look();
    }, LOOK_MS);
    this.#timer.unref();
  }

  #isDue(state: string): boolean {
    if (state === this.#indexed) {
      this.#changedLooks = 0;
      return false;
    }
    this.#changedLooks++;
    const isQuiet = state === this.#seen;
    return (isQuiet || this.#changedLooks >= RESTLESS_LOOKS) && this.#parts.stopwatch() >= this.#restUntilMs;
  }

  async #run(state: string): Promise<void> {
    const { archive, clock, stopwatch } = this.#parts;
    const { signal } = this.#stopping;
    const begunMs = stopwatch();
    this.#status = { ...this.#status, state: 'working', message: 'the archive is being looked through' };
    try {
      this.#indexer = await Indexer.open(archive);
      signal.throwIfAborted();
      const { damaged } = await this.#indexer.catchUp({
        signal,
        batchDocuments: BATCH_DOCUMENTS,
        onProgress: ({ records, tally }) => {
          const message = `${records} new records looked through, ${tally.documents} new contents read`;
          this.#status = { ...this.#status, message };
        },
      });
      if (this.#indexer.isRankDue) {
        this.#status = { ...this.#status, message: 'pages are being ranked by their links' };
        await this.#indexer.rank();
      }
      this.#indexed = state;
      this.#changedLooks = 0;
      this.#told = undefined;
      const message =
        damaged === 0 ? 'the index has everything' : `the index has what can be read; damaged records: ${damaged}`;
      this.#status = { state: 'waiting', message, caughtUpAt: clock() };
    } finally {
      await this.#indexer?.close();
      this.#indexer = undefined;
      const ended = stopwatch();
      this.#restUntilMs = ended + Math.min(REST_MS_MAX, REST_FACTOR * (ended - begunMs));
    }
  }

  #fail(error: unknown): void {
    if (this.#stopping.signal.aborted) return;
    this.#restUntilMs = this.#parts.stopwatch() + REST_AFTER_FAILURE_MS;
    const { code, advice } =
      error instanceof PinakesError
        ? error
        : { code: 'INTERNAL', advice: 'Search answers from what the index has; it is tried again later.' };
    const message = error instanceof Error ? error.message : String(error);
    // Everyone may read the status; particulars, such as paths, are for the operator.
    const says =
      error instanceof PinakesError
        ? ERROR_CATALOGUE[error.code].says
        : 'something went wrong in Pinakes that should not have';
    const { caughtUpAt } = this.#status;
    this.#status = {
      state: 'failed',
      message: 'the index could not be kept up',
      ...(caughtUpAt !== undefined && { caughtUpAt }),
      problem: { code, message: says, advice },
    };
    if (this.#told === message) return;
    this.#told = message;
    this.#parts.onFailure(`the search index is not kept up: ${message}. ${advice}`);
  }
}
