/** The rows of segments that healing or an add in place finds or makes. The catalog deals their numbers (P3). */
import { PinakesError } from '../../base/index.ts';
import type { CommitGroup, NewSegment, Segment, SegmentChange } from '../../catalog/index.ts';
import { refusalOf, type SegmentBytes, sequenceOf, wholeObject } from '../../ledger/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { placeOfFound } from './kept-places.ts';

type ListingArchive = Pick<OpenedArchive, 'catalog' | 'segmentRegistry' | 'sequences' | 'stores'>;

/**
 * The row of a segment that is in a volume, which is entered in the catalog unless it is there. `content`: where its
 * bytes are, unless it is one object.
 */
export async function listedSegment(
  archive: ListingArchive,
  segment: NewSegment,
  content: SegmentBytes = wholeObject(segment.name),
): Promise<Segment> {
  const known = await archive.catalog.segmentByName(segment.name);
  if (known) return known;
  const { isListed, ...place } = await placeOfFound(archive, segment, content);
  return isListed ? list(archive, { ...segment, ...place }) : newSegment(archive, segment);
}

/** The row of a segment that another writer wrote and that is new in this archive. */
export async function newSegment(archive: ListingArchive, segment: NewSegment): Promise<Segment> {
  const row = await list(archive, segment);
  await archive.sequences.add(row.name, sequenceOf(row));
  return row;
}

async function list({ catalog }: ListingArchive, segment: NewSegment): Promise<Segment> {
  const row = await catalog.listSegment(segment);
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

/** Makes the registry say of these segments what the catalog says, which counts dead records and moves rows. */
export async function refreshSegments(
  { catalog, segmentRegistry }: Pick<OpenedArchive, 'catalog' | 'segmentRegistry'>,
  numbers: Iterable<Segment['number']>,
): Promise<void> {
  for (const number of numbers) {
    const row = await catalog.segment(number);
    if (row) segmentRegistry.put(row);
    else segmentRegistry.forget(number);
  }
}
