/**
 * The catalog on PostgreSQL (15 or newer). Any number of processes may have it open, and each may have
 * it open several times; all see each other's commits at once.
 *
 * What is locked, and in which order: commit.ts. The tables: tables.ts. Every commit is as durable as the server makes
 * it, so `durable` changes nothing.
 */
import { assert, PinakesError, utf8 } from '../../base/index.ts';
import { Database, type DatabaseOptions, type Query, type Row, rollBack } from '../../database/index.ts';
import { URL_KEY_VERSION } from '../../url/index.ts';
import {
  type CatalogView,
  type CommitGroup,
  type CommitOutcome,
  type FileDamage,
  firstSequenceOf,
  type Lease,
  type LeaseRow,
  type NewSegment,
  type Segment,
} from '../catalog.ts';
import type { CatalogContents, CopyableCatalog, FillOptions } from '../catalog-contents.ts';
import { assertGroup, COLLECTION_NOTE, isSameLease } from '../commit-group.ts';
import { commitGroup, holdsLease, passGate, USUAL_WAY } from './commit.ts';
import { fillCatalog } from './fill.ts';
import { readNumbers } from './numbers.ts';
import { PostgresView, selectSegments } from './postgres-view.ts';
import { number, segmentOf, text } from './rows.ts';
import { CLEARED, checkKeys, makeTables, SERVER, type Tables, tablesIn } from './tables.ts';

export type PostgresCatalogOptions = DatabaseOptions & {
  /** Whether it is opened to be cleared, which is all that can be done while its keys are of another version. */
  readonly toClear?: boolean | undefined;
};

/** Opens the catalog in a schema of a database, and creates it if it is missing. */
export async function openPostgresCatalog({
  toClear = false,
  ...options
}: PostgresCatalogOptions): Promise<CopyableCatalog> {
  const database = await Database.open(options);
  const tables = tablesIn(database.schema);
  try {
    await makeTables(database);
    if (!toClear) await checkKeys(database, tables);
    return new PostgresCatalog(database, tables);
  } catch (error) {
    await database.close();
    throw error;
  }
}

class PostgresCatalog extends PostgresView implements CopyableCatalog {
  readonly refusal = undefined;
  readonly batches = undefined;
  readonly isShared = true;
  readonly database: Database;
  readonly #tables: Tables;

  constructor(database: Database, tables: Tables) {
    super(database.query, tables);
    this.database = database;
    this.#tables = tables;
  }

  async commit(group: CommitGroup): Promise<CommitOutcome> {
    assertGroup(group);
    for (let way = USUAL_WAY; ; ) {
      const outcome = await this.database.transact((query) => commitGroup(query, this.#tables, group, way));
      if (outcome.kind !== 'other way') return outcome;
      way = outcome.way;
    }
  }

  async view(): Promise<CatalogView & AsyncDisposable> {
    const snapshot = await this.database.snapshot();
    return Object.assign(new PostgresView(snapshot.query, this.#tables), {
      [Symbol.asyncDispose]: () => snapshot[Symbol.asyncDispose](),
    });
  }

  async longView(): Promise<CatalogView & AsyncDisposable> {
    const view = new PostgresView(this.database.query, this.#tables);
    return Object.assign(view, { [Symbol.asyncDispose]: async () => {} });
  }

  async contents(): Promise<CatalogContents> {
    return Object.assign(new PostgresView(this.database.query, this.#tables), {
      numbers: () => readNumbers(this.database.query, this.#tables),
      leases: () => this.leases(),
      [Symbol.asyncDispose]: async () => {},
    });
  }

  async fill(contents: CatalogContents, options: FillOptions = {}): Promise<void> {
    await this.database.connected((client, query) => fillCatalog(client, query, this.#tables, contents, options));
  }

  async listSegment(segment: NewSegment, lease?: Lease): Promise<Segment | undefined> {
    return await this.database.transact(async (query) => {
      const { segments } = this.#tables;
      if (lease && !(await holdsLease(query, this.#tables, lease))) return rollBack(undefined);
      const known = async (): Promise<Segment | undefined> => {
        const [row] = await query(`${selectSegments(this.#tables)} where s.name = $1::bytea`, [utf8(segment.name)]);
        return row && segmentOf(row);
      };
      if (!(await known())) {
        const row = await this.#deal(query, 'segment');
        const sequence = await this.#deal(query, 'sequence', segment.sequence);
        await query(
          `insert into ${segments} (number, sequence, collection, bytes, records, state, volume, name, roots, lease)
           values ($1, $2, $3, 0, 0, 'open', $4, $5::bytea, $6, $7)`,
          [row, sequence, segment.collection, segment.volume, utf8(segment.name), json(segment.roots), json(lease)],
        );
        return await known();
      }
      const listed = await known();
      return rollBack(isSameLease(listed?.lease, lease) ? listed : undefined);
    });
  }

  async collectionNumber(name: string): Promise<number> {
    const { notes } = this.#tables;
    const note = utf8(COLLECTION_NOTE + name);
    const known = async (query: Query): Promise<number | undefined> => {
      const [row] = await query(`select text from ${notes} where name = $1::bytea`, [note]);
      return row && Number(text(row.text));
    };
    return (
      (await known(this.database.query)) ??
      (await this.database.transact(async (query) => {
        const dealt = await this.#deal(query, 'collection');
        const meanwhile = await known(query);
        if (meanwhile !== undefined) return rollBack(meanwhile);
        await query(`insert into ${notes} (name, text) values ($1::bytea, $2::bytea)`, [note, utf8(String(dealt))]);
        return dealt;
      }))
    );
  }

  /** Deals the next number, or the given one, which later numbers are then above. */
  async #deal(query: Query, counter: 'segment' | 'sequence' | 'collection', given?: number): Promise<number> {
    const [row] = await query(
      `with dealt as (select coalesce($2::bigint, next) as number from ${this.#tables.counters} where name = $1 for update)
       update ${this.#tables.counters} set next = greatest(next, dealt.number + 1)
       from dealt where name = $1 returning dealt.number`,
      [counter, given],
    );
    return number(row!.number);
  }

  /** A lease without an end has the end `infinity`. */
  async takeLease(name: string, holder: string, lifeMs?: number): Promise<Lease | undefined> {
    return await this.database.transact(async (query) => {
      const { leases, state } = this.#tables;
      await this.#assertTrusted(query);
      const [row] = await query(
        `insert into ${leases} as l (name, epoch, incarnation, holder, server, expires)
         select $1, 1, incarnation, $2, server, ${END('$3')} from ${state} for share
         on conflict (name) do update set epoch = l.epoch + 1, incarnation = excluded.incarnation,
           holder = excluded.holder, server = excluded.server, expires = excluded.expires
         where l.expires <= clock_timestamp()
         returning epoch, incarnation`,
        [name, holder, lifeMs],
      );
      return row && { name, epoch: number(row.epoch), incarnation: number(row.incarnation) };
    });
  }

  async renewLease({ name, epoch, incarnation }: Lease, lifeMs: number): Promise<boolean> {
    const renewed = await this.database.transact((query) =>
      query(
        `update ${this.#tables.leases} set expires = ${END('$4')}
         where name = $1 and epoch = $2 and incarnation = $3 and expires > clock_timestamp() and server = ${SERVER}
         returning name`,
        [name, epoch, incarnation, lifeMs],
      ),
    );
    return renewed.length > 0;
  }

  async endLease({ name, epoch, incarnation }: Lease): Promise<void> {
    await this.database.transact((query) =>
      query(
        `update ${this.#tables.leases} set expires = clock_timestamp()
         where name = $1 and epoch = $2 and incarnation = $3 and expires > clock_timestamp()`,
        [name, epoch, incarnation],
      ),
    );
  }

  async leases(): Promise<LeaseRow[]> {
    const rows = await this.database.query(
      `select name, epoch, incarnation, holder, expires > clock_timestamp() as is_living,
         case when isfinite(expires) then (extract(epoch from expires) * 1000)::bigint end as expires
       from ${this.#tables.leases} order by name collate "C"`,
    );
    return rows.map((row) => ({
      name: String(row.name),
      epoch: number(row.epoch),
      incarnation: number(row.incarnation),
      holder: String(row.holder),
      expires: row.expires === null ? undefined : number(row.expires),
      isLiving: row.is_living === true,
    }));
  }

  async forgetLeases(beginning: string, endedMs: number): Promise<number> {
    const removed = await this.database.transact((query) =>
      query(
        `delete from ${this.#tables.leases} l
         where starts_with(l.name, $1) and l.expires < clock_timestamp() - $2::bigint * interval '1 ms'
         and not exists (
           select from ${this.#tables.segments} s where s.state <> 'sealed' and s.lease->>'name' = l.name
         ) returning name`,
        [beginning, endedMs],
      ),
    );
    return removed.length;
  }

  async incarnation(): Promise<number> {
    return number((await this.#state()).incarnation);
  }

  async beginIncarnation(incarnation: number): Promise<void> {
    await this.database.transact(async (query) => {
      const [row] = await query(`select incarnation from ${this.#tables.state} for update`);
      assert(incarnation > number(row!.incarnation), 'an incarnation is newer than the last one');
      await this.#begin(query, incarnation);
    });
  }

  async beginEmpty(incarnation: number, notes: Readonly<Record<string, string>>): Promise<boolean> {
    const make = async (query: Query) => {
      await passGate(query, this.#tables, true);
      const [row] = await query(`select incarnation, is_adopting from ${this.#tables.state} for update`);
      if (number(row!.incarnation) !== incarnation - 1 || row!.is_adopting !== true) return rollBack(false);
      // The leases end before the rows go: a commit that holds its lease has ended then.
      await this.#begin(query, incarnation);
      await this.#empty(query, notes, { keepsBars: true });
      return true;
    };
    return await this.database.transact(make, { isLong: true });
  }

  async #begin(query: Query, incarnation: number): Promise<void> {
    const { counters, leases, state } = this.#tables;
    await query(`update ${state} set incarnation = $1, is_adopting = true, server = ${SERVER}`, [incarnation]);
    await query(`update ${counters} set next = greatest(next, $1) where name = 'sequence'`, [
      firstSequenceOf(incarnation),
    ]);
    // Commits hold their lease's row, so they have ended before their leases do.
    await query(`update ${leases} set expires = clock_timestamp() where expires > clock_timestamp()`);
  }

  async endAdoption(lease: Lease): Promise<boolean> {
    return await this.database.transact(async (query) => {
      if (!(await holdsLease(query, this.#tables, lease))) return rollBack(false);
      await query(`update ${this.#tables.state} set is_adopting = false`);
      return true;
    });
  }

  async isAdopting(): Promise<boolean> {
    return (await this.#state()).is_adopting === true;
  }

  async #state(): Promise<Row> {
    const [row] = await this.database.query(`select incarnation, is_adopting from ${this.#tables.state}`);
    return row!;
  }

  async isTrusted(): Promise<boolean> {
    const [row] = await this.database.query(`select server = ${SERVER} as is_trusted from ${this.#tables.state}`);
    return row!.is_trusted === true;
  }

  async trust(): Promise<void> {
    await this.database.transact((query) => query(`update ${this.#tables.state} set server = ${SERVER}`));
  }

  async #assertTrusted(query: Query): Promise<void> {
    const [row] = await query(`select server = ${SERVER} as is_trusted from ${this.#tables.state}`);
    if (row!.is_trusted !== true) throw new PinakesError('CATALOG_FAILED_OVER', { where: this.database.where });
  }

  /** The room that the tables and their indexes take on the server. */
  async bytes(): Promise<number> {
    const [row] = await this.database.query(
      `select coalesce(sum(pg_total_relation_size(oid)), 0) as bytes from pg_class
       where relkind = 'r' and relnamespace = $1::regnamespace`,
      [this.#tables.schema],
    );
    return number(row!.bytes);
  }

  /**
   * Checks the indexes with the extension amcheck where the database has it. Otherwise nothing is read: the server
   * checks its pages itself when they have checksums.
   */
  async *check(): AsyncGenerator<FileDamage> {
    const [extension] = await this.database.query(
      `select nspname from pg_extension join pg_namespace n on n.oid = extnamespace where extname = 'amcheck'`,
    );
    if (!extension) return;
    const indexes = await this.database.query(
      `select i.indexrelid::bigint as oid, i.indexrelid::regclass::text as name
       from pg_index i join pg_class c on c.oid = i.indrelid where c.relnamespace = $1::regnamespace order by name`,
      [this.#tables.schema],
    );
    for (const { oid, name } of indexes) {
      const detail = await this.#damageOf(`"${String(extension.nspname)}".bt_index_check($1::bigint::oid, true)`, oid);
      if (detail !== undefined) yield { file: String(name), detail };
    }
  }

  async #damageOf(check: string, oid: unknown): Promise<string | undefined> {
    try {
      await this.database.longQuery(`select ${check}`, [oid]);
      return undefined;
    } catch (error) {
      if (error instanceof PinakesError && error.code === 'CATALOG_DAMAGED') return error.detail ?? error.message;
      throw error;
    }
  }

  /**
   * Removes the rows one by one, because views must not change: TRUNCATE would empty them. Leases, counters and the
   * incarnation stay.
   */
  async clear(notes: Readonly<Record<string, string>> = {}): Promise<void> {
    const make = async (query: Query) => {
      await passGate(query, this.#tables, true);
      await this.#empty(query, notes);
    };
    await this.database.transact(make, { isLong: true });
  }

  async #empty(query: Query, notes: Readonly<Record<string, string>>, { keepsBars = false } = {}): Promise<void> {
    for (const name of CLEARED) if (!(keepsBars && name === 'bars')) await query(`delete from ${this.#tables[name]}`);
    await query(`update ${this.#tables.state} set url_key_version = ${URL_KEY_VERSION}`);
    await commitGroup(query, this.#tables, { putNotes: notes });
  }

  close(): Promise<void> {
    return this.database.close();
  }
}

/** The end of a lease with this life in milliseconds, or without an end. */
const END = (life: string) =>
  `case when ${life}::bigint is null then 'infinity' else clock_timestamp() + ${life}::bigint * interval '1 ms' end`;

function json(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
