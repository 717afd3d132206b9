/**
 * A snapshot: the records that the segments held at one instant (I8). It is told by few numbers, so that a cursor can
 * carry it.
 *
 * A sealed segment never grows, and numbers only rise. So a snapshot is: all segments that stand for a number below
 * `before`, up to their ends, except those that were open then, up to the length they had. Records that were deleted
 * since do not come any more; none ever comes in addition.
 */
import { PinakesError } from '../../base/index.ts';
import type { Place, Segment } from '../../catalog/index.ts';
import { epochOf, type LineageParts, SegmentLineage } from '../segment/segment-lineage.ts';

export type SnapshotBounds = {
  /** Tells the numbering of segments from that before a rebuild. */
  readonly epoch: string;
  /** Segments that stand for this number or a later one are not part of it. */
  readonly before: number;
  /** How many segments are. */
  readonly segments: number;
  /** Number and length of those that were open. */
  readonly open: readonly (readonly [number, number])[];
};

/** Part of a segment that a stream has to read. */
export type SnapshotSegment = {
  readonly origin: number;
  readonly segment: Segment;
  readonly endBytes: number;
};

export type SnapshotParts = LineageParts & { exclusive<T>(work: () => Promise<T>): Promise<T> };

export class Snapshot {
  readonly bounds: SnapshotBounds;
  readonly lineage: SegmentLineage;
  /** Length at the instant, by the origin of a segment that was open. */
  readonly #openLengths: ReadonlyMap<number, readonly [number, number]>;

  private constructor(bounds: SnapshotBounds, lineage: SegmentLineage) {
    this.bounds = bounds;
    this.lineage = lineage;
    this.#openLengths = new Map(bounds.open.map((entry) => [lineage.originOf(entry[0]), entry]));
  }

  /** The archive as it is now, between two changes. */
  static take(parts: SnapshotParts): Promise<Snapshot> {
    return parts.exclusive(async () => {
      const lineage = await SegmentLineage.load(parts);
      const segments = parts.segmentRegistry.all().filter((segment) => segment.bytes > 0);
      const bounds: SnapshotBounds = {
        epoch: await epochOf(parts),
        before: (segments.at(-1)?.number ?? 0) + 1,
        segments: segments.length,
        open: segments.filter(({ state }) => state === 'open').map(({ number, bytes }) => [number, bytes] as const),
      };
      return new Snapshot(bounds, lineage);
    });
  }

  /** The snapshot that a cursor carries. */
  static async resume(parts: SnapshotParts, bounds: SnapshotBounds): Promise<Snapshot> {
    return parts.exclusive(async () => {
      if ((await epochOf(parts)) !== bounds.epoch)
        throw new PinakesError('CURSOR_EXPIRED', { detail: 'the archive was rebuilt since' });
      const snapshot = new Snapshot(bounds, await SegmentLineage.load(parts));
      const { length } = await snapshot.segments();
      if (length !== bounds.segments)
        throw new PinakesError('CURSOR_EXPIRED', { detail: `of ${bounds.segments} segments ${length} are left` });
      return snapshot;
    });
  }

  /** What of each segment belongs to it, in storage order. */
  async segments(): Promise<SnapshotSegment[]> {
    const parts: SnapshotSegment[] = [];
    for (const [origin, segment] of this.lineage.standing()) {
      if (origin >= this.bounds.before || segment.bytes === 0) continue;
      parts.push({ origin, segment, endBytes: await this.endOf(segment) });
    }
    return parts;
  }

  /** Up to where the records of a segment belong to it. */
  async endOf(segment: Segment): Promise<number> {
    const opened = this.#openLengths.get(this.lineage.originOf(segment.number));
    if (!opened) return segment.bytes;
    const { offset } = await this.lineage.translate(...opened);
    return Math.min(offset, segment.bytes);
  }

  /** Whether a record belongs to it; its place is that of now, or of any time since. */
  async holds(place: Place): Promise<boolean> {
    const origin = this.lineage.originOf(place.segment);
    if (origin >= this.bounds.before) return false;
    const opened = this.#openLengths.get(origin);
    if (!opened) return true;
    if (opened[0] === place.segment) return place.offset < opened[1];
    const end = await this.lineage.translate(...opened);
    const now = await this.lineage.translate(place.segment, place.offset);
    return now.offset < end.offset;
  }
}
