/**
 * Walks over the captures of a snapshot by URL, by time, or in the order of a ranking of URLs. The caller reads their
 * records.
 *
 * Captures with the same URL key and time are in the order of their root places. Neither a compaction nor a rebuild
 * changes this order, so a resumed walk knows which of these captures were delivered (I8). To walk by time, the
 * selection is first sorted on disk (I9). In the order of a ranking, the captures of each URL are sorted by time. URLs
 * that are not in the ranking follow at the end, by URL.
 */
import { compare, fromHex, toHex, utf8 } from '../../base/index.ts';
import {
  type Capture,
  type CapturePosition,
  type CaptureRange,
  type CatalogView,
  rangeOfKey,
} from '../../catalog/index.ts';
import { isInBounds, type RootPlace, RootPlaces, type SnapshotBounds } from '../../ledger/index.ts';
import type { UrlKey } from '../../url/index.ts';
import { sortLines } from '../../warc/index.ts';
import { isInKeyRanges, keyRanges, type Selection, selected } from '../selection.ts';
import { comparePositions, type StreamPosition } from './cursor.ts';
import type { KeptRanking } from './url-ranking.ts';

export type CatalogOrder = 'url' | 'time';

export type CatalogWalkOptions = {
  readonly order: CatalogOrder | KeptRanking;
  readonly selection: Selection;
  readonly after?: StreamPosition | undefined;
  /** A directory for temporary files while sorting. */
  readonly scratch: string;
  readonly signal?: AbortSignal | undefined;
};

/** A capture, and the place that its record was first written to. */
export type WalkedCapture = { readonly capture: Capture; readonly place: RootPlace };

export async function* walkCatalog(
  catalog: CatalogView,
  bounds: SnapshotBounds,
  options: CatalogWalkOptions,
): AsyncGenerator<WalkedCapture> {
  const { order } = options;
  const walk = new CatalogWalk(catalog, bounds, await RootPlaces.load(catalog), options);
  if (order === 'url') yield* walk.byUrl();
  else if (order === 'time') yield* walk.byTime();
  else yield* walk.byRanking(order);
}

class CatalogWalk {
  readonly #catalog: CatalogView;
  readonly #bounds: SnapshotBounds;
  /** Of the same instant as the view. */
  readonly #places: RootPlaces;
  readonly #options: CatalogWalkOptions;

  constructor(catalog: CatalogView, bounds: SnapshotBounds, places: RootPlaces, options: CatalogWalkOptions) {
    this.#catalog = catalog;
    this.#bounds = bounds;
    this.#places = places;
    this.#options = options;
  }

  async *byUrl(): AsyncGenerator<WalkedCapture> {
    const { after } = this.#options;
    yield* this.#inStorageOrder(this.#captures(after?.urlKey === undefined ? undefined : after));
  }

  async *byTime(): AsyncGenerator<WalkedCapture> {
    const { after, scratch } = this.#options;
    async function* read(lines: AsyncIterable<string>): AsyncGenerator<Capture> {
      for await (const line of lines) yield captureOf(line);
    }
    yield* this.#inStorageOrder(read(sortLines(this.#lines(after), { directory: scratch })));
  }

  async *byRanking(ranking: KeptRanking): AsyncGenerator<WalkedCapture> {
    const { after, selection } = this.#options;
    const ranges = keyRanges(selection);
    const lastKey = after?.urlKey as UrlKey | undefined;
    const place = lastKey === undefined ? 0 : await ranking.placeOf(lastKey);
    if (place !== undefined) {
      for await (const keys of ranking.keysFrom(place)) {
        this.#options.signal?.throwIfAborted();
        for (const key of keys) {
          if (!isInKeyRanges(key, ranges)) continue;
          yield* this.#inStorageOrder(inOneRow(this.#pagesIn(rangeOfKey(key), key === lastKey ? after : undefined)));
        }
      }
    }
    yield* this.#inStorageOrder(this.#unranked(ranking, place === undefined ? after : undefined));
  }

  async *#unranked(ranking: KeptRanking, after: StreamPosition | undefined): AsyncGenerator<Capture> {
    for await (const page of this.#pages(after)) {
      const ranked = await ranking.rankedOf([...new Set(page.map(({ urlKey }) => urlKey))]);
      for (const capture of page) if (!ranked.has(capture.urlKey)) yield capture;
    }
  }

  /** Puts captures of one key and time in storage order, and omits those that were delivered already. */
  async *#inStorageOrder(captures: AsyncIterable<Capture>): AsyncGenerator<WalkedCapture> {
    let group: Capture[] = [];
    for await (const capture of captures) {
      const first = group[0];
      if (first && (first.urlKey !== capture.urlKey || first.time !== capture.time)) {
        yield* await this.#remaining(group);
        group = [];
      }
      group.push(capture);
    }
    yield* await this.#remaining(group);
  }

  async *#lines(after: StreamPosition | undefined): AsyncGenerator<string> {
    for await (const capture of this.#captures(undefined)) {
      if (after?.time !== undefined) {
        if (capture.time < after.time) continue;
        if (capture.time === after.time && compare(utf8(capture.urlKey), utf8(after.urlKey!)) < 0) continue;
      }
      yield lineOf(capture);
    }
  }

  /** The selected captures of the snapshot, from the key and time of `after` on. */
  #captures(after: StreamPosition | undefined): AsyncGenerator<Capture> {
    return inOneRow(this.#pages(after));
  }

  async *#pages(after: StreamPosition | undefined): AsyncGenerator<Capture[]> {
    for (const range of keyRanges(this.#options.selection)) yield* this.#pagesIn(range, after);
  }

  async *#pagesIn(range: CaptureRange, after: StreamPosition | undefined): AsyncGenerator<Capture[]> {
    const { selection, signal } = this.#options;
    const pages = this.#catalog.captures({
      ...range,
      ...(selection.from !== undefined && { timeFrom: selection.from }),
      ...(selection.to !== undefined && { timeTo: selection.to }),
      ...(after && { after: beforeAllOf(after) }),
    });
    for await (const page of pages) {
      signal?.throwIfAborted();
      const held: Capture[] = [];
      for (const capture of await selected(this.#catalog, page, selection)) {
        const place = await this.#places.rootOf(capture.place);
        if (place && isInBounds(this.#bounds, place)) held.push(capture);
      }
      yield held;
    }
  }

  /** The captures of one group (one key and time) that were not delivered yet, in storage order. */
  async #remaining(group: readonly Capture[]): Promise<WalkedCapture[]> {
    const { after } = this.#options;
    const placed: WalkedCapture[] = [];
    for (const capture of group) placed.push({ capture, place: (await this.#places.rootOf(capture.place))! });
    placed.sort((a, b) => comparePositions(a.place, b.place));
    const first = group[0];
    if (!first || !after || after.urlKey !== first.urlKey || after.time !== first.time) return placed;
    return placed.filter(({ place }) => comparePositions(place, after) > 0);
  }
}

/** A position before all captures of this key and time. */
function beforeAllOf({ urlKey, time }: StreamPosition): CapturePosition {
  return { urlKey: urlKey as UrlKey, time: time!, place: { segment: 0, offset: 0 } };
}

async function* inOneRow(pages: AsyncIterable<Capture[]>): AsyncGenerator<Capture> {
  for await (const page of pages) yield* page;
}

/** Times before 1970 are negative. With this added, all times sort as text. */
const TIME_SHIFT = 1e15;

function lineOf(capture: Capture): string {
  const { place, url, kind, collection, status, mime, block, hash } = capture;
  const rest = [place.segment, place.offset, place.length, url, kind, collection, status, mime, hash];
  const digest = block ? [toHex(block.digest), block.overflow] : [];
  const time = String(capture.time + TIME_SHIFT).padStart(16, '0');
  return `${time} ${capture.urlKey.replaceAll(' ', '\t')} ${JSON.stringify([capture.urlKey, ...rest, ...digest])}`;
}

function captureOf(line: string): Capture {
  const time = Number(line.slice(0, 16)) - TIME_SHIFT;
  const json = JSON.parse(line.slice(line.indexOf(' ', 17) + 1)) as (string | number)[];
  const [urlKey, segment, offset, length, url, kind, collection, status, mime, hash, digest, overflow] = json;
  return {
    urlKey: urlKey as UrlKey,
    time,
    place: { segment: Number(segment), offset: Number(offset), length: Number(length) },
    url: String(url),
    kind: kind as Capture['kind'],
    collection: Number(collection),
    status: Number(status),
    mime: String(mime),
    hash: Number(hash),
    block: digest === undefined ? undefined : { digest: fromHex(String(digest))!, overflow: Number(overflow) },
  };
}
