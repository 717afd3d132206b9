/**
 * `search.sqlite`: what was learned of the pages of an archive. Derived from the segments; it can be thrown away and
 * made again.
 *
 * ```
 *   documents   one a distinct content: what is asked of many at once. Kind `page`; `redirect` for a place that responses lead to, which is no content and is
 *               told from them by the overflow -1; '' for what proved to be no page
 *   texts       its description, its text and its links as written, both zstd (document-links.ts)
 *   urls        one a URL key: how many other URLs cite it, its rank
 *   versions    one a content and URL: captures of it, first and last time
 *   citations   hashes of the URLs that a version cites, 8 bytes each, little-endian doubles
 *   captures    one a capture, by what identifies it; the segment says where to look whether it was deleted
 *   words       FTS5 over documents: title, headings, description, body; the text itself is not kept in it
 *   targets     FTS5 over versions: hashes of all links, in hexadecimal
 *   unresolved  revisits whose content the archive did not know yet
 *   state       where the indexer stands, by name
 * ```
 * One process writes, many read. A batch is one transaction, with the cursor in it: readers see all of a batch or
 * nothing, and after a crash the indexer goes on behind the last batch that is whole.
 */
import { DatabaseSync } from 'node:sqlite';
import { fileError, PinakesError } from '../../base/index.ts';

export const SEARCH_FILE = 'search.sqlite';

/** Of the tables and of what is put into them. An index of another version is made again. */
const INDEX_VERSION = 7;

/** Marks are letters' parts in the scripts of India and beyond; left out, they would cut words apart. */
const TOKENIZER = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'";

const TABLES = `
  CREATE TABLE state (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE documents (
    id INTEGER PRIMARY KEY, digest BLOB NOT NULL, overflow INTEGER NOT NULL, kind TEXT NOT NULL, mime TEXT NOT NULL,
    language TEXT NOT NULL, bytes INTEGER NOT NULL, published INTEGER, modified INTEGER, is_truncated INTEGER NOT NULL,
    charset TEXT NOT NULL, title TEXT NOT NULL, UNIQUE (digest, overflow));
  CREATE TABLE texts (document INTEGER PRIMARY KEY, description TEXT NOT NULL, body BLOB NOT NULL, base TEXT, links BLOB);
  CREATE TABLE urls (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, url TEXT NOT NULL, hash INTEGER NOT NULL,
    inlinks INTEGER NOT NULL DEFAULT 0, rank REAL NOT NULL DEFAULT 0);
  CREATE INDEX urls_hash ON urls (hash);
  CREATE TABLE versions (
    id INTEGER PRIMARY KEY, document INTEGER NOT NULL, url INTEGER NOT NULL, batch INTEGER NOT NULL,
    captures INTEGER NOT NULL, first_time INTEGER NOT NULL, last_time INTEGER NOT NULL, UNIQUE (document, url));
  CREATE TABLE citations (version INTEGER PRIMARY KEY, cited BLOB NOT NULL);
  CREATE INDEX versions_url ON versions (url);
  CREATE TABLE collections (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
  CREATE TABLE captures (
    version INTEGER NOT NULL, time INTEGER NOT NULL, hash INTEGER NOT NULL, collection INTEGER NOT NULL,
    status INTEGER NOT NULL, mime TEXT NOT NULL, segment INTEGER NOT NULL,
    PRIMARY KEY (version, time, hash, collection)) WITHOUT ROWID;
  CREATE INDEX captures_segment ON captures (segment);
  CREATE TABLE segments (number INTEGER PRIMARY KEY, dead_bytes INTEGER NOT NULL);
  CREATE TABLE unresolved (key TEXT NOT NULL, time INTEGER NOT NULL, hash INTEGER NOT NULL, PRIMARY KEY (key, time, hash)) WITHOUT ROWID;
  CREATE VIRTUAL TABLE words USING fts5 (title, headings, description, body, content='', contentless_delete=1, tokenize="${TOKENIZER}");
  CREATE VIRTUAL TABLE targets USING fts5 (links, content='', contentless_delete=1, detail=none, tokenize=ascii);
`;

/** Opens the index for writing; makes it when it is not there, and makes it again when it is of another version. */
export function openForWriting(path: string): DatabaseSync {
  const database = open(path, false);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON');
  // Many small pieces are merged many times over; a few large ones once.
  database.exec('PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY');
  const version = versionOf(database);
  if (version === INDEX_VERSION) return database;
  if (version !== 0) dropAll(database);
  database.exec(`BEGIN IMMEDIATE; ${TABLES} PRAGMA user_version = ${INDEX_VERSION}; COMMIT`);
  return database;
}

/** Opens the index for reading; refuses where there is none. */
export function openForReading(path: string): DatabaseSync {
  const database = open(path, true);
  const version = versionOf(database);
  if (version === INDEX_VERSION) {
    try {
      database.exec('PRAGMA cache_size = -65536; PRAGMA mmap_size = 1073741824');
      return database;
    } catch (error) {
      database.close();
      throw indexError(error);
    }
  }
  database.close();
  throw new PinakesError('INDEX_MISSING', {
    where: path,
    detail: version === 0 ? 'it is empty' : `version ${version}`,
  });
}

function open(path: string, readOnly: boolean): DatabaseSync {
  try {
    return new DatabaseSync(path, { readOnly, timeout: 10_000 });
  } catch (cause) {
    throw new PinakesError(readOnly ? 'INDEX_MISSING' : 'INDEX_DAMAGED', { where: path, cause });
  }
}

function versionOf(database: DatabaseSync): number {
  try {
    return Number(database.prepare('PRAGMA user_version').get()!.user_version);
  } catch (cause) {
    database.close();
    const error = indexError(cause);
    throw error instanceof PinakesError ? error : damaged((cause as Error).message, cause);
  }
}

function dropAll(database: DatabaseSync): void {
  const names = database
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all();
  const virtual = names.filter(({ name }) => name === 'words' || name === 'targets');
  for (const { name } of virtual) database.exec(`DROP TABLE "${name}"`);
  for (const { name } of names) database.exec(`DROP TABLE IF EXISTS "${name}"`);
}

const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;
/** The file is shorter than it says. */
const SQLITE_IOERR_SHORT_READ = 522;

/**
 * What SQLite says of a file that is broken, and of a machine that is not able to, as an operating failure; everything
 * else as it is.
 */
export function indexError(error: unknown): unknown {
  const { code, errcode, message } = (error ?? {}) as { code?: unknown; errcode?: unknown; message?: unknown };
  if (code !== 'ERR_SQLITE_ERROR' || typeof errcode !== 'number') return error;
  const isDamaged = [SQLITE_CORRUPT, SQLITE_NOTADB].includes(errcode & 0xff) || errcode === SQLITE_IOERR_SHORT_READ;
  return isDamaged ? damaged(String(message), error) : fileError(error, SEARCH_FILE, 'writing');
}

/** Says so of an index whose tables do not hold what was put into them. */
export function damaged(detail: string, cause?: unknown): PinakesError {
  return new PinakesError('INDEX_DAMAGED', { where: SEARCH_FILE, detail, cause });
}
