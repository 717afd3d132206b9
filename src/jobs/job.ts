/** A job is work that runs in a server for a while: adds, crawls, exports. Every queue keeps jobs in this form. */

export const LOG_LINES_MAX = 100;
export const LOG_LINE_CHARACTERS_MAX = 1000;

export type JobState = 'queued' | 'running' | 'done' | 'failed' | 'cancelled';

export type JobError = {
  readonly code: string;
  readonly message: string;
  readonly advice: string;
  readonly where?: string;
};

export type JobProgress = {
  readonly done: number;
  readonly total?: number;
  /** `bytes`, `captures`, `pages`. */
  readonly unit: string;
  readonly message?: string;
  readonly detail?: Readonly<Record<string, number | string>>;
};

/** Who started a job: a person, a named token, the server (its token or a schedule), or a user of the machine. */
export type JobStarter = {
  readonly kind: 'person' | 'token' | 'server' | 'system' | 'anonymous';
  readonly name: string;
  /** How the sign-in service identifies a person. */
  readonly id?: string;
};

export type Job = {
  readonly id: string;
  readonly kind: string;
  readonly state: JobState;
  readonly origin: 'api' | 'command';
  /** Absent for jobs that nobody started, such as those of schedules. */
  readonly by?: JobStarter;
  readonly input?: unknown;
  readonly createdAt: string;
  readonly startedAt?: string;
  readonly endedAt?: string;
  /** In a cluster: the server that runs the job, has run it, or alone may run it. */
  readonly server?: string;
  /** In a cluster, from the second time on: which time it is that the job runs or will run. */
  readonly attempt?: number;
  readonly progress?: JobProgress;
  readonly report?: unknown;
  readonly error?: JobError;
  readonly log: readonly string[];
};

export function isOver({ state }: Pick<Job, 'state'>): boolean {
  return state === 'done' || state === 'failed' || state === 'cancelled';
}

/**
 * The error of a job whose server stopped or died. The work of the job so far is safe, and the job can be run again.
 */
export const INTERRUPTED: JobError = {
  code: 'JOB_INTERRUPTED',
  message: 'the server stopped before the job was done',
  advice: 'The work done so far is safe. Run the job again; it continues from there.',
};

export function isInterrupted({ error }: Pick<Job, 'error'>): boolean {
  return error?.code === INTERRUPTED.code;
}

/** Adds a line to a log. The oldest line is dropped when the log is full. */
export function withLine(log: readonly string[], line: string): string[] {
  return [...log, line.slice(0, LOG_LINE_CHARACTERS_MAX)].slice(-LOG_LINES_MAX);
}
