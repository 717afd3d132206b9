/**
 * The queue of jobs, as a contract that every implementation keeps:
 *
 * - A job is durable before `submit` returns, and its start and its end are durable before listeners are called.
 * - Jobs of one lane run one after another, in the order of their submission, in the whole archive. Lanes run in
 *   parallel. A job without a lane runs at once.
 * - A job is claimed by one server at a time. Who has lost a claim can neither record progress nor end the job.
 * - Every change of a job has a number. The numbers rise, and become visible in their order. Each job has the number of
 *   its last change, so a listener that knows everything up to a number asks for the jobs that changed after it, and
 *   nothing is kept for slow listeners. Listeners are called about progress at most a few times a second.
 * - The history is bounded: the last OVER_MAX jobs that are over, and those whose file is still needed.
 *
 * On one machine the queue is in memory with a journal of files (files/). In a cluster it is rows of PostgreSQL that
 * any server runs (postgres/).
 */

import type { Job, JobError, JobProgress, JobStarter, JobState } from './job.ts';
import type { JobClaim } from './job-claim.ts';

/** How many jobs may wait or run. */
export const OPEN_MAX = 1000;
/** How many jobs that are over the history keeps. */
export const OVER_MAX = 200;

export type NewJob = {
  /** Must be new. */
  readonly id: string;
  readonly kind: string;
  readonly input: unknown;
  readonly origin: Job['origin'];
  readonly by?: JobStarter | undefined;
  /** A job without a lane runs at once. */
  readonly lane: string | undefined;
  /** False for work that must not be left half done. */
  readonly isCancellable: boolean;
  /** Whether another server may begin the job again, with the same input, when its server has died or stopped. */
  readonly isResumable: boolean;
  /** Whether only the server that submits the job may run it, because its input is there. */
  readonly isLocal: boolean;
  /** For jobs that several servers find due at the same time. */
  readonly once?: Once | undefined;
};

/**
 * The job is left out when another job with the same key is open, or has changed since the change of this number, which
 * was the last that the server knew when it found the job due.
 */
export type Once = { readonly key: string; readonly knownChange: number };

export type Submitted =
  | { readonly kind: 'submitted'; readonly job: Job }
  /** `once` has left the job out. */
  | { readonly kind: 'left-out' }
  /** Too many jobs wait, or the queue is closing. */
  | { readonly kind: 'refused'; readonly why: 'full' | 'stopping' };

export type JobChange = { readonly job: Job; readonly change: number };

/** What a running job has to tell. A field that is absent stays as it is. */
export type JobOutput = { readonly progress?: JobProgress; readonly report?: unknown; readonly line?: string };

export type JobOutcome =
  | { readonly state: 'done'; readonly report: unknown }
  | { readonly state: 'failed'; readonly error: JobError }
  | { readonly state: 'cancelled' };

/** What cancelling did: nothing, since the job is over or missing; nothing, since it may not; or the job will stop. */
export type Cancelled = 'over' | 'refused' | 'asked';

export type JobHooks = {
  /** Whether the history must keep this ended job, since it has a file. `release` ends that. */
  readonly keeps: (job: Job) => boolean;
  /**
   * Called when a job is over that ran on this server, or that only this server could have run. On one machine it is
   * called before the end is visible. Not called when the server died.
   */
  readonly onOver: (job: Job) => Promise<void>;
};

export type JobQueue = {
  /** Changes a text that is part of no other queue's changes: numbers count within it. Without dashes. */
  readonly historyId: string;
  /** The name of this server among the servers of a cluster. */
  readonly server: string | undefined;
  /**
   * Ends what other servers have left, and begins to give out claims. Jobs that were there before can be listed
   * earlier.
   */
  start(hooks: JobHooks): Promise<void>;
  submit(newJob: NewJob): Promise<Submitted>;
  get(id: string): Promise<Job | undefined>;
  /** All jobs, newest first. */
  list(): Promise<Job[]>;
  counts(): Promise<Record<JobState, number>>;
  /** Whether a new job of this lane would wait. */
  isBusy(lane: string): Promise<boolean>;
  /** Asks a job to stop at its next safe point, wherever it runs. A queued job ends at once. */
  cancel(id: string): Promise<Cancelled>;
  /** The file of an ended job is gone: the history may drop the job. */
  release(id: string): Promise<void>;
  /** The number of the last change that this server knows. */
  readonly lastChange: number;
  /** The jobs with changes after this number that this server knows, in order of their changes. */
  changedSince(change: number): JobChange[];
  /** Calls `listener` after changes, until the returned function is called. */
  subscribe(listener: () => void): () => void;
  /** Claims the next job of these kinds that may run here. */
  claim(kinds: ReadonlySet<string>): Promise<JobClaim | undefined>;
  /** Records what a claimed job tells. Nothing happens when the claim is lost. */
  record(claim: JobClaim, output: JobOutput): void;
  /** Ends a claimed job. Returns false when the claim is lost. */
  end(claim: JobClaim, outcome: JobOutcome): Promise<boolean>;
  /** Gives a claimed job back, so that another server runs it. Returns false when that is not possible. */
  giveBack(claim: JobClaim): Promise<boolean>;
  /** Gives out no claims any more. To be called when all claimed jobs have ended. */
  close(): Promise<void>;
};
