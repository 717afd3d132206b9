/** A job is work that runs in the server. The queue and the journal keep it in this form. */
import { PinakesError } from '../../base/index.ts';
import { HttpProblem } from '../http/problem.ts';
import type { JobProgress } from './job-kind.ts';

export const LOG_LINES_MAX = 100;
const LOG_LINE_CHARACTERS_MAX = 1000;

export type JobError = {
  readonly code: string;
  readonly message: string;
  readonly advice: string;
  readonly where?: string;
};

export type Job = {
  readonly id: string;
  readonly kind: string;
  readonly state: 'queued' | 'running' | 'done' | 'failed' | 'cancelled';
  readonly origin: 'api' | 'command';
  readonly input?: unknown;
  readonly createdAt: string;
  readonly startedAt?: string;
  readonly endedAt?: string;
  readonly progress?: JobProgress;
  readonly report?: unknown;
  readonly error?: JobError;
  readonly log: readonly string[];
};

export function isOver({ state }: Job): boolean {
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

export function jobErrorOf(error: unknown): JobError {
  if (error instanceof PinakesError || error instanceof HttpProblem) {
    const { code, message, advice, where } = error instanceof HttpProblem ? error.problem : error;
    return { code, message, advice, ...(where !== undefined && { where }) };
  }
  return {
    code: 'INTERNAL',
    message: `an unexpected error in Pinakes: ${error instanceof Error ? error.message : String(error)}`,
    advice: 'This is a bug in Pinakes. Please report it.',
  };
}

/** Adds a line to a log. The oldest line is dropped when the log is full. */
export function withLine(log: readonly string[], line: string): string[] {
  return [...log, line.slice(0, LOG_LINE_CHARACTERS_MAX)].slice(-LOG_LINES_MAX);
}
