/** Sessions in the database of an archive. Every request asks for its session, so nothing is remembered here. */
import type { EpochMs } from '../../base/index.ts';
import type { Database, Row } from '../../database/index.ts';
import { sharedKey } from '../people-tables.ts';
import { parentOf, type Session, type SessionStore } from './session-store.ts';

const COLUMNS = 'hash, parent, facts, created, used, ends';
const KEY_NAME = 'sign-in';

export class SessionTable implements SessionStore {
  readonly #database: Database;
  #key: Uint8Array | undefined;

  /** The tables must have been prepared. */
  constructor(database: Database) {
    this.#database = database;
  }

  async add(session: Session, { endedBefore, usedBefore }: { endedBefore: EpochMs; usedBefore: EpochMs }) {
    const { hash, parent, created, used, ends, ...facts } = session;
    await this.#database.query(`delete from ${this.#sessions} where ends < $1 or used < $2`, [endedBefore, usedBefore]);
    await this.#database.query(`insert into ${this.#sessions} (${COLUMNS}) values ($1, $2, $3::jsonb, $4, $5, $6)`, [
      hash,
      parent,
      JSON.stringify(facts),
      created,
      used,
      ends,
    ]);
  }

  async find(hash: string): Promise<Session | undefined> {
    const [row] = await this.#database.query(`select ${COLUMNS} from ${this.#sessions} where hash = $1`, [hash]);
    return row && sessionOf(row);
  }

  async touch(hash: string, used: EpochMs): Promise<void> {
    await this.#database.query(`update ${this.#sessions} set used = $2 where hash = $1 and used < $2`, [hash, used]);
  }

  async take(hash: string): Promise<Session | undefined> {
    const [row] = await this.#database.query(`delete from ${this.#sessions} where hash = $1 returning ${COLUMNS}`, [
      hash,
    ]);
    return row && sessionOf(row);
  }

  async remove(hash: string): Promise<void> {
    await this.#database.query(`delete from ${this.#sessions} where hash = $1 or parent = $2`, [hash, parentOf(hash)]);
  }

  async key(): Promise<Uint8Array> {
    if (this.#key) return this.#key;
    this.#key = await sharedKey(this.#database, KEY_NAME);
    return this.#key;
  }

  async close(): Promise<void> {}

  get #sessions(): string {
    return `${this.#database.schema}.sessions`;
  }
}

function sessionOf({ hash, parent, facts, created, used, ends }: Row): Session {
  const { kind, person, sealed } = facts as Pick<Session, 'kind' | 'person' | 'sealed'>;
  return {
    hash: String(hash),
    kind,
    parent: String(parent),
    ...(person && { person }),
    ...(sealed !== undefined && { sealed }),
    created: Number(created),
    used: Number(used),
    ends: Number(ends),
  };
}
