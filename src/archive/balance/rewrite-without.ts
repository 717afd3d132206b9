/** Writes a segment anew without records that were moved to other segments. */

import { planRewrite } from '../maintain/compaction-plan.ts';
import { freeBytesOf } from '../maintain/compaction-room.ts';
import { rewriteSegment } from '../maintain/segment-rewrite.ts';
import { swapIn } from '../maintain/segment-swap.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { deletedRecords } from '../segment/deleted-records.ts';
import { removeDoubles } from '../segment/segment-double.ts';

/**
 * `captures`: the offsets of captures that were moved. `others`: those of records that were copied with them. Exactly
 * these are removed: a record that only seems to go with a capture, such as metadata that refers to it, stays.
 *
 * Without room for it, or beside another file of its name, the segment is left to compaction. Deleted records stay for
 * it too, since others may refer to them.
 */
export async function rewriteWithout(
  archive: OpenedArchive,
  number: number,
  captures: ReadonlySet<number>,
  others: ReadonlySet<number>,
): Promise<void> {
  const { catalog, stores, segmentRegistry } = archive;
  if (captures.size === 0) return;
  const segment = await segmentRegistry.get(number);
  if ((await freeBytesOf(stores.get(segment.volume))) < segment.bytes) return;
  if ((await removeDoubles(archive, segment)) !== undefined) return;
  const dead = await deletedRecords(archive, segment);
  const blocks = await catalog.getBlocks(dead.flatMap(({ block }) => block ?? []));
  const holders = blocks.flatMap((block) => (block?.holder.segment === number ? [block.holder.offset] : []));
  const deleted = new Map(dead.map((record) => [record.offset, record]));
  const plan = planRewrite({ deleted, holding: new Set(holders) }, { drop: captures });
  if (!plan) return;
  const drop = new Set([...plan.drop, ...others]);
  const { replacement } = await rewriteSegment(archive, segment, { ...plan, drop, dropsAlone: true });
  await swapIn(archive, replacement);
}
