/**
 * `pinakes search`: prints results as text, or as one JSON object per line. Works while a server or an indexer runs,
 * because reading the index needs no lock.
 */
import { NamedSnapshots, readConnector } from '../../archive/index.ts';
import { badArgument, formatW3cDate } from '../../base/index.ts';
import {
  collectionsOf,
  type FacetName,
  openSearch,
  parseQuery,
  type Search,
  type SearchGroup,
  type SearchPage,
  type SearchResult,
  type SearchSort,
  wordsOf,
} from '../../search/index.ts';
import { type ArchiveCommandOptions, parseTimeOption } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE, EXIT_REFUSED } from '../outcome.ts';
import { counted, printable, type Terminal } from '../terminal.ts';

export type SearchCommandOptions = ArchiveCommandOptions & {
  readonly limit: string;
  readonly after?: string;
  readonly sort: SearchSort;
  readonly group: SearchGroup;
  readonly asOf?: string;
  readonly snapshot?: string;
  readonly facets?: boolean;
};

export async function searchQuery(
  { terminal }: CommandContext,
  words: readonly string[],
  options: SearchCommandOptions,
): Promise<number> {
  const query = words.join(' ');
  const parsed = parseQuery(query);
  if ('problem' in parsed && !options.json) {
    const { at, length, message } = parsed.problem;
    terminal.say(
      `pinakes: the query cannot be read [BAD_QUERY]\n  ${printable(query)}\n  ${' '.repeat(at)}${'^'.repeat(Math.max(1, length))} ${message}`,
    );
    return EXIT_REFUSED;
  }
  const limit = limitOf(options.limit);
  const asOf = await asOfTime(options);
  const search = await openIndexOf(options.archive);
  try {
    const { after, sort, group, facets = false } = options;
    const page = await search.search(query, { limit, sort, group, facets, after, asOf });
    if (options.json) await printPageJson(terminal, page);
    else await printPage(terminal, page);
    if ('query' in parsed) sayUnknownCollections(terminal, search, collectionsOf(parsed.query));
    const isNothing = page.total === 0 && !options.json;
    if (isNothing && 'query' in parsed && wordsOf(parsed.query).some((word) => !word.endsWith('*'))) {
      terminal.say(
        'A word matches only in the form in which it is on the page; `archiv*` matches all words that start with archiv.',
      );
    }
    sayIndexState(terminal, search, isNothing);
    return EXIT_FINE;
  } finally {
    search.close();
  }
}

/**
 * Reports unknown collections. A mistyped name selects or excludes nothing, and the user could take that for a result.
 */
function sayUnknownCollections(terminal: Terminal, search: Search, asked: readonly string[]): void {
  if (asked.length === 0) return;
  const names = search.collections();
  for (const name of new Set(asked)) {
    if (names.includes(name)) continue;
    const there = names.length > 0 ? `it has ${names.join(', ')}` : 'it has none';
    terminal.say(printable(`The index does not have a collection ${name}; ${there}.`));
  }
}

/** Opens the search index of an archive. If the archive is missing, the error names the archive, not the index. */
export async function openIndexOf(archive: string): Promise<Search> {
  await readConnector(archive);
  return openSearch(archive);
}

/** Says when the index may be behind the archive. Otherwise a page that is not indexed yet would seem to be missing. */
export function sayIndexState(terminal: Terminal, search: Search, isEmpty: boolean): void {
  const until = search.wholeUntil();
  if (until === undefined) terminal.say('The index may lack pages of the archive; `pinakes index` adds them.');
  else if (isEmpty)
    terminal.say(`The index is complete up to ${formatW3cDate(until)}; \`pinakes index\` adds later captures.`);
}

/** The value of --limit. */
export function limitOf(text: string): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1) return limit;
  throw badArgument(`--limit ${text}`, 'a whole number from 1 on');
}

/** The time limit of a query, from --as-of or from the named snapshot. */
export async function asOfTime(
  options: ArchiveCommandOptions & { readonly asOf?: string; readonly snapshot?: string },
): Promise<number | undefined> {
  if (options.asOf !== undefined) return parseTimeOption(options.asOf, 'end');
  if (options.snapshot === undefined) return undefined;
  const snapshots = new NamedSnapshots(options.archive);
  await snapshots.load();
  return snapshots.get(options.snapshot).time;
}

async function printPageJson(terminal: Terminal, page: SearchPage): Promise<void> {
  for (const { time, first, last, ...item } of page.items) {
    await terminal.json({ ...item, time: formatW3cDate(time), first: formatW3cDate(first), last: formatW3cDate(last) });
  }
  const { items: _, ...rest } = page;
  if (page.next !== undefined || page.facets !== undefined) await terminal.json(rest);
}

async function printPage(terminal: Terminal, page: SearchPage): Promise<void> {
  const about = page.isTotalExact ? '' : 'about ';
  await terminal.line(page.total === 0 ? 'nothing found' : `${about}${counted(page.total, 'result')}`);
  for (const item of page.items) {
    const versions = item.versions > 1 ? `, ${item.versions} versions` : '';
    await terminal.line('');
    await terminal.line(printable(item.title || item.url));
    await terminal.line(`  ${printable(item.url)}`);
    await terminal.line(
      `  ${formatW3cDate(item.time)}, ${item.status === 0 ? '' : `${item.status}, `}${counted(item.captures, 'capture')}${versions}, cited by ${item.inlinks}`,
    );
    await terminal.line(`  ${highlighted(item)}`);
  }
  for (const [name, values] of Object.entries(page.facets ?? {})) {
    const counts = values.map(({ value, count }) => `${printable(value)} (${count})`);
    const more = page.facetsLeftOut?.[name as FacetName];
    if (more !== undefined) counts.push(`and ${more} more`);
    if (counts.length > 0) await terminal.line(`\n${name}: ${counts.join(', ')}`);
  }
  if (page.next !== undefined) terminal.say(`\nnext page: --after ${page.next}`);
}

/** The snippet with the matching words in square brackets. */
function highlighted({ snippet, marks }: SearchResult): string {
  let text = '';
  let at = 0;
  for (const [start, end] of marks) {
    if (start < at) continue;
    text += `${snippet.slice(at, start)}[${snippet.slice(start, end)}]`;
    at = end;
  }
  return printable(text + snippet.slice(at));
}
