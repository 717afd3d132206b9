/** `pinakes slim assess`: how much duplication a collection contains. */
import { refuseFileForDirectory } from '../../base/index.ts';
import { type Assessment, slimAssess, type Tally } from '../../slim/index.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE, EXIT_REFUSED, printFailures } from '../outcome.ts';
import { counted, formatBytes, type Terminal } from '../terminal.ts';
import { algorithmOf, shareOf, slimInputs, slimReporter, spillDirectoryOf, workersOf } from './options.ts';

export type SlimAssessCommandOptions = {
  readonly sample: string;
  readonly algorithm: string;
  readonly workers?: string;
  readonly work?: string;
  readonly json?: boolean;
};

export async function slimAssessCommand(
  { terminal, signal }: CommandContext,
  paths: readonly string[],
  options: SlimAssessCommandOptions,
): Promise<number> {
  const sample = shareOf(options.sample);
  const algorithm = algorithmOf(options.algorithm);
  await refuseFileForDirectory(options.work);
  const watch = slimReporter(terminal, options.json);
  const { files } = await slimInputs(paths, watch);
  if (files.length === 0) return printFailures(terminal, watch.failures, EXIT_REFUSED);
  watch.totalBytes *= sample;
  const directory = spillDirectoryOf(options.work, 'assess');
  const workers = workersOf(options.workers);
  const assessment = await slimAssess({ ...watch, files, sample, algorithm, workers, directory, signal });
  await watch.end();
  if (options.json) await terminal.json({ kind: 'summary', ...assessment });
  else await printAssessment(terminal, assessment);
  return printFailures(terminal, watch.failures, EXIT_FINE);
}

async function printAssessment(terminal: Terminal, found: Assessment): Promise<void> {
  const { contents, within, across, inPlace } = found;
  await terminal.line(
    `${found.filesRead} of ${found.files} files read, ${formatBytes(found.bytesRead)} of ${formatBytes(found.bytes)}, ${counted(found.records, 'record')}`,
  );
  await terminal.line(columns(['', 'RECORDS', 'DUPLICATES', 'SHARE', 'PAYLOAD', 'DUPLICATE', 'SAVED']));
  await terminal.line(row('all contents', contents, contents));
  await terminal.line(row('  within a file', within, contents));
  await terminal.line(row('  across files', across, contents));
  await terminal.line('by type');
  for (const tally of found.byType) await terminal.line(row(`  ${tally.type}`, tally, tally));
  await terminal.line('by host');
  for (const tally of found.byHost) await terminal.line(row(`  ${tally.host}`, tally, tally));
  await terminal.line(`slimming would save about ${savedOf(contents.savedBytes, found)}`);
  if (inPlace.duplicates < contents.duplicates) {
    await terminal.line(
      `this is with --to, which converts ARC files; with --in-place, ARC files and files with several names stay unchanged: ${counted(inPlace.duplicates, 'duplicate')}, about ${savedOf(inPlace.savedBytes, found)}`,
    );
  }
  if (found.filesRead < found.files) {
    await terminal.line('a sample finds too few duplicates: many originals are in files that were not read');
  }
}

function savedOf(bytes: number, { bytesRead }: Assessment): string {
  const share = bytesRead > 0 ? (100 * bytes) / bytesRead : 0;
  return `${formatBytes(bytes)}, ${share.toFixed(1)} % of the files read`;
}

const WIDTHS = [9, 11, 7, 10, 10, 10];

function columns([name = '', ...rest]: readonly string[]): string {
  return `${name.slice(0, 40).padEnd(40)}${rest.map((text, index) => text.padStart(WIDTHS[index]!)).join('')}`;
}

function row(name: string, tally: Tally, whole: Tally): string {
  const share = whole.records > 0 ? `${((100 * tally.duplicates) / whole.records).toFixed(1)}%` : '-';
  const bytes = [tally.payloadBytes, tally.duplicateBytes, tally.savedBytes].map(formatBytes);
  return columns([name, String(tally.records), String(tally.duplicates), share, ...bytes]);
}
