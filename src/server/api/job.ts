/** A job: work that runs in the server, as the API tells of it and as the journal keeps it. */
import { type Static, Type } from 'typebox';
import { PinakesError } from '../../base/index.ts';
import { HttpProblem } from '../problem.ts';
import { closed, ErrorReply, When } from './shape.ts';

export const LOG_LINES_MAX = 100;
const LOG_LINE_CHARACTERS_MAX = 1000;

export const JobState = Type.Enum(['queued', 'running', 'done', 'failed', 'cancelled']);

export const Job = closed({
  id: Type.String(),
  kind: Type.String({ description: 'add, crawl, compact, verify, export, delete, rebuild.' }),
  state: JobState,
  origin: Type.Enum(['api', 'command'], {
    description:
      '`command`: begun on the command line; its input is the command, which only the command line can run again.',
  }),
  input: Type.Unknown({ description: 'As it was sent; send it again to run the job again.' }),
  createdAt: When,
  startedAt: Type.Optional(When),
  endedAt: Type.Optional(When),
  progress: Type.Optional(
    closed({
      done: Type.Number({ minimum: 0 }),
      total: Type.Optional(Type.Number({ minimum: 0 })),
      unit: Type.String(),
      message: Type.Optional(Type.String()),
      detail: Type.Optional(Type.Record(Type.String(), Type.Union([Type.Number(), Type.String()]))),
    }),
  ),
  report: Type.Optional(Type.Unknown({ description: 'What came of it, when it is done.' })),
  error: Type.Optional(ErrorReply.properties.error),
  log: Type.Array(Type.String(), { maxItems: LOG_LINES_MAX, description: 'The last lines.' }),
});

export type Job = Static<typeof Job>;
export type JobError = NonNullable<Job['error']>;

export function isOver({ state }: Job): boolean {
  return state === 'done' || state === 'failed' || state === 'cancelled';
}

/** A server that stops or dies takes its jobs with it; what they did so far is safe, and they can be run again. */
export const INTERRUPTED: JobError = {
  code: 'JOB_INTERRUPTED',
  message: 'the server stopped before the job was done',
  advice: 'What was done so far is safe. Run the job again; it goes on where it was.',
};

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
