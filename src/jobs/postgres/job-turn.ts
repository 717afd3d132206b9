/**
 * A transaction that changes jobs, in turn with all others (job-tables.ts). It deals the numbers of changes, and wakes
 * the other servers when it commits. A process that pauses in such a transaction would hold up the cluster, so the
 * database ends the transaction of one that is silent for SILENCE_MS.
 */
import { type Database, type Query, rollBack } from '../../database/index.ts';
import { LOG_LINES_MAX } from '../job.ts';
import { columnOf } from './job-row.ts';

const SILENCE_MS = 5000;

export const CHANNEL = 'jobs';

export class JobTurn {
  readonly schema: string;
  readonly query: Query;
  #change: number;

  constructor(schema: string, query: Query, change: number) {
    this.schema = schema;
    this.query = query;
    this.#change = change;
  }

  /** The number of the last change. */
  get change(): number {
    return this.#change;
  }

  /** The number of a new change. */
  deal(): number {
    return ++this.#change;
  }

  /** Ends the turn without a change, with this value. */
  leave<Value>(value: Value): Value {
    return rollBack(value);
  }

  /** Adds lines to the log of a job that has had `count` lines with them, and drops the oldest ones. */
  async addLines(id: string, lines: readonly string[], count: number): Promise<void> {
    if (lines.length === 0) return;
    const { schema, query } = this;
    const values = lines.map((_, index) => `($1, ${count - lines.length + index + 1}, $${index + 2})`).join(', ');
    await query(`insert into ${schema}.job_lines values ${values} on conflict do nothing`, [
      id,
      ...lines.map(columnOf),
    ]);
    await query(`delete from ${schema}.job_lines where job = $1 and number <= $2`, [id, count - LOG_LINES_MAX]);
  }
}

/** Runs `work` in turn. Without a change nothing is committed. */
export async function inTurn<Value>(database: Database, work: (turn: JobTurn) => Promise<Value>): Promise<Value> {
  const { schema } = database;
  return await database.transact(async (query) => {
    const [history] = await query(
      `select change, set_config('idle_in_transaction_session_timeout', $1, true) from ${schema}.job_history for update`,
      [String(SILENCE_MS)],
    );
    const change = history!.change as number;
    const turn = new JobTurn(schema, query, change);
    const value = await work(turn);
    if (turn.change === change) rollBack(value);
    await query(`update ${schema}.job_history set change = $1`, [turn.change]);
    await database.notify(CHANNEL, '', query);
    return value;
  });
}
