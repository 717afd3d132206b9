/**
 * Size and growth of each collection: all payloads, distinct payloads, and by month how much was new to the archive.
 *
 * A walk over the captures writes a line for each. The lines are sorted on disk (I9) and read once:
 *
 * ```
 *   <base64 digest>~<overflow> <time, 16 digits> <collection> <size>
 * ```
 * The first capture of a content, in any collection, counts as new. Every later capture is a duplicate.
 */
import type { Archive, CaptureReader } from '../../archive/index.ts';
import { type EpochMs, formatW3cDate } from '../../base/index.ts';
import type { Block, Capture } from '../../catalog/index.ts';
import { sortLines } from '../../warc/index.ts';

export type MonthFigures = {
  readonly month: string;
  captures: number;
  payloadBytes: number;
  newBytes: number;
  duplicateCaptures: number;
};

export type CollectionFigures = {
  readonly name: string;
  captures: number;
  revisits: number;
  payloadBytes: number;
  /** Payload bytes of the distinct contents of the collection. */
  uniquePayloadBytes: number;
  /** Bytes that the records of the collection's captures take in the segments. */
  storedBytes: number;
  first: EpochMs;
  last: EpochMs;
  readonly months: Map<string, MonthFigures>;
};

/** Added to the times in lines, so that times before 1970 are sorted correctly as digits. */
const TIME_SHIFT = 1e14;

export async function collectionFigures(archive: Archive, signal: AbortSignal): Promise<CollectionFigures[]> {
  const figures = new Map<number, CollectionFigures>();
  for (const { name, number } of await archive.collections.all()) figures.set(number, emptyFigures(name));
  await using view = await archive.view({ isLong: true });
  const lines = sortLines(walk(archive, view, figures, signal), { directory: archive.scratch });
  let content = '';
  const countedFor = new Set<number>();
  for await (const line of lines) {
    signal.throwIfAborted();
    const [name, time, collection, size] = line.split(' ');
    const figure = figures.get(Number(collection))!;
    const month = monthOf(figure, Number(time) - TIME_SHIFT);
    if (name === content) month.duplicateCaptures++;
    else {
      content = name!;
      countedFor.clear();
      month.newBytes += Number(size);
    }
    if (countedFor.has(Number(collection))) continue;
    countedFor.add(Number(collection));
    figure.uniquePayloadBytes += Number(size);
  }
  return [...figures.values()].filter(({ captures }) => captures > 0).sort((a, b) => a.first - b.first);
}

function emptyFigures(name: string): CollectionFigures {
  const none = { captures: 0, revisits: 0, payloadBytes: 0, uniquePayloadBytes: 0, storedBytes: 0 };
  return { name, ...none, first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY, months: new Map() };
}

async function* walk(
  archive: Archive,
  view: CaptureReader,
  figures: Map<number, CollectionFigures>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  for await (const page of view.captures({})) {
    signal.throwIfAborted();
    const held = page.filter(({ block }) => block !== undefined);
    const blocks = await view.getBlocks(held.map(({ block }) => block!));
    const sizeOf = new Map(held.map((capture, index): [Capture, Block | undefined] => [capture, blocks[index]]));
    for (const capture of page) {
      const { collection, time, kind, block, place } = capture;
      const figure = figures.get(collection) ?? emptyFigures(await archive.collections.name(collection));
      figures.set(collection, figure);
      const size = sizeOf.get(capture)?.size ?? 0;
      const month = monthOf(figure, time);
      figure.captures++;
      month.captures++;
      figure.payloadBytes += size;
      month.payloadBytes += size;
      figure.storedBytes += place.length;
      if (kind === 'revisit') figure.revisits++;
      figure.first = Math.min(figure.first, time);
      figure.last = Math.max(figure.last, time);
      if (!block) continue;
      const shifted = String(time + TIME_SHIFT).padStart(16, '0');
      yield `${Buffer.from(block.digest).toString('base64')}~${block.overflow} ${shifted} ${collection} ${size}`;
    }
  }
}

function monthOf(figure: CollectionFigures, time: EpochMs): MonthFigures {
  const month = formatW3cDate(time).slice(0, 7);
  let figures = figure.months.get(month);
  if (!figures) {
    figures = { month, captures: 0, payloadBytes: 0, newBytes: 0, duplicateCaptures: 0 };
    figure.months.set(month, figures);
  }
  return figures;
}
