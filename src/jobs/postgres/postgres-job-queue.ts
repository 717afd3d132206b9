/**
 * The queue of a cluster: jobs are rows of PostgreSQL, and any server runs them. job-tables.ts has the rules.
 *
 * - Every statement that changes a claimed job asks for its server and epoch, and for a lease that has not ended. Who
 *   has lost a claim therefore changes nothing.
 * - This process has a copy of all jobs in a book. It reads the rows that changed since: at every message of another
 *   server, and without one after POLL_MS. Messages only make it quicker.
 * - A change that got no answer is asked for again. The statements are such that doing it twice is doing it once.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Exclusive, type IdSource, PinakesError } from '../../base/index.ts';
import { type Database, migrate } from '../../database/index.ts';
import { isOver, type Job, type JobError, type JobState } from '../job.ts';
import { JobBook } from '../job-book.ts';
import { JobClaim } from '../job-claim.ts';
import type {
  Cancelled,
  JobChange,
  JobHooks,
  JobOutcome,
  JobOutput,
  JobQueue,
  NewJob,
  Submitted,
} from '../job-queue.ts';
import { ClaimedJob } from './claimed-job.ts';
import {
  cancelJob,
  claimJob,
  endJob,
  giveJobBack,
  insertJob,
  type JobServer,
  releaseJob,
  writeOutput,
} from './job-changes.ts';
import { type JobRow, jobColumns, jobRowOf } from './job-row.ts';
import { JOB_MIGRATIONS } from './job-tables.ts';
import { CHANNEL, inTurn, type JobTurn } from './job-turn.ts';
import { endServers, HAS_ENDED, isOrphaned } from './orphaned-jobs.ts';
import { ServerLease } from './server-lease.ts';

/** A claim of a server that is silent for so long ends. */
const LEASE_MS = 30_000;
const POLL_MS = 1000;
/** Output of a running job is written this often. */
const WRITE_MS = 500;
/** A change without an answer is asked for again after this time. */
const AGAIN_MS = 500;
const AGAIN_MAX = 8;
/** Ended servers are looked for so many times in the length of a lease. */
const CHECKS = 5;

export type PostgresJobQueueOptions = {
  readonly database: Database;
  /** The name of this server, for people. */
  readonly server: string;
  readonly newId: IdSource;
  /** Milliseconds that never go back. */
  readonly stopwatch: () => number;
  readonly leaseMs?: number | undefined;
  readonly pollMs?: number;
};

export class PostgresJobQueue implements JobQueue {
  readonly server: string;
  readonly #database: Database;
  readonly #lease: ServerLease;
  readonly #leaseMs: number;
  readonly #pollMs: number;
  readonly #stopwatch: () => number;
  readonly #book = new JobBook<JobRow>();
  readonly #claimed = new Map<string, ClaimedJob>();
  readonly #claiming = new Exclusive();
  #hooks: JobHooks = { keeps: () => false, onOver: async () => {} };
  #historyId = '';
  #change = 0;
  #reading: Promise<void> = Promise.resolve();
  #nextReading: Promise<void> | undefined;
  #listener: Disposable | undefined;
  #pollTimer: NodeJS.Timeout | undefined;
  #endedCheckAt = Number.NEGATIVE_INFINITY;
  #isClosing = false;

  private constructor({ database, server, newId, stopwatch, ...times }: PostgresJobQueueOptions) {
    this.#database = database;
    this.server = server;
    this.#stopwatch = stopwatch;
    const { leaseMs = LEASE_MS, pollMs = POLL_MS } = times;
    this.#leaseMs = leaseMs;
    this.#pollMs = pollMs;
    const onLost = () => this.#loseAll();
    this.#lease = new ServerLease({ database, name: server, newId, leaseMs, stopwatch, onLost });
  }

  static async open(options: PostgresJobQueueOptions): Promise<PostgresJobQueue> {
    await migrate(options.database, 'jobs', JOB_MIGRATIONS);
    const queue = new PostgresJobQueue(options);
    await queue.#refresh();
    return queue;
  }

  get historyId(): string {
    return this.#historyId;
  }

  async start(hooks: JobHooks): Promise<void> {
    this.#hooks = hooks;
    await this.#lease.start();
    await this.#inTurn((turn) => endServers(turn, undefined, hooks.keeps));
    this.#listener = this.#database.listen(CHANNEL, () => this.#wake());
    this.#poll();
  }

  async submit(newJob: NewJob): Promise<Submitted> {
    if (this.#isClosing) return { kind: 'refused', why: 'stopping' };
    const outcome = await this.#inTurn(async (turn) => {
      const inserted = await insertJob(turn, newJob, this.#own);
      // The next lease is taken at once.
      if (inserted === 'no-lease') throw this.#unreachable('this server has lost its lease');
      return inserted;
    });
    if (outcome === 'left-out') return { kind: 'left-out' };
    if (outcome === 'full') return { kind: 'refused', why: 'full' };
    await this.#refresh();
    const job = this.#book.get(newJob.id)?.job;
    if (!job) throw this.#unreachable('the job is over and forgotten');
    return { kind: 'submitted', job };
  }

  async get(id: string): Promise<Job | undefined> {
    await this.#refresh();
    return this.#book.get(id)?.job;
  }

  async list(): Promise<Job[]> {
    await this.#refresh();
    return this.#book.list();
  }

  async counts(): Promise<Record<JobState, number>> {
    return this.#book.counts();
  }

  async isBusy(lane: string): Promise<boolean> {
    await this.#refresh();
    return this.#book.open().some((row) => row.lane === lane);
  }

  async cancel(id: string): Promise<Cancelled> {
    const cancelled = await this.#inTurn((turn) => cancelJob(turn, id));
    await this.#refresh();
    return cancelled;
  }

  async release(id: string): Promise<void> {
    await this.#inTurn((turn) => releaseJob(turn, id));
    await this.#refresh();
    await this.#forget();
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

  claim(kinds: ReadonlySet<string>): Promise<JobClaim | undefined> {
    return this.#claiming.run(async () => {
      await this.#refresh();
      if (this.#isClosing || !this.#lease.isHeld) return undefined;
      const own = this.#own;
      let row = this.#unansweredClaim(own.id);
      if (!row && this.#mayClaim(kinds, own.id)) {
        row = await this.#inTurn((turn) => claimJob(turn, kinds, own));
        await this.#refresh();
        row ??= this.#unansweredClaim(own.id);
      }
      // When the lease has ended meanwhile, the job is that of a dead server.
      if (!row || this.#lease.id !== own.id || !this.#lease.isHeld) return undefined;
      const claim = new JobClaim(row.job, row.epoch, row.isResumable && !row.isLocal);
      this.#claimed.set(row.job.id, new ClaimedJob(claim, own.id, row.lines));
      // It may have been cancelled meanwhile.
      const now = this.#book.get(row.job.id);
      if (now) this.#enter(now);
      return claim;
    });
  }

  record(claim: JobClaim, output: JobOutput): void {
    const job = this.#heldJob(claim);
    if (!job || job.isEnding) return;
    job.add(output);
    if (job.timer === undefined) this.#writeSoon(job, 0);
  }

  async end(claim: JobClaim, outcome: JobOutcome): Promise<boolean> {
    const job = await this.#beginEnd(claim);
    if (!job) return false;
    let current = outcome;
    for (let attempt = 1; !claim.isLost; attempt++) {
      const output = job.take();
      try {
        const ended = endedJob(this.#book.get(claim.job.id)?.job ?? claim.job, current);
        const isKept = this.#hooks.keeps(ended);
        const outcomeNow = current;
        const isEnded = await inTurn(this.#database, (turn) => endJob(turn, job, output, outcomeNow, isKept));
        if (!isEnded) break;
        await this.#hooks.onOver(ended).catch(() => {});
        await this.#refreshSoon();
        return true;
      } catch (error) {
        // What cannot be written at all must not leave the job running for ever.
        if (isRetryable(error) || attempt > AGAIN_MAX) job.putBack(output);
        else current = { state: 'failed', error: unwritable(error) };
        await delay(AGAIN_MS, undefined, { ref: false });
      }
    }
    this.#drop(job);
    return false;
  }

  async giveBack(claim: JobClaim): Promise<boolean> {
    if (!claim.isResumable) return false;
    this.record(claim, { line: `the server ${this.server} is stopping; the job begins again on another` });
    const job = await this.#beginEnd(claim);
    if (!job) return false;
    const output = job.take();
    try {
      const isGiven = await this.#inTurn((turn) => giveJobBack(turn, job, output));
      job.isEnding = isGiven;
      await this.#refreshSoon();
      return isGiven;
    } catch {
      job.isEnding = false;
      return false;
    }
  }

  /** Jobs that only this server could run fail. The others wait for another server. */
  async close(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    clearInterval(this.#pollTimer);
    this.#listener?.[Symbol.dispose]();
    await this.#claiming.idle();
    const { id } = this.#lease;
    this.#lease.close();
    for (const job of this.#claimed.values()) this.#drop(job);
    // When the database cannot be asked now, the lease ends by itself.
    if (id !== '') await inTurn(this.#database, (turn) => endServers(turn, id, this.#hooks.keeps)).catch(() => {});
    await this.#reading.catch(() => {});
  }

  get #own(): JobServer {
    return { id: this.#lease.id, name: this.server };
  }

  #heldJob(claim: JobClaim): ClaimedJob | undefined {
    const job = this.#claimed.get(claim.job.id);
    return job?.claim === claim && !claim.isLost ? job : undefined;
  }

  /** A job that this server has claimed without hearing of it. */
  #unansweredClaim(serverId: string): JobRow | undefined {
    return this.#book
      .open()
      .find(({ job, ...row }) => job.state === 'running' && row.serverId === serverId && !this.#claimed.has(job.id));
  }

  /** Whether there may be a job for this server, as far as it knows. */
  #mayClaim(kinds: ReadonlySet<string>, serverId: string): boolean {
    const lanes = new Set<string>();
    for (const { job, lane, isLocal, serverId: owner } of this.#book.open()) {
      const isFirst = lane === undefined || !lanes.has(lane);
      if (lane !== undefined) lanes.add(lane);
      const isHere = !isLocal || owner === serverId;
      if (isFirst && job.state === 'queued' && isHere && kinds.has(job.kind)) return true;
    }
    return false;
  }

  #writeSoon(job: ClaimedJob, ms: number): void {
    job.timer = setTimeout(() => {
      job.writing = this.#writeOutput(job);
      void job.writing.then(() => {
        job.timer = undefined;
        if (job.hasOutput && !job.isEnding && !job.claim.isLost) this.#writeSoon(job, WRITE_MS);
      });
    }, ms);
    job.timer.unref();
  }

  async #writeOutput(job: ClaimedJob): Promise<void> {
    if (!job.hasOutput || job.isEnding || job.claim.isLost) return;
    const output = job.take();
    try {
      if (!(await inTurn(this.#database, (turn) => writeOutput(turn, job, output)))) this.#drop(job);
    } catch {
      // It is written with the next output, or with the end.
      job.putBack(output);
    }
  }

  /** From here on only the end is written. Undefined when the claim is lost, or ends already. */
  async #beginEnd(claim: JobClaim): Promise<ClaimedJob | undefined> {
    const job = this.#heldJob(claim);
    if (!job || job.isEnding) return undefined;
    job.isEnding = true;
    clearTimeout(job.timer);
    await job.writing;
    return this.#heldJob(claim);
  }

  #drop(job: ClaimedJob): void {
    job.claim.stop('lost');
    clearTimeout(job.timer);
    const { id } = job.claim.job;
    if (this.#claimed.get(id) === job) this.#claimed.delete(id);
  }

  #loseAll(): void {
    for (const job of [...this.#claimed.values()]) this.#drop(job);
  }

  /** Does a change that can be asked for twice, again when it got no answer. */
  async #inTurn<Value>(change: (turn: JobTurn) => Promise<Value>): Promise<Value> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await inTurn(this.#database, change);
      } catch (error) {
        if (!isRetryable(error) || attempt >= AGAIN_MAX || this.#isClosing) throw error;
      }
      await delay(AGAIN_MS, undefined, { ref: false });
    }
  }

  #poll(): void {
    this.#pollTimer = setInterval(() => {
      this.#wake();
      void this.#endDeadServers().catch(() => {});
    }, this.#pollMs);
    this.#pollTimer.unref();
  }

  #wake(): void {
    void this.#refreshSoon();
  }

  async #endDeadServers(): Promise<void> {
    const now = this.#stopwatch();
    if (now < this.#endedCheckAt) return;
    this.#endedCheckAt = now + this.#leaseMs / CHECKS;
    const { schema } = this.#database;
    const [found] = await this.#database.query(
      `select exists (select from ${schema}.job_servers where ${HAS_ENDED}) or
         exists (select from ${schema}.jobs j where ${isOrphaned(schema)}) as has_ended`,
    );
    if (found!.has_ended === true)
      await inTurn(this.#database, (turn) => endServers(turn, undefined, this.#hooks.keeps));
  }

  async #refreshSoon(): Promise<void> {
    await this.#refresh().catch(() => {});
  }

  /** Reads the changes up to one after this call. */
  #refresh(): Promise<void> {
    this.#nextReading ??= this.#reading
      .catch(() => {})
      .then(() => {
        this.#nextReading = undefined;
        this.#reading = this.#readChanges();
        return this.#reading;
      });
    return this.#nextReading;
  }

  async #readChanges(): Promise<void> {
    const { schema } = this.#database;
    const [history] = await this.#database.query(`select name, change from ${schema}.job_history`);
    const { name, change } = history as { name: string; change: number };
    // A database that went back has dealt numbers that it deals again.
    if (name !== this.#historyId || change < this.#change) {
      this.#book.clear();
      this.#change = 0;
      this.#historyId = name;
    }
    if (change === this.#change) return;
    const rows = await this.#database.query(
      `select ${jobColumns(schema)} from ${schema}.jobs j where change > $1 order by number`,
      [this.#change],
    );
    const changed = rows.map(jobRowOf);
    this.#change = Math.max(change, ...changed.map((row) => row.change));
    const ended = changed.filter((row) => this.#enter(row));
    await this.#forget();
    this.#book.notify();
    // Not awaited: the hook may wait for the next reading.
    for (const { job } of ended) void this.#hooks.onOver(job).catch(() => {});
  }

  /** Enters a row in the book. Returns whether it ended a job that waited for this server alone. */
  #enter(row: JobRow): boolean {
    const { job, serverId, epoch, isCancelled, isLocal } = row;
    const before = this.#book.get(job.id)?.job.state;
    this.#book.set(row);
    const claimed = this.#claimed.get(job.id);
    if (claimed && epoch >= claimed.claim.epoch) {
      const isHeld = job.state === 'running' && claimed.isOf(job, serverId, epoch);
      if (isHeld && isCancelled) claimed.claim.stop('cancelled');
      if (!isHeld && claimed.isEnding) this.#claimed.delete(job.id);
      else if (!isHeld) this.#drop(claimed);
    }
    return isLocal && before === 'queued' && isOver(job) && serverId !== '' && serverId === this.#lease.id;
  }

  async #forget(): Promise<void> {
    const ids = this.#book.forget();
    if (ids.length === 0) return;
    const { schema } = this.#database;
    const over = `state not in ('queued', 'running') and not is_kept`;
    // Every server forgets the same jobs, so it does no harm when this fails.
    await this.#database
      .query(`delete from ${schema}.jobs where id = any($1::text[]) and ${over}`, [ids])
      .catch(() => {});
  }

  #unreachable(detail: string): PinakesError {
    return new PinakesError('CATALOG_UNREACHABLE', { where: this.#database.where, detail });
  }
}

function endedJob(job: Job, outcome: JobOutcome): Job {
  return { ...job, ...outcome };
}

function isRetryable(error: unknown): boolean {
  return error instanceof PinakesError && error.retryable;
}

function unwritable(error: unknown): JobError {
  return {
    code: 'INTERNAL',
    message: `the result of the job cannot be written: ${error instanceof Error ? error.message : String(error)}`,
    advice: 'This is a bug in Pinakes. Please report it.',
  };
}
