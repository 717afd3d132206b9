/** `pinakes upgrade`: makes an archive of an earlier Pinakes one that this release can change. */
import { type UpgradeReport, upgradeArchive } from '../../archive/index.ts';
import type { ArchiveCommandOptions } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE } from '../outcome.ts';
import { formatDuration } from '../progress.ts';
import { RunningCount } from '../running-count.ts';
import { counted, formatBytes } from '../terminal.ts';

/** How many captures a slow machine does in a second. */
const CAPTURES_PER_SECOND = 30_000;

export async function archiveUpgrade(
  { terminal, clock, signal }: CommandContext,
  options: ArchiveCommandOptions & { readonly dryRun?: boolean },
): Promise<number> {
  const count = new RunningCount(terminal, 'upgrade');
  const onProgress = (done: number, captures: number) =>
    count.update(() => `${Math.floor((100 * done) / Math.max(1, captures))}%  ${counted(done, 'capture')}`);
  const { dryRun } = options;
  const report = await upgradeArchive(options.archive, { clock, dryRun, signal, onProgress });
  count.end();
  if (options.json) await terminal.json(jsonOf(report));
  else
    for (const line of dryRun ? previewOf(report) : outcomeOf(report))
      await terminal.line(terminal.expandCommands(line));
  return EXIT_FINE;
}

const LOST = 'the catalog is missing or damaged; `pinakes rebuild` makes it from the segments';

function secondsOf({ captures, capturesDone }: UpgradeReport): number {
  return Math.ceil((captures - capturesDone) / CAPTURES_PER_SECOND);
}

function jsonOf(report: UpgradeReport): Record<string, unknown> {
  const { version, isNeeded, isCatalogLost, captures, capturesDone, roomBytes, freeBytes } = report;
  const secondsAbout = isNeeded ? secondsOf(report) : 0;
  return {
    version,
    isNeeded,
    isCatalogLost,
    captures,
    capturesDone,
    roomBytes,
    freeBytes: freeBytes ?? null,
    secondsAbout,
  };
}

function previewOf(report: UpgradeReport): string[] {
  if (!report.isNeeded) return [nothingToDo(report)];
  const { isCatalogLost, captures, capturesDone, roomBytes, freeBytes } = report;
  const connector = 'archive.yaml would get version 2, which earlier releases refuse';
  if (isCatalogLost) return [connector, LOST];
  const free = freeBytes === undefined ? '' : `; ${formatBytes(freeBytes)} are free`;
  const begun = capturesDone > 0 ? `, of which ${capturesDone} are done` : '';
  return [
    connector,
    `the catalog would get rows of a new format: ${counted(captures, 'capture')}${begun}`,
    `this takes up to ${formatBytes(roomBytes)} beside the catalog${free}`,
    `and at most about ${formatDuration(secondsOf(report))}; no segment is read`,
  ];
}

function outcomeOf(report: UpgradeReport): string[] {
  if (!report.isNeeded) return [nothingToDo(report)];
  const refused = 'earlier releases refuse the archive now';
  if (report.isCatalogLost) return [`upgraded to version 2; ${refused}`, LOST];
  return [`upgraded to version 2: ${counted(report.captures, 'capture')}; ${refused}`];
}

function nothingToDo({ version }: UpgradeReport): string {
  return `nothing to do: the archive has version ${version}, the newest`;
}
