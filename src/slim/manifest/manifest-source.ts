/**
 * Makes manifests on disk readable for SQL. Parquet is read directly; text in the layout of warcsum is converted to
 * lines first. A file that is not a manifest is refused by name.
 */
import { closeSync, openSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDigestOfNothing, PinakesError, parseDigest, readingFile } from '../../base/index.ts';
import { type Database, PARQUET, sqlLiteral } from '../database.ts';
import { readLines } from '../text-lines.ts';
import { linesSource, MANIFEST_COLUMNS, type ManifestColumn, RESOLVED_COLUMNS } from './manifest-column.ts';
import { parseWarcsumLine } from './warcsum-text.ts';

export type ManifestSource = {
  /** The SQL expression to write after FROM. */
  readonly sql: string;
  readonly rows: number;
  /** Whether some sizes are unknown, as in text manifests and in manifests that were made from them. */
  readonly isWithoutSizes: boolean;
};

/** Text manifests are converted into files in `directory`. */
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
      parts.push(`SELECT ${names} FROM read_parquet(${sqlLiteral(path)})`);
      continue;
    }
    const lines = join(directory, `manifest-${index}.tsv`);
    await toLines(database, path, lines, isResolved);
    const source = linesSource([lines], columns);
    if (!isResolved) {
      parts.push(`SELECT ${names} FROM ${source}`);
      continue;
    }
    // Joined once and stored: a join inside of every query would take the memory that the query needs.
    const placed = sqlLiteral(join(directory, `manifest-${index}.parquet`));
    await database.run(`COPY (${withPlaces(source)}) TO ${placed} (${PARQUET})`);
    parts.push(`SELECT ${names} FROM read_parquet(${placed})`);
  }
  const sql = `(${parts.join(' UNION ALL ')})`;
  const withoutSize = 'count(*) FILTER (digest IS NOT NULL AND payload_bytes IS NULL)';
  const [rows, unsized] = await database.first(['count(*)', withoutSize], sql);
  return { sql, rows: Number(rows), isWithoutSizes: Number(unsized) > 0 };
}

/**
 * Adds the file and offset of originals. A text line has only the URI and date of the original; the line with copy
 * number 1 has the place, when the manifest still contains it. A content that is stored both with and without chunks
 * can have two such lines.
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
  return readingFile(path, () => {
    const descriptor = openSync(path, 'r');
    try {
      const start = Buffer.alloc(4);
      readSync(descriptor, start, 0, 4, 0);
      return start.toString('latin1') === 'PAR1';
    } finally {
      closeSync(descriptor);
    }
  });
}

async function expectColumns(database: Database, path: string, columns: readonly ManifestColumn[]): Promise<void> {
  const found = new Set<string>();
  for await (const [name] of database.rows(['name'], `parquet_schema(${sqlLiteral(path)})`)) found.add(name!);
  const missing = columns.filter(({ name }) => !found.has(name)).map(({ name }) => name);
  if (missing.length > 0) {
    throw new PinakesError('MANIFEST_UNREADABLE', {
      where: path,
      detail: `the manifest lacks the columns ${missing.join(', ')}`,
    });
  }
}

async function toLines(database: Database, path: string, target: string, isResolved: boolean): Promise<void> {
  const descriptor = openSync(target, 'w');
  let number = 0;
  let pending = '';
  try {
    for await (const line of readLines(path)) {
      number++;
      const text = line.endsWith('\r') ? line.slice(0, -1) : line;
      if (text === '') continue;
      const parsed = parseWarcsumLine(text);
      const place = `${path}:${number}`;
      if (!parsed) throw new PinakesError('MANIFEST_UNREADABLE', { where: place });
      if (isResolved && !parsed.isResolved) {
        throw new PinakesError('MANIFEST_UNREADABLE', {
          where: place,
          detail: 'the manifest is not resolved; run `pinakes slim resolve` first',
        });
      }
      if (isEmptyPayload(text)) continue;
      pending += isResolved ? parsed.line : plainLine(parsed.line);
      if (pending.length < 1024 * 1024) continue;
      database.throwIfInterrupted();
      writeFileSync(descriptor, pending);
      pending = '';
    }
    writeFileSync(descriptor, pending);
  } finally {
    closeSync(descriptor);
  }
}

/** A resolved line without the columns that resolving added. */
function plainLine(line: string): string {
  return `${line.trimEnd().split('\t').slice(0, MANIFEST_COLUMNS.length).join('\t')}\n`;
}

function isEmptyPayload(text: string): boolean {
  const digest = parseDigest(text.split(' ')[5] ?? '');
  return digest !== undefined && isDigestOfNothing(digest);
}
