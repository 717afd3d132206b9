/**
 * The right to run a job once. A claim is a lease: it ends when the server cannot renew it in time, and then the signal
 * is aborted with `lost`. Each claim of a job has a higher epoch than the one before.
 */
import type { Job } from './job.ts';

/** Why a job has to stop: someone cancelled it, its server is stopping, or its server has lost the claim. */
export type StopReason = 'cancelled' | 'stopping' | 'lost';

export class JobClaim {
  /** The job as it was claimed. */
  readonly job: Job;
  readonly epoch: number;
  readonly isResumable: boolean;
  /** Settles when the claim is durable. Rejects when it could not be made so, and the job must fail. */
  readonly durable: Promise<void>;
  readonly #controller = new AbortController();
  #reason: StopReason | undefined;

  constructor(job: Job, epoch: number, isResumable: boolean, durable: Promise<void> = Promise.resolve()) {
    this.job = job;
    this.epoch = epoch;
    this.isResumable = isResumable;
    this.durable = durable;
  }

  /** Aborted when the job has to stop. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get reason(): StopReason | undefined {
    return this.#reason;
  }

  get isLost(): boolean {
    return this.#reason === 'lost';
  }

  /** Asks the job to stop. A lost claim stays lost; otherwise the first reason counts. */
  stop(reason: StopReason): void {
    if (this.#reason === undefined || reason === 'lost') this.#reason = reason;
    this.#controller.abort();
  }
}
