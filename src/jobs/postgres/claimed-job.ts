/**
 * What a claimed job has told and the database does not have yet. It is written at intervals, and the rest together
 * with the end of the job.
 */
import { type Job, type JobProgress, LOG_LINE_CHARACTERS_MAX, LOG_LINES_MAX } from '../job.ts';
import type { JobClaim } from '../job-claim.ts';
import type { JobOutput } from '../job-queue.ts';

export type UnwrittenOutput = {
  readonly progress: JobProgress | undefined;
  readonly report: unknown;
  /** The last lines. */
  readonly lines: readonly string[];
  /** How many lines the log has had with these. */
  readonly count: number;
};

export class ClaimedJob {
  readonly claim: JobClaim;
  /** The server that holds the claim. */
  readonly serverId: string;
  /** Set while the job ends. */
  isEnding = false;
  /** The write under way. */
  writing: Promise<void> = Promise.resolve();
  /** Set until the next write may begin. */
  timer: NodeJS.Timeout | undefined;
  #progress: JobProgress | undefined;
  #report: unknown;
  #lines: string[] = [];
  #count: number;

  constructor(claim: JobClaim, serverId: string, lines: number) {
    this.claim = claim;
    this.serverId = serverId;
    this.#count = lines;
  }

  get hasOutput(): boolean {
    return this.#progress !== undefined || this.#report !== undefined || this.#lines.length > 0;
  }

  add({ progress, report, line }: JobOutput): void {
    if (progress !== undefined) this.#progress = progress;
    if (report !== undefined) this.#report = report;
    if (line === undefined) return;
    this.#lines.push(line.slice(0, LOG_LINE_CHARACTERS_MAX));
    this.#count++;
    if (this.#lines.length > LOG_LINES_MAX) this.#lines.shift();
  }

  /** Takes what is to be written. */
  take(): UnwrittenOutput {
    const output = { progress: this.#progress, report: this.#report, lines: this.#lines, count: this.#count };
    this.#progress = undefined;
    this.#report = undefined;
    this.#lines = [];
    return output;
  }

  /** Puts back what could not be written. What was added since is newer. */
  putBack({ progress, report, lines }: UnwrittenOutput): void {
    this.#progress ??= progress;
    this.#report ??= report;
    this.#lines = [...lines, ...this.#lines].slice(-LOG_LINES_MAX);
  }

  /** Whether a row of this id, server and epoch is that of this claim. */
  isOf(job: Pick<Job, 'id'>, serverId: string | undefined, epoch: number): boolean {
    return job.id === this.claim.job.id && serverId === this.serverId && epoch === this.claim.epoch;
  }
}
