/**
 * Tokens in the database of an archive.
 *
 * - A token that was found is remembered for half a second, so that busy clients cost few statements, and a revoked
 *   token is refused by every server within a second.
 * - Every charge is a row of its own. A quota is checked after the row is committed; when the sum is too large, another
 *   row takes the charge back. So nobody waits for anybody, and a quota is never exceeded. Charges that meet at the end
 *   of a quota may all be refused, although one of them would have fitted.
 * - Many rows of a token are folded into one.
 */
import { PinakesError } from '../../base/index.ts';
import type { Database, Row } from '../../database/index.ts';
import { isRight } from './right.ts';
import type { NamedToken, TokenStore } from './token-store.ts';

const REMEMBERED_MS = 500;
const REMEMBERED_MAX = 10_000;
/** A token with more rows gets them folded. */
const ROWS_MAX = 1000;
/** How many charges of this process pass between two looks at the number of rows. */
const LOOK_EVERY = 200;

const COLUMNS = 'hash, name, rights, collections, created, expires, quota_bytes';

export class TokenTable implements TokenStore {
  readonly #database: Database;
  readonly #remembered = new Map<string, NamedToken>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #asking = new Map<string, Promise<NamedToken | undefined>>();
  #charges = 0;

  /** The tables must have been prepared. */
  constructor(database: Database) {
    this.#database = database;
  }

  async find(hash: string): Promise<NamedToken | undefined> {
    const remembered = this.#remembered.get(hash);
    if (remembered) return remembered;
    const asking = this.#asking.get(hash) ?? this.#ask(hash).finally(() => this.#asking.delete(hash));
    this.#asking.set(hash, asking);
    return asking;
  }

  async list(): Promise<readonly NamedToken[]> {
    const rows = await this.#database.query(`select ${COLUMNS} from ${this.#tokens} order by created, name`);
    return rows.map(tokenOf);
  }

  async add(token: NamedToken): Promise<void> {
    const { name, hash, rights, collections, created, expires, quotaBytes } = token;
    const [added] = await this.#database.query(
      `insert into ${this.#tokens} (${COLUMNS}) values ($1, $2, $3::jsonb, $4::jsonb, $5, $6, $7)
       on conflict do nothing returning name`,
      [
        hash,
        name,
        JSON.stringify(rights),
        collections ? JSON.stringify(collections) : null,
        created,
        expires ?? null,
        quotaBytes ?? null,
      ],
    );
    if (!added) throw new PinakesError('TOKEN_EXISTS', { where: name });
  }

  async revoke(name: string): Promise<void> {
    const [removed] = await this.#database.query(`delete from ${this.#tokens} where name = $1 returning hash`, [name]);
    if (!removed) throw new PinakesError('TOKEN_UNKNOWN', { where: name });
    this.#remembered.delete(String(removed.hash));
  }

  async usedBytes({ hash }: NamedToken): Promise<number> {
    const [row] = await this.#database.query(
      `select coalesce(sum(bytes), 0) as used from ${this.#rows} where hash = $1`,
      [hash],
    );
    return Math.max(0, Number(row!.used));
  }

  async charge(token: NamedToken, bytes: number): Promise<boolean> {
    const { hash, quotaBytes } = token;
    if (bytes === 0) return true;
    if (bytes > 0 && bytes > (quotaBytes ?? Number.POSITIVE_INFINITY)) return false;
    // Nothing is counted for a token that was revoked during the request, which had the right when it began.
    if (!(await this.#count(hash, bytes))) return true;
    if (bytes > 0 && quotaBytes !== undefined && (await this.usedBytes(token)) > quotaBytes) {
      await this.#count(hash, -bytes);
      return false;
    }
    this.#charges++;
    if (this.#charges % LOOK_EVERY === 1) await this.#fold(hash);
    return true;
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  get #tokens(): string {
    return `${this.#database.schema}.tokens`;
  }

  get #rows(): string {
    return `${this.#database.schema}.token_charges`;
  }

  /** Adds a row, and returns whether the token exists. */
  async #count(hash: string, bytes: number): Promise<boolean> {
    const rows = await this.#database.query(
      `insert into ${this.#rows} (hash, bytes) select hash, $2::bigint from ${this.#tokens} where hash = $1 returning id`,
      [hash, bytes],
    );
    return rows.length > 0;
  }

  async #ask(hash: string): Promise<NamedToken | undefined> {
    const [row] = await this.#database.query(`select ${COLUMNS} from ${this.#tokens} where hash = $1`, [hash]);
    if (!row) return undefined;
    const token = tokenOf(row);
    if (this.#remembered.size < REMEMBERED_MAX) {
      this.#remembered.set(hash, token);
      const timer: NodeJS.Timeout = setTimeout(() => {
        this.#timers.delete(timer);
        this.#remembered.delete(hash);
      }, REMEMBERED_MS).unref();
      this.#timers.add(timer);
    }
    return token;
  }

  /**
   * Replaces the rows of a token by one with their sum. Rows that another server folds at this moment are left alone.
   */
  async #fold(hash: string): Promise<void> {
    const [row] = await this.#database.query(`select count(*) as rows from ${this.#rows} where hash = $1`, [hash]);
    if (Number(row!.rows) <= ROWS_MAX) return;
    await this.#database.query(
      `with folded as (
         delete from ${this.#rows} where id in (
           select id from ${this.#rows} where hash = $1 order by id limit ${ROWS_MAX} for update skip locked
         ) returning bytes
       )
       insert into ${this.#rows} (hash, bytes) select $1, sum(bytes) from folded having count(*) > 0`,
      [hash],
    );
  }
}

function tokenOf(row: Row): NamedToken {
  const { name, hash, rights, collections, created, expires, quota_bytes: quotaBytes } = row;
  return {
    name: String(name),
    hash: String(hash),
    rights: (rights as string[]).filter(isRight),
    ...(collections !== null && { collections: collections as string[] }),
    created: Number(created),
    ...(expires !== null && { expires: Number(expires) }),
    ...(quotaBytes !== null && { quotaBytes: Number(quotaBytes) }),
  };
}
