/**
 * Runs the jobs of this server: claims what its kinds can run, gives each job a directory for temporary files, and ends
 * it. A job whose claim is lost is stopped, and nothing of it is recorded any more. When the server stops, a job that
 * another server can begin again is given back; others are interrupted.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Archive } from '../archive/index.ts';
import type { IdSource } from '../base/index.ts';
import { INTERRUPTED, isOver, type Job, type JobError, type JobProgress, type JobStarter } from './job.ts';
import type { JobClaim } from './job-claim.ts';
import type { JobOutcome, JobQueue, Once } from './job-queue.ts';

/** After a failure to ask for jobs, and in case a change was missed. */
const CLAIM_AGAIN_MS = 1000;

/** What a job gets while it runs. */
export type RunningJob = {
  readonly archive: Archive;
  readonly jobId: string;
  /** 1, or more when other servers died or stopped while they ran the job. */
  readonly attempt: number;
  readonly input: unknown;
  readonly signal: AbortSignal;
  progress(progress: JobProgress): void;
  /** Adds a line to the log of the job. */
  say(line: string): void;
  /** Sets the report so far. The report is kept even when the job fails or is cancelled. */
  report(report: unknown): void;
  /** A directory for temporary files. It is removed when the job ends. */
  readonly scratch: string;
};

/** Returns the report, which must be JSON. */
export type JobRun = (job: RunningJob) => Promise<unknown>;

/** A kind of jobs. */
export type JobWork = {
  readonly name: string;
  /** False for work that must not be left half done while the archive is in use. The default is true. */
  readonly isCancellable?: boolean;
  /**
   * Whether another server may begin the job again, with the same input, when its server has died or stopped: the work
   * continues from what is in the archive, or may be done twice. By default it is not.
   */
  isResumable?(input: unknown): boolean;
  /** Whether the input is on the machine of the server that accepts the job, so that no other may run it. */
  isLocal?(input: unknown, archive: Archive): boolean;
  run(job: RunningJob): Promise<unknown>;
};

export type Submission = {
  readonly input: unknown;
  readonly origin: Job['origin'];
  readonly by?: JobStarter | undefined;
  /** A job without a lane runs at once. */
  readonly lane: string | undefined;
  readonly once?: Once;
  /** Runs the job instead of its kind. Only this process can run it then. */
  readonly run?: JobRun;
};

/** How failures become errors of jobs and of requests. */
export type JobErrors = {
  readonly errorOf: (error: unknown) => JobError;
  /** The error for a caller whose job was refused. */
  readonly refusal: (why: 'full' | 'stopping') => Error;
};

export type JobRunnerOptions = {
  readonly queue: JobQueue;
  readonly archive: Archive;
  readonly newId: IdSource;
  readonly errors: JobErrors;
};

export class JobRunner {
  readonly queue: JobQueue;
  readonly #options: JobRunnerOptions;
  readonly #works = new Map<string, JobWork>();
  /** Jobs that run by a function of this process. */
  readonly #runs = new Map<string, JobRun>();
  readonly #running = new Map<JobClaim, Promise<void>>();
  readonly #waiting = new Map<string, (job: Job) => void>();
  #seenChange = 0;
  #unsubscribe: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClaiming = false;
  #isClaimDue = false;
  #isStopping = false;

  constructor(options: JobRunnerOptions) {
    this.#options = options;
    this.queue = options.queue;
  }

  /** Begins to run jobs of these kinds. */
  start(works: readonly JobWork[]): void {
    for (const work of works) this.#works.set(work.name, work);
    this.#unsubscribe = this.queue.subscribe(() => this.#onChange());
    this.#timer = setInterval(() => this.#claimAll(), CLAIM_AGAIN_MS);
    this.#timer.unref();
    this.#onChange();
  }

  /** Adds a job. It is durable when this returns. Undefined when `once` has left it out. */
  async submitOnce(kind: string, submission: Submission): Promise<{ job: Job; over: Promise<Job> } | undefined> {
    const { archive, newId, errors } = this.#options;
    if (this.#isStopping) throw errors.refusal('stopping');
    const { input, origin, by, lane, once, run } = submission;
    const work = this.#works.get(kind);
    const id = newId().replace(/^<urn:uuid:|>$/g, '');
    const { promise: over, resolve } = Promise.withResolvers<Job>();
    this.#waiting.set(id, resolve);
    if (run) this.#runs.set(id, run);
    const place = {
      isCancellable: work?.isCancellable ?? true,
      isResumable: work?.isResumable?.(input) ?? false,
      isLocal: run !== undefined || (work?.isLocal?.(input, archive) ?? false),
    };
    try {
      const submitted = await this.queue.submit({ id, kind, input, origin, by, lane, ...place, once });
      if (submitted.kind === 'refused') throw errors.refusal(submitted.why);
      if (submitted.kind === 'submitted') return { job: submitted.job, over };
      this.#forget(id);
      return undefined;
    } catch (error) {
      this.#forget(id);
      throw error;
    }
  }

  async submit(kind: string, submission: Omit<Submission, 'once'>): Promise<{ job: Job; over: Promise<Job> }> {
    return (await this.submitOnce(kind, submission))!;
  }

  /** Asks all jobs of this server to stop, and settles when they have ended and the queue is closed. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    for (const claim of this.#running.keys()) claim.stop('stopping');
    await Promise.all(this.#running.values());
    await this.queue.close();
    this.#unsubscribe?.();
  }

  #forget(id: string): void {
    this.#waiting.delete(id);
    this.#runs.delete(id);
  }

  #onChange(): void {
    for (const { job, change } of this.queue.changedSince(this.#seenChange)) {
      this.#seenChange = change;
      if (!isOver(job)) continue;
      this.#waiting.get(job.id)?.(job);
      this.#forget(job.id);
    }
    // The numbers of a database that was restored begin earlier.
    this.#seenChange = Math.min(this.#seenChange, this.queue.lastChange);
    this.#claimAll();
  }

  #claimAll(): void {
    this.#isClaimDue = true;
    if (this.#isClaiming || this.#isStopping) return;
    this.#isClaiming = true;
    void this.#claimDue().finally(() => {
      this.#isClaiming = false;
    });
  }

  async #claimDue(): Promise<void> {
    const kinds = new Set(this.#works.keys());
    while (this.#isClaimDue && !this.#isStopping) {
      this.#isClaimDue = false;
      // A lost job may be claimed again here. It does not begin before its first run has stopped.
      if ([...this.#running.keys()].some(({ isLost }) => isLost)) return;
      try {
        for (let claim = await this.queue.claim(kinds); claim; claim = await this.queue.claim(kinds)) {
          const { promise, resolve } = Promise.withResolvers<void>();
          this.#running.set(claim, promise);
          void this.#work(claim).finally(() => {
            this.#running.delete(claim);
            resolve();
            if (claim.isLost) this.#claimAll();
          });
        }
      } catch {
        // The queue cannot be asked now. The timer asks again.
      }
    }
  }

  async #work(claim: JobClaim): Promise<void> {
    const { id } = claim.job;
    if (this.#isStopping) claim.stop('stopping');
    const scratch = join(this.#options.archive.scratch, `job-${id}-${claim.epoch}`);
    let outcome: JobOutcome | undefined;
    try {
      await claim.durable;
      claim.signal.throwIfAborted();
      await mkdir(scratch, { recursive: true });
      outcome = { state: 'done', report: await this.#runOf(claim)(this.#contextOf(claim, scratch)) };
    } catch (error) {
      outcome = this.#outcomeOf(claim, error);
    }
    await rm(scratch, { recursive: true, force: true }).catch(() => {});
    if (claim.isLost) return;
    if (outcome || !(await this.queue.giveBack(claim)))
      await this.queue.end(claim, outcome ?? { state: 'failed', error: INTERRUPTED });
  }

  /** Undefined when the job stopped because the server stops. */
  #outcomeOf(claim: JobClaim, error: unknown): JobOutcome | undefined {
    if (!claim.signal.aborted || !isAbort(error))
      return { state: 'failed', error: this.#options.errors.errorOf(error) };
    return claim.reason === 'cancelled' ? { state: 'cancelled' } : undefined;
  }

  #runOf({ job }: JobClaim): JobRun {
    const run = this.#runs.get(job.id);
    if (run) return run;
    const work = this.#works.get(job.kind)!;
    return (context) => work.run(context);
  }

  #contextOf(claim: JobClaim, scratch: string): RunningJob {
    const { queue } = this;
    return {
      archive: this.#options.archive,
      jobId: claim.job.id,
      attempt: claim.epoch,
      input: claim.job.input,
      signal: claim.signal,
      progress: (progress) => queue.record(claim, { progress }),
      say: (line) => queue.record(claim, { line }),
      report: (report) => queue.record(claim, { report }),
      scratch,
    };
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}
