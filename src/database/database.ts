/**
 * A database of PostgreSQL (15 or newer) with one schema of an archive: pools of connections of bounded size,
 * transactions, snapshots, and messages to other processes.
 *
 * - Single statements and commits have a pool each, and snapshots a third one. A caller that reads a snapshot can
 *   therefore always look something up and commit.
 * - Nothing is kept in a session: no prepared statements, no settings, no session locks. So a pooler that gives each
 *   transaction another session may lie between. Only `listen` needs a session of its own.
 * - The driver is loaded when the first database is opened.
 * - Nothing waits for ever. A statement without an answer fails after a time, because a network that is gone says
 *   nothing. The server ends a transaction of a process that is stopped in the middle of it, which would keep others
 *   waiting, and a snapshot that is open for too long, which would keep old rows from being removed.
 */
import type { ClientBase, Pool, PoolClient, PoolConfig } from 'pg';
import { type CallObserver, Exclusive, PinakesError } from '../base/index.ts';
import { Listener } from './listener.ts';
import { isConflict, isOfConnection, postgresError } from './postgres-error.ts';

/** A row as the driver gives it: numbers, texts, booleans, bytes, and null. */
export type Row = Readonly<Record<string, unknown>>;

/** Runs a statement and returns its rows. */
export type Query = (text: string, values?: readonly unknown[]) => Promise<Row[]>;

export type DatabaseOptions = {
  /** `postgresql://host/database`. What it lacks comes from the environment (PGHOST, PGUSER, PGPASSWORD, ...). */
  readonly url?: string | undefined;
  /** The schema with the tables of the archive. */
  readonly schema: string;
  /** The most connections for each of single statements, commits and snapshots. */
  readonly poolSize?: number | undefined;
  /** Watches statements, by their first word, and how long they wait for a connection. */
  readonly observe?: CallObserver | undefined;
  readonly limits?: Partial<TimeLimits> | undefined;
};

export type TransactionOptions = {
  /** For changes of whole tables, whose statements may take hours. */
  readonly isLong?: boolean;
};

/** How long statements and transactions may take. */
export type TimeLimits = {
  /** Until the answer to a single statement, or to a statement of a snapshot. */
  readonly statementMs: number;
  /** Until the answer to a statement of a transaction that makes changes. */
  readonly commitMs: number;
  /** How long the server waits for the next statement of such a transaction. */
  readonly pauseMs: number;
  /** How long a snapshot may be open. */
  readonly snapshotMs: number;
};

const MINUTE_MS = 60_000;

const TIME_LIMITS: TimeLimits = {
  statementMs: 10 * MINUTE_MS,
  commitMs: MINUTE_MS,
  pauseMs: 10_000,
  snapshotMs: 15 * MINUTE_MS,
};

/** The longest time of a timer. */
const LONGEST_MS = 2 ** 31 - 1;

/** A connection that is silent for this long is probed, so that a server that is gone is noticed. */
const KEEP_ALIVE_MS = 10_000;

const POOL_SIZE = 8;
/** A view or a commit that waits this long for a connection fails. */
const WAIT_MS = 30_000;
const IDLE_MS = 30_000;

/** How often a transaction is made again after a deadlock or a conflict, which have changed nothing. */
const ATTEMPTS = 10;

/** A transaction that is rolled back on purpose, with the value that it returns. */
class RolledBack<Value> extends Error {
  readonly value: Value;

  constructor(value: Value) {
    super('rolled back');
    this.value = value;
  }
}

/** Ends a transaction without a change. */
export function rollBack<Value>(value: Value): never {
  throw new RolledBack(value);
}

type Opened = {
  readonly settings: PoolConfig;
  readonly where: string;
  readonly schema: string;
  readonly observe: CallObserver | undefined;
  readonly limits: TimeLimits;
};

/** The most bytes of the name of a channel. */
const CHANNEL_LENGTH_MAX = 63;

/** A name as statements write it, whatever characters it has. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A connection for `connected`. */
export type Connection = ClientBase;

export type Snapshot = AsyncDisposable & { readonly query: Query };

export class Database {
  /** The database for messages, without a password. */
  readonly where: string;
  /** The schema as statements write it. */
  readonly schema: string;
  readonly #settings: PoolConfig;
  readonly #observe: CallObserver | undefined;
  readonly #limits: TimeLimits;
  readonly #reads: Pool;
  readonly #commits: Pool;
  readonly #snapshots: Pool;
  readonly #listeners = new Set<Listener>();
  #isClosed = false;

  private constructor(make: () => Pool, { settings, where, schema, observe, limits }: Opened) {
    this.where = where;
    this.schema = quotedName(schema);
    this.#settings = settings;
    this.#observe = observe;
    this.#limits = limits;
    this.#reads = make();
    this.#commits = make();
    this.#snapshots = make();
  }

  static async open({ url, schema, poolSize = POOL_SIZE, observe, limits }: DatabaseOptions): Promise<Database> {
    const { default: pg } = await import('pg');
    const settings: PoolConfig = {
      ...(url !== undefined && { connectionString: url }),
      max: poolSize,
      connectionTimeoutMillis: WAIT_MS,
      idleTimeoutMillis: IDLE_MS,
      allowExitOnIdle: true,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      types: { getTypeParser: parserOf },
    };
    const make = () => {
      const pool = new pg.Pool(settings);
      // The failure of a connection reaches the statements that use it. Without a listener it would end the process.
      pool.on('error', () => {});
      pool.on('connect', (client) => client.on('error', () => {}));
      return pool;
    };
    const { host, port, database } = new pg.Client(settings);
    const where = `postgresql://${host}:${port}/${database ?? ''}`;
    return new Database(make, { settings, where, schema, observe, limits: { ...TIME_LIMITS, ...limits } });
  }

  /** Runs a single statement, which sees one instant. */
  readonly query: Query = (text, values) => this.#guard(() => this.#once(text, values, this.#limits.statementMs));

  /** Runs a single statement that may take hours. */
  readonly longQuery: Query = (text, values) => this.#guard(() => this.#once(text, values, LONGEST_MS));

  async #once(text: string, values: readonly unknown[] | undefined, limitMs: number): Promise<Row[]> {
    const client = await this.#connect('reads', this.#reads);
    let isSound = false;
    try {
      const rows = await this.#run(client, text, values, limitMs);
      isSound = true;
      return rows;
    } finally {
      client.release(!isSound);
    }
  }

  /**
   * Runs a transaction that makes changes. A deadlock, and a conflict with another transaction, have changed nothing:
   * the work is done again.
   *
   * When the answer to the commit is lost, nobody knows whether the changes were made: the error is retryable, and the
   * work is not done again here. The caller may ask again if its changes are made only once, as those of a commit with
   * an id are (C4).
   */
  async transact<Value>(work: (query: Query) => Promise<Value>, options: TransactionOptions = {}): Promise<Value> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#guard(() => this.#attempt(work, options));
      } catch (error) {
        if (!isConflict(error) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  async #attempt<Value>(
    work: (query: Query) => Promise<Value>,
    { isLong = false }: TransactionOptions,
  ): Promise<Value> {
    const client = await this.#connect('commits', this.#commits);
    let isSound = false;
    try {
      const { commitMs, pauseMs } = this.#limits;
      const query: Query = (text, values) => this.#run(client, text, values, isLong ? LONGEST_MS : commitMs);
      const limit = isLong ? '' : `; set local idle_in_transaction_session_timeout = ${pauseMs}`;
      await query(`begin isolation level read committed${limit}`);
      try {
        const value = await work(query);
        await query('commit');
        isSound = true;
        return value;
      } catch (error) {
        isSound = !isOfConnection(error) && (await succeeds(query('rollback')));
        if (error instanceof RolledBack) return error.value as Value;
        throw error;
      }
    } finally {
      // The server rolls back the transaction of a connection that ends.
      client.release(!isSound);
    }
  }

  /**
   * Runs a piece of work on a connection of its own, without a transaction around it and without time limits: copying
   * rows in and out of tables, and building indexes. The connection ends with it.
   */
  async connected<Value>(work: (client: ClientBase, query: Query) => Promise<Value>): Promise<Value> {
    return await this.#guard(async () => {
      const client = await this.#connect('commits', this.#commits);
      try {
        return await work(client, (text, values) => this.#run(client, text, values, LONGEST_MS));
      } finally {
        client.release(true);
      }
    });
  }

  /**
   * A read-only transaction on a connection of its own. All its statements see the instant of this call. While it is
   * open, the server keeps every row that is changed or removed. So it ends after a time, and then its statements fail
   * (CATALOG_VIEW_ENDED).
   */
  async snapshot(): Promise<Snapshot> {
    return await this.#guard(async () => {
      const client = await this.#connect('snapshots', this.#snapshots);
      try {
        // The second statement takes the snapshot; the first alone would leave that to a later one.
        // The server ends it when this process is stopped.
        await client.query(
          `begin isolation level repeatable read read only;
           set local idle_in_transaction_session_timeout = ${this.#limits.snapshotMs}; select 1`,
        );
      } catch (error) {
        client.release(true);
        throw error;
      }
      return this.#snapshotOf(client);
    });
  }

  #snapshotOf(client: PoolClient): Snapshot {
    const statements = new Exclusive();
    const { statementMs, snapshotMs } = this.#limits;
    let isEnded = false;
    const query: Query = (text, values) =>
      this.#guard(() =>
        statements.run(async () => {
          if (isEnded) throw new PinakesError('CATALOG_VIEW_ENDED', { where: this.where });
          return await this.#run(client, text, values, statementMs);
        }),
      );
    let isReleased = false;
    const dispose = async () => {
      if (isReleased) return;
      isReleased = true;
      clearTimeout(timer);
      client.release(!(await succeeds(statements.run(() => client.query('rollback')))));
    };
    const timer = setTimeout(() => {
      isEnded = true;
      void dispose();
    }, snapshotMs).unref();
    return { query, [Symbol.asyncDispose]: dispose };
  }

  /**
   * Calls `onMessage` with each message that any process sends to the channel with `notify`. Messages are hints: after
   * a lost connection some may be missing, and `onMessage` is called without one. Ends with the database.
   */
  listen(channel: string, onMessage: (message: string | undefined) => void): Disposable {
    const listener = new Listener(this.#settings, this.#channel(channel), onMessage);
    this.#listeners.add(listener);
    return {
      [Symbol.dispose]: () => {
        this.#listeners.delete(listener);
        listener.end();
      },
    };
  }

  /** Sends a message of at most 8,000 bytes to the channel; in a transaction, when the transaction commits. */
  async notify(channel: string, message: string, query: Query = this.query): Promise<void> {
    await query('select pg_notify($1, $2)', [this.#channel(channel), message]);
  }

  /** Channels belong to the whole database, so their names have the schema in them. */
  #channel(name: string): string {
    return `${this.schema.slice(1, -1)} ${name}`.slice(0, CHANNEL_LENGTH_MAX);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const listener of this.#listeners) listener.end();
    await Promise.all([this.#reads.end(), this.#commits.end(), this.#snapshots.end()]);
  }

  #connect(name: string, pool: Pool): Promise<PoolClient> {
    const connect = () => pool.connect();
    return this.#observe?.({ system: 'postgresql', name: 'connect', target: name }, connect) ?? connect();
  }

  async #run(
    client: ClientBase,
    text: string,
    values: readonly unknown[] | undefined,
    limitMs: number,
  ): Promise<Row[]> {
    const statement = { text, ...(values && { values: values as unknown[] }), query_timeout: limitMs };
    const send = async () => (await client.query(statement)).rows as Row[];
    return await (this.#observe?.({ system: 'postgresql', name: statementKind(text) }, send) ?? send());
  }

  async #guard<Value>(work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      throw postgresError(error, this.where, this.#isClosed);
    }
  }
}

async function succeeds(work: Promise<unknown>): Promise<boolean> {
  return await work.then(
    () => true,
    () => false,
  );
}

/** The first word of a statement: `select`, `with`, `insert`. */
function statementKind(text: string): string {
  return /[a-z]{1,12}/i.exec(text)?.[0].toLowerCase() ?? 'other';
}

/** Numbers of types: see pg_type.dat of PostgreSQL. */
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === 't',
  17: (text) => Buffer.from(text.slice(2), 'hex'),
  20: Number,
  21: Number,
  23: Number,
  1700: Number,
  3802: (text) => JSON.parse(text),
};

function parserOf(type: number): (text: string) => unknown {
  return PARSERS[type] ?? ((text) => text);
}
