/**
 * Everything that `add` accepts: files, and packages whose files are spooled first. An unreadable input does not affect
 * the others (I10).
 */
import { stat } from 'node:fs/promises';
import { type Finding, PinakesError } from '../../base/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { addFiles, isOfInput } from './add.ts';
import { type AddOptions, type AddReport, emptyReport } from './add-report.ts';
import { isPackage, spoolPackage } from './package-spool.ts';

const WORKERS = 2;
const FEW_BYTES = 8 * 1024 * 1024;

export async function addInputs(
  archive: OpenedArchive,
  paths: readonly string[],
  options: AddOptions,
): Promise<AddReport> {
  const report = emptyReport();
  let plain: string[] = [];
  const addPlain = async () => {
    const files = plain;
    plain = [];
    if (files.length === 0) return;
    const workers = options.workers ?? (await workersFor(files));
    joinReports(report, await addFiles(archive, files, { ...options, workers }));
  };
  for (const path of paths) {
    try {
      if (!(await isPackage(path))) {
        plain.push(path);
        continue;
      }
      await addPlain();
      joinReports(report, await addPackage(archive, path, options));
    } catch (error) {
      if (!isOfInput(error, path)) throw error;
      report.failures.push(error);
    }
  }
  await addPlain();
  return report;
}

async function addPackage(archive: OpenedArchive, path: string, options: AddOptions): Promise<AddReport> {
  const report = emptyReport();
  const onFinding = (finding: Finding) => options.onFinding?.(finding);
  let knownFiles = 0;
  let files = 0;
  let before = { bytes: 0, captures: 0 };
  for await (const { path: spooled, name } of spoolPackage(path, archive.scratch, onFinding)) {
    files++;
    let now = before;
    const one = await addFiles(archive, [spooled], {
      ...options,
      workers: options.workers ?? (await workersFor([spooled])),
      onFinding: (finding) => onFinding({ ...finding, file: name }),
      onProgress: ({ bytes, captures }) => {
        now = { bytes: before.bytes + bytes, captures: before.captures + captures };
        options.onProgress?.({ ...now, file: path });
      },
    });
    before = now;
    knownFiles += one.filesKnown;
    one.failures = one.failures.map((error) => renamed(error, spooled, name));
    joinReports(report, { ...one, files: 0, filesKnown: 0 });
  }
  if (files === 0) throw new PinakesError('NOT_WACZ', { where: path, detail: 'a package without WARC files' });
  report.files = 1;
  report.filesKnown = knownFiles === files ? 1 : 0;
  return report;
}

/** Names the file in the package in an error, instead of its place in the spool. */
export function renamed(error: PinakesError, spooled: string, name: string): PinakesError {
  if (!isOfInput(error, spooled)) return error;
  const where = name + error.where!.slice(spooled.length);
  return new PinakesError(error.code, { where, ...(error.detail && { detail: error.detail }), cause: error });
}

/** The number of threads for reading these files. Starting a thread takes longer than reading a few megabytes. */
export async function workersFor(files: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const file of files)
    bytes += await stat(file).then(
      ({ size }) => size,
      () => 0,
    );
  return bytes < FEW_BYTES ? 0 : WORKERS;
}

function joinReports(report: AddReport, other: AddReport): void {
  report.files += other.files;
  report.filesKnown += other.filesKnown;
  report.deletedSince = Math.max(report.deletedSince, other.deletedSince);
  report.failures.push(...other.failures);
  report.records += other.records;
  report.captures += other.captures;
  report.capturesKnown += other.capturesKnown;
  report.capturesDeleted += other.capturesDeleted;
  report.capturesBarred += other.capturesBarred;
  report.duplicates += other.duplicates;
  report.duplicateBytes += other.duplicateBytes;
  report.unresolved += other.unresolved;
  report.undated += other.undated;
}
