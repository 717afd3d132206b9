/**
 * How much collections repeat themselves and one another: table 1 of Gomes, Santos and Silva, "Managing duplicates in a
 * web archive".
 *
 * For each collection, in the order of their first captures: its URLs, the share of captures whose content another
 * capture of the collection already has, the share whose content the previous collection has, and the share of its URLs
 * that the previous collection has. URLs are counted in one walk over the catalog, contents by sorting outside of
 * memory (I9).
 */
import type { EpochMs } from '../base/index.ts';
import type { CatalogView } from '../catalog/index.ts';
import { sortLines } from '../warc/index.ts';

export type CollectionDuplication = {
  readonly collection: number;
  readonly firstTime: EpochMs;
  readonly lastTime: EpochMs;
  readonly captures: number;
  readonly urls: number;
  /** Captures whose content is known. */
  readonly contents: number;
  /** Among `contents`, all captures of each content except one. */
  readonly duplicates: number;
  /** Among `contents`, captures whose content the previous collection has. Undefined for the first collection. */
  readonly duplicatesOfPrevious: number | undefined;
  /** URLs that the previous collection has. Undefined for the first collection. */
  readonly persistentUrls: number | undefined;
};

type Count = {
  firstTime: EpochMs;
  lastTime: EpochMs;
  captures: number;
  urls: number;
  contents: number;
  duplicates: number;
  duplicatesOfPrevious: number;
  persistentUrls: number;
};

export async function countDuplication(
  catalog: CatalogView,
  scratch: string,
  onPage: (captures: number) => void,
): Promise<CollectionDuplication[]> {
  const counts = new Map<number, Count>();
  const lines = sortLines(walk(catalog, counts, onPage), { directory: scratch });
  const groups = grouped(lines);
  // Sorting reads everything before it yields the first line. Only then is the order of the collections known.
  const first = await groups.next();
  const previous = previousOf(counts);
  if (!first.done) addContents(counts, previous, first.value);
  for await (const group of groups) addContents(counts, previous, group);
  await countUrls(catalog, counts, previous, onPage);
  return [...counts]
    .map(([collection, count]) => {
      const isFirst = previous.get(collection) === undefined;
      return {
        collection,
        ...count,
        duplicatesOfPrevious: isFirst ? undefined : count.duplicatesOfPrevious,
        persistentUrls: isFirst ? undefined : count.persistentUrls,
      };
    })
    .sort(inOrder);
}

/** Counts captures, and yields a line with content and collection for each. */
async function* walk(
  catalog: CatalogView,
  counts: Map<number, Count>,
  onPage: (captures: number) => void,
): AsyncGenerator<string> {
  for await (const page of catalog.captures({})) {
    onPage(page.length);
    for (const { collection, time, block } of page) {
      const count = countOf(counts, collection, time);
      count.captures++;
      count.firstTime = Math.min(count.firstTime, time);
      count.lastTime = Math.max(count.lastTime, time);
      if (!block) continue;
      count.contents++;
      yield `${Buffer.from(block.digest).toString('base64')}~${block.overflow} ${collection}`;
    }
  }
}

function countOf(counts: Map<number, Count>, collection: number, time: EpochMs): Count {
  let count = counts.get(collection);
  if (!count) {
    const none = { urls: 0, contents: 0, duplicates: 0, duplicatesOfPrevious: 0, persistentUrls: 0 };
    count = { firstTime: time, lastTime: time, captures: 0, ...none };
    counts.set(collection, count);
  }
  return count;
}

/** Yields for each content how many captures of each collection have it. */
async function* grouped(lines: AsyncIterable<string>): AsyncGenerator<Map<number, number>> {
  let content = '';
  let group = new Map<number, number>();
  for await (const line of lines) {
    const blank = line.indexOf(' ');
    const collection = Number(line.slice(blank + 1));
    if (line.slice(0, blank) !== content) {
      if (group.size > 0) yield group;
      content = line.slice(0, blank);
      group = new Map();
    }
    group.set(collection, (group.get(collection) ?? 0) + 1);
  }
  if (group.size > 0) yield group;
}

function addContents(
  counts: Map<number, Count>,
  previous: ReadonlyMap<number, number | undefined>,
  group: ReadonlyMap<number, number>,
): void {
  for (const [collection, captures] of group) {
    const count = counts.get(collection)!;
    count.duplicates += captures - 1;
    const before = previous.get(collection);
    if (before !== undefined && group.has(before)) count.duplicatesOfPrevious += captures;
  }
}

async function countUrls(
  catalog: CatalogView,
  counts: Map<number, Count>,
  previous: ReadonlyMap<number, number | undefined>,
  onPage: (captures: number) => void,
): Promise<void> {
  let key = '';
  let having = new Set<number>();
  const settle = () => {
    for (const collection of having) {
      const count = counts.get(collection);
      // A collection that was created since the first walk does not have a row yet.
      if (!count) continue;
      count.urls++;
      const before = previous.get(collection);
      if (before !== undefined && having.has(before)) count.persistentUrls++;
    }
  };
  for await (const page of catalog.captures({})) {
    onPage(page.length);
    for (const { urlKey, collection } of page) {
      if (urlKey !== key) {
        settle();
        key = urlKey;
        having = new Set();
      }
      having.add(collection);
    }
  }
  settle();
}

function previousOf(counts: ReadonlyMap<number, Count>): Map<number, number | undefined> {
  const ordered = [...counts].map(([collection, count]) => ({ collection, ...count })).sort(inOrder);
  return new Map(ordered.map(({ collection }, index) => [collection, ordered[index - 1]?.collection]));
}

function inOrder(a: { firstTime: EpochMs; collection: number }, b: { firstTime: EpochMs; collection: number }): number {
  return a.firstTime - b.firstTime || a.collection - b.collection;
}
