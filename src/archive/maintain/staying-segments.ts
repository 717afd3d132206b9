/** Segments that hold deleted records and that compaction leaves as they are, and why. */
import type { Segment } from '../../catalog/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';

export type StayingSegments = {
  /** Segments in a volume that cannot be written to. */
  readonly readOnly: string[];
  /**
   * Segments whose tombstones, or captures that refer to them, may be in a missing volume or an unreadable segment.
   * While the list of snapshots is damaged, also segments that a snapshot may keep.
   */
  readonly waiting: string[];
  /** Segments that a snapshot keeps. */
  readonly kept: { readonly segment: string; readonly snapshot: string }[];
};

type CompactedArchive = Pick<OpenedArchive, 'segmentRegistry' | 'snapshots' | 'volumes'>;

/** The segments that a compaction would leave as they are, as far as is known without reading segments. */
export async function stayingSegments(archive: CompactedArchive): Promise<StayingSegments> {
  const staying = noneStaying();
  for (const segment of await archive.segmentRegistry.all())
    if (segment.deadBytes > 0) noteIfStaying(archive, segment, staying);
  return staying;
}

export function noneStaying(): StayingSegments {
  return { readOnly: [], waiting: [], kept: [] };
}

/** Adds a segment with deleted records to `staying` if it has to stay. Returns whether it has to. */
export function noteIfStaying(archive: CompactedArchive, segment: Segment, staying: StayingSegments): boolean {
  const { segmentRegistry, snapshots, volumes } = archive;
  const snapshot = snapshots.keeperOf(segment);
  const isWaiting = volumes.failures().length > 0 || segmentRegistry.unread.size > 0 || snapshots.damage !== undefined;
  if (isWaiting) staying.waiting.push(segment.name);
  else if (snapshot !== undefined) staying.kept.push({ segment: segment.name, snapshot });
  else if (!isInWritableVolume(archive, segment)) staying.readOnly.push(segment.name);
  else return false;
  return true;
}

/** Whether a segment may be written anew: its volume is writable, and no snapshot keeps it. */
export function isRewritable(archive: CompactedArchive, segment: Segment): boolean {
  return archive.snapshots.keeperOf(segment) === undefined && isInWritableVolume(archive, segment);
}

function isInWritableVolume({ volumes }: CompactedArchive, segment: Segment): boolean {
  return volumes.available().some((volume) => volume.name === segment.volume && volume.writable);
}
