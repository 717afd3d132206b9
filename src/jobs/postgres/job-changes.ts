/**
 * The changes of jobs, each in a turn. Who changes a claimed job names its server and epoch, and must have a lease that
 * has not ended. Each of them can be asked for again after a lost answer.
 */
import { type Cancelled, type JobOutcome, type NewJob, OPEN_MAX } from '../job-queue.ts';
import type { ClaimedJob, UnwrittenOutput } from './claimed-job.ts';
import { columnOf, type JobRow, jobColumns, jobRowOf } from './job-row.ts';
import { NOW_MS } from './job-tables.ts';
import type { JobTurn } from './job-turn.ts';

/** A server as jobs name it. */
export type JobServer = { readonly id: string; readonly name: string };

const OPEN = `('queued', 'running')`;

/** The server of a parameter has a lease. */
const isAlive = (schema: string, parameter: string) =>
  `exists (select from ${schema}.job_servers s where s.id = ${parameter} and s.lease_until > clock_timestamp())`;

/** The claim of the parameters 1 to 3 is held. */
const isHeld = (schema: string) =>
  `id = $1 and server_id = $2 and epoch = $3 and state = 'running' and ${isAlive(schema, '$2')}`;

const claimValues = ({ claim, serverId }: ClaimedJob) => [claim.job.id, serverId, claim.epoch];

export type Inserted = 'inserted' | 'left-out' | 'full' | 'no-lease';

export async function insertJob(turn: JobTurn, job: NewJob, server: JobServer): Promise<Inserted> {
  const { schema, query } = turn;
  const { id, kind, origin, lane, once, isLocal } = job;
  const [found] = await query(
    `select exists (select from ${schema}.jobs where id = $1) as is_inserted,
       exists (select from ${schema}.jobs where once_key = $2 and (state in ${OPEN} or change > $3)) as is_known,
       (select count(*) from ${schema}.jobs where state in ${OPEN}) as open,
       ${isAlive(schema, '$4')} as has_lease`,
    [id, once?.key ?? null, once?.knownChange ?? 0, server.id],
  );
  if (found!.is_inserted === true) return 'inserted';
  if (found!.is_known === true) return 'left-out';
  if ((found!.open as number) >= OPEN_MAX) return 'full';
  if (isLocal && found!.has_lease !== true) return 'no-lease';
  await query(
    `insert into ${schema}.jobs (id, number, change, kind, state, origin, lane, once_key, input, is_cancellable,
       is_resumable, is_local, server_id, server_name, started_by, created_at)
     values ($1, $2, $2, $3, 'queued', $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, ${NOW_MS})`,
    [
      ...[id, turn.deal(), kind, origin, lane ?? null, once?.key ?? null, columnOf(job.input) ?? 'null'],
      ...[job.isCancellable, job.isResumable, isLocal],
      ...(isLocal ? [server.id, server.name] : [null, null]),
      columnOf(job.by),
    ],
  );
  return 'inserted';
}

/** Claims the oldest job that this server may run and that is the first of its lane. */
export async function claimJob(
  turn: JobTurn,
  kinds: ReadonlySet<string>,
  server: JobServer,
): Promise<JobRow | undefined> {
  const { schema, query } = turn;
  const [next] = await query(
    `select id from ${schema}.jobs j
     where state = 'queued' and kind = any($1::text[]) and (not is_local or server_id = $2)
       and (lane is null or not exists (select from ${schema}.jobs o where o.lane = j.lane
            and (o.state = 'running' or (o.state = 'queued' and o.number < j.number))))
     order by number limit 1`,
    [[...kinds], server.id],
  );
  if (!next) return undefined;
  const claimed = await query(
    `update ${schema}.jobs set state = 'running', epoch = epoch + 1, server_id = $2, server_name = $3,
       started_at = ${NOW_MS}, change = $4
     where id = $1 and ${isAlive(schema, '$2')} returning id`,
    [next.id, server.id, server.name, turn.deal()],
  );
  if (claimed.length === 0) return turn.leave(undefined);
  const [row] = await query(`select ${jobColumns(schema)} from ${schema}.jobs j where id = $1`, [next.id]);
  return jobRowOf(row!);
}

/** Writes what a claimed job has told. Returns false when the claim is lost. */
export async function writeOutput(turn: JobTurn, job: ClaimedJob, output: UnwrittenOutput): Promise<boolean> {
  const { schema, query } = turn;
  const written = await query(
    `update ${schema}.jobs set progress = coalesce($4, progress), report = coalesce($5, report), lines = $6, change = $7
     where ${isHeld(schema)} returning id`,
    [...claimValues(job), columnOf(output.progress), columnOf(output.report), output.count, turn.deal()],
  );
  if (written.length === 0) return turn.leave(false);
  await turn.addLines(job.claim.job.id, output.lines, output.count);
  return true;
}

/** Ends a claimed job. Returns false when the claim is lost. */
export async function endJob(
  turn: JobTurn,
  job: ClaimedJob,
  output: UnwrittenOutput,
  outcome: JobOutcome,
  isKept: boolean,
): Promise<boolean> {
  const { schema, query } = turn;
  const report = outcome.state === 'done' ? outcome.report : output.report;
  const ended = await query(
    `update ${schema}.jobs set progress = coalesce($4, progress), report = coalesce($5, report), lines = $6, change = $7,
       state = $8, error = $9, is_kept = $10, ended_at = ${NOW_MS}
     where ${isHeld(schema)} returning id`,
    [
      ...[...claimValues(job), columnOf(output.progress), columnOf(report), output.count, turn.deal()],
      ...[outcome.state, outcome.state === 'failed' ? columnOf(outcome.error) : null, isKept],
    ],
  );
  if (ended.length === 0) return turn.leave(await hasEnded(turn, job));
  await turn.addLines(job.claim.job.id, output.lines, output.count);
  return true;
}

/** Whether this claim has ended its job: the answer was lost. Others end it only when its server is not alive. */
async function hasEnded({ schema, query }: JobTurn, job: ClaimedJob): Promise<boolean> {
  const found = await query(
    `select id from ${schema}.jobs
     where id = $1 and server_id = $2 and epoch = $3 and state not in ${OPEN} and ${isAlive(schema, '$2')}`,
    claimValues(job),
  );
  return found.length > 0;
}

/** Lets a claimed job wait for another server. */
export async function giveJobBack(turn: JobTurn, job: ClaimedJob, output: UnwrittenOutput): Promise<boolean> {
  const { schema, query } = turn;
  const given = await query(
    `update ${schema}.jobs set state = case when is_cancelled then 'cancelled' else 'queued' end, lines = $4, change = $5,
       ended_at = case when is_cancelled then ${NOW_MS} end, server_id = null, server_name = null
     where ${isHeld(schema)} returning id`,
    [...claimValues(job), output.count, turn.deal()],
  );
  if (given.length === 0) return turn.leave(false);
  await turn.addLines(job.claim.job.id, output.lines, output.count);
  return true;
}

/** Cancels a job that waits, and notes for the server of a running one that it has to stop. */
export async function cancelJob(turn: JobTurn, id: string): Promise<Cancelled> {
  const { schema, query } = turn;
  const [row] = await query(`select state, is_cancellable, is_cancelled from ${schema}.jobs where id = $1`, [id]);
  if (row?.state === 'queued') {
    await query(`update ${schema}.jobs set state = 'cancelled', ended_at = ${NOW_MS}, change = $2 where id = $1`, [
      id,
      turn.deal(),
    ]);
    return 'asked';
  }
  if (row?.state !== 'running') return 'over';
  if (row.is_cancellable === false) return 'refused';
  if (row.is_cancelled === false)
    await query(`update ${schema}.jobs set is_cancelled = true, change = $2 where id = $1`, [id, turn.deal()]);
  return 'asked';
}

/** Lets the history drop a job that it kept. */
export async function releaseJob(turn: JobTurn, id: string): Promise<void> {
  const { schema, query } = turn;
  const kept = await query(`select id from ${schema}.jobs where id = $1 and is_kept`, [id]);
  if (kept.length > 0)
    await query(`update ${schema}.jobs set is_kept = false, change = $2 where id = $1`, [id, turn.deal()]);
}
