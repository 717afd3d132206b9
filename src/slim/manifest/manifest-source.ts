/**
 * Manifests on disk as something SQL can read from: Parquet as it is, text in the layout of warcsum after it was
 * brought into lines. What is not a manifest is refused by name.
 */
import { closeSync, openSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileError, isDigestOfNothing, PinakesError, parseDigest } from '../../base/index.ts';
import { type Database, PARQUET, quoted } from '../database.ts';
import { linesOf } from '../text-lines.ts';
import { linesSource, MANIFEST_COLUMNS, type ManifestColumn, RESOLVED_COLUMNS } from './manifest-column.ts';
import { manifestLineOf } from './warcsum-text.ts';

export type ManifestSource = {
  /** What follows FROM. */
  readonly sql: string;
  readonly rows: number;
  /** Whether some sizes are unknown, as in text and what was made of it. */
  readonly isWithoutSizes: boolean;
};

/** `directory` takes text manifests in the form that SQL reads. */
export async function manifestSource(
  database: Database,
  paths: readonly string[],
  directory: string,
  columns: readonly ManifestColumn[] = MANIFEST_COLUMNS,
): Promise<ManifestSource> {
  const names = columns.map(({ name }) => name).join(', ');
  const isResolved = columns === RESOLVED_COLUMNS;
  const parts: string[] = [];
  for (const [index, path] of paths.entries()) {
    if (isParquet(path)) {
      await expectColumns(database, path, columns);
      parts.push(`SELECT ${names} FROM read_parquet(${quoted(path)})`);
      continue;
    }
    const lines = join(directory, `manifest-${index}.tsv`);
    await toLines(database, path, lines, isResolved);
    const source = linesSource([lines], columns);
    if (!isResolved) {
      parts.push(`SELECT ${names} FROM ${source}`);
      continue;
    }
    // Once and for all: joined anew inside of every question, it would take the memory that the question needs.
    const placed = quoted(join(directory, `manifest-${index}.parquet`));
    await database.run(`COPY (${withPlaces(source)}) TO ${placed} (${PARQUET})`);
    parts.push(`SELECT ${names} FROM read_parquet(${placed})`);
  }
  const sql = `(${parts.join(' UNION ALL ')})`;
  const withoutSize = 'count(*) FILTER (digest IS NOT NULL AND payload_bytes IS NULL)';
  const [rows, unsized] = await database.first(['count(*)', withoutSize], sql);
  return { sql, rows: Number(rows), isWithoutSizes: Number(unsized) > 0 };
}

/**
 * Text says which URI and date an original has, not where it lies; the line with copy number 1 does, when the manifest
 * still has it. Of a content that is stored in chunks and without there can be two.
 */
function withPlaces(source: string): string {
  return `SELECT m.* REPLACE (o.file AS original_file, o.record_offset AS original_offset, o.record_length AS original_length)
    FROM ${source} AS m LEFT JOIN (
      SELECT * FROM ${source} WHERE copy_number = 1
      QUALIFY row_number() OVER (PARTITION BY digest, extension, uri, date ORDER BY file, record_offset) = 1
    ) AS o
    ON o.digest = m.digest AND o.extension = m.extension AND o.uri = m.original_uri AND o.date = m.original_date`;
}

function isParquet(path: string): boolean {
  try {
    const descriptor = openSync(path, 'r');
    try {
      const start = Buffer.alloc(4);
      readSync(descriptor, start, 0, 4, 0);
      return start.toString('latin1') === 'PAR1';
    } finally {
      closeSync(descriptor);
    }
  } catch (cause) {
    throw fileError(cause, path);
  }
}

async function expectColumns(database: Database, path: string, columns: readonly ManifestColumn[]): Promise<void> {
  const found = new Set<string>();
  for await (const [name] of database.rows(['name'], `parquet_schema(${quoted(path)})`)) found.add(name!);
  const missing = columns.filter(({ name }) => !found.has(name)).map(({ name }) => name);
  if (missing.length > 0) {
    throw new PinakesError('MANIFEST_UNREADABLE', { where: path, detail: `it has no ${missing.join(', ')}` });
  }
}

async function toLines(database: Database, path: string, target: string, isResolved: boolean): Promise<void> {
  const descriptor = openSync(target, 'w');
  let number = 0;
  let pending = '';
  try {
    for await (const line of linesOf(path)) {
      number++;
      const text = line.endsWith('\r') ? line.slice(0, -1) : line;
      if (text === '') continue;
      const parsed = manifestLineOf(text);
      const place = `${path}:${number}`;
      if (!parsed) throw new PinakesError('MANIFEST_UNREADABLE', { where: place });
      if (isResolved && !parsed.isResolved) {
        throw new PinakesError('MANIFEST_UNREADABLE', { where: place, detail: 'it is not resolved' });
      }
      if (isEmptyPayload(text)) continue;
      pending += isResolved ? parsed.line : plainLine(parsed.line);
      if (pending.length < 1024 * 1024) continue;
      database.expectUninterrupted();
      writeFileSync(descriptor, pending);
      pending = '';
    }
    writeFileSync(descriptor, pending);
  } finally {
    closeSync(descriptor);
  }
}

/** A resolved line without what resolving added to it. */
function plainLine(line: string): string {
  return `${line.trimEnd().split('\t').slice(0, MANIFEST_COLUMNS.length).join('\t')}\n`;
}

function isEmptyPayload(text: string): boolean {
  const digest = parseDigest(text.split(' ')[5] ?? '');
  return digest !== undefined && isDigestOfNothing(digest);
}
