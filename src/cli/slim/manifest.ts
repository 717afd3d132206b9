/** `pinakes slim sum`, `split`, `resolve` and `compare`: the commands that read and write manifests. */
import { refuseExisting } from '../../base/index.ts';
import { slimCompare, slimResolve, slimSplit, slimSum, type Verify } from '../../slim/index.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE, EXIT_FOUND, EXIT_REFUSED, printFailures } from '../outcome.ts';
import { counted, printable } from '../terminal.ts';
import { algorithmOf, formatOf, oneOf, slimInputs, slimReporter, spillDirectoryOf, workersOf } from './options.ts';

export type SlimSumCommandOptions = {
  readonly out: string;
  readonly format: string;
  readonly algorithm: string;
  readonly trustHeaders?: boolean;
  readonly empty: string;
  readonly workers?: string;
  readonly force?: boolean;
  readonly json?: boolean;
};

export async function slimSumCommand(
  { terminal, signal }: CommandContext,
  paths: readonly string[],
  options: SlimSumCommandOptions,
): Promise<number> {
  const algorithm = algorithmOf(options.algorithm);
  const format = formatOf(options.format);
  await refuseExisting(options.out, options.force);
  const keepEmpty = oneOf('--empty', options.empty, ['skip', 'keep']) === 'keep';
  const watch = slimReporter(terminal, options.json);
  const { files } = await slimInputs(paths, watch);
  if (files.length === 0) return printFailures(terminal, watch.failures, EXIT_REFUSED);
  const report = await slimSum({
    ...watch,
    files: files.map((file) => file.path),
    out: options.out,
    format,
    algorithm,
    keepEmpty,
    trustHeaders: options.trustHeaders === true,
    workers: workersOf(options.workers),
    signal,
  });
  await watch.end();
  if (options.json) await terminal.json({ kind: 'summary', out: options.out, ...report });
  else
    await terminal.line(
      `${options.out}: ${counted(report.rows, 'row')} of ${counted(report.records, 'record')} in ${counted(report.files, 'file')}`,
    );
  return printFailures(terminal, watch.failures, EXIT_FINE);
}

export async function slimSplitCommand(
  { terminal, signal }: CommandContext,
  parts: string,
  manifests: readonly string[],
  options: { readonly out: string; readonly format: string; readonly force?: boolean; readonly json?: boolean },
): Promise<number> {
  const format = formatOf(options.format);
  const { out, force } = options;
  for (const part of await slimSplit({ manifests, parts: Number(parts), out, format, force, signal })) {
    if (options.json) await terminal.json(part);
    else await terminal.line(`${part.path}: ${part.rows} rows`);
  }
  return EXIT_FINE;
}

export type SlimResolveCommandOptions = {
  readonly out: string;
  readonly format: string;
  readonly verify?: string;
  readonly workers?: string;
  readonly force?: boolean;
  readonly json?: boolean;
};

export async function slimResolveCommand(
  { terminal, signal }: CommandContext,
  manifests: readonly string[],
  options: SlimResolveCommandOptions,
): Promise<number> {
  const verify: Verify = oneOf('--verify', options.verify ?? 'digest', ['bytes', 'digest']);
  const format = formatOf(options.format);
  const { out } = options;
  await refuseExisting(out, options.force);
  const watch = slimReporter(terminal, options.json);
  const workers = workersOf(options.workers);
  const report = await slimResolve({ ...watch, manifests, out, format, verify, workers, signal });
  await watch.end();
  if (options.json) await terminal.json({ kind: 'summary', out, ...report });
  else {
    const compared = report.comparedBytes ? 'compared byte by byte' : 'by digest and size';
    await terminal.line(
      `${out}: ${counted(report.rows, 'row')}, ${counted(report.duplicates, 'duplicate')} (${compared}), ${counted(report.collisions, 'digest collision')}`,
    );
  }
  return EXIT_FINE;
}

export async function slimCompareCommand(
  { terminal, signal }: CommandContext,
  before: string,
  after: string,
  options: { readonly work?: string; readonly json?: boolean },
): Promise<number> {
  const report = await slimCompare({
    before: [before],
    after: [after],
    directory: spillDirectoryOf(options.work, 'compare'),
    signal,
    onDifference: async (difference) => {
      const { kind, uri, date, content, count } = difference;
      if (options.json) await terminal.json({ ...difference, kind });
      else
        await terminal.line(
          printable(`${kind === 'missing' ? '-' : '+'} ${uri} ${date} ${content}${count > 1 ? ` x${count}` : ''}`),
        );
    },
  });
  if (options.json) await terminal.json({ kind: 'summary', ...report });
  else
    await terminal.line(
      `captures: ${report.capturesBefore} before (${report.revisitsBefore} revisits), ${report.capturesAfter} after (${report.revisitsAfter} revisits)\n` +
        `missing ${report.missing}, added ${report.added}; revisits without their original: ${report.unresolvedBefore} before, ${report.unresolvedAfter} after`,
    );
  const differs = report.missing > 0 || report.added > 0 || report.unresolvedAfter > report.unresolvedBefore;
  return differs ? EXIT_FOUND : EXIT_FINE;
}
