/**
 * Jobs: queued, running, over. Those of one lane run one after another, lanes beside each other. A job is in the
 * journal before anybody hears of it, and so is its end. What a job tells on its way, progress and log, is told at most
 * a few times a second.
 *
 * Every change gets a number, and each job remembers the number of its last: who has seen everything up to a number
 * asks for the jobs beyond it. So nothing has to be kept for listeners who are slow.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Archive } from '../../archive/index.ts';
import { type Clock, formatW3cDate, type IdSource } from '../../base/index.ts';
import { HttpProblem } from '../http/problem.ts';
import { INTERRUPTED, isOver, type Job, jobErrorOf, withLine } from './job.ts';
import type { JobJournal } from './job-journal.ts';
import type { JobContext, JobProgress } from './job-kind.ts';

const TELL_MS = 250;
/** Jobs that wait or run. */
const OPEN_MAX = 1000;
const OVER_MAX = 200;

export type QueueParts = {
  readonly archive: Archive;
  readonly journal: JobJournal;
  readonly clock: Clock;
  readonly newId: IdSource;
  /** Whether a job that is over must stay in the history, because something of it can still be had. */
  readonly isNeeded: (job: Job) => boolean;
};

export type NewJob = {
  readonly kind: string;
  readonly input: unknown;
  readonly origin: Job['origin'];
  /** Undefined: runs at once. */
  readonly lane: string | undefined;
  readonly isCancellable?: boolean | undefined;
  readonly run: (context: JobContext) => Promise<unknown>;
  /**
   * Called when it is over, however it ended, when that is durable and before it is told; never when the server died.
   */
  readonly onOver?: ((job: Job) => Promise<void>) | undefined;
};

type Entry = {
  job: Job;
  /** Number of its last change. */
  change: number;
  readonly newJob: NewJob | undefined;
  readonly controller: AbortController;
  readonly over: Promise<Job>;
  readonly settle: (job: Job) => void;
  isCancelled: boolean;
  /** What it becomes when its end is told; the journal has it before. */
  ending: Job | undefined;
  /** Set while what it tells on its way has to wait. */
  waiting: NodeJS.Timeout | undefined;
  hasNews: boolean;
};

export class JobQueue {
  readonly #parts: QueueParts;
  /** In the order they were made. */
  readonly #entries = new Map<string, Entry>();
  readonly #lanes = new Map<string, Promise<unknown>>();
  readonly #listeners = new Set<() => void>();
  #change = 0;
  #isStopping = false;

  constructor(parts: QueueParts, known: readonly Job[]) {
    this.#parts = parts;
    for (const job of known) this.#put(job, undefined);
  }

  /** Writes down what the death of the last server did to its jobs, and removes what they left. */
  async recover(): Promise<void> {
    for (const entry of this.#entries.values()) {
      if (isOver(entry.job)) continue;
      await rm(this.#scratchOf(entry.job.id), { recursive: true, force: true });
      await this.#end(entry, { state: 'failed', error: INTERRUPTED });
    }
  }

  /** Takes a job; it is durable when this returns. */
  async submit(newJob: NewJob): Promise<{ job: Job; over: Promise<Job> }> {
    if (this.#isStopping || this.#open().length >= OPEN_MAX) throw refusal(this.#isStopping);
    const { clock, newId } = this.#parts;
    const entry = this.#put(
      {
        id: newId().replace(/^<urn:uuid:|>$/g, ''),
        kind: newJob.kind,
        state: 'queued',
        origin: newJob.origin,
        input: newJob.input,
        createdAt: formatW3cDate(clock()),
        log: [],
      },
      newJob,
    );
    await this.#write(entry).catch((error: unknown) => {
      this.#entries.delete(entry.job.id);
      throw error;
    });
    this.#tell();
    const { lane } = newJob;
    if (lane === undefined) void this.#work(entry, newJob);
    else
      this.#lanes.set(
        lane,
        (this.#lanes.get(lane) ?? Promise.resolve()).then(() => this.#work(entry, newJob)),
      );
    return { job: entry.job, over: entry.over };
  }

  get(id: string): Job | undefined {
    return this.#entries.get(id)?.job;
  }

  /** Newest first. */
  list(): Job[] {
    return [...this.#entries.values()].map(({ job }) => job).reverse();
  }

  counts(): Record<string, number> {
    const counts: Record<Job['state'], number> = { queued: 0, running: 0, done: 0, failed: 0, cancelled: 0 };
    for (const { job } of this.#entries.values()) counts[job.state]++;
    return counts;
  }

  /** Whether a job of this lane would have to wait. */
  isBusy(lane: string): boolean {
    return this.#open().some(({ newJob }) => newJob?.lane === lane);
  }

  /**
   * Asks a job to stop at its next safe point; one that waits for its turn is over at once. False when it was over
   * already.
   */
  async cancel(id: string): Promise<boolean> {
    const entry = this.#entries.get(id);
    if (!entry || isOver(entry.job)) return false;
    if (entry.newJob?.isCancellable === false && entry.job.state === 'running') throw NOT_CANCELLABLE;
    entry.isCancelled = true;
    entry.controller.abort();
    if (entry.job.state === 'queued') await this.#end(entry, { state: 'cancelled' });
    return true;
  }

  /** Jobs that changed after the change of this number, in the order of their changes. */
  changedSince(change: number): { job: Job; change: number }[] {
    return [...this.#entries.values()].filter((entry) => entry.change > change).sort((a, b) => a.change - b.change);
  }

  /** Calls back after changes. What it returns ends that. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Takes no more jobs, asks all to stop, and settles when none is left. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const open = this.#open();
    for (const { controller } of open) controller.abort();
    await Promise.all(open.map(({ over }) => over));
    await this.#parts.journal.close();
  }

  async #work(entry: Entry, newJob: NewJob): Promise<void> {
    if (entry.ending) return;
    const { archive, clock } = this.#parts;
    const { signal } = entry.controller;
    const scratch = this.#scratchOf(entry.job.id);
    let outcome: Partial<Job>;
    try {
      signal.throwIfAborted();
      this.#alter(entry, { state: 'running', startedAt: formatW3cDate(clock()) });
      await this.#write(entry);
      this.#tell();
      await mkdir(scratch, { recursive: true });
      const report = await newJob.run({
        archive,
        jobId: entry.job.id,
        input: newJob.input,
        signal,
        progress: (progress: JobProgress) => this.#hear(entry, { progress }),
        say: (line: string) => this.#hear(entry, { log: withLine(entry.job.log, line) }),
        report: (report: unknown) => this.#hear(entry, { report }),
        scratch,
      });
      outcome = { state: 'done', report };
    } catch (error) {
      if (!signal.aborted || !isAbort(error)) outcome = { state: 'failed', error: jobErrorOf(error) };
      else outcome = entry.isCancelled ? { state: 'cancelled' } : { state: 'failed', error: INTERRUPTED };
    }
    await rm(scratch, { recursive: true, force: true }).catch(() => {});
    await this.#end(entry, outcome);
  }

  async #end(entry: Entry, outcome: Partial<Job>): Promise<void> {
    if (entry.ending) return;
    clearTimeout(entry.waiting);
    const ended = { ...entry.job, ...outcome, endedAt: formatW3cDate(this.#parts.clock()) };
    entry.ending = ended;
    // A history that cannot be written is no reason to call the work undone; after a restart the job shows as
    // interrupted.
    await this.#write(entry).catch(() => {});
    await entry.newJob?.onOver?.(ended).catch(() => {});
    this.#alter(entry, ended);
    this.#forget();
    this.#tell();
    entry.settle(entry.job);
  }

  #put(job: Job, newJob: NewJob | undefined): Entry {
    const { promise: over, resolve: settle } = Promise.withResolvers<Job>();
    const controller = new AbortController();
    const state = { isCancelled: false, ending: undefined, waiting: undefined, hasNews: false };
    const entry: Entry = { job, change: ++this.#change, newJob, controller, over, settle, ...state };
    this.#entries.set(job.id, entry);
    return entry;
  }

  #open(): Entry[] {
    return [...this.#entries.values()].filter(({ job }) => !isOver(job));
  }

  #alter(entry: Entry, changes: Partial<Job>): void {
    entry.job = { ...entry.job, ...changes };
    entry.change = ++this.#change;
  }

  /** What a job tells on its way: the first at once, then the latest after a while. */
  #hear(entry: Entry, news: Partial<Job>): void {
    if (entry.ending) return;
    entry.job = { ...entry.job, ...news };
    entry.hasNews = true;
    if (entry.waiting === undefined) this.#passOn(entry);
  }

  #passOn(entry: Entry): void {
    entry.waiting = undefined;
    if (!entry.hasNews || entry.ending) return;
    entry.hasNews = false;
    this.#alter(entry, {});
    this.#tell();
    entry.waiting = setTimeout(() => this.#passOn(entry), TELL_MS);
    entry.waiting.unref();
  }

  #write(entry: Entry): Promise<void> {
    const latest = ({ job, ending }: Entry) => ending ?? job;
    return this.#parts.journal.write(latest(entry), () => [...this.#entries.values()].map(latest));
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Lets go of the oldest jobs that are over and of which nothing can be had any more. */
  #forget(): void {
    const over = [...this.#entries.values()].filter(({ job }) => isOver(job));
    for (const { job } of over.slice(0, Math.max(0, over.length - OVER_MAX)))
      if (!this.#parts.isNeeded(job)) this.#entries.delete(job.id);
  }

  #scratchOf(id: string): string {
    return join(this.#parts.archive.scratch, `job-${id}`);
  }
}

const NOT_CANCELLABLE = new HttpProblem({
  status: 409,
  code: 'NOT_CANCELLABLE',
  message: 'this job cannot be stopped half-way',
  advice: 'Wait until it is done.',
});

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

function refusal(isStopping: boolean): HttpProblem {
  return new HttpProblem(
    isStopping
      ? {
          status: 503,
          code: 'SERVER_STOPPING',
          message: 'the server is stopping',
          advice: 'Start it again, then send this again.',
        }
      : {
          status: 429,
          code: 'TOO_MANY_JOBS',
          message: 'too many jobs wait for their turn',
          advice: 'Wait until some are done, or cancel some.',
        },
  );
}
