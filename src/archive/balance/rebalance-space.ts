/** Rebalancing by free space: chooses whole segments, so that the free space of volumes becomes more equal. */
import { PinakesError } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import { moveSegment } from '../maintain/migrate.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { moveOf, type RebalanceOptions, type RebalanceReport } from './rebalance-report.ts';

export type SpaceOf = { readonly volume: string; freeBytes: number };
export type Movable = Pick<Segment, 'number' | 'name' | 'volume' | 'bytes'>;

export async function rebalanceBySpace(
  archive: OpenedArchive,
  report: RebalanceReport,
  { dryRun, onProgress, signal }: RebalanceOptions,
): Promise<void> {
  const spaces: SpaceOf[] = [];
  // A volume that does not say how much room it has is left out.
  for (const store of archive.stores.writable()) {
    const space = await store.space();
    if (space && space.totalBytes > 0) spaces.push({ volume: store.volume, freeBytes: space.freeBytes });
  }
  const rows = (await archive.segmentRegistry.all()).filter(({ state }) => state === 'sealed');
  const names = new Map(rows.map((row) => [row.number, row]));
  let records = 0;
  let bytes = 0;
  for (const { segment, to } of planMoves(spaces, rows)) {
    signal?.throwIfAborted();
    try {
      if (!dryRun) await archive.exclusive(() => moveSegment(archive, segment.number, segment.volume, to));
    } catch (error) {
      if (!(error instanceof PinakesError) || error.retryable) throw error;
      report.staying.push({ segment: segment.name, why: error.message });
      continue;
    }
    const move = moveOf(report, segment.volume, to);
    move.segments++;
    move.records += names.get(segment.number)!.records;
    move.bytes += segment.bytes;
    records += names.get(segment.number)!.records;
    bytes += segment.bytes;
    onProgress?.({ segment: segment.name, records, bytes });
  }
}

/**
 * Moves from the volume with the least free space to the one with the most, each of the largest segment that leaves the
 * target with more free space than the source. Two directories of one disk have the same free space, so nothing moves.
 */
export function planMoves(
  given: readonly SpaceOf[],
  segments: readonly Movable[],
): { readonly segment: Movable; readonly to: string }[] {
  const spaces = given.map((space) => ({ ...space }));
  const left = new Map(spaces.map(({ volume }) => [volume, segments.filter((one) => one.volume === volume)]));
  for (const some of left.values()) some.sort((a, b) => a.bytes - b.bytes);
  const moves: { segment: Movable; to: string }[] = [];
  for (;;) {
    spaces.sort((a, b) => a.freeBytes - b.freeBytes);
    const to = spaces.at(-1);
    const from = spaces.find(({ volume }) => left.get(volume)!.length > 0);
    if (!to || !from || from === to) return moves;
    const own = left.get(from.volume)!;
    const index = own.findLastIndex(({ bytes }) => 2 * bytes < to.freeBytes - from.freeBytes);
    if (index < 0) {
      // What this volume has is too large; another one may have a smaller segment.
      left.set(from.volume, []);
      continue;
    }
    const [segment] = own.splice(index, 1) as [Movable];
    moves.push({ segment, to: to.volume });
    from.freeBytes += segment.bytes;
    to.freeBytes -= segment.bytes;
  }
}
