/**
 * Jobs whose server has ended: it ran them, or it alone could. A job that another server can begin again waits for one.
 * The others fail, and say which server it was. Nothing of a living server is touched: its lease has not ended by the
 * clock of the database, and a lease that has ended is never renewed.
 */
import { INTERRUPTED, type Job, type JobError } from '../job.ts';
import { columnOf, type JobRow, jobColumns, jobRowOf } from './job-row.ts';
import { NOW_MS } from './job-tables.ts';
import type { JobTurn } from './job-turn.ts';

/** A job that so many servers did not survive is not tried again. */
const DEATHS_MAX = 3;

/** A condition on servers: their lease has ended. */
export const HAS_ENDED = 'lease_until <= clock_timestamp()';

/** A condition on jobs `j`: open, and of a server that is gone. */
export const isOrphaned = (schema: string) =>
  `j.state in ('queued', 'running') and j.server_id is not null
   and not exists (select from ${schema}.job_servers s where s.id = j.server_id)`;

/** Removes the servers whose lease has ended and the one that leaves, and takes care of their jobs. */
export async function endServers(
  turn: JobTurn,
  leaving: string | undefined,
  keeps: (job: Job) => boolean,
): Promise<void> {
  const { schema, query } = turn;
  await query(`delete from ${schema}.job_servers where ${HAS_ENDED} or id = $1`, [leaving ?? '']);
  const rows = await query(
    `select ${jobColumns(schema)} from ${schema}.jobs j where ${isOrphaned(schema)} order by number`,
  );
  for (const row of rows) await endOrphan(turn, jobRowOf(row), keeps);
}

async function endOrphan(turn: JobTurn, row: JobRow, keeps: (job: Job) => boolean): Promise<void> {
  const { job, isCancelled, isResumable, isLocal, deaths } = row;
  const { schema, query } = turn;
  if (isCancelled) return await endJob(turn, { ...job, state: 'cancelled' }, false);
  if (job.state === 'running' && isResumable && !isLocal && deaths + 1 < DEATHS_MAX) {
    const line = `the server ${job.server} has ended; the job begins again on another`;
    await query(
      `update ${schema}.jobs set state = 'queued', server_id = null, server_name = null, deaths = deaths + 1,
         lines = lines + 1, change = $2 where id = $1`,
      [job.id, turn.deal()],
    );
    return await turn.addLines(job.id, [line], row.lines + 1);
  }
  const failed = { ...job, state: 'failed', error: errorOf(row) } as const;
  await endJob(turn, failed, keeps(failed));
}

async function endJob(turn: JobTurn, { id, state, error }: Job, isKept: boolean): Promise<void> {
  await turn.query(
    `update ${turn.schema}.jobs set state = $2, error = $3, is_kept = $4, ended_at = ${NOW_MS}, change = $5
     where id = $1`,
    [id, state, columnOf(error), isKept, turn.deal()],
  );
}

function errorOf({ job, isLocal, isResumable }: JobRow): JobError {
  const { code, advice } = INTERRUPTED;
  const server = `the server ${job.server}`;
  if (job.state === 'queued')
    return {
      code,
      message: `${server}, which alone has what the job needs, stopped before the job began`,
      advice: 'Start that server and run the job again there.',
    };
  if (isResumable && !isLocal)
    return {
      code,
      message: `${DEATHS_MAX} servers have ended while they ran the job, the last was ${job.server}`,
      advice: 'Look in the logs of the servers for the reason before you run the job again.',
    };
  return { code, message: `${server} stopped or lost its lease before the job was done`, advice };
}
