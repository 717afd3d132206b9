/**
 * `pinakes add`: adds WARC, ARC and WACZ files. Copies new contents, or with `--in-place` uses the files where they
 * are.
 */
import { type AddReport, type Archive, remoteInputs } from '../../archive/index.ts';
import {
  badArgument,
  limitHeapGrowth,
  limitYoungSpace,
  type PinakesError,
  SMALL_YOUNG_BYTES_MAX,
} from '../../base/index.ts';
import { isRemoteUrl, type RemoteOptions } from '../../volume/index.ts';
import { inputFiles } from '../../warc/index.ts';
import { type ArchiveCommandOptions, segmentBytes } from '../archive-command.ts';
import { type CommandContext, resolveTypedPath } from '../command.ts';
import { FindingTally } from '../finding-tally.ts';
import { EXIT_FINE, EXIT_FOUND, printFailures } from '../outcome.ts';
import { Progress } from '../progress.ts';
import { counted, formatBytes } from '../terminal.ts';

export type AddCommandOptions = ArchiveCommandOptions & {
  readonly collection?: string;
  readonly inPlace?: boolean;
  readonly again?: boolean;
  readonly volume?: string;
  readonly endpoint?: string;
  readonly region?: string;
  readonly insecure?: boolean;
};

/** How many failures the report of a job lists. */
const FAILURES_LISTED_MAX = 100;

export async function archiveAdd(
  context: CommandContext,
  archive: Archive,
  paths: readonly string[],
  options: AddCommandOptions,
): Promise<number> {
  const { terminal, signal } = context;
  limitHeapGrowth();
  limitYoungSpace(SMALL_YOUNG_BYTES_MAX);
  const { files, failures, bytes } = await inputsAt(context, archive, paths, options);
  const progress = new Progress(terminal, 'add', bytes);
  const findings = new FindingTally(terminal);
  const before = await segmentBytes(archive);
  const starts = new Map<string, number>();
  let start = 0;
  for (const file of files) {
    starts.set(file.path, start);
    start += file.bytes;
  }
  const adding = archive.add(
    files.map((file) => file.path),
    {
      ...(options.collection !== undefined && { collection: options.collection }),
      ...(options.volume !== undefined && { volume: options.volume }),
      remote: remoteOptions(options),
      inPlace: options.inPlace ?? false,
      again: options.again ?? false,
      onFinding: (finding) => findings.add(finding),
      onProgress: ({ file, bytes: fileBytes, captures }) =>
        progress.update((starts.get(file) ?? 0) + fileBytes, `${counted(captures, 'capture')}  ${file}`),
      signal,
    },
  );
  const report = await adding.catch((error: unknown) => {
    if (signal.aborted) terminal.say('What was added so far is kept; run the same command again to add the rest.');
    throw error;
  });
  progress.end();
  findings.end();
  const storedBytes = (await segmentBytes(archive)) - before;
  failures.push(...report.failures);
  const { errors, warnings } = findings;
  const { failures: _, ...added } = report;
  const counts = { ...added, errors, warnings };
  const failed = failures.slice(0, FAILURES_LISTED_MAX).map(({ code, message }) => ({ code, message }));
  context.reportToJob?.({ ...counts, inputBytes: bytes, storedBytes, failed });
  if (options.json) {
    await terminal.json({
      ...counts,
      inputBytes: bytes,
      storedBytes,
      failed: failures.map(({ message }) => message),
      failures: failures.map(({ code, where, message, advice }) => ({ code, where, message, advice })),
    });
  } else {
    await terminal.line(summary(report, bytes, storedBytes, options.inPlace ?? false));
    const kept = options.inPlace ? 'every complete record was indexed' : 'everything that can be read was kept';
    if (errors > 0) await terminal.line(`${counted(errors, 'error')} in the files, listed above; ${kept}`);
  }
  return printFailures(terminal, failures, errors > 0 ? EXIT_FOUND : EXIT_FINE);
}

/** The files that paths and addresses name. */
async function inputsAt(
  context: CommandContext,
  archive: Archive,
  paths: readonly string[],
  options: AddCommandOptions,
): Promise<Inputs> {
  const { signal } = context;
  const urls = paths.filter(isRemoteUrl);
  if (urls.length > 0 && !options.inPlace)
    throw badArgument('--in-place', 'files on other servers are used in place: add --in-place, or download them first');
  const local = await inputFiles(
    paths.filter((path) => !isRemoteUrl(path)).map((path) => resolveTypedPath(context, path)),
    { signal },
  );
  const remote = await remoteInputs(archive, urls, { ...remoteOptions(options), signal });
  const files = [...local.files, ...remote.files];
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return { files, failures: [...local.failures, ...remote.failures], bytes };
}

type Inputs = {
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
  readonly failures: PinakesError[];
  readonly bytes: number;
};

function remoteOptions({ endpoint, region, insecure }: AddCommandOptions): RemoteOptions {
  return { endpoint, region, insecure };
}

function summary(report: AddReport, inputBytes: number, storedBytes: number, isInPlace: boolean): string {
  const own = counted(report.filesOwn, 'file');
  const ownLines =
    report.filesOwn > 0 ? [`${own} of the archive itself ${report.filesOwn === 1 ? 'was' : 'were'} skipped`] : [];
  if (report.files === 0) return ['nothing was added', ...ownLines].join('\n');
  const known = report.filesKnown > 0 ? `, ${report.filesKnown} of them added before` : '';
  const captures = [
    `${counted(report.files, 'file')}${known}: ${counted(report.captures, 'new capture')}`,
    ...(report.capturesKnown > 0 ? [`${report.capturesKnown} already in the archive`] : []),
  ];
  const lines = [captures.join(', ')];
  if (isInPlace) {
    lines.push(
      `${report.duplicates} of them ${report.duplicates === 1 ? 'has' : 'have'} a content that the archive already held (${formatBytes(report.duplicateBytes)}); nothing was copied`,
    );
  } else {
    const saved = `${report.duplicates} kept as ${report.duplicates === 1 ? 'a revisit' : 'revisits'}, ${formatBytes(report.duplicateBytes)} of payload not stored again`;
    lines.push(`${saved}; ${formatBytes(inputBytes)} read, ${formatBytes(storedBytes)} written`);
  }
  if (report.deletedSince > 0)
    lines.push(
      `${counted(report.deletedSince, 'capture')} of the collection ${report.deletedSince === 1 ? 'was' : 'were'} deleted since the same files were added; ` +
        'the deleted captures were left out, and `--again` adds them again',
    );
  if (report.capturesDeleted > 0)
    lines.push(
      `${counted(report.capturesDeleted, 'capture')} left out because ${report.capturesDeleted === 1 ? 'it was' : 'they were'} deleted from the archive; \`--again\` takes ${report.capturesDeleted === 1 ? 'it' : 'them'} in`,
    );
  if (report.capturesBarred > 0)
    lines.push(`${counted(report.capturesBarred, 'capture')} left out because of a takedown`);
  if (report.unresolved > 0)
    lines.push(
      `${counted(report.unresolved, 'revisit')} without ${report.unresolved === 1 ? 'its' : 'their'} original in the archive so far; add the ${report.unresolved === 1 ? 'file that holds it' : 'files that hold them'}`,
    );
  if (report.undated > 0)
    lines.push(
      `${counted(report.undated, 'record')} ${report.undated === 1 ? 'has no usable date and is' : 'have no usable date and are'} in no index`,
    );
  return [...lines, ...ownLines].join('\n');
}
