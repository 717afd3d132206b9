/** `pinakes verify`: reports what is wrong in the archive, and which captures are affected. */
import { open } from 'node:fs/promises';
import type { Archive, Problem } from '../../archive/index.ts';
import { badArgument, fileError } from '../../base/index.ts';
import { databaseProblems } from '../../search/index.ts';
import { type ArchiveCommandOptions, segmentBytes } from '../archive-command.ts';
import { type CommandContext, resolveTypedPath } from '../command.ts';
import { EXIT_FINE, EXIT_FOUND } from '../outcome.ts';
import { Progress } from '../progress.ts';
import { counted, formatBytes, printable } from '../terminal.ts';

export type VerifyCommandOptions = ArchiveCommandOptions & {
  readonly quick?: boolean;
  readonly full?: boolean;
  readonly heal?: boolean;
  readonly dryRun?: boolean;
  readonly known?: string;
};

export async function archiveVerify(
  context: CommandContext,
  archive: Archive,
  options: VerifyCommandOptions,
): Promise<number> {
  const { terminal, signal, reportToJob } = context;
  const known = options.known === undefined ? undefined : await knownErrors(resolveTypedPath(context, options.known));
  let knownMet = 0;
  if (options.dryRun && !options.heal) throw badArgument('--dry-run', 'it belongs to --heal');
  const healed = options.heal ? await heal(context, archive, options) : undefined;
  const progress = new Progress(terminal, 'verify', await segmentBytes(archive));
  const depth = options.quick ? 'quick' : 'full';
  const counts = await archive.verify({
    depth,
    signal,
    others: (aborted) => databaseProblems(archive.directory, aborted),
    onProblem: (problem) => {
      const isKnown = problem.level === 'error' && (known?.has(errorIdentity(problem)) ?? false);
      if (isKnown) knownMet++;
      if (!options.json) return terminal.line(formatProblem(problem, isKnown));
      return terminal.json({ kind: 'problem', ...problem, ...(known && { known: isKnown }) });
    },
    onProgress: ({ segment, bytes }) => progress.update(bytes, segment),
  });
  progress.end();
  const report = { ...counts, ...(known && { known: knownMet }), ...healed };
  reportToJob?.({ depth, ...report });
  if (options.json) await terminal.json({ kind: 'summary', depth, ...report });
  else {
    await terminal.line(
      `${counted(report.segments, 'segment')} of ${formatBytes(report.bytes)}, ${counted(report.records, 'record')}, ` +
        `${counted(report.captures, 'capture')}, ${counted(report.blocks, 'content')}: ` +
        `${counted(report.errors, 'error')}${knownMet > 0 ? ` (${knownMet} known)` : ''}, ${counted(report.warnings, 'warning')}`,
    );
    if (depth === 'quick') terminal.say('Payloads were not hashed; `pinakes verify --full` does that.');
  }
  return report.errors > knownMet ? EXIT_FOUND : EXIT_FINE;
}

/** Restores records from copies and mirrors. Those that cannot be restored are problems that the verification names. */
async function heal(
  { terminal, signal }: CommandContext,
  archive: Archive,
  { dryRun = false, json = false }: VerifyCommandOptions,
): Promise<{ restored: number; left: number; isHealed: boolean }> {
  const { checked, restored, left, unread } = await archive.restore({
    signal,
    dryRun,
    onProgress: (so) => terminal.status(`verify: ${counted(so.checked, 'record')} checked, ${so.restored} restored`),
  });
  terminal.clearStatus();
  for (const { mirror, why } of unread) terminal.say(printable(`the mirror ${mirror} is left out: ${why}`));
  for (const { segment, offset, why } of left)
    if (json) await terminal.json({ kind: 'left', segment, offset, why });
    else await terminal.line(printable(`${segment}:${offset}: cannot be restored: ${why}`));
  const verb = dryRun ? 'would restore' : 'restored';
  terminal.say(`${verb} ${counted(restored, 'record')} from copies and mirrors; ${counted(checked, 'record')} checked`);
  return { restored, left: left.length, isHealed: !dryRun };
}

/** Identifies an error in two reports. The affected captures are left out, because they may have changed since. */
function errorIdentity({ code, volume, segment, offset, message }: Partial<Problem>): string {
  return JSON.stringify([code, volume, segment, offset, message]);
}

/** The errors in the report of an earlier verification, which has one JSON value per line. */
async function knownErrors(path: string): Promise<ReadonlySet<string>> {
  const known = new Set<string>();
  let lines = 0;
  try {
    await using file = await open(path);
    for await (const line of file.readLines()) {
      lines++;
      const problem = JSON.parse(line) as Partial<Problem> | null;
      if (problem?.level === 'error') known.add(errorIdentity(problem));
    }
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw fileError(cause, path);
    const detail = 'it is not a report of `pinakes verify --json`';
    throw badArgument(`--known ${path}:${lines}`, detail);
  }
  return known;
}

function formatProblem(problem: Problem, isKnown: boolean): string {
  const { code, level, volume, segment, offset, message, leaning, examples } = problem;
  const where = [volume, segment, offset].filter((part) => part !== undefined).join(':') || 'catalog';
  const lines = [`${where}: ${isKnown ? 'known ' : ''}${level} ${code}: ${message}`];
  if (leaning > 0) {
    const shown = examples.slice(0, 5).join('  ');
    lines.push(`  ${counted(leaning, 'capture')} ${leaning === 1 ? 'depends' : 'depend'} on it: ${shown}`);
  }
  return lines.map(printable).join('\n');
}
