/** `pinakes export`: selected captures as a WARC, WACZ, CDXJ, CDX or Parquet file. */
import type { Archive, Selection } from '../../archive/index.ts';
import { badArgument, refuseMissingParent } from '../../base/index.ts';
import type { ArchiveCommandOptions } from '../archive-command.ts';
import { type CommandContext, resolveTypedPath } from '../command.ts';
import { DamageTally } from '../damage-tally.ts';
import { writeLines } from '../line-file.ts';
import { EXIT_FINE, EXIT_FOUND } from '../outcome.ts';
import { RunningCount } from '../running-count.ts';
import { counted, formatBytes } from '../terminal.ts';
import { indexFormatter, refuseSha1Elsewhere } from '../warc/indexing.ts';
import { type SelectionOptions, selectionOf } from './delete.ts';

export type ExportCommandOptions = ArchiveCommandOptions &
  SelectionOptions & {
    readonly format?: string;
    readonly selfContained?: boolean;
    readonly capturesOnly?: boolean;
    readonly odd?: boolean;
    readonly force?: boolean;
    readonly title?: string;
    readonly computeSha1?: boolean;
  };

const FORMATS = ['warc', 'wacz', 'cdxj', 'cdx11', 'cdx9', 'parquet'] as const;
type Format = (typeof FORMATS)[number];

/** Index lines go to standard output when `file` is undefined or `-`. */
export async function archiveExport(
  context: CommandContext,
  archive: Archive,
  file: string | undefined,
  options: ExportCommandOptions,
): Promise<number> {
  const selection = await selectionOf(archive, options);
  const path = file === '-' ? undefined : file;
  const format = formatOf(path, options.format);
  refuseSha1Elsewhere(format, options.computeSha1);
  if (options.selfContained && format !== 'warc' && format !== 'wacz')
    throw badArgument('--self-contained', 'only WARC and WACZ files contain records');
  if (path !== undefined) await refuseMissingParent(resolveTypedPath(context, path));
  if (format === 'cdxj' || format === 'cdx11' || format === 'cdx9')
    return exportIndex(context, archive, selection, path, format, options);
  if (path === undefined)
    throw badArgument(format, 'name the file to write; `pinakes stream` writes WARC to standard output');
  if (format === 'parquet') return exportTable(context, archive, selection, path, options);
  return exportRecords(context, archive, selection, path, format, options);
}

function formatOf(path: string | undefined, named: string | undefined): Format {
  if (named !== undefined) {
    const format = FORMATS.find((one) => one === named);
    if (!format) throw badArgument(`--format ${named}`, FORMATS.join(', '));
    return format;
  }
  if (path === undefined) return 'cdxj';
  if (/\.warc(\.gz|\.zst)?$/i.test(path)) return 'warc';
  if (/\.cdx$/i.test(path)) return 'cdx11';
  const format = FORMATS.find((one) => path.toLowerCase().endsWith(`.${one}`));
  if (!format) {
    const isJson = /\.(jsonl?|ndjson)$/i.test(path);
    const detail = isJson
      ? '`pinakes stream --json --out FILE` writes JSON lines, with `--text` also the texts of pages'
      : `the format is not clear from the name; add --format ${FORMATS.join('|')}`;
    throw badArgument(path, detail);
  }
  return format;
}

async function exportRecords(
  context: CommandContext,
  archive: Archive,
  selection: Selection,
  path: string,
  format: 'warc' | 'wacz',
  options: ExportCommandOptions,
): Promise<number> {
  const { terminal, signal, software } = context;
  const count = new RunningCount(terminal, 'export');
  const damage = new DamageTally(terminal);
  const exporting = {
    software,
    title: options.title ?? archive.connector.name,
    selfContained: options.selfContained === true,
    concurrentRecords: options.capturesOnly !== true,
    odd: options.odd === true,
    force: options.force === true,
    signal,
    onProgress: ({ captures, bytes }: { captures: number; bytes: number }) =>
      count.update(`${counted(captures, 'capture')}  ${formatBytes(bytes)}`),
    onDamage: damage.add,
  };
  const report =
    format === 'wacz'
      ? await archive.exportWacz(selection, resolveTypedPath(context, path), exporting)
      : await archive.exportWarc(selection, resolveTypedPath(context, path), exporting);
  count.end();
  context.reportToJob?.({ file: path, format, ...report });
  if (options.json) await terminal.json({ file: path, format, ...report, damage: damage.listed });
  else {
    await terminal.line(
      `${path}: ${counted(report.captures, 'capture')} with ${counted(report.concurrentRecords, 'concurrent record')}, ${formatBytes(report.bytes)}`,
    );
    if (report.expanded > 0)
      await terminal.line(
        `${counted(report.expanded, 'revisit')} became ${report.expanded === 1 ? 'a full record' : 'full records'}`,
      );
    if (report.extras > 0)
      await terminal.line(
        `${counted(report.extras, 'record')} from outside the selection, because "not modified" revisits refer to ${report.extras === 1 ? 'it' : 'them'}`,
      );
    if (report.captures === 0) terminal.say('No capture is selected; the file contains only its warcinfo record.');
  }
  damage.end();
  if (report.oddLeftOut > 0)
    terminal.say(
      `${counted(report.oddLeftOut, 'odd record')} left out; \`--odd\` includes ${report.oddLeftOut === 1 ? 'it' : 'them'} unchanged.`,
    );
  if (report.unresolved > 0)
    terminal.say(
      `${counted(report.unresolved, 'revisit')} ${report.unresolved === 1 ? 'stays a revisit' : 'stay revisits'} in the file, because the content is missing from the archive or damaged.`,
    );
  return report.unresolved === 0 && damage.count === 0 ? EXIT_FINE : EXIT_FOUND;
}

async function exportTable(
  context: CommandContext,
  archive: Archive,
  selection: Selection,
  path: string,
  options: ExportCommandOptions,
): Promise<number> {
  const { terminal, signal } = context;
  const count = new RunningCount(terminal, 'export');
  const report = await archive.exportParquet(selection, resolveTypedPath(context, path), {
    force: options.force === true,
    signal,
    onProgress: ({ captures }) => count.update(counted(captures, 'capture')),
  });
  count.end();
  context.reportToJob?.({ file: path, format: 'parquet', ...report });
  if (options.json) await terminal.json({ file: path, format: 'parquet', ...report });
  else await terminal.line(`${path}: ${counted(report.captures, 'row')}, ${formatBytes(report.bytes)}`);
  return EXIT_FINE;
}

async function exportIndex(
  context: CommandContext,
  archive: Archive,
  selection: Selection,
  path: string | undefined,
  format: 'cdxj' | 'cdx11' | 'cdx9',
  options: ExportCommandOptions,
): Promise<number> {
  const { terminal, signal } = context;
  const { header, format: formatLine } = indexFormatter(format);
  const count = new RunningCount(terminal, 'export');
  const indexOptions = {
    digests: format === 'cdxj' ? 'own' : options.computeSha1 ? 'computed-sha1' : 'declared-sha1',
    signal,
    onProgress: (captures: number) => count.update(`${counted(captures, 'capture')} gathered`),
  } as const;
  async function* lines(): AsyncGenerator<string> {
    if (header !== undefined) yield header;
    let written = 0;
    for await (const one of archive.exportCdxj(selection, formatLine, indexOptions)) {
      signal.throwIfAborted();
      yield one;
      // On standard output the lines themselves show the progress.
      if (path !== undefined && ++written % 1000 === 0) count.update(`${counted(written, 'line')} written`);
    }
  }
  if (path === undefined && options.json) {
    if (format !== 'cdxj') throw badArgument(`--format ${format}`, 'its lines are not JSON; leave out --json');
    for await (const one of lines()) await terminal.json(jsonOf(one));
    return EXIT_FINE;
  }
  if (path === undefined) {
    for await (const one of lines()) await terminal.line(one);
    return EXIT_FINE;
  }
  const written = await writeLines(resolveTypedPath(context, path), lines(), { force: options.force === true });
  count.end();
  const captures = written - (header === undefined ? 0 : 1);
  context.reportToJob?.({ file: path, format, captures });
  if (options.json) await terminal.json({ file: path, format, captures });
  else await terminal.line(`${path}: ${counted(captures, 'line')}`);
  return EXIT_FINE;
}

/** A CDXJ line as one object, with its key and its time as fields. */
function jsonOf(line: string): object {
  const [, urlkey, timestamp, fields] = /^(\S*) (\S*) (.*)$/.exec(line)!;
  return { urlkey, timestamp, ...(JSON.parse(fields!) as object) };
}
