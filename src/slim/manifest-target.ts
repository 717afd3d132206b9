/** Writes rows as a manifest: Parquet, or text in the layout of warcsum. Under a temporary name until it is whole. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileError } from '../base/index.ts';
import { syncDirectory } from '../warc/index.ts';
import { type Database, quoted } from './database.ts';
import { WARCSUM_COLUMNS, WARCSUM_RESOLVED_COLUMNS, warcsumLine } from './warcsum-text.ts';

export type ManifestFormat = 'parquet' | 'warcsum';

export const MANIFEST_FORMATS: readonly ManifestFormat[] = ['parquet', 'warcsum'];

/** `rows` is a query with the columns of a manifest; resolved ones when `isResolved`. */
export async function writeManifest(
  database: Database,
  rows: string,
  path: string,
  format: ManifestFormat,
  isResolved: boolean,
): Promise<void> {
  const temporary = `${path}.tmp`;
  try {
    if (format === 'parquet') {
      await database.run(`COPY (${rows}) TO ${quoted(temporary)} (FORMAT parquet, COMPRESSION zstd)`);
    } else {
      await writeText(database, rows, temporary, isResolved);
    }
    renameSync(temporary, path);
    await syncDirectory(dirname(path));
  } catch (cause) {
    rmSync(temporary, { force: true });
    throw fileError(cause, path, 'writing');
  }
}

async function writeText(database: Database, rows: string, path: string, isResolved: boolean): Promise<void> {
  const columns = isResolved ? WARCSUM_RESOLVED_COLUMNS : WARCSUM_COLUMNS;
  const source = `(${rows}) WHERE type = 'response' ORDER BY file, record_offset`;
  const descriptor = openSync(path, 'w');
  try {
    let pending = '';
    for await (const row of database.rows(columns, source)) {
      pending += warcsumLine(row);
      if (pending.length < 1024 * 1024) continue;
      writeSync(descriptor, pending);
      pending = '';
    }
    writeSync(descriptor, pending);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
