/**
 * A snapshot: the records that the segments contained at one instant (I8). A few numbers describe it, so that a cursor
 * can contain it.
 *
 * A sealed segment never grows, and numbers only increase. So a snapshot contains the segments whose origin has a
 * number below `before`. A segment that was open at that instant belongs to the snapshot up to its length then, any
 * other segment up to its end. Records that were deleted since are not delivered, and no records are added.
 */
import { PinakesError } from '../../base/index.ts';
import type { Place, Segment } from '../../catalog/index.ts';
import { epochOf, type LineageArchive, SegmentLineage } from '../segment/segment-lineage.ts';

export type SnapshotBounds = {
  /** Identifies the numbering of segments, which changes with a rebuild. */
  readonly epoch: string;
  /** Segments with an origin of this number or above are not part of the snapshot. */
  readonly before: number;
  /** The number of segments in the snapshot. */
  readonly segments: number;
  /** Number and length of the segments that were open. */
  readonly open: readonly (readonly [number, number])[];
};

/** The part of a segment that a stream has to read. */
export type SnapshotSegment = {
  readonly origin: number;
  readonly segment: Segment;
  readonly endBytes: number;
};

/** The parts of an open archive that are used to take a snapshot. */
export type SnapshotArchive = LineageArchive & { exclusive<T>(work: () => Promise<T>): Promise<T> };

export class Snapshot {
  readonly bounds: SnapshotBounds;
  readonly lineage: SegmentLineage;
  /** For the origin of each segment that was open: number and length of the segment at the instant of the snapshot. */
  readonly #openLengths: ReadonlyMap<number, readonly [number, number]>;

  private constructor(bounds: SnapshotBounds, lineage: SegmentLineage) {
    this.bounds = bounds;
    this.lineage = lineage;
    this.#openLengths = new Map(bounds.open.map((entry) => [lineage.originOf(entry[0]), entry]));
  }

  /** Takes a snapshot between two changes. */
  static take(archive: SnapshotArchive): Promise<Snapshot> {
    return archive.exclusive(async () => {
      const lineage = await SegmentLineage.load(archive);
      const segments = (await archive.segmentRegistry.all()).filter((segment) => segment.bytes > 0);
      const bounds: SnapshotBounds = {
        epoch: await epochOf(archive),
        before: (segments.at(-1)?.number ?? 0) + 1,
        segments: segments.length,
        open: segments.filter(({ state }) => state === 'open').map(({ number, bytes }) => [number, bytes] as const),
      };
      return new Snapshot(bounds, lineage);
    });
  }

  /** The snapshot of a cursor. */
  static async resume(archive: SnapshotArchive, bounds: SnapshotBounds): Promise<Snapshot> {
    return archive.exclusive(async () => {
      if ((await epochOf(archive)) !== bounds.epoch)
        throw new PinakesError('CURSOR_EXPIRED', { detail: 'the archive was rebuilt since' });
      const snapshot = new Snapshot(bounds, await SegmentLineage.load(archive));
      const { length } = await snapshot.segments();
      if (length !== bounds.segments)
        throw new PinakesError('CURSOR_EXPIRED', { detail: `of ${bounds.segments} segments ${length} are left` });
      return snapshot;
    });
  }

  /** The parts of all segments that belong to the snapshot, in storage order. */
  async segments(): Promise<SnapshotSegment[]> {
    const parts: SnapshotSegment[] = [];
    for (const [origin, segment] of await this.lineage.byOrigin()) {
      if (origin >= this.bounds.before || segment.bytes === 0) continue;
      parts.push({ origin, segment, endBytes: await this.endOf(segment) });
    }
    return parts;
  }

  /** The offset up to which the records of a segment belong to the snapshot. */
  async endOf(segment: Segment): Promise<number> {
    const opened = this.#openLengths.get(this.lineage.originOf(segment.number));
    if (!opened) return segment.bytes;
    const { offset } = await this.lineage.translate(...opened);
    return Math.min(offset, segment.bytes);
  }

  /**
   * Whether a record belongs to the snapshot. The place may be the current one, or any earlier one since the snapshot.
   */
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
