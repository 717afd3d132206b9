/**
 * `search.sqlite`: the index of the pages of an archive. It is derived from the segments, and can be deleted and made
 * again.
 *
 * ```
 *   documents   one row per distinct content, with the columns that queries read for many contents at once.
 *               kind: `page`; `redirect` for the target of redirects, which is not a content and has overflow -1;
 *               '' for a content that is not a page
 *   texts       description, text and links as written of a document; text and links are zstd (document-links.ts)
 *   urls        one row per URL key: its rank, and the number of other URLs that cite it
 *   versions    one row per content and URL: the number of captures, the first and the last time
 *   citations   hashes of the URLs that a version cites: little-endian doubles, 8 bytes each
 *   captures    one row per capture, with its identity, and the sequence number of its segment, to find deletions
 *   words       FTS5 over documents: title, headings, description, body; contentless, so it does not store the text
 *   targets     FTS5 over versions: the hashes of all links, in hexadecimal
 *   unresolved  revisits whose content the archive did not have yet
 *   state       the state of the indexer, by name
 * ```
 * One process writes, many read. A batch is one transaction, which includes the cursor. So readers see a batch
 * completely or not at all, and after a crash the indexer continues after the last complete batch.
 */
import { DatabaseSync } from 'node:sqlite';
import { fileError, PinakesError } from '../../base/index.ts';

export const SEARCH_FILE = 'search.sqlite';

/** The version of the tables and of their contents. An index of another version is made again. */
const INDEX_VERSION = 7;

/** The tokenizer keeps marks (Mn, Mc). In the scripts of India, and in some others, marks are parts of words. */
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

/** Opens the index for writing. Creates it if it does not exist, and makes it again if it has another version. */
export function openForWriting(path: string): DatabaseSync {
  const database = open(path, false);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON');
  // With a large cache FTS5 writes few large pieces, which are merged only once.
  database.exec('PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY');
  const version = versionOf(database);
  if (version === INDEX_VERSION) return database;
  if (version !== 0) dropAll(database);
  database.exec(`BEGIN IMMEDIATE; ${TABLES} PRAGMA user_version = ${INDEX_VERSION}; COMMIT`);
  return database;
}

/** Opens the index for reading. Fails with INDEX_MISSING if there is no usable index. */
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
    throw error instanceof PinakesError ? error : damagedIndex((cause as Error).message, cause);
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
/** The file is shorter than its header says. */
const SQLITE_IOERR_SHORT_READ = 522;

/**
 * Turns an error of SQLite about a damaged file, or about the machine, into an operating failure. Other errors are
 * returned unchanged.
 */
export function indexError(error: unknown): unknown {
  const { code, errcode, message } = (error ?? {}) as { code?: unknown; errcode?: unknown; message?: unknown };
  if (code !== 'ERR_SQLITE_ERROR' || typeof errcode !== 'number') return error;
  const isDamaged = [SQLITE_CORRUPT, SQLITE_NOTADB].includes(errcode & 0xff) || errcode === SQLITE_IOERR_SHORT_READ;
  return isDamaged ? damagedIndex(String(message), error) : fileError(error, SEARCH_FILE, 'writing');
}

/** The error for an index whose tables are inconsistent. */
export function damagedIndex(detail: string, cause?: unknown): PinakesError {
  return new PinakesError('INDEX_DAMAGED', { where: SEARCH_FILE, detail, cause });
}
