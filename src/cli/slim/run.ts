/** `pinakes slim run` and `refs`, which rewrite files, and `undo`, which restores them. */
import { badArgument, type DigestAlgorithm, PinakesError, refuseFileForDirectory } from '../../base/index.ts';
import { type ResolvedInput, type RunSummary, slimRun, slimUndo, type Verify } from '../../slim/index.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE, EXIT_FOUND, EXIT_REFUSED, printFailures } from '../outcome.ts';
import { counted, formatBytes, type Terminal } from '../terminal.ts';
import { algorithmOf, bytesOf, slimInputs, slimReporter, verifyOf, workDirectoryOf, workersOf } from './options.ts';

type RewriteOptions = {
  readonly inPlace?: boolean;
  readonly to?: string;
  readonly keepOriginals?: string;
  readonly minSaving: string;
  readonly work?: string;
  readonly workers?: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
};

export type SlimRunCommandOptions = RewriteOptions & { readonly algorithm: string; readonly verify?: string };

export type SlimRefsCommandOptions = RewriteOptions & {
  readonly manifest: readonly string[];
  readonly trustManifest?: boolean;
};

export async function slimRunCommand(
  context: CommandContext,
  paths: readonly string[],
  options: SlimRunCommandOptions,
): Promise<number> {
  const algorithm = algorithmOf(options.algorithm);
  return rewrite(context, paths, options, algorithm, verifyOf(options.verify, algorithm));
}

export async function slimRefsCommand(
  context: CommandContext,
  paths: readonly string[],
  options: SlimRefsCommandOptions,
): Promise<number> {
  const resolved = { manifests: options.manifest, trustOriginals: options.trustManifest === true };
  return rewrite(context, paths, options, 'sha256', 'digest', resolved);
}

async function rewrite(
  context: CommandContext,
  paths: readonly string[],
  options: RewriteOptions,
  algorithm: DigestAlgorithm,
  verify: Verify,
  resolved?: ResolvedInput,
): Promise<number> {
  const { terminal, clock, software, signal } = context;
  expectOneTarget(options);
  for (const place of [options.to, options.keepOriginals, options.work]) await refuseFileForDirectory(place);
  const minSavingBytes = bytesOf('--min-saving', options.minSaving);
  const workers = workersOf(options.workers);
  const { json, dryRun, to: target, keepOriginals: keptDirectory } = options;
  const watch = slimReporter(terminal, json);
  const { inputs } = await slimInputs(paths, watch);
  if (inputs.length === 0) return printFailures(terminal, watch.failures, EXIT_REFUSED);
  const workDirectory = workDirectoryOf(paths, options.work, target);
  const place = { target, keptDirectory, workDirectory };
  const how = { algorithm, verify, minSavingBytes, workers, dryRun, resolved };
  const summary = await slimRun({ inputs, ...place, ...how, clock, software, signal, ...watch });
  await watch.end();
  if (json) await terminal.json({ kind: 'summary', isDone: dryRun !== true, ...summary });
  else await printSummary(terminal, summary, options);
  return printFailures(terminal, watch.failures, summary.filesAside > 0 ? EXIT_FOUND : EXIT_FINE);
}

function expectOneTarget({ inPlace, to, keepOriginals }: RewriteOptions): void {
  if ((inPlace === true) === (to !== undefined)) {
    throw new PinakesError('BAD_ARGUMENT', { detail: 'give either --in-place or --to DIR' });
  }
  if (to !== undefined && keepOriginals !== undefined) {
    throw badArgument('--keep-originals', 'with --to the old files are kept anyway; leave it out');
  }
}

async function printSummary(terminal: Terminal, summary: RunSummary, options: RewriteOptions): Promise<void> {
  const { files, filesRewritten, filesAside, records, duplicates, revisits, stayed, collisions } = summary;
  // `refs` does not count the records, since it does not scan the files.
  const read = records === 0 ? '' : `, ${counted(records, 'record')}`;
  await terminal.line(
    `${counted(files, 'file')}${read}: ${counted(duplicates, 'duplicate')}, ${counted(collisions, 'collision')} of digests`,
  );
  const saved = formatBytes(summary.bytesBefore - summary.bytesAfter);
  const bytes = `${formatBytes(summary.bytesBefore)} before, ${formatBytes(summary.bytesAfter)} after`;
  if (options.dryRun) {
    await terminal.line(
      `nothing was changed; without --dry-run ${counted(revisits, 'duplicate')} would become ${revisits === 1 ? 'a revisit' : 'revisits'}, in ${counted(filesRewritten, 'file')}\n` +
        `${bytes}: ${saved} would be saved`,
    );
  } else {
    await terminal.line(
      `${counted(revisits, 'duplicate')} ${revisits === 1 ? 'is a revisit' : 'are revisits'} now, in ${counted(filesRewritten, 'file')}, each read back and compared\n` +
        `${bytes}: ${saved} saved`,
    );
  }
  const reasons: [number, string][] = [
    [stayed.small, 'a revisit would not save enough'],
    [stayed.coding, 'their content coding or chunking differs from that of the original, or they are truncated'],
    [stayed.original, 'no revisit can refer to their original'],
    [stayed.unrepeatable, 'their HTTP header cannot be copied byte for byte'],
    [stayed.changed, 'they changed after they were scanned'],
  ];
  for (const [count, why] of reasons)
    if (count > 0)
      await terminal.line(`${counted(count, 'duplicate')} ${options.dryRun ? 'would stay' : 'stayed'}: ${why}`);
  if (filesAside > 0) {
    const stays = filesAside === 1 ? 'is unchanged' : 'are unchanged';
    await terminal.line(
      `${counted(filesAside, 'file')} ${options.dryRun ? 'would be left out' : `left out, and ${stays}`}`,
    );
  }
}

export async function slimUndoCommand(
  { terminal, signal }: CommandContext,
  paths: readonly string[],
  options: { readonly work?: string; readonly dryRun?: boolean; readonly json?: boolean },
): Promise<number> {
  const watch = slimReporter(terminal, options.json);
  const workDirectory = workDirectoryOf(paths, options.work, undefined);
  const { dryRun = false } = options;
  const report = await slimUndo({ workDirectory, dryRun, onFinding: watch.onFinding, signal });
  await watch.end();
  if (options.json) await terminal.json({ kind: 'summary', isDone: !dryRun, ...report });
  else if (dryRun)
    await terminal.line(`${counted(report.restored, 'file')} would be restored; ${report.left} could not be`);
  else await terminal.line(`${counted(report.restored, 'file')} restored; ${report.left} could not be`);
  return report.left > 0 ? EXIT_FOUND : EXIT_FINE;
}
