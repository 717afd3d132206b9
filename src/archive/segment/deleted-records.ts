/**
 * The deleted records that are still in a segment. The catalog has them. Those that older versions deleted are in a
 * file of tombstones beside the segment as well, or there alone.
 */
import type { CatalogView, DeadRecord, Segment } from '../../catalog/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import type { MissingVolume } from './tombstones.ts';

export type DeletedRecord = Pick<DeadRecord, 'offset' | 'block'>;

type DeletionSources = { readonly tombstones: OpenedArchive['tombstones']; readonly catalog: DeletionView };
type DeletionView = Pick<CatalogView, 'deadRecords' | 'notes'>;

type ReadingDeleted = {
  /** Called with a missing volume, which may have tombstones of the segment. Without it, the call fails. */
  readonly onMissing?: MissingVolume;
  /** The view of the catalog in which the records were deleted. Default: now. */
  readonly view?: DeletionView;
};

/** The deleted records of a segment, in no order. */
export async function deletedRecords(
  { catalog, tombstones }: DeletionSources,
  segment: Segment,
  { onMissing, view = catalog }: ReadingDeleted = {},
): Promise<DeletedRecord[]> {
  const applied = await tombstones.listApplied(segment, onMissing, view);
  const dead = await view.deadRecords(segment.number);
  if (applied.length === 0) return dead;
  const found = new Map<number, DeletedRecord>(applied.map((record) => [record.offset, record]));
  for (const record of dead) if (record.block || !found.has(record.offset)) found.set(record.offset, record);
  return [...found.values()];
}

/** The offsets of the deleted records of a segment. */
export async function deletedOffsets(sources: DeletionSources, segment: Segment): Promise<Set<number>> {
  return new Set((await deletedRecords(sources, segment)).map(({ offset }) => offset));
}
