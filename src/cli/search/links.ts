/** `pinakes links`: the links to or from a page, or all links as a table. */
import { extname } from 'node:path';
import { writeParquet } from '../../archive/index.ts';
import { badArgument, formatW3cDate, refuseMissingParent } from '../../base/index.ts';
import { EDGE_COLUMNS, type Edge, edgeLine, listEdges } from '../../search/index.ts';
import { type ArchiveCommandOptions, parseTimeOption } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';
import { writeLines } from '../line-file.ts';
import { EXIT_FINE } from '../outcome.ts';
import { RunningCount } from '../running-count.ts';
import { counted, printable, type Terminal } from '../terminal.ts';
import { limitOf, openIndexOf, sayIndexState } from './query.ts';

export type LinksCommandOptions = ArchiveCommandOptions & {
  readonly direction: 'in' | 'out';
  readonly at?: string;
  readonly limit: string;
  readonly out?: string;
  readonly force?: boolean;
};

export async function searchLinks(
  { terminal, signal }: CommandContext,
  url: string | undefined,
  options: LinksCommandOptions,
): Promise<number> {
  const search = await openIndexOf(options.archive);
  try {
    if (options.out !== undefined) {
      const edges = await writeEdges(terminal, options, options.out, signal);
      if (options.json) await terminal.json({ edges });
      else await terminal.line(`${counted(edges, 'link')} written to ${options.out}`);
      sayIndexState(terminal, search, false);
      return EXIT_FINE;
    }
    if (url === undefined) throw badArgument('links', 'name a page, or a file with --out');
    const at = options.at === undefined ? undefined : parseTimeOption(options.at, 'end');
    const list = await search.links(url, { direction: options.direction, at, limit: limitOf(options.limit) });
    for (const item of list.items) {
      const { first, last, ...rest } = item;
      if (options.json) await terminal.json({ ...rest, first: formatW3cDate(first), last: formatW3cDate(last) });
      else await terminal.line(`${printable(item.url)}  ${item.kind}  ${printable(item.text)}`.trimEnd());
    }
    // As in `search`: after the items, a line with the total when there are more.
    if (options.json && list.next !== undefined) await terminal.json({ total: list.total });
    if (!options.json)
      terminal.say(
        options.direction === 'in'
          ? `${counted(list.total, 'page')} ${list.total === 1 ? 'links' : 'link'} to this page`
          : counted(list.total, 'link'),
      );
    sayIndexState(terminal, search, list.total === 0 && !options.json);
    return EXIT_FINE;
  } finally {
    search.close();
  }
}

async function writeEdges(
  terminal: Terminal,
  { archive, force = false }: LinksCommandOptions,
  path: string,
  signal: AbortSignal,
): Promise<number> {
  const ending = extname(path).toLowerCase();
  if (ending !== '' && ending !== '.csv' && ending !== '.parquet')
    throw badArgument(path, 'links are written as .csv or .parquet');
  await refuseMissingParent(path);
  const edges = watched(listEdges(archive), terminal);
  if (ending === '.parquet') return writeParquet(path, EDGE_COLUMNS, edges, { force, signal });
  const rows = await writeLines(path, csvLines(edges, signal), { force, lineEnd: '\r\n' });
  return rows - 1;
}

function* csvLines(edges: Iterable<Edge>, signal: AbortSignal): Generator<string> {
  yield EDGE_COLUMNS.map(({ name }) => name).join(',');
  for (const edge of edges) {
    signal.throwIfAborted();
    yield edgeLine(edge);
  }
}

function* watched(edges: Iterable<Edge>, terminal: Terminal): Generator<Edge> {
  const count = new RunningCount(terminal, 'links');
  let written = 0;
  try {
    for (const edge of edges) {
      yield edge;
      if (++written % 1000 === 0) count.update(`${counted(written, 'link')} written`);
    }
  } finally {
    count.end();
  }
}
