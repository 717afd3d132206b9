/**
 * Where records were first written to, and where they are now (R4). Cursors and snapshots hold root places, so that
 * they outlive compaction, other numbers of segments, and a rebuild.
 *
 * While a replacement is swapped in, a record is in the old segment and in the replacement, and its capture is at one
 * of the two places. So a root place may have two current places.
 *
 * Answers are those of one instant: use a view of the catalog. The order of all records is that of their roots, first
 * by sequence number, and of the offsets in them.
 */
import { PinakesError } from '../../base/index.ts';
import type { Capture, CatalogView, Place, RootSegment, Segment } from '../../catalog/index.ts';
import { Runs } from '../runs.ts';
import { compareTexts, type RootPlace, type SnapshotBounds, sequenceOf } from '../snapshot-bounds.ts';
import { runsOf } from './replacement-writer.ts';

/** Where a record is now. `isSame`: it is that record; otherwise it was removed, and this is the next that was kept. */
export type CurrentPlace = { readonly segment: Segment; readonly offset: number; readonly isSame: boolean };

/** A root with the segments that have records of it now: two while one of them is replaced by the other. */
export type RootWithSegments = RootSegment & { readonly segments: readonly Segment[] };

/** 32 bytes each. */
const RUNS_HELD_MAX = 1_000_000;

/** Runs of segments that were used lately. Those of a name never change, so any process may keep them. */
export class RunsCache {
  readonly #runs = new Map<string, Runs>();
  #held = 0;

  forget(): void {
    this.#runs.clear();
    this.#held = 0;
  }

  /** Fails with OBJECT_MISSING where the segment was removed since its row was read, as its runs were with it. */
  async of(catalog: Pick<CatalogView, 'notes' | 'segment'>, segment: Segment): Promise<Runs> {
    // One run, which grows with the segment.
    if (!segment.roots) return Runs.ofRoot({ name: segment.name, sequence: sequenceOf(segment) }, segment.bytes);
    const { name, number } = segment;
    let runs = this.#runs.get(name);
    if (runs) this.#runs.delete(name);
    else {
      runs = await runsOf(catalog, segment);
      if ((await catalog.segment(number))?.name !== name) throw new PinakesError('OBJECT_MISSING', { where: name });
      this.#held += runs.length;
    }
    this.#runs.set(name, runs);
    for (const [oldest, { length }] of this.#runs) {
      if (this.#held <= RUNS_HELD_MAX || oldest === name) break;
      this.#runs.delete(oldest);
      this.#held -= length;
    }
    return runs;
  }
}

export type RootPlacesCatalog = Pick<CatalogView, 'segments' | 'segment' | 'notes' | 'findCaptures'>;

export class RootPlaces {
  readonly #catalog: RootPlacesCatalog;
  readonly #cache: RunsCache;
  readonly #segments: ReadonlyMap<number, Segment>;
  readonly #newSegments = new Map<number, Segment>();
  readonly #byRoot = new Map<string, RootSegment & { readonly segments: Segment[] }>();

  static async load(catalog: RootPlacesCatalog, cache: RunsCache = new RunsCache()): Promise<RootPlaces> {
    return new RootPlaces(catalog, cache, await catalog.segments());
  }

  private constructor(catalog: RootPlacesCatalog, cache: RunsCache, segments: readonly Segment[]) {
    this.#catalog = catalog;
    this.#cache = cache;
    // A segment without records is a replacement that is being written, or nothing was stored in it yet.
    this.#segments = new Map(segments.flatMap((segment) => (segment.bytes > 0 ? [[segment.number, segment]] : [])));
    for (const segment of this.#segments.values())
      for (const { name, sequence } of rootsOf(segment)) {
        const known = this.#byRoot.get(name) ?? { name, sequence, segments: [] };
        known.segments.push(segment);
        this.#byRoot.set(name, known);
      }
  }

  /** All roots that have records, in order. */
  roots(): RootWithSegments[] {
    return [...this.#byRoot.values()].sort(compareRoots);
  }

  /** A root with the segments that have records of it now. Undefined: no record of it is left. */
  root(name: string): RootWithSegments | undefined {
    return this.#byRoot.get(name);
  }

  /** The rows of the segments that have records. */
  segments(): Segment[] {
    return [...this.#segments.values()];
  }

  runsOf(segment: Segment): Promise<Runs> {
    return this.#cache.of(this.#catalog, segment);
  }

  /** The root place of a record. Undefined: it is not one of the records that were stored, such as a runs record. */
  async rootOf({ segment: number, offset }: Pick<Place, 'segment' | 'offset'>): Promise<RootPlace | undefined> {
    const segment = this.#segments.get(number) ?? (await this.#newSegment(number));
    return segment && (await this.runsOf(segment)).rootOf(offset);
  }

  /** A segment that was listed since, and that captures of a long view may have been moved to. */
  async #newSegment(number: number): Promise<Segment | undefined> {
    const segment = this.#newSegments.get(number) ?? (await this.#catalog.segment(number));
    if (!segment || segment.bytes === 0) return undefined;
    this.#newSegments.set(number, segment);
    return segment;
  }

  /** Where the record is that was first written to a root place, or the next one of that root that was kept. */
  async currentOf(root: string, offset: number): Promise<CurrentPlace[]> {
    const places: CurrentPlace[] = [];
    for (const segment of this.#byRoot.get(root)?.segments ?? []) {
      const found = (await this.runsOf(segment)).currentOf(root, offset);
      if (found) places.push({ segment, ...found });
    }
    return places;
  }

  /** The captures of records, wherever their records are now. Undefined for a record whose capture was deleted. */
  async capturesOf(
    records: readonly (Pick<Capture, 'urlKey' | 'time'> & { readonly root: Pick<RootPlace, 'root' | 'offset'> })[],
  ): Promise<(Capture | undefined)[]> {
    const asked = [];
    for (const { urlKey, time, root } of records)
      for (const { segment, offset, isSame } of await this.currentOf(root.root, root.offset))
        if (isSame) asked.push({ record: root, question: { urlKey, time, at: { segment: segment.number, offset } } });
    const found = asked.length > 0 ? await this.#catalog.findCaptures(asked.map(({ question }) => question)) : [];
    const captures = new Map(asked.flatMap(({ record }, index) => found[index]!.map((capture) => [record, capture])));
    return records.map(({ root }) => captures.get(root));
  }
}

/** The segments that the records of a segment were first written to. */
export function rootsOf(segment: Segment): readonly RootSegment[] {
  return segment.roots ?? [{ name: segment.name, sequence: sequenceOf(segment) }];
}

export function compareRoots(one: RootSegment, other: RootSegment): number {
  return one.sequence - other.sequence || compareTexts(one.name, other.name);
}

/**
 * The snapshot of the instant in which these rows were read together. With the names of dropped segments, which are
 * read after the rows. A segment that is being sealed has its length too: a catalog that goes back finds it open.
 */
export function boundsOfRows(segments: readonly Segment[], dropped: readonly string[] = []): SnapshotBounds {
  let before = 0;
  const open: [string, number][] = [];
  const known = new Set<string>();
  for (const segment of segments) {
    before = Math.max(before, sequenceOf(segment) + 1);
    for (const { name } of rootsOf(segment)) {
      known.add(name);
      if (segment.state !== 'sealed') open.push([name, segment.bytes]);
    }
  }
  for (const name of dropped) if (!known.has(name)) open.push([name, 0]);
  return { before, open: open.sort(([one], [other]) => compareTexts(one, other)) };
}
