/** A job in the replies of the API. */
import { type Static, Type } from 'typebox';
import { type Job, LOG_LINES_MAX } from '../../jobs/index.ts';
import { closed, ErrorReply, named, W3cDate } from '../schema.ts';
import { type Access, isSameActor } from '../tokens/access.ts';
import type { Right } from '../tokens/right.ts';

const JobState = Type.Enum(['queued', 'running', 'done', 'failed', 'cancelled'], { title: 'JobState' });

export const JobItem = named('Job', {
  id: Type.String(),
  kind: Type.String({ description: 'add, crawl, compact, verify, export, delete, takedown, rebuild.' }),
  state: JobState,
  origin: Type.Enum(['api', 'command'], {
    description:
      '`command`: started on the command line. Its input is the command, and only the command line repeats it.',
  }),
  hasErrors: Type.Optional(
    Type.Boolean({ description: 'The job is done, but found or left errors. Its report lists them.' }),
  ),
  input: Type.Optional(
    Type.Unknown({ description: 'As it was sent. Send it again to repeat the job. Only with the token.' }),
  ),
  by: Type.Optional(
    closed(
      {
        kind: Type.Enum(['person', 'token', 'server', 'system', 'anonymous'], { title: 'ActorKind' }),
        name: Type.String(),
      },
      'Who started it; absent for jobs of schedules. Only for those who may see the job.',
    ),
  ),
  createdAt: W3cDate,
  startedAt: Type.Optional(W3cDate),
  endedAt: Type.Optional(W3cDate),
  server: Type.Optional(
    Type.String({
      description:
        'In a cluster: the name of the server that runs it, ran it, or alone may run it. Only with the token.',
    }),
  ),
  attempt: Type.Optional(
    Type.Integer({
      minimum: 2,
      description: 'In a cluster: which time it is that the job runs or will run, from 2 on.',
    }),
  ),
  progress: Type.Optional(
    named('JobProgress', {
      done: Type.Number({ minimum: 0 }),
      total: Type.Optional(Type.Number({ minimum: 0 })),
      unit: Type.String(),
      message: Type.Optional(Type.String()),
      detail: Type.Optional(Type.Record(Type.String(), Type.Union([Type.Number(), Type.String()]))),
    }),
  ),
  report: Type.Optional(Type.Unknown({ description: 'The results. Only with the token.' })),
  error: Type.Optional(ErrorReply.properties.error),
  log: Type.Optional(
    Type.Array(Type.String(), { maxItems: LOG_LINES_MAX, description: 'The last lines. Only with the token.' }),
  ),
});

export type JobItem = Static<typeof JobItem>;

/** The rights of the job kinds that need less than `admin`. */
const RIGHT_OF_KIND: Readonly<Record<string, Right>> = { add: 'add', crawl: 'crawl', delete: 'delete' };

export function rightOfKind(kind: string): Right {
  return RIGHT_OF_KIND[kind] ?? 'admin';
}

/**
 * Whether somebody may see everything about a job, and stop it: administrators, the person or token that started it,
 * and people who could have.
 */
export function mayFollow(access: Access, { by, kind }: Pick<Job, 'by' | 'kind'>): boolean {
  if (access.may('admin') || (by && isSameActor(access.actor, by))) return true;
  return access.person !== undefined && access.may(rightOfKind(kind));
}

/** Everything about a job, for clients that may see it. */
export function jobItem(job: Job): JobItem {
  const { by, ...facts } = job;
  const starter = by && { by: { kind: by.kind, name: by.name } };
  return { ...facts, ...starter, log: [...job.log], ...(hasErrors(job) && { hasErrors: true }) };
}

/** A job without its input and results. The job of a deletion would otherwise show what it deletes. */
export function publicJobItem(job: Job): JobItem {
  const { id, kind, state, origin, createdAt, startedAt, endedAt, attempt, progress } = job;
  return {
    ...{ id, kind, state, origin, createdAt },
    ...(hasErrors(job) && { hasErrors: true }),
    ...(startedAt !== undefined && { startedAt }),
    ...(endedAt !== undefined && { endedAt }),
    ...(attempt !== undefined && { attempt }),
    ...(progress && { progress: numbersOf(progress) }),
  };
}

function numbersOf({ done, total, unit }: NonNullable<Job['progress']>): NonNullable<JobItem['progress']> {
  return { done, unit, ...(total !== undefined && { total }) };
}

const EXIT_FOUND = 1;

/** Whether the same work on the command line would have ended with exit code 1. */
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

/** Whether a count is above zero, or a list is not empty. */
function isSome(fact: unknown): boolean {
  return Array.isArray(fact) ? fact.length > 0 : typeof fact === 'number' && fact > 0;
}
