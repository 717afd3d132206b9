/**
 * Walks the catalog for a CDX query and yields the lines of the reply in pages. Memory holds one page, and the lines
 * that must be sorted before the first page. SORTED_LINES_MAX and SORTED_CHARACTERS_MAX limit these lines (I9).
 */
import type { Archive } from '../../archive/index.ts';
import type { Capture, CapturePosition, CaptureRange } from '../../catalog/index.ts';
import type { UrlKey } from '../../url/index.ts';
import { badRequest } from '../http/problem.ts';
import { Collapser } from './cdx-collapse.ts';
import { CdxCounters } from './cdx-counters.ts';
import { DIALECTS } from './cdx-dialect.ts';
import { BLOCK_LINES, type CdxQuery, SORTED_LINES_MAX } from './cdx-query.ts';
import { type CdxRow, CdxRows } from './cdx-row.ts';

const PAGE_LINES = 1000;
/**
 * The maximum total length of URLs and keys of the lines to sort. A typical line has 100 characters, but one URL may
 * have 64 Ki.
 */
const SORTED_CHARACTERS_MAX = 16 * 1024 * 1024;

export type CdxScan = { readonly archive: Archive; readonly query: CdxQuery; readonly signal: AbortSignal };

/**
 * The lines, filtered, collapsed, in the requested order, cut to offset and limit. `onMore` is called with the last
 * line when there are more.
 */
export async function* scanRows(scan: CdxScan, onMore?: (last: CdxRow) => void): AsyncGenerator<CdxRow[]> {
  const { query } = scan;
  if (needsSorting(query)) {
    yield await lastRows(scan);
    return;
  }
  const pages = (await fewRows(scan)) ?? manyRows(scan);
  let skip = query.offset;
  let left = query.limit ?? Number.POSITIVE_INFINITY;
  let last: CdxRow | undefined;
  for await (const page of pages) {
    const wanted = skip > 0 ? page.slice(skip) : page;
    skip = Math.max(0, skip - page.length);
    const taken = wanted.length > left ? wanted.slice(0, left) : wanted;
    left -= taken.length;
    last = taken.at(-1) ?? last;
    if (taken.length > 0) yield taken;
    if (wanted.length > taken.length) {
      if (last) onMore?.(last);
      return;
    }
  }
}

/** All lines for one URL with few captures. Most queries are like this, and do not need the scan for long replies. */
async function fewRows(scan: CdxScan): Promise<CdxRow[][] | undefined> {
  const { archive, query } = scan;
  const isPlain = query.isExact && query.order === 'forward' && !query.collapse && !query.hasCounters;
  const isWhole = query.page === undefined && query.resume === undefined && query.collection === undefined;
  if (!isPlain || !isWhole) return undefined;
  const captures = await archive.capturesOf(query.ranges[0]!.from as UrlKey);
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = query;
  return captures && [await rowMaker(scan)(captures.filter(({ time }) => time >= from && time <= to))];
}

function manyRows(scan: CdxScan): AsyncIterable<CdxRow[]> {
  const { query } = scan;
  if (query.order === 'closest') return closestRows(scan);
  if (query.hasCounters) return countedRows(scan);
  return collapsed(plainRows(scan, query.order === 'reverse'), scan);
}

/** How many captures are in the ranges of a query. */
export async function countCaptures(scan: CdxScan): Promise<number> {
  let count = 0;
  for await (const page of capturePages(scan, false)) count += page.length;
  return count;
}

function needsSorting(query: CdxQuery): boolean {
  if (query.order === 'closest') return !query.isExact || query.collapse !== undefined;
  return query.isLast || (query.order === 'reverse' && query.collapse !== undefined);
}

/** The last lines, the nearest lines, or all lines in reverse. They are collected before the first line is sent. */
async function lastRows(scan: CdxScan): Promise<CdxRow[]> {
  const { query } = scan;
  const wanted = Math.min(query.limit ?? SORTED_LINES_MAX, SORTED_LINES_MAX);
  if (query.order === 'closest') {
    if (query.offset >= SORTED_LINES_MAX)
      throw badRequest('the offset is too large', `The limit is ${SORTED_LINES_MAX} lines.`, `${query.offset}`);
    const count = Math.min(wanted + query.offset, SORTED_LINES_MAX);
    return (await nearestRows(scan, count)).slice(query.offset);
  }
  // Without collapsing and counting, the last lines are the first lines in reverse order.
  if (!query.collapse && !query.hasCounters) {
    const rows = await firstRows(plainRows(scan, true), wanted);
    return query.order === 'reverse' ? rows : rows.reverse();
  }
  let held: CdxRow[] = [];
  for await (const page of query.hasCounters ? countedRows(scan) : collapsed(plainRows(scan, false), scan)) {
    held.push(...page);
    if (held.length > 2 * wanted + PAGE_LINES) held = held.slice(-wanted);
    requireSortable(held);
  }
  held = wanted === 0 ? [] : held.slice(-wanted);
  return query.order === 'reverse' ? held.reverse() : held;
}

async function firstRows(pages: AsyncIterable<CdxRow[]>, count: number): Promise<CdxRow[]> {
  const rows: CdxRow[] = [];
  if (count === 0) return rows;
  for await (const page of pages) {
    rows.push(...page);
    requireSortable(rows);
    if (rows.length >= count) break;
  }
  return rows.slice(0, count);
}

async function nearestRows(scan: CdxScan, count: number): Promise<CdxRow[]> {
  const distance = (row: CdxRow) => distanceOf(row.capture, scan.query);
  let held: CdxRow[] = [];
  // Sorting is stable: equally near lines stay in the order of the index.
  const cut = () => {
    held = held.sort((a, b) => distance(a) - distance(b)).slice(0, count);
  };
  for await (const page of collapsed(plainRows(scan, false), scan)) {
    held.push(...page);
    if (held.length > 2 * count + PAGE_LINES) cut();
    requireSortable(held);
  }
  cut();
  return held;
}

function requireSortable(rows: readonly CdxRow[]): void {
  const characters = rows.reduce((sum, { original, urlkey }) => sum + original.length + urlkey.length, 0);
  if (characters <= SORTED_CHARACTERS_MAX) return;
  throw badRequest('the lines to sort are too long', 'Set a lower limit, or use the order of the index.');
}

/** The distance in seconds, the unit of times in index lines. */
function distanceOf(capture: Capture, query: CdxQuery): number {
  return Math.abs(Math.floor(capture.time / 1000) - Math.floor(query.closest / 1000));
}

async function* collapsed(pages: AsyncIterable<CdxRow[]>, scan: CdxScan): AsyncGenerator<CdxRow[]> {
  const collapser = await collapserOf(scan);
  if (!collapser) {
    yield* pages;
    return;
  }
  for await (const page of pages) yield collapser.push(page);
  yield collapser.end();
}

/** With a resume key, the collapser starts with the line of the key, so that lines with the same value are left out. */
async function collapserOf(scan: CdxScan): Promise<Collapser | undefined> {
  const { collapse, resume } = scan.query;
  if (!collapse) return undefined;
  const collapser = new Collapser(collapse);
  if (resume && collapse.keeps === 'first') collapser.push(await lineAt(scan, resume));
  return collapser;
}

/** The line of a resume key. When the key has no milliseconds, the last line of its second. */
async function lineAt(scan: CdxScan, { urlKey, time, place }: CapturePosition): Promise<CdxRow[]> {
  const range = { keyFrom: urlKey, keyTo: `${urlKey}\0`, timeFrom: Math.floor(time / 1000) * 1000, timeTo: time };
  const toRows = rowMaker(scan);
  let last: CdxRow[] = [];
  for await (const page of scan.archive.captures(range, PAGE_LINES)) {
    const at = page.findIndex((one) => one.place.segment === place.segment && one.place.offset === place.offset);
    const rows = await toRows(at < 0 ? page : page.slice(0, at + 1));
    if (rows.length > 0) last = rows.slice(-1);
    if (at >= 0) break;
  }
  return last;
}

async function* plainRows(scan: CdxScan, reverse: boolean): AsyncGenerator<CdxRow[]> {
  const toRows = rowMaker(scan);
  for await (const page of pagedCaptures(scan, reverse)) {
    const rows = await toRows(page);
    if (rows.length > 0) yield rows;
  }
}

/** The lines with their counters. The counters need the lines that are left out, too. */
async function* countedRows(scan: CdxScan): AsyncGenerator<CdxRow[]> {
  const { query } = scan;
  const toRows = rowMaker(scan, false);
  const counters = new CdxCounters(await collapserOf(scan));
  for await (const page of pagedCaptures(scan, false)) {
    const rows = await toRows(page);
    yield counters.push(rows, filtered(rows, query));
  }
  yield counters.end();
}

function rowMaker({ archive, query }: CdxScan, filters = true): (captures: readonly Capture[]) => Promise<CdxRow[]> {
  const { isDigestLabelled } = DIALECTS[query.dialect];
  const rows = new CdxRows(archive, { isDigestLabelled, resolvesRevisits: query.resolvesRevisits });
  return async (captures) => {
    const made = await rows.of(captures);
    return filters ? filtered(made, query) : made;
  };
}

function filtered(rows: CdxRow[], { filter }: CdxQuery): CdxRow[] {
  return filter ? filter(rows) : rows;
}

/** The captures of the requested page of the reply, or all captures. */
async function* pagedCaptures(scan: CdxScan, reverse: boolean): AsyncGenerator<Capture[]> {
  const { page, pageBlocks } = scan.query;
  if (page === undefined) {
    yield* capturePages(scan, reverse);
    return;
  }
  let skip = page * pageBlocks * BLOCK_LINES;
  let left = pageBlocks * BLOCK_LINES;
  for await (const captures of capturePages(scan, reverse)) {
    const wanted = captures.slice(skip, skip + left);
    skip = Math.max(0, skip - captures.length);
    left -= wanted.length;
    if (wanted.length > 0) yield wanted;
    if (left === 0) return;
  }
}

async function* capturePages(scan: CdxScan, reverse: boolean): AsyncGenerator<Capture[]> {
  const { query } = scan;
  const ranges = reverse ? query.ranges.toReversed() : query.ranges;
  for (const { from, to } of ranges) yield* captures(scan, { keyFrom: from, keyTo: to, reverse });
}

async function* captures(scan: CdxScan, range: CaptureRange): AsyncGenerator<Capture[]> {
  const { archive, query, signal } = scan;
  const collection = query.collection === undefined ? undefined : await archive.collections.find(query.collection);
  if (query.collection !== undefined && collection === undefined) return;
  const bounded: CaptureRange = {
    ...(query.from !== undefined && { timeFrom: query.from }),
    ...(query.to !== undefined && { timeTo: query.to }),
    ...(query.resume && { after: query.resume }),
    ...range,
  };
  const isFew = query.limit !== undefined && query.filter === undefined && !query.collapse && !query.hasCounters;
  const pageSize = isFew ? Math.min(PAGE_LINES, query.limit + query.offset + 1) : PAGE_LINES;
  for await (const page of archive.captures(bounded, pageSize)) {
    signal.throwIfAborted();
    yield collection === undefined ? page : page.filter((capture) => capture.collection === collection);
  }
}

/** The captures of one URL, nearest in time first: one walk back and one walk forward from the time, merged. */
async function* closestRows(scan: CdxScan): AsyncGenerator<CdxRow[]> {
  const { query } = scan;
  const toRows = rowMaker(scan);
  const [range] = query.ranges;
  const second = Math.floor(query.closest / 1000) * 1000;
  const walk = (more: CaptureRange) => singly(captures(scan, { keyFrom: range!.from, keyTo: range!.to, ...more }));
  const backward = secondsOf(walk({ timeTo: Math.min(second - 1, query.to ?? second), reverse: true }));
  const forward = secondsOf(walk({ timeFrom: Math.max(second, query.from ?? second) }));
  try {
    let [before, after] = await Promise.all([backward.next(), forward.next()]);
    let held: Capture[] = [];
    while (!before.done || !after.done) {
      const isBefore =
        !before.done && (after.done || distanceOf(before.value[0]!, query) <= distanceOf(after.value[0]!, query));
      if (isBefore) {
        held.push(...before.value!.reverse());
        before = await backward.next();
      } else {
        held.push(...after.value!);
        after = await forward.next();
      }
      if (held.length < (query.limit ?? PAGE_LINES)) continue;
      yield await toRows(held);
      held = [];
    }
    if (held.length > 0) yield await toRows(held);
  } finally {
    await Promise.all([backward.return(undefined), forward.return(undefined)]);
  }
}

async function* singly(pages: AsyncIterable<Capture[]>): AsyncGenerator<Capture> {
  for await (const page of pages) yield* page;
}

/** Groups captures of one second. */
async function* secondsOf(captures: AsyncIterable<Capture>): AsyncGenerator<Capture[], undefined> {
  let held: Capture[] = [];
  for await (const capture of captures) {
    const isSame = held[0] && Math.floor(held[0].time / 1000) === Math.floor(capture.time / 1000);
    if (held.length > 0 && !isSame) {
      yield held;
      held = [];
    }
    held.push(capture);
  }
  if (held.length > 0) yield held;
  return undefined;
}
