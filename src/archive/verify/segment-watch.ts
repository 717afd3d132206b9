/**
 * What changed under a verification. It works while others write, so before it reports a problem it asks whether the
 * segment is still the one that it looked at.
 *
 * A row of the catalog is changed before the bytes that it no longer names are removed. So an answer that was made from
 * a segment and its tombstones is right if the row is the same afterwards.
 */
import type { CatalogView, Segment } from '../../catalog/index.ts';
import { pendingSwaps, rootsOf, sequenceOf } from '../../ledger/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import type { Pace } from './pace.ts';

/** The archive was rebuilt, so numbers of segments mean other segments now. Verification begins again. */
export class RebuiltMeanwhile extends Error {}

/** The segment was replaced or moved while it was read. */
export class SegmentChanged extends Error {}

/** An interrupted swap waits for the next change. This many times a verification waits for a swap to be completed. */
const SWAP_WAITS_MAX = 5;

/** Something looks wrong. */
export type Doubt = {
  /** The segments whose records were compared with the view of the catalog. */
  readonly segments: readonly (Segment | undefined)[];
  /** Whether the catalog or the segment was changed since, so that the judgement does not count. */
  readonly isStale: boolean;
};

export class SegmentWatch {
  readonly #archive: OpenedArchive;
  readonly #rebuilds: number;
  readonly #signal: AbortSignal | undefined;
  readonly #pace: Pace;
  #newestNumber = 0;
  #newestSequence = 0;

  constructor(archive: OpenedArchive, pace: Pace, signal: AbortSignal | undefined) {
    this.#archive = archive;
    this.#rebuilds = archive.segmentRegistry.rebuilds;
    this.#pace = pace;
    this.#signal = signal;
  }

  /** The segments of the archive at the beginning. Segments that others begin later are not verified. */
  async begin(): Promise<Segment[]> {
    const segments = await this.#archive.segmentRegistry.all();
    this.assertGoesOn();
    for (const { number } of segments) this.#newestNumber = Math.max(this.#newestNumber, number);
    const newest = segments.at(-1);
    this.#newestSequence = newest ? sequenceOf(newest) : 0;
    return segments;
  }

  /** The segments with records from before the beginning: those of the beginning, and what replaced them since. */
  ofBeginning(segments: readonly Segment[]): Segment[] {
    const isOld = (segment: Segment) =>
      segment.number <= this.#newestNumber || rootsOf(segment).some(({ sequence }) => sequence <= this.#newestSequence);
    return segments.filter(isOld);
  }

  /** The row of a segment at this moment. Undefined when the segment was replaced. */
  async now(number: number): Promise<Segment | undefined> {
    const segment = await this.#archive.segmentRegistry.find(number);
    this.assertGoesOn();
    return segment;
  }

  /** Fails when the segment was replaced or moved to another volume. */
  async assertUnchanged({ number, volume }: Segment): Promise<void> {
    if ((await this.now(number))?.volume !== volume) throw new SegmentChanged();
  }

  /**
   * Makes a judgement from a view of the catalog until it is certain: until it finds nothing wrong, or finds it again
   * when the change in progress is complete. `judge` says whether it is in doubt, and for which segments.
   */
  async untilCertain<Judgement extends { readonly doubt: Doubt | undefined }>(
    judge: (view: CatalogView, attempt: number) => Promise<Judgement>,
  ): Promise<Judgement> {
    for (let attempt = 0, swapWaits = 0; ; attempt++) {
      const { judgement, isSwapped } = await this.#judged(judge, attempt);
      this.assertGoesOn();
      const { doubt } = judgement;
      if (!doubt || (attempt > 0 && !doubt.isStale && (!isSwapped || swapWaits >= SWAP_WAITS_MAX))) return judgement;
      if (isSwapped) swapWaits++;
      await this.#archive.idle();
      await this.rest(1);
    }
  }

  async #judged<Judgement extends { readonly doubt: Doubt | undefined }>(
    judge: (view: CatalogView, attempt: number) => Promise<Judgement>,
    attempt: number,
  ): Promise<{ judgement: Judgement; isSwapped: boolean }> {
    await using view = await this.#archive.catalog.view();
    const judgement = await judge(view, attempt);
    return { judgement, isSwapped: judgement.doubt ? await areSwapped(view, judgement.doubt.segments) : false };
  }

  /** Whether the archive was rebuilt since. */
  get isOutdated(): boolean {
    return this.#archive.segmentRegistry.rebuilds !== this.#rebuilds;
  }

  /** Fails when the verification has to end or to begin again. */
  assertGoesOn(): void {
    this.#signal?.throwIfAborted();
    if (this.#archive.closed) throw this.#archive.closed;
    if (this.isOutdated) throw new RebuiltMeanwhile();
  }

  /** Lets writers work after a piece of the verification that takes at most this long. */
  async rest(pieceMsMax: number): Promise<void> {
    await this.#pace.rest(pieceMsMax);
    this.assertGoesOn();
  }
}

/** Whether captures of one of the segments are being moved to its replacement. */
async function areSwapped(view: CatalogView, segments: readonly (Segment | undefined)[]): Promise<boolean> {
  const swaps = await pendingSwaps(view);
  return segments.some(
    (segment) =>
      segment && (swaps.has(segment.name) || [...swaps.values()].some((names) => names.includes(segment.name))),
  );
}
