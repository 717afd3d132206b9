/**
 * The file with the state of crawls, `crawl.sqlite` in the directory of the archive: known URLs, queued URLs, and facts
 * that help the next crawl.
 *
 * ```
 *   crawl     one row a run: collection, seeds, settings, how it ended, its report
 *   host      one row a host of a collection; id = bucket of the host * 2^32 + a running number, so that the rows of a
 *             host are found by its bucket
 *   url       one row a URL of a collection, by (host, hash of its key, hash of its normal form): its state and
 *             history; for a queued URL also its rank in the queue
 *   queue     URLs that are still to be fetched, by (host, rank); a row is deleted only when the captures of its URL
 *             are acknowledged
 *   need      embeds that sitemaps list for pages which are not captured yet, by (host, key, page) of the page
 *   robots    robots.txt files by origin
 *   schedule  repeated crawls
 * ```
 * The process that owns the archive owns this file too. The file is written in WAL mode, so the death of the process
 * loses no commit. A power cut may lose the last commits. Then some visited URLs are still queued. When the crawl is
 * resumed, it finds their captures in the archive.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { fileError, PinakesError } from '../../../base/index.ts';

const STATE_NAME = 'crawl.sqlite';
/**
 * The steps that make the tables. Version n of the file is the result of the first n steps. The other steps run when
 * the file is opened.
 */
const SCHEMA_STEPS = [
  `
CREATE TABLE crawl (
  number INTEGER PRIMARY KEY, collection TEXT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, seeds TEXT NOT NULL, settings TEXT NOT NULL,
  started INTEGER NOT NULL, ended INTEGER, counts TEXT, report TEXT
) STRICT;
CREATE INDEX crawl_of_collection ON crawl (collection, number);
CREATE TABLE host (
  id INTEGER PRIMARY KEY, collection TEXT NOT NULL, name TEXT NOT NULL, known INTEGER NOT NULL DEFAULT 0, queued INTEGER NOT NULL DEFAULT 0,
  UNIQUE (collection, name)
) STRICT;
CREATE INDEX host_with_queue ON host (collection, id) WHERE queued > 0;
CREATE TABLE url (
  host INTEGER NOT NULL, key INTEGER NOT NULL, page INTEGER NOT NULL, url TEXT NOT NULL, run INTEGER NOT NULL, state INTEGER NOT NULL,
  role INTEGER NOT NULL, depth INTEGER NOT NULL, hops INTEGER NOT NULL, tries INTEGER NOT NULL DEFAULT 0,
  status INTEGER NOT NULL DEFAULT 0, captured INTEGER, verified INTEGER, etag TEXT, modified TEXT, digest BLOB,
  visits INTEGER NOT NULL DEFAULT 0, changes INTEGER NOT NULL DEFAULT 0, watched INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (host, key, page)
) STRICT, WITHOUT ROWID;
CREATE TABLE queue (
  host INTEGER NOT NULL, rank INTEGER NOT NULL, key INTEGER NOT NULL, page INTEGER NOT NULL, PRIMARY KEY (host, rank, key, page)
) STRICT, WITHOUT ROWID;
CREATE TABLE robots (origin TEXT PRIMARY KEY, fetched INTEGER NOT NULL, verdict TEXT NOT NULL, body BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE schedule (
  collection TEXT PRIMARY KEY, every TEXT NOT NULL, seeds TEXT NOT NULL, settings TEXT NOT NULL, due INTEGER NOT NULL, last INTEGER
) STRICT, WITHOUT ROWID;
`,
  `
ALTER TABLE url ADD COLUMN rank INTEGER;
UPDATE url SET rank = queue.rank FROM queue WHERE queue.host = url.host AND queue.key = url.key AND queue.page = url.page;
`,
  `
CREATE TABLE need (
  host INTEGER NOT NULL, key INTEGER NOT NULL, page INTEGER NOT NULL, url TEXT NOT NULL, kind TEXT NOT NULL, PRIMARY KEY (host, key, page, url)
) STRICT, WITHOUT ROWID;
`,
];

export class CrawlFile {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  #users = 1;
  readonly #onClose: () => void;

  private constructor(database: DatabaseSync, onClose: () => void) {
    this.#database = database;
    this.#onClose = onClose;
  }

  /** Opens the file of an archive. All callers share it while it is open, and each must close it. */
  static open(directory: string): CrawlFile {
    const shared = OPEN.get(directory);
    if (shared) {
      shared.#users++;
      return shared;
    }
    const path = join(directory, STATE_NAME);
    let database: DatabaseSync | undefined;
    try {
      database = new DatabaseSync(path);
      database.exec(
        'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -16384; PRAGMA busy_timeout = 5000',
      );
      const version = Number(database.prepare('PRAGMA user_version').get()!.user_version);
      if (version > SCHEMA_STEPS.length)
        throw new PinakesError('CRAWL_STATE', { where: path, detail: `version ${version}` });
      const missing = SCHEMA_STEPS.slice(version).join('');
      if (missing !== '')
        database.exec(`BEGIN IMMEDIATE; ${missing}; PRAGMA user_version = ${SCHEMA_STEPS.length}; COMMIT`);
      const state = new CrawlFile(database, () => OPEN.delete(directory));
      OPEN.set(directory, state);
      return state;
    } catch (cause) {
      // An open transaction would lock the file.
      database?.close();
      const error = fileError(cause, path, 'writing');
      throw error instanceof PinakesError ? error : new PinakesError('CRAWL_STATE', { where: path, cause });
    }
  }

  static exists(directory: string): boolean {
    return existsSync(join(directory, STATE_NAME));
  }

  close(): void {
    if (--this.#users > 0) return;
    this.#onClose();
    this.#statements.clear();
    this.#database.close();
  }

  /** Runs work in one transaction. */
  transaction<T>(work: () => T): T {
    this.#withFileErrors(() => this.#database.exec('BEGIN IMMEDIATE'));
    try {
      const result = work();
      this.#withFileErrors(() => this.#database.exec('COMMIT'));
      return result;
    } catch (error) {
      // When the disk is full, SQLite has already rolled back.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  /** Returns a statement, prepared once. */
  statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) this.#statements.set(sql, (statement = this.#database.prepare(sql)));
    return statement;
  }

  all<T>(sql: string, ...values: SQLInputValue[]): T[] {
    return this.#withFileErrors(() => this.statement(sql).all(...values) as T[]);
  }

  get<T>(sql: string, ...values: SQLInputValue[]): T | undefined {
    return this.#withFileErrors(() => this.statement(sql).get(...values) as T | undefined);
  }

  /** Returns the number of changed rows. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return this.#withFileErrors(() => Number(this.statement(sql).run(...values).changes));
  }

  /** Translates errors of the disk. */
  #withFileErrors<T>(work: () => T): T {
    try {
      return work();
    } catch (cause) {
      throw fileError(cause, STATE_NAME, 'writing');
    }
  }

  /** Defines an SQL function. */
  define<Value extends SQLInputValue>(name: string, work: (...values: Value[]) => number): void {
    this.#database.function(name, { deterministic: true }, work as never);
  }
}

const OPEN = new Map<string, CrawlFile>();
