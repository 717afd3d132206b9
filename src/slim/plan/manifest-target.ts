/** Writes rows as a manifest: Parquet, or text in the layout of warcsum. It is renamed when it is complete. */
import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory, writingFile } from '../../base/index.ts';
import { type Database, PARQUET, sqlLiteral } from '../database.ts';
import { formatWarcsumLine, WARCSUM_COLUMNS, WARCSUM_RESOLVED_COLUMNS } from '../manifest/warcsum-text.ts';
import { findReferenced, pointersIn, prepareReferenced } from './clusters.ts';

export type ManifestFormat = 'parquet' | 'warcsum';

export const MANIFEST_FORMATS: readonly ManifestFormat[] = ['parquet', 'warcsum'];

/**
 * Writes the manifest to `path`, a temporary path for `putManifest`. `rows` is a query with the columns of a manifest,
 * or of a resolved manifest when `isResolved`.
 */
export async function writeManifest(
  database: Database,
  rows: string,
  path: string,
  format: ManifestFormat,
  isResolved: boolean,
): Promise<void> {
  if (format === 'parquet') {
    await database.run(`COPY (${rows}) TO ${sqlLiteral(path)} (${PARQUET}, COMPRESSION zstd)`);
  } else {
    await writeText(database, rows, path, isResolved);
  }
}

/** Renames a written manifest on the same disk, durably. */
export async function putManifest(written: string, path: string): Promise<void> {
  await writingFile(path, async () => {
    const descriptor = openSync(written, 'r+');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(written, path);
    await syncDirectory(dirname(path));
  });
}

/** Selects the rows for text. A line cannot say that a record must stay, so only originals and duplicates have one. */
function resolvedRows(rows: string): string {
  return `(${rows}) WHERE type = 'response' AND (copy_number = 1 OR yields)`;
}

/** Selects the rows for plain text. Records that others refer to are left out, so that they never become duplicates. */
async function plainRows(database: Database, rows: string): Promise<string> {
  await prepareReferenced(database);
  await findReferenced(database, `(${rows})`, pointersIn(`(${rows})`));
  return `(${rows}) AS m ANTI JOIN referenced AS r ON r.file = m.file AND r.record_offset = m.record_offset
    WHERE m.type = 'response' AND m.holds`;
}

async function writeText(database: Database, rows: string, path: string, isResolved: boolean): Promise<void> {
  const columns = isResolved ? WARCSUM_RESOLVED_COLUMNS : WARCSUM_COLUMNS;
  const source = `${isResolved ? resolvedRows(rows) : await plainRows(database, rows)} ORDER BY file, record_offset`;
  const descriptor = openSync(path, 'w');
  try {
    let pending = '';
    for await (const row of database.rows(columns, source)) {
      pending += formatWarcsumLine(row);
      if (pending.length < 1024 * 1024) continue;
      writeFileSync(descriptor, pending);
      pending = '';
    }
    writeFileSync(descriptor, pending);
  } finally {
    closeSync(descriptor);
  }
}
