/** A job: work that runs in the server, as the API tells of it and as the journal keeps it. */
import { type Static, Type } from 'typebox';
import { PinakesError } from '../../base/index.ts';
import { HttpProblem } from '../http/problem.ts';
import { ErrorReply, named, When } from '../shape.ts';

const LOG_LINES_MAX = 100;
const LOG_LINE_CHARACTERS_MAX = 1000;

const JobState = Type.Enum(['queued', 'running', 'done', 'failed', 'cancelled'], { title: 'JobState' });

export const Job = named('Job', {
  id: Type.String(),
  kind: Type.String({ description: 'add, crawl, compact, verify, export, delete, rebuild.' }),
  state: JobState,
  origin: Type.Enum(['api', 'command'], {
    description:
      '`command`: begun on the command line; its input is the command, which only the command line can run again.',
  }),
  hasErrors: Type.Optional(
    Type.Boolean({ description: 'It is done, and found or left something wrong; its report says what.' }),
  ),
  input: Type.Optional(
    Type.Unknown({ description: 'As it was sent; send it again to run the job again. Only for who shows the token.' }),
  ),
  createdAt: When,
  startedAt: Type.Optional(When),
  endedAt: Type.Optional(When),
  progress: Type.Optional(
    named('JobProgress', {
      done: Type.Number({ minimum: 0 }),
      total: Type.Optional(Type.Number({ minimum: 0 })),
      unit: Type.String(),
      message: Type.Optional(Type.String()),
      detail: Type.Optional(Type.Record(Type.String(), Type.Union([Type.Number(), Type.String()]))),
    }),
  ),
  report: Type.Optional(Type.Unknown({ description: 'What came of it. Only for who shows the token.' })),
  error: Type.Optional(ErrorReply.properties.error),
  log: Type.Optional(
    Type.Array(Type.String(), {
      maxItems: LOG_LINES_MAX,
      description: 'The last lines. Only for who shows the token.',
    }),
  ),
});

export type ToldJob = Static<typeof Job>;
export type Job = Omit<ToldJob, 'hasErrors' | 'log'> & { readonly log: readonly string[] };
export type JobError = NonNullable<Job['error']>;

export function isOver({ state }: Job): boolean {
  return state === 'done' || state === 'failed' || state === 'cancelled';
}

/** The job as it is told to who shows the token. */
export function toldJob(job: Job): ToldJob {
  return { ...job, log: [...job.log], ...(hasErrors(job) && { hasErrors: true }) };
}

/** The job as it is told to everyone: not what it is about, or a deletion would publish what it deletes. */
export function toldInPublic(job: Job): ToldJob {
  const { id, kind, state, origin, createdAt, startedAt, endedAt, progress } = job;
  return {
    ...{ id, kind, state, origin, createdAt },
    ...(hasErrors(job) && { hasErrors: true }),
    ...(startedAt !== undefined && { startedAt }),
    ...(endedAt !== undefined && { endedAt }),
    ...(progress && { progress: numbersOf(progress) }),
  };
}

function numbersOf({ done, total, unit }: NonNullable<Job['progress']>): NonNullable<Job['progress']> {
  return { done, unit, ...(total !== undefined && { total }) };
}

const EXIT_FOUND = 1;

/** Whether a job that is done would end a command with 1. */
function hasErrors({ kind, state, report }: Job): boolean {
  if (state !== 'done' || typeof report !== 'object' || report === null) return false;
  const facts = report as Readonly<Record<string, unknown>>;
  if (typeof facts.exitCode === 'number') return facts.exitCode === EXIT_FOUND;
  if (kind === 'verify') return isSome(facts.errors);
  if (kind === 'add') return isSome(facts.failed) || isSome(facts.errors);
  if (kind === 'export') return isSome(facts.unresolved) || isSome(facts.damaged) || isSome(facts.leftOut);
  if (kind === 'compact') return isSome(facts.damaged) || isSome(facts.doubled);
  const { pages, failed } = (facts.counts ?? {}) as Readonly<Record<string, unknown>>;
  return kind === 'crawl' && pages === 0 && isSome(failed);
}

/** Whether a count, or a list, is of any. */
function isSome(fact: unknown): boolean {
  return Array.isArray(fact) ? fact.length > 0 : typeof fact === 'number' && fact > 0;
}

/** A server that stops or dies takes its jobs with it; what they did so far is safe, and they can be run again. */
export const INTERRUPTED: JobError = {
  code: 'JOB_INTERRUPTED',
  message: 'the server stopped before the job was done',
  advice: 'What was done so far is safe. Run the job again; it goes on where it was.',
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
    message: `something went wrong that should not have: ${error instanceof Error ? error.message : String(error)}`,
    advice: 'This is a bug in Pinakes. Please report it.',
  };
}

/** The log with one line more, the oldest lines dropped. */
export function withLine(log: readonly string[], line: string): string[] {
  return [...log, line.slice(0, LOG_LINE_CHARACTERS_MAX)].slice(-LOG_LINES_MAX);
}
