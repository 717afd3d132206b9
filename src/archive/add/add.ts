/**
 * Adds WARC and ARC files: worker threads walk and hash the members, and this thread decides and copies.
 *
 * New records are copied as the members they are in, whole runs at a time (I4). A response whose content the archive
 * has becomes a revisit with its own head. A capture that the archive has is skipped, so that adding a file twice adds
 * nothing. Everything of one step is durable before it is in the catalog, and the position in the file is noted in the
 * same commit. So an interrupted add continues after the last committed step.
 */
import { type Finding, PinakesError } from '../../base/index.ts';
import { ARCHIVE_FIELDS, CARRIED_FIELDS } from '../../ledger/index.ts';
import { notArchiveFile, scanFiles, warcFinding } from '../../warc/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { type AddOptions, type AddReport, emptyReport } from './add-report.ts';
import { AddedFile } from './added-file.ts';
import type { FileSamples } from './file-samples.ts';

/** Adds files by copying. */
export async function addFiles(
  archive: OpenedArchive,
  files: readonly string[],
  options: AddOptions,
): Promise<AddReport> {
  const report = emptyReport();
  const unread = await filesToRead(archive, files, options, report);
  const scan = scanFiles([...unread.keys()], {
    workers: options.workers ?? 2,
    fields: ARCHIVE_FIELDS,
    responseFields: CARRIED_FIELDS,
    signal: options.signal!,
    httpHeads: true,
    judgesDigests: true,
  });
  const sources = new OpenSources(archive, unread, options, report);
  const findings = new HeldFindings(options);
  let reachedBytes = 0;
  try {
    for await (const item of scan) {
      if (item.kind === 'batch') {
        findings.take(item.batch.findings, item.batch.count > 0);
        await sources.use(item.batch.file, (source) => source.take(item.batch, report));
        reachedBytes += item.bytes;
        options.onProgress?.({ file: item.batch.file, bytes: reachedBytes, captures: report.captures });
      } else {
        reachedBytes = 0;
        const isForeign = item.kind === 'file-end' && item.records === 0 && findings.areGarbage;
        findings.end(isForeign);
        if (item.kind === 'file-failed') {
          report.failures.push(item.error);
          await sources.takeRest(item.file);
        } else if (isForeign) {
          report.files--;
          report.failures.push(notArchiveFile(item.file));
        } else {
          if (item.isEmpty) options.onFinding?.(warcFinding('file-empty', item.file, 0));
          await sources.use(item.file, (source) => source.finish(report));
        }
        await sources.close(item.file);
      }
    }
  } finally {
    await sources.closeAll();
  }
  return report;
}

/** At most this many findings are held back. */
const HELD_MAX = 1000;

/**
 * Holds back the findings of a file until its first record. A file of garbage alone is not a WARC file, and its
 * findings would be noise.
 */
class HeldFindings {
  readonly #options: AddOptions;
  /** The findings that are held back. Undefined after they were reported. */
  #held: Finding[] | undefined = [];
  #hasGarbage = false;
  #hasGap = false;

  constructor(options: AddOptions) {
    this.#options = options;
  }

  /** False when the disk could not read all of the file: there may be records in the rest. */
  get areGarbage(): boolean {
    return this.#hasGarbage && !this.#hasGap;
  }

  take(findings: readonly Finding[], hasRecords: boolean): void {
    this.#hasGarbage ||= findings.some(({ code }) => code === 'garbage-skipped');
    this.#hasGap ||= findings.some(({ code }) => code === 'sector-unreadable');
    this.#held?.push(...findings);
    if (!this.#held) for (const finding of findings) this.#options.onFinding?.(finding);
    else if (hasRecords || this.#held.length > HELD_MAX) this.#release();
  }

  /** Prepares for the next file. */
  end(isForeign: boolean): void {
    if (!isForeign) this.#release();
    this.#held = [];
    this.#hasGarbage = false;
    this.#hasGap = false;
  }

  #release(): void {
    for (const finding of this.#held ?? []) this.#options.onFinding?.(finding);
    this.#held = undefined;
  }
}

/**
 * The files that exist and were not added before. They are not kept open, since there may be more of them than a
 * process may open.
 */
async function filesToRead(
  archive: OpenedArchive,
  files: readonly string[],
  options: AddOptions,
  report: AddReport,
): Promise<Map<string, FileSamples>> {
  const unread = new Map<string, FileSamples>();
  for (const file of new Set(files)) {
    try {
      const { deletedSince, samples } = await inspectFile(archive, file, options);
      report.files++;
      if (deletedSince === undefined) unread.set(file, samples);
      else {
        report.filesKnown++;
        report.deletedSince = Math.max(report.deletedSince, deletedSince);
      }
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
      report.failures.push(error);
    }
  }
  return unread;
}

/**
 * The samples of a file. If the file was added before, also how many captures were deleted from the collection since.
 */
async function inspectFile(
  archive: OpenedArchive,
  file: string,
  options: AddOptions,
): Promise<{ readonly deletedSince: number | undefined; readonly samples: FileSamples }> {
  const source = await AddedFile.open(archive, file, options);
  try {
    const deletedSince = (await source.wasAdded()) ? await source.deletedSince() : undefined;
    return { deletedSince, samples: source.samples };
  } finally {
    await source.close();
  }
}

/** Whether an error is about an added file or a place in it. Errors of the archive's own files end an add. */
export function isOfInput(error: unknown, file: string): error is PinakesError {
  if (!(error instanceof PinakesError) || !error.where?.startsWith(file)) return false;
  return error.where === file || /^[:!]/.test(error.where.slice(file.length));
}

/** The files that are being read at the moment. An error in one file does not affect the others (I10). */
class OpenSources {
  readonly #archive: OpenedArchive;
  readonly #samples: ReadonlyMap<string, FileSamples>;
  readonly #options: AddOptions;
  readonly #report: AddReport;
  readonly #open = new Map<string, AddedFile>();
  readonly #failed = new Set<string>();

  constructor(
    archive: OpenedArchive,
    samples: ReadonlyMap<string, FileSamples>,
    options: AddOptions,
    report: AddReport,
  ) {
    this.#archive = archive;
    this.#samples = samples;
    this.#options = options;
    this.#report = report;
  }

  async use(file: string, work: (source: AddedFile) => Promise<void>): Promise<void> {
    if (this.#failed.has(file)) return;
    try {
      const open = () => AddedFile.open(this.#archive, file, this.#options, this.#samples.get(file));
      const source = this.#open.get(file) ?? (await open());
      this.#open.set(file, source);
      await work(source);
    } catch (error) {
      if (!isOfInput(error, file)) throw error;
      this.#report.failures.push(error);
      this.#failed.add(file);
    }
  }

  async takeRest(file: string): Promise<void> {
    if (this.#open.has(file)) await this.use(file, (source) => source.takeRest(this.#report));
  }

  async close(file: string): Promise<void> {
    await this.#open.get(file)?.close();
    this.#open.delete(file);
  }

  async closeAll(): Promise<void> {
    for (const file of [...this.#open.keys()]) await this.close(file);
  }
}
