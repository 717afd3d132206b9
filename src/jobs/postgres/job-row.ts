/** A row of the table of jobs, and the job in it. */
import { formatW3cDate } from '../../base/index.ts';
import type { Row } from '../../database/index.ts';
import type { Job, JobError, JobProgress, JobStarter } from '../job.ts';
import type { BookEntry } from '../job-book.ts';

/** A job with what its row says of where it runs. */
export type JobRow = BookEntry & {
  readonly number: number;
  readonly lane: string | undefined;
  readonly isCancellable: boolean;
  readonly isResumable: boolean;
  readonly isLocal: boolean;
  readonly isCancelled: boolean;
  /** The server that runs the job, or alone may run it. */
  readonly serverId: string | undefined;
  readonly epoch: number;
  /** How many servers have died while they ran the job. */
  readonly deaths: number;
  /** How many lines its log has had. */
  readonly lines: number;
};

/** The columns of jobs `j` with their logs, for SELECT. */
export const jobColumns = (schema: string) => `j.*,
  (select '[' || string_agg(l.line, ',' order by l.number) || ']' from ${schema}.job_lines l where l.job = j.id) as log`;

export function jobRowOf(row: Row): JobRow {
  return {
    job: jobOf(row),
    number: row.number as number,
    change: row.change as number,
    isKept: row.is_kept as boolean,
    lane: (row.lane ?? undefined) as string | undefined,
    isCancellable: row.is_cancellable as boolean,
    isResumable: row.is_resumable as boolean,
    isLocal: row.is_local as boolean,
    isCancelled: row.is_cancelled as boolean,
    serverId: (row.server_id ?? undefined) as string | undefined,
    epoch: row.epoch as number,
    deaths: row.deaths as number,
    lines: row.lines as number,
  };
}

function jobOf(row: Row): Job {
  const { id, kind, state, origin, server_name: server, log } = row;
  const attempt = (row.epoch as number) + (state === 'queued' ? 1 : 0);
  const [progress, report, error, by] = [row.progress, row.report, row.error, row.started_by].map(parsed);
  return {
    id: id as string,
    kind: kind as string,
    state: state as Job['state'],
    origin: origin as Job['origin'],
    ...(by !== undefined && { by: by as JobStarter }),
    input: parsed(row.input),
    createdAt: formatW3cDate(row.created_at as number),
    ...(row.started_at !== null && { startedAt: formatW3cDate(row.started_at as number) }),
    ...(row.ended_at !== null && { endedAt: formatW3cDate(row.ended_at as number) }),
    ...(server !== null && { server: server as string }),
    ...(attempt > 1 && { attempt }),
    ...(progress !== undefined && { progress: progress as JobProgress }),
    ...(report !== undefined && { report }),
    ...(error !== undefined && { error: error as JobError }),
    log: (parsed(log) ?? []) as string[],
  };
}

function parsed(text: unknown): unknown {
  return typeof text === 'string' ? JSON.parse(text) : undefined;
}

/** A user and a password in a URL. */
const USER_INFO = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/?#@"]+@/gi;

/**
 * A value as the text of a column, null for undefined. Users and passwords in URLs are left out: rows are read by
 * every administrator of the database. A crawl leaves them out too.
 */
export function columnOf(value: unknown): string | null {
  return (JSON.stringify(value) as string | undefined)?.replace(USER_INFO, '$1') ?? null;
}
