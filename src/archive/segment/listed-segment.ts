/** The rows of segments that healing or an add in place finds or makes. The catalog deals their numbers (P3). */
import { PinakesError } from '../../base/index.ts';
import type { CommitGroup, NewSegment, Segment, SegmentChange } from '../../catalog/index.ts';
import { refusalOf } from '../../ledger/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { keptPlace } from './kept-places.ts';

/** The row of a segment, which is entered in the catalog unless it is there. */
export async function listedSegment(
  archive: Pick<OpenedArchive, 'catalog' | 'segmentRegistry' | 'volumes'>,
  segment: NewSegment,
): Promise<Segment> {
  const { catalog } = archive;
  const row =
    (await catalog.segmentByName(segment.name)) ??
    (await catalog.listSegment({ ...segment, ...(await keptPlace(archive, segment)) }));
  if (!row) throw new PinakesError('LEASE_LOST', { where: segment.name });
  return row;
}

/** Changes the row of a segment, and notes. */
export async function changeSegment(
  { catalog, segmentRegistry }: Pick<OpenedArchive, 'catalog' | 'segmentRegistry'>,
  segment: Segment,
  to: NonNullable<SegmentChange['to']>,
  notes: Pick<CommitGroup, 'putNotes' | 'removeNotes'> = {},
): Promise<Segment> {
  const { number, state, bytes, volume } = segment;
  refusalOf(await catalog.commit({ segments: [{ number, from: { state, bytes, volume }, to }], ...notes }));
  const changed = { ...segment, ...to };
  segmentRegistry.grow(changed);
  return changed;
}

/** Removes the row of a segment. The catalog has nothing of its records. */
export async function unlistSegment(
  { catalog, segmentRegistry }: Pick<OpenedArchive, 'catalog' | 'segmentRegistry'>,
  { number, state, bytes, volume }: Segment,
): Promise<void> {
  refusalOf(await catalog.commit({ segments: [{ number, from: { state, bytes, volume }, to: undefined }] }));
  segmentRegistry.forget(number);
}
