/** The statements of the writer, prepared once. */
import type { DatabaseSync } from 'node:sqlite';

const SQL = {
  getState: 'SELECT value FROM state WHERE name = ?',
  putState: 'INSERT OR REPLACE INTO state (name, value) VALUES (?, ?)',
  dropState: 'DELETE FROM state WHERE name = ?',
  findDocument: 'SELECT id, kind FROM documents WHERE digest = ? AND overflow = ?',
  putDocument: `INSERT INTO documents (digest, overflow, kind, mime, language, bytes, published, modified, is_truncated, charset, title)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  dropDocument: 'DELETE FROM documents WHERE id = ?',
  getLinks: 'SELECT links, base FROM texts WHERE document = ?',
  putText: 'INSERT INTO texts (document, description, body, base, links) VALUES (?, ?, ?, ?, ?)',
  dropText: 'DELETE FROM texts WHERE document = ?',
  putWords: 'INSERT INTO words (rowid, title, headings, description, body) VALUES (?, ?, ?, ?, ?)',
  dropWords: 'DELETE FROM words WHERE rowid = ?',
  putTargets: 'INSERT INTO targets (rowid, links) VALUES (?, ?)',
  dropTargets: 'DELETE FROM targets WHERE rowid = ?',
  findUrl: 'SELECT id FROM urls WHERE key = ?',
  putUrl: 'INSERT INTO urls (key, url, hash) VALUES (?, ?, ?)',
  dropUrl: 'DELETE FROM urls WHERE id = ?',
  findVersion: 'SELECT id FROM versions WHERE document = ? AND url = ?',
  getVersion: 'SELECT document, url FROM versions WHERE id = ?',
  putVersion: 'INSERT INTO versions (document, url, batch, captures, first_time, last_time) VALUES (?, ?, ?, 1, ?, ?)',
  putCited: 'INSERT INTO citations (version, cited) VALUES (?, ?)',
  dropCited: 'DELETE FROM citations WHERE version = ?',
  dropVersion: 'DELETE FROM versions WHERE id = ?',
  versionOfUrl: 'SELECT 1 FROM versions WHERE url = ? LIMIT 1',
  versionOfDocument: 'SELECT 1 FROM versions WHERE document = ? LIMIT 1',
  putCollection: 'INSERT INTO collections (name) VALUES (?)',
  putCapture: `INSERT OR IGNORE INTO captures (version, time, hash, collection, status, mime, segment) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  moveCapture: 'UPDATE captures SET segment = ? WHERE version = ? AND time = ? AND hash = ? AND collection = ?',
  countCapture: `UPDATE versions SET captures = captures + 1, first_time = min(first_time, ?), last_time = max(last_time, ?) WHERE id = ?`,
  findCaptures: `SELECT c.version FROM urls u JOIN versions v ON v.url = u.id JOIN captures c ON c.version = v.id
    WHERE u.key = ? AND c.time = ? AND c.hash = ? AND c.collection = ?`,
  dropCapture: 'DELETE FROM captures WHERE version = ? AND time = ? AND hash = ? AND collection = ?',
  capturesOfSegment: 'SELECT version, time, hash, collection FROM captures WHERE segment = ? LIMIT ?',
  capturesLeft: 'SELECT count(*) AS count, min(time) AS first, max(time) AS last FROM captures WHERE version = ?',
  setSpan: 'UPDATE versions SET captures = ?, first_time = ?, last_time = ? WHERE id = ?',
  putSegment: 'INSERT INTO segments (number, dead_bytes) VALUES (?, ?)',
  putUnresolved: 'INSERT OR IGNORE INTO unresolved (key, time, hash) VALUES (?, ?, ?)',
  dropUnresolved: 'DELETE FROM unresolved WHERE key = ? AND time = ? AND hash = ?',
} as const;

export type WriterStatements = Readonly<Record<keyof typeof SQL, ReturnType<DatabaseSync['prepare']>>>;

export function statementsOf(database: DatabaseSync): WriterStatements {
  return Object.fromEntries(
    Object.entries(SQL).map(([name, sql]) => [name, database.prepare(sql)]),
  ) as WriterStatements;
}
