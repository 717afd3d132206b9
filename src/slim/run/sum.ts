/** `slim sum`, the first stage: writes the hash manifest of files. */
import { join } from 'node:path';
import type { DigestAlgorithm } from '../../base/index.ts';
import { refuseUnlistable } from '../collection.ts';
import { type Database, sqlLiteral } from '../database.ts';
import { linesSource, MANIFEST_COLUMNS } from '../manifest/manifest-column.ts';
import { clusterFiles, ManifestLinesFile, pointerFile } from '../manifest/manifest-lines-file.ts';
import { type ManifestFormat, putManifest, writeManifest } from '../plan/manifest-target.ts';
import { withStageDirectory } from '../stage-directory.ts';
import { firstPass } from './first-pass.ts';
import type { SlimCallbacks } from './run.ts';

export type SumOptions = SlimCallbacks & {
  /** The paths, which the manifest repeats unchanged. */
  readonly files: readonly string[];
  readonly out: string;
  readonly format: ManifestFormat;
  readonly algorithm: DigestAlgorithm;
  readonly trustHeaders: boolean;
  readonly keepEmpty: boolean;
  readonly workers: number;
  readonly digestBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type SumReport = { readonly files: number; readonly records: number; readonly rows: number };

export async function slimSum(options: SumOptions): Promise<SumReport> {
  return withStageDirectory(options.out, options.signal, async (directory, database) => {
    const report = await scanInto(directory, options);
    const source = await scannedSource(database, directory, report.aside);
    const written = join(directory, 'manifest');
    await writeManifest(database, `SELECT * FROM ${source}`, written, options.format, false);
    await putManifest(written, options.out);
    return { files: options.files.length, records: report.records, rows: report.rows };
  });
}

export type ScanReport = { readonly records: number; readonly rows: number; readonly aside: readonly string[] };

/** Scans files and writes their lines into the directory. */
export async function scanInto(
  directory: string,
  options: Omit<SumOptions, 'out' | 'format'> & { readonly prefixDigits?: number; readonly brief?: boolean },
): Promise<ScanReport> {
  const { files, onProgress } = options;
  for (const file of files) refuseUnlistable(file);
  const lines = new ManifestLinesFile(directory, options.prefixDigits ?? 0);
  const aside: string[] = [];
  let [records, rows] = [0, 0];
  await firstPass(
    files,
    {
      add: (line, digestHex) => {
        lines.add(line, digestHex);
        rows++;
      },
      onFile: (index, scanned) => {
        records += scanned.records;
        if (scanned.aside !== '') aside.push(files[index]!);
      },
    },
    { ...options, withArc: true, onProgress: (bytes, file) => onProgress?.('scan', bytes, file) },
  );
  lines.checkpoint();
  return { records, rows, aside };
}

/** The SQL source of the scanned lines, with `holds` and `yields` false for records of excluded files. */
async function scannedSource(database: Database, directory: string, aside: readonly string[]): Promise<string> {
  const paths = clusterFiles(directory);
  const pointers = pointerFile(directory);
  if (pointers) paths.push(pointers);
  if (paths.length === 0) {
    const columns = MANIFEST_COLUMNS.map(({ name, type }) => `NULL::${type} AS ${name}`);
    return `(SELECT ${columns.join(', ')} WHERE false)`;
  }
  await database.run('CREATE TEMP TABLE aside (file VARCHAR)');
  for (const file of aside) await database.run(`INSERT INTO aside VALUES (${sqlLiteral(file)})`);
  const isAside = 'file IN (SELECT file FROM aside)';
  return `(SELECT * REPLACE (holds AND NOT ${isAside} AS holds, yields AND NOT ${isAside} AS yields)
    FROM ${linesSource(paths, MANIFEST_COLUMNS)})`;
}
