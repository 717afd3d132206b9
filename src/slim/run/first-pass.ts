/**
 * The first pass: scans and hashes all files on several threads, and writes a manifest line for every record that can
 * be part of deduplication. Files that cannot be part of it are excluded with a reason; their lines are ignored later.
 */
import type { Finding, PinakesError } from '../../base/index.ts';
import { SCAN_ARC, type ScanBatch, scanFiles } from '../../warc/index.ts';
import { type FileIdentity, identityIfThere, sameIdentity } from '../file-identity.ts';
import { slimFinding } from '../finding-catalogue.ts';
import { type LineOptions, ManifestLines } from '../manifest/manifest-line.ts';
import type { ScannedFile } from './journal.ts';

export type FirstPassOptions = LineOptions & {
  readonly workers: number;
  readonly onFinding: (finding: Finding) => void;
  readonly onFailure: (error: PinakesError) => void;
  readonly onProgress?: ((bytes: number, file: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type FirstPassSink = {
  readonly add: (line: string, digestHex: string) => void;
  /** Called at the end of a file; its lines can be made durable now. */
  readonly onFile: (index: number, scanned: Omit<ScannedFile, 'file'>, bytes: number) => void;
};

export async function firstPass(
  paths: readonly string[],
  sink: FirstPassSink,
  options: FirstPassOptions,
): Promise<void> {
  const before = paths.map(identityIfThere);
  const lines = new ManifestLines(options);
  const { workers, algorithm, signal } = options;
  let index = 0;
  let summary = new FileSummary();
  let bytes = 0;
  for await (const item of scanFiles(paths, { workers, algorithm, ...(signal && { signal }) })) {
    if (item.kind === 'batch') {
      summary.add(item.batch, options.onFinding);
      addLines(item.batch, paths[index]!, lines, sink);
      bytes += item.bytes;
      options.onProgress?.(bytes, item.batch.file);
      continue;
    }
    if (item.kind === 'file-failed') options.onFailure(item.error);
    const identity = before[index];
    const after = identityIfThere(paths[index]!);
    let aside = item.kind === 'file-failed' ? 'failed' : summary.aside(options.withArc === true);
    if (!identity || !after || !sameIdentity(identity, after)) aside = aside === 'failed' ? aside : 'busy';
    reportAside(aside, paths[index]!, options.onFinding);
    sink.onFile(index, { identity: identity ?? NO_FILE, records: summary.records, aside }, identity?.size ?? 0);
    index++;
    summary = new FileSummary();
  }
}

const NO_FILE: FileIdentity = { size: 0, modifiedNs: '', inode: '' };

function addLines(batch: ScanBatch, name: string, lines: ManifestLines, sink: FirstPassSink): void {
  for (let record = 0; record < batch.count; record++) {
    const line = lines.of(batch, record, name);
    if (line) sink.add(line.line, line.digestHex);
  }
}

function reportAside(aside: string, path: string, onFinding: (finding: Finding) => void): void {
  if (aside === 'damaged') onFinding(slimFinding('slim-file-damaged', path, 0));
  if (aside === 'busy') onFinding(slimFinding('slim-file-busy', path, 0));
  if (aside === 'shared') onFinding(slimFinding('slim-member-shared', path, 0));
  if (aside === 'arc') onFinding(slimFinding('slim-arc-in-place', path, 0));
}

/** Sums up the scan of one file, to decide whether the file can be part of the run. */
class FileSummary {
  records = 0;
  #errors = 0;
  #shared = 0;
  #arc = 0;

  add(batch: ScanBatch, onFinding: (finding: Finding) => void): void {
    for (const finding of batch.findings) {
      if (finding.level === 'error') this.#errors++;
      onFinding(finding);
    }
    for (let record = 0; record < batch.count; record++) {
      if (batch.columns.length[record]! < 0) this.#shared++;
      if (batch.has(record, SCAN_ARC)) this.#arc++;
    }
    this.records += batch.count;
  }

  aside(withArc: boolean): string {
    if (this.#errors > 0) return 'damaged';
    if (this.#shared > 0) return 'shared';
    return this.#arc > 0 && !withArc ? 'arc' : '';
  }
}
