/**
 * The queue of jobs. Jobs of one lane run one after another; lanes run in parallel. The start and the end of a job are
 * in the journal before listeners are notified. Listeners are notified of progress and log lines at most a few times a
 * second.
 *
 * Every change has a number, and each job remembers the number of its last change. A listener that knows all changes up
 * to a number asks for the jobs that changed after it. So nothing is kept for slow listeners.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Archive } from '../../archive/index.ts';
import { type Clock, formatW3cDate, type IdSource } from '../../base/index.ts';
import { HttpProblem, SERVER_STOPPING } from '../http/problem.ts';
import { INTERRUPTED, isOver, type Job, jobErrorOf, withLine } from './job.ts';
import type { JobJournal } from './job-journal.ts';
import type { JobContext, JobProgress } from './job-kind.ts';

const NOTIFY_MS = 250;
/** How many jobs may wait or run. */
const OPEN_MAX = 1000;
/** How many ended jobs the history keeps. */
const OVER_MAX = 200;

export type JobQueueOptions = {
  readonly archive: Archive;
  readonly journal: JobJournal;
  readonly clock: Clock;
  readonly newId: IdSource;
  /** Whether an ended job must stay in the history, because its file can still be downloaded or added. */
  readonly isNeeded: (job: Job) => boolean;
};

export type NewJob = {
  readonly kind: string;
  readonly input: unknown;
  readonly origin: Job['origin'];
  /** A job without a lane runs at once. */
  readonly lane: string | undefined;
  readonly isCancellable?: boolean | undefined;
  readonly run: (context: JobContext) => Promise<unknown>;
  /**
   * Called when the job has ended for any reason, after the end is durable and before listeners are notified. Not
   * called when the server dies.
   */
  readonly onOver?: ((job: Job) => Promise<void>) | undefined;
};

type Entry = {
  job: Job;
  /** The number of the last change of the job. */
  change: number;
  readonly newJob: NewJob | undefined;
  readonly controller: AbortController;
  readonly over: Promise<Job>;
  readonly settle: (job: Job) => void;
  isCancelled: boolean;
  /** The ended job, from the moment it ends until listeners are notified. */
  ending: Job | undefined;
  /** Set for NOTIFY_MS after a notification of progress. The next notification waits for this timer. */
  notifyTimer: NodeJS.Timeout | undefined;
  hasProgress: boolean;
};

export class JobQueue {
  readonly #options: JobQueueOptions;
  /** In order of creation. */
  readonly #entries = new Map<string, Entry>();
  readonly #lanes = new Map<string, Promise<unknown>>();
  readonly #listeners = new Set<() => void>();
  #change = 0;
  #isStopping = false;

  constructor(options: JobQueueOptions, known: readonly Job[]) {
    this.#options = options;
    for (const job of known) this.#put(job, undefined);
  }

  /** Marks the jobs that the last server did not finish as interrupted, and removes their temporary files. */
  async recover(): Promise<void> {
    for (const entry of this.#entries.values()) {
      if (isOver(entry.job)) continue;
      await rm(this.#scratchOf(entry.job.id), { recursive: true, force: true });
      await this.#end(entry, { state: 'failed', error: INTERRUPTED });
    }
  }

  /** Adds a job. It is durable when this returns. */
  async submit(newJob: NewJob): Promise<{ job: Job; over: Promise<Job> }> {
    if (this.#isStopping || this.#open().length >= OPEN_MAX) throw jobRefused(this.#isStopping);
    const { clock, newId } = this.#options;
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
    this.#notify();
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

  /** All jobs, newest first. */
  list(): Job[] {
    return [...this.#entries.values()].map(({ job }) => job).reverse();
  }

  counts(): Record<string, number> {
    const counts: Record<Job['state'], number> = { queued: 0, running: 0, done: 0, failed: 0, cancelled: 0 };
    for (const { job } of this.#entries.values()) counts[job.state]++;
    return counts;
  }

  /** Whether a new job of this lane would wait. */
  isBusy(lane: string): boolean {
    return this.#open().some(({ newJob }) => newJob?.lane === lane);
  }

  /** Asks a job to stop at its next safe point. A queued job ends at once. Returns false when the job has ended. */
  async cancel(id: string): Promise<boolean> {
    const entry = this.#entries.get(id);
    if (!entry || isOver(entry.job)) return false;
    if (entry.newJob?.isCancellable === false && entry.job.state === 'running') throw NOT_CANCELLABLE;
    entry.isCancelled = true;
    entry.controller.abort();
    if (entry.job.state === 'queued') await this.#end(entry, { state: 'cancelled' });
    return true;
  }

  /** The jobs with changes after this number, in order of their changes. */
  changedSince(change: number): { job: Job; change: number }[] {
    return [...this.#entries.values()].filter((entry) => entry.change > change).sort((a, b) => a.change - b.change);
  }

  /** Calls `listener` after changes, until the returned function is called. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Refuses new jobs, asks all jobs to stop, and settles when they have ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const open = this.#open();
    for (const { controller } of open) controller.abort();
    await Promise.all(open.map(({ over }) => over));
    await this.#options.journal.close();
  }

  async #work(entry: Entry, newJob: NewJob): Promise<void> {
    if (entry.ending) return;
    const { archive, clock } = this.#options;
    const { signal } = entry.controller;
    const scratch = this.#scratchOf(entry.job.id);
    let outcome: Partial<Job>;
    try {
      signal.throwIfAborted();
      this.#alter(entry, { state: 'running', startedAt: formatW3cDate(clock()) });
      await this.#write(entry);
      this.#notify();
      await mkdir(scratch, { recursive: true });
      const report = await newJob.run({
        archive,
        jobId: entry.job.id,
        input: newJob.input,
        signal,
        progress: (progress: JobProgress) => this.#update(entry, { progress }),
        say: (line: string) => this.#update(entry, { log: withLine(entry.job.log, line) }),
        report: (report: unknown) => this.#update(entry, { report }),
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
    clearTimeout(entry.notifyTimer);
    const ended = { ...entry.job, ...outcome, endedAt: formatW3cDate(this.#options.clock()) };
    entry.ending = ended;
    // When the journal cannot be written, the work is still done. After a restart the job shows as interrupted.
    await this.#write(entry).catch(() => {});
    await entry.newJob?.onOver?.(ended).catch(() => {});
    this.#alter(entry, ended);
    this.#forget();
    this.#notify();
    entry.settle(entry.job);
  }

  #put(job: Job, newJob: NewJob | undefined): Entry {
    const { promise: over, resolve: settle } = Promise.withResolvers<Job>();
    const controller = new AbortController();
    const state = { isCancelled: false, ending: undefined, notifyTimer: undefined, hasProgress: false };
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

  /** Changes a running job. Listeners are notified at once, or after NOTIFY_MS when they were notified just before. */
  #update(entry: Entry, changes: Partial<Job>): void {
    if (entry.ending) return;
    entry.job = { ...entry.job, ...changes };
    entry.hasProgress = true;
    if (entry.notifyTimer === undefined) this.#notifyProgress(entry);
  }

  #notifyProgress(entry: Entry): void {
    entry.notifyTimer = undefined;
    if (!entry.hasProgress || entry.ending) return;
    entry.hasProgress = false;
    this.#alter(entry, {});
    this.#notify();
    entry.notifyTimer = setTimeout(() => this.#notifyProgress(entry), NOTIFY_MS);
    entry.notifyTimer.unref();
  }

  #write(entry: Entry): Promise<void> {
    const latest = ({ job, ending }: Entry) => ending ?? job;
    return this.#options.journal.write(latest(entry), () => [...this.#entries.values()].map(latest));
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Drops the oldest ended jobs that are not needed any more. */
  #forget(): void {
    const over = [...this.#entries.values()].filter(({ job }) => isOver(job));
    for (const { job } of over.slice(0, Math.max(0, over.length - OVER_MAX)))
      if (!this.#options.isNeeded(job)) this.#entries.delete(job.id);
  }

  #scratchOf(id: string): string {
    return join(this.#options.archive.scratch, `job-${id}`);
  }
}

const NOT_CANCELLABLE = new HttpProblem({
  status: 409,
  code: 'NOT_CANCELLABLE',
  message: 'this job cannot be stopped before it is done',
  advice: 'Wait until it is done.',
});

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

function jobRefused(isStopping: boolean): HttpProblem {
  return new HttpProblem(
    isStopping
      ? SERVER_STOPPING
      : {
          status: 429,
          code: 'TOO_MANY_JOBS',
          message: 'too many jobs are waiting',
          advice: 'Wait until some jobs are done, or cancel some.',
        },
  );
}
