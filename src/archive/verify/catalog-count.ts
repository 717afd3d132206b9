/**
 * One pass over the captures and one over the blocks of a view of the catalog. It adds up which records of each segment
 * the catalog has, and checks what the catalog says about itself: totals and references.
 *
 * The view lives for these two passes only. LevelDB keeps every row that is changed or removed while a view exists.
 */
import type { Capture, CatalogView, Segment } from '../../catalog/index.ts';
import { PlaceSum } from './place-sum.ts';
import type { Report } from './problem-reporter.ts';
import type { ReferenceCount } from './reference-count.ts';
import type { SegmentWatch } from './segment-watch.ts';

/** The processor time that a page of rows takes at most. */
export const PAGE_MS_MAX = 10;

export type CatalogCount = {
  captures: number;
  blocks: number;
  unresolved: number;
  /** The rows of the segments in the view, by number. */
  readonly segments: ReadonlyMap<number, Segment>;
  /** By number of the segment, the records that are captures, and those that hold contents. */
  readonly captureSums: ReadonlyMap<number, PlaceSum>;
  readonly holderSums: ReadonlyMap<number, PlaceSum>;
};

export type CountOptions = {
  readonly watch: SegmentWatch;
  readonly references: ReferenceCount;
  /**
   * The lengths of these segments up to which their records count. Segments without a length count as a whole, also
   * those that the catalog does not have.
   */
  readonly limitsOf: (segments: readonly Segment[]) => Promise<ReadonlyMap<number, number>>;
  /** Called for each revisit without a content. */
  readonly onUnresolved: (capture: Capture) => Promise<void>;
  readonly report: Report;
};

export async function countCatalog(view: CatalogView, options: CountOptions): Promise<CatalogCount> {
  const { watch, references, limitsOf, onUnresolved, report } = options;
  const rows = await view.segments();
  const limits = await limitsOf(rows);
  const captureSums = new Map<number, PlaceSum>();
  const holderSums = new Map<number, PlaceSum>();
  const segments = new Map(rows.map((segment) => [segment.number, segment]));
  const count: CatalogCount = { captures: 0, blocks: 0, unresolved: 0, segments, captureSums, holderSums };
  const isCounted = (segment: number, offset: number) => offset < (limits.get(segment) ?? Number.POSITIVE_INFINITY);
  for await (const page of view.captures({})) {
    for (const capture of page) {
      const { place, block } = capture;
      count.captures++;
      references.addCapture(capture);
      if (isCounted(place.segment, place.offset)) sumOf(captureSums, place.segment).add(place.offset);
      if (block) continue;
      count.unresolved++;
      await onUnresolved(capture);
    }
    await watch.rest(PAGE_MS_MAX);
  }
  for await (const page of view.blocks()) {
    for (const block of page) {
      const { holder, key } = block;
      count.blocks++;
      references.addBlock(block);
      if (isCounted(holder.segment, holder.offset)) sumOf(holderSums, holder.segment).add(holder.offset, key.digest);
    }
    await watch.rest(PAGE_MS_MAX);
  }
  const totals = await view.totals();
  if (totals.captures !== count.captures || totals.blocks !== count.blocks) {
    const detail = `${totals.captures} captures and ${totals.blocks} contents, counted ${count.captures} and ${count.blocks}`;
    watch.assertGoesOn();
    await report('totals-wrong', {}, { detail });
  }
  return count;
}

/** Reports the contents whose references differ from the captures that have them. */
export async function reportWrongReferences(view: CatalogView, options: CountOptions): Promise<void> {
  const { watch, references, report } = options;
  for await (const wrong of references.wrong(view, () => watch.rest(PAGE_MS_MAX))) {
    const { recorded, counted, examples, key } = wrong;
    const detail = recorded === undefined ? key : `${key}, ${recorded} in the catalog, ${counted} counted`;
    const leaning = recorded === undefined ? counted : 0;
    watch.assertGoesOn();
    await report(recorded === undefined ? 'content-missing' : 'references-wrong', {}, { detail, leaning, examples });
  }
}

function sumOf(sums: Map<number, PlaceSum>, segment: number): PlaceSum {
  const known = sums.get(segment);
  if (known) return known;
  const sum = new PlaceSum();
  sums.set(segment, sum);
  return sum;
}
