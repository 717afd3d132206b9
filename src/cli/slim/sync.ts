/** `pinakes slim sync`: brings a second copy of a slimmed collection in step with it. */
import { statSync } from 'node:fs';
import { badArgument, refuseFileForDirectory } from '../../base/index.ts';
import { type Difference, type SyncReport, slimSync } from '../../slim/index.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE, EXIT_FOUND, EXIT_REFUSED, printFailures } from '../outcome.ts';
import { counted, formatBytes, printable, type Terminal } from '../terminal.ts';
import { slimInputs, slimReporter, workDirectoryOf, workersOf } from './options.ts';

export type SlimSyncCommandOptions = {
  readonly work?: string;
  readonly workers?: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
};

const LISTED_MAX = 20;

export async function slimSyncCommand(
  { terminal, signal }: CommandContext,
  slimmed: string,
  second: string,
  options: SlimSyncCommandOptions,
): Promise<number> {
  for (const path of [slimmed, second]) expectDirectory(path);
  await refuseFileForDirectory(options.work);
  const { json, dryRun } = options;
  const workers = workersOf(options.workers);
  const watch = slimReporter(terminal, json);
  const { inputs: slimmedInputs } = await slimInputs([slimmed], watch);
  const { inputs: secondInputs } = await slimInputs([second], watch);
  const isEmpty = slimmedInputs.length === 0 || secondInputs.length === 0;
  if (isEmpty || watch.failures.length > 0) return printFailures(terminal, watch.failures, EXIT_REFUSED);
  const workDirectory = workDirectoryOf([second], options.work, undefined);
  let listed = 0;
  const onDifference = async (difference: Difference): Promise<void> => {
    if (json) await terminal.json(difference);
    else if (listed++ < LISTED_MAX) await terminal.line(lineOf(difference));
  };
  const sides = { slimmed, second, slimmedInputs, secondInputs };
  const report = await slimSync({ ...sides, ...watch, workDirectory, workers, dryRun, onDifference, signal });
  await watch.end();
  const isRefused = report.missing > 0 || report.added > 0 || report.filesDiffering > 0;
  const isDone = !dryRun && !isRefused && report.filesLeft === 0 && watch.failures.length === 0;
  if (json) await terminal.json({ kind: 'summary', isDone, ...report });
  else if (isRefused) await printRefusal(terminal, report, listed - LISTED_MAX);
  else await printSummary(terminal, report, dryRun === true);
  return printFailures(terminal, watch.failures, isRefused || report.filesLeft > 0 ? EXIT_FOUND : EXIT_FINE);
}

function expectDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  throw badArgument(path, 'name the directory of the slimmed collection, and that of its second copy');
}

function lineOf({ kind, uri, date, content, count }: Difference): string {
  const side = kind === 'missing' ? 'only in the second copy:' : 'only in the slimmed collection:';
  return printable(`${side} ${uri} ${date} ${content}${count > 1 ? ` x${count}` : ''}`);
}

async function printRefusal(terminal: Terminal, report: SyncReport, unlisted: number): Promise<void> {
  if (unlisted > 0) await terminal.line(`... and ${unlisted} more; --json prints all`);
  await terminal.line(
    `the second copy is unchanged, because it is not a copy of what was slimmed: ${counted(report.missing, 'capture')} only there, ` +
      `${counted(report.added, 'capture')} only in the slimmed collection, ${counted(report.filesDiffering, 'file')} with other differences`,
  );
}

async function printSummary(terminal: Terminal, report: SyncReport, isDryRun: boolean): Promise<void> {
  const saved = formatBytes(report.bytesBefore - report.bytesAfter);
  const replaced = counted(report.filesReplaced, 'file');
  await terminal.line(
    isDryRun
      ? `nothing was changed; without --dry-run ${replaced} would be replaced, ${saved} saved`
      : `${replaced} replaced, each read back and compared; ${saved} saved`,
  );
  await terminal.line(`${counted(report.filesEqual, 'file')} of ${report.files} equal before`);
  if (report.filesLeft > 0) await terminal.line(`${counted(report.filesLeft, 'file')} left; run the command again`);
}
