/**
 * The queue of one server: the jobs are in memory, and their changes of state in a journal. The start and the end of a
 * job are in the journal before listeners are called. A claim ends only with the process: what the last server has not
 * finished is interrupted when the next one starts.
 */
import { type Clock, formatW3cDate } from '../../base/index.ts';
import { INTERRUPTED, isOver, type Job, type JobState, withLine } from '../job.ts';
import { type BookEntry, JobBook } from '../job-book.ts';
import { JobClaim } from '../job-claim.ts';
import {
  type Cancelled,
  type JobChange,
  type JobHooks,
  type JobOutcome,
  type JobOutput,
  type JobQueue,
  type NewJob,
  OPEN_MAX,
  type Submitted,
} from '../job-queue.ts';
import { JobJournal } from './job-journal.ts';

const NOTIFY_MS = 250;

export type FileJobQueueOptions = {
  /** The path of the journal. */
  readonly path: string;
  readonly clock: Clock;
  /** Differs for each run of the server, and has no dashes. */
  readonly historyId: string;
};

type Entry = BookEntry & {
  /** Undefined for jobs of an earlier server. */
  readonly newJob: NewJob | undefined;
  /** Whether the submission is durable. */
  isSubmitted: boolean;
  claim: JobClaim | undefined;
  /** The ended job, from the moment it ends until listeners are called. */
  ending: Job | undefined;
  /** Set for NOTIFY_MS after listeners were called about progress. The next call waits for this timer. */
  notifyTimer: NodeJS.Timeout | undefined;
  hasProgress: boolean;
};

const NO_HOOKS: JobHooks = { keeps: () => false, onOver: async () => {} };

export class FileJobQueue implements JobQueue {
  readonly historyId: string;
  readonly server = undefined;
  readonly #clock: Clock;
  readonly #journal: JobJournal;
  readonly #book = new JobBook<Entry>();
  #hooks = NO_HOOKS;
  #change = 0;
  #isClosing = false;

  private constructor({ clock, historyId }: FileJobQueueOptions, journal: JobJournal, known: readonly Job[]) {
    this.#clock = clock;
    this.historyId = historyId;
    this.#journal = journal;
    for (const job of known) this.#put(job, undefined);
  }

  static async open(options: FileJobQueueOptions): Promise<FileJobQueue> {
    const { journal, jobs } = await JobJournal.open(options.path);
    return new FileJobQueue(options, journal, jobs);
  }

  async start(hooks: JobHooks): Promise<void> {
    this.#hooks = hooks;
    for (const entry of this.#book.entries()) entry.isKept = isOver(entry.job) && hooks.keeps(entry.job);
    for (const entry of this.#book.open()) await this.#end(entry, { state: 'failed', error: INTERRUPTED });
  }

  async submit(newJob: NewJob): Promise<Submitted> {
    if (this.#isClosing) return { kind: 'refused', why: 'stopping' };
    if (this.#book.open().length >= OPEN_MAX) return { kind: 'refused', why: 'full' };
    if (this.#isKnown(newJob)) return { kind: 'left-out' };
    const { id, kind, origin, by, input } = newJob;
    const createdAt = formatW3cDate(this.#clock());
    const entry = this.#put(
      { id, kind, state: 'queued', origin, ...(by && { by }), input, createdAt, log: [] },
      newJob,
    );
    await this.#write(entry).catch((error: unknown) => {
      this.#book.delete(id);
      throw error;
    });
    entry.isSubmitted = true;
    this.#book.notify();
    return { kind: 'submitted', job: entry.job };
  }

  async get(id: string): Promise<Job | undefined> {
    return this.#book.get(id)?.job;
  }

  async list(): Promise<Job[]> {
    return this.#book.list();
  }

  async counts(): Promise<Record<JobState, number>> {
    return this.#book.counts();
  }

  async isBusy(lane: string): Promise<boolean> {
    return this.#book.open().some(({ newJob }) => newJob?.lane === lane);
  }

  async cancel(id: string): Promise<Cancelled> {
    const entry = this.#book.get(id);
    if (!entry || isOver(entry.job)) return 'over';
    if (entry.claim) {
      if (entry.newJob?.isCancellable === false) return 'refused';
      entry.claim.stop('cancelled');
    } else await this.#end(entry, { state: 'cancelled' });
    return 'asked';
  }

  async release(id: string): Promise<void> {
    const entry = this.#book.get(id);
    if (entry) entry.isKept = false;
  }

  get lastChange(): number {
    return this.#change;
  }

  changedSince(change: number): JobChange[] {
    return this.#book.changedSince(change);
  }

  subscribe(listener: () => void): () => void {
    return this.#book.subscribe(listener);
  }

  async claim(kinds: ReadonlySet<string>): Promise<JobClaim | undefined> {
    if (this.#isClosing) return undefined;
    const entry = this.#next(kinds);
    if (!entry) return undefined;
    this.#alter(entry, { state: 'running', startedAt: formatW3cDate(this.#clock()) });
    const durable = this.#write(entry).then(() => this.#book.notify());
    durable.catch(() => {});
    entry.claim = new JobClaim(entry.job, 1, false, durable);
    return entry.claim;
  }

  record(claim: JobClaim, { line, ...changes }: JobOutput): void {
    const entry = this.#claimed(claim);
    if (!entry) return;
    entry.job = { ...entry.job, ...changes, ...(line !== undefined && { log: withLine(entry.job.log, line) }) };
    entry.hasProgress = true;
    if (entry.notifyTimer === undefined) this.#notifyProgress(entry);
  }

  async end(claim: JobClaim, outcome: JobOutcome): Promise<boolean> {
    const entry = this.#claimed(claim);
    if (entry) await this.#end(entry, outcome);
    return entry !== undefined;
  }

  async giveBack(): Promise<boolean> {
    return false;
  }

  /** Jobs that still wait are interrupted. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const entry of this.#book.open()) await this.#end(entry, { state: 'failed', error: INTERRUPTED });
    await this.#journal.close();
  }

  #claimed({ job }: JobClaim): Entry | undefined {
    const entry = this.#book.get(job.id);
    return entry && !entry.ending && !isOver(entry.job) ? entry : undefined;
  }

  /** The oldest job that waits, and is the first of its lane. */
  #next(kinds: ReadonlySet<string>): Entry | undefined {
    const lanes = new Set<string>();
    for (const entry of this.#book.open()) {
      const lane = entry.newJob?.lane;
      const isFirst = lane === undefined || !lanes.has(lane);
      if (lane !== undefined) lanes.add(lane);
      const isWaiting = entry.isSubmitted && !entry.claim && !entry.ending;
      if (isFirst && isWaiting && kinds.has(entry.job.kind)) return entry;
    }
    return undefined;
  }

  #isKnown({ once }: NewJob): boolean {
    if (once === undefined) return false;
    return this.#book
      .entries()
      .some(({ newJob, job, change }) => newJob?.once?.key === once.key && (!isOver(job) || change > once.knownChange));
  }

  async #end(entry: Entry, outcome: JobOutcome): Promise<void> {
    if (entry.ending) return;
    clearTimeout(entry.notifyTimer);
    const ended = { ...entry.job, ...outcome, endedAt: formatW3cDate(this.#clock()) };
    entry.ending = ended;
    // When the journal cannot be written, the work is still done. After a restart the job shows as interrupted.
    await this.#write(entry).catch(() => {});
    await this.#hooks.onOver(ended).catch(() => {});
    this.#alter(entry, ended);
    entry.isKept = this.#hooks.keeps(ended);
    this.#book.forget();
    this.#book.notify();
  }

  #put(job: Job, newJob: NewJob | undefined): Entry {
    const state = {
      isSubmitted: false,
      claim: undefined,
      ending: undefined,
      notifyTimer: undefined,
      hasProgress: false,
    };
    const entry: Entry = { job, change: ++this.#change, isKept: false, newJob, ...state };
    this.#book.set(entry);
    return entry;
  }

  #alter(entry: Entry, changes: Partial<Job>): void {
    entry.job = { ...entry.job, ...changes };
    entry.change = ++this.#change;
  }

  #notifyProgress(entry: Entry): void {
    entry.notifyTimer = undefined;
    if (!entry.hasProgress || entry.ending) return;
    entry.hasProgress = false;
    this.#alter(entry, {});
    this.#book.notify();
    entry.notifyTimer = setTimeout(() => this.#notifyProgress(entry), NOTIFY_MS);
    entry.notifyTimer.unref();
  }

  #write(entry: Entry): Promise<void> {
    const latest = ({ job, ending }: Entry) => ending ?? job;
    return this.#journal.write(latest(entry), () => this.#book.entries().map(latest));
  }
}
