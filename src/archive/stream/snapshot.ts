/**
 * A snapshot: the records that the segments contained at one instant (I8). Its bounds are a few numbers and names, so
 * that a cursor can contain them. They name root segments, those that the records were first written to, so they stay
 * valid through compactions and rebuilds (R4).
 *
 * A sealed segment never grows, and a new one gets a higher sequence number than all others. So a snapshot contains the
 * records of the roots whose sequence number is below `before`. Of a segment that was open at that instant it contains
 * the records up to its length then. Records that were deleted since are not delivered, and no records are added.
 */
import { type Clock, PinakesError } from '../../base/index.ts';
import type { Catalog, Segment } from '../../catalog/index.ts';
import {
  boundsOfRows,
  droppedSegments,
  RootPlaces,
  type RunsCache,
  type SegmentStores,
  type SnapshotBounds,
} from '../../ledger/index.ts';
import type { SegmentRegistry } from '../segment/segment-registry.ts';

/** The parts of an open archive that are used to take a snapshot. */
export type SnapshotArchive = {
  readonly clock: Clock;
  readonly catalog: Pick<Catalog, 'isAdopting' | 'notes'>;
  readonly segmentRegistry: SegmentRegistry;
  readonly stores: Pick<SegmentStores, 'available'>;
  still<T>(work: () => Promise<T>): Promise<T>;
  exclusive<T>(work: () => Promise<T>): Promise<T>;
};

/** Takes a snapshot between two changes. */
export function takeSnapshot(archive: SnapshotArchive): Promise<SnapshotBounds> {
  return archive.still(async () => {
    await assertComplete(archive);
    return boundsOf(archive, await archive.segmentRegistry.all());
  });
}

/** Segments were dropped before a part of theirs arrived only where volumes have parts. */
export async function boundsOf(
  { catalog, stores }: Pick<SnapshotArchive, 'catalog' | 'stores'>,
  rows: readonly Segment[],
): Promise<SnapshotBounds> {
  const hasParts = stores.available().some((store) => store.hasParts);
  return boundsOfRows(rows, hasParts ? await droppedSegments(catalog) : []);
}

/** The parts of an open archive that are used to find records by their root places. */
export type RootPlacesArchive = {
  readonly catalog: Catalog;
  readonly segmentRegistry: SegmentRegistry;
  readonly runs: RunsCache;
  idle(): Promise<void>;
};

/** Where the records of the archive are now. Waits for a rebuild, since a root may be missing until it is complete. */
export async function rootPlacesOf(archive: RootPlacesArchive): Promise<RootPlaces> {
  const { catalog, segmentRegistry, runs } = archive;
  for (;;) {
    if (!segmentRegistry.isComplete || (await catalog.isAdopting())) await archive.idle();
    await assertComplete(archive);
    const places = await RootPlaces.load(
      {
        segments: () => segmentRegistry.all(),
        segment: (number) => catalog.segment(number),
        notes: (prefix) => catalog.notes(prefix),
        findCaptures: (questions) => catalog.findCaptures(questions),
      },
      runs,
    );
    if (segmentRegistry.isComplete) return places;
  }
}

async function assertComplete({
  catalog,
  segmentRegistry,
}: Pick<SnapshotArchive, 'catalog' | 'segmentRegistry'>): Promise<void> {
  if (await catalog.isAdopting())
    throw new PinakesError('ARCHIVE_BUSY', { detail: 'what is in the volumes is being adopted' });
  if (!segmentRegistry.isComplete)
    throw new PinakesError('CATALOG_DAMAGED', { detail: 'a rebuild of it did not come to its end' });
}
