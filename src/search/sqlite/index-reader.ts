/** Reads the state and the captures of the index for the indexer. It sees only committed batches. */
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { CaptureIdentity } from '../index-entry.ts';
import { openForReading } from './database.ts';

const GROUP_CAPTURES = 500;

export class IndexReader {
  readonly #database: DatabaseSync;
  readonly #document: ReturnType<DatabaseSync['prepare']>;

  constructor(path: string) {
    this.#database = openForReading(path);
    this.#document = this.#database.prepare(
      "SELECT 1 FROM documents WHERE digest = ? AND overflow = ? AND (kind <> '' OR mime = ?)",
    );
  }

  state(name: string): string | undefined {
    const row = this.#database.prepare('SELECT value FROM state WHERE name = ?').get(name);
    return row === undefined ? undefined : String(row.value);
  }

  /** True if a content is known to be a page, or known not to be a page under this media type. */
  isKnown(digest: Uint8Array, overflow: number, mime: string): boolean {
    return this.#document.get(digest, overflow, mime) !== undefined;
  }

  /** The deleted bytes of segments, by sequence number, when the indexer last looked for deletions. */
  segments(): Map<number, number> {
    const rows = this.#database.prepare('SELECT number, dead_bytes AS dead FROM segments').all();
    return new Map(rows.map(({ number, dead }) => [Number(number), Number(dead)]));
  }

  segmentsOfCaptures(): number[] {
    // Jumps from one segment number to the next, instead of reading all captures.
    const sql = `WITH RECURSIVE n(number) AS (SELECT min(segment) FROM captures
      UNION ALL SELECT (SELECT min(segment) FROM captures WHERE segment > number) FROM n WHERE number IS NOT NULL)
      SELECT number FROM n WHERE number IS NOT NULL`;
    return this.#database
      .prepare(sql)
      .all()
      .map(({ number }) => Number(number));
  }

  /** The captures of a segment in the index, in groups. */
  async *capturesOf(segment: number): AsyncGenerator<CaptureIdentity[]> {
    const sql = `SELECT u.key, c.time, c.hash, o.name FROM captures c JOIN versions v ON v.id = c.version JOIN urls u ON u.id = v.url
      JOIN collections o ON o.id = c.collection WHERE c.segment = ?`;
    for (const group of inGroups(this.#database.prepare(sql).iterate(segment)))
      yield group.map((row) => ({ ...captureIn(row), collection: String(row.name) }));
  }

  *unresolved(): Generator<Omit<CaptureIdentity, 'collection'>[]> {
    const rows = this.#database.prepare('SELECT key, time, hash FROM unresolved').iterate();
    for (const group of inGroups(rows)) yield group.map(captureIn);
  }

  close(): void {
    this.#database.close();
  }
}

type Row = Record<string, SQLOutputValue>;

function captureIn({ key, time, hash }: Row): Omit<CaptureIdentity, 'collection'> {
  return { key: String(key), time: Number(time), hash: Number(hash) };
}

function* inGroups(rows: Iterable<Row>): Generator<Row[]> {
  let group: Row[] = [];
  for (const row of rows) {
    group.push(row);
    if (group.length < GROUP_CAPTURES) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}
