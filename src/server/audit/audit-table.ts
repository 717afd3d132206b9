/**
 * The audit log in the database of an archive. The database gives the times, since the clocks of machines may differ,
 * and refuses to change or remove rows.
 */
import type { Database, Row } from '../../database/index.ts';
import type { AuditEntry } from './audit-entry.ts';
import type { AuditLog, AuditPage, AuditQuery } from './audit-log.ts';

export class AuditTable implements AuditLog {
  readonly #database: Database;

  /** The tables must have been prepared. */
  constructor(database: Database) {
    this.#database = database;
  }

  async append({ time: _, ...entry }: AuditEntry): Promise<void> {
    await this.#database.query(
      `insert into ${this.#table} (time, who, entry)
       values ((extract(epoch from clock_timestamp()) * 1000)::bigint, $1, $2::jsonb)`,
      [entry.who.name, JSON.stringify(entry)],
    );
  }

  async read({ since, until, who, action, outcome, after, limit }: AuditQuery): Promise<AuditPage> {
    const values: unknown[] = [limit + 1];
    const conditions: string[] = [];
    const must = (condition: (parameter: string) => string, value: unknown) => {
      if (value === undefined) return;
      values.push(value);
      conditions.push(condition(`$${values.length}`));
    };
    must((parameter) => `time >= ${parameter}`, since);
    must((parameter) => `time < ${parameter}`, until);
    must((parameter) => `position(lower(${parameter}) in lower(who)) > 0`, who);
    must((parameter) => `entry->>'action' = ${parameter}`, action);
    must((parameter) => `entry->>'outcome' = ${parameter}`, outcome);
    must((parameter) => `id < ${parameter}`, after === undefined ? undefined : parseCursor(after));
    const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
    const rows = await this.#database.query(
      `select id, time, entry from ${this.#table} ${where} order by id desc limit $1`,
      values,
    );
    const page = rows.slice(0, limit);
    return { entries: page.map(entryOf), ...(rows.length > limit && { next: String(page.at(-1)!.id) }) };
  }

  get #table(): string {
    return `${this.#database.schema}.audit`;
  }
}

function parseCursor(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw new RangeError('not a cursor');
  return Number(cursor);
}

function entryOf({ time, entry }: Row): AuditEntry {
  const { id, ...facts } = entry as Omit<AuditEntry, 'time'>;
  return { id, time: Number(time), ...facts };
}
