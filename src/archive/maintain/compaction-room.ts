/**
 * The disk space that compaction needs: a replacement is written before the old segment is removed. Segments without
 * enough room are left as they are and noted, so that segments which do fit can free room for them.
 */
import { PinakesError } from '../../base/index.ts';
import type { Catalog, Segment } from '../../catalog/index.ts';
import type { SegmentStore } from '../../ledger/index.ts';
import type { RewritePlan } from './compaction-plan.ts';

const MIB = 1024 * 1024;
/**
 * Bytes that the catalog writes for each moved record, and the minimum of free bytes that it needs to be opened again.
 */
const CATALOG_BYTES_EACH = 512;
const CATALOG_BYTES_MIN = MIB;

/** About how many bytes must be free to write a segment anew and update the catalog. */
export async function bytesToRewrite(catalog: Catalog, segment: Segment, plan: RewritePlan): Promise<number> {
  const { bytes, records, deadBytes } = segment;
  const { drop, keepDead, promote } = plan;
  const droppedShare = drop.size / Math.max(1, drop.size + keepDead.size);
  const promoted = await catalog.getBlocks([...promote.values()]);
  const promotedBytes = promoted.reduce((sum, block) => sum + (block?.size ?? 0), 0);
  const catalogBytes = CATALOG_BYTES_MIN + CATALOG_BYTES_EACH * Math.max(0, records - drop.size);
  return bytes - Math.round(deadBytes * droppedShare) + promotedBytes + catalogBytes;
}

/** Infinite if the volume does not report its free space: a full disk then shows only when a write fails. */
export async function freeBytesOf(store: Pick<SegmentStore, 'space'>): Promise<number> {
  const space = await store.space();
  return space && space.totalBytes > 0 ? space.freeBytes : Number.POSITIVE_INFINITY;
}

type Lacking = { readonly segment: Segment; readonly neededBytes: number; readonly missingBytes: number };

/** Segments without enough room. */
export class LackOfRoom {
  readonly #lacking = new Map<number, Lacking>();

  note(segment: Segment, neededBytes: number, freeBytes: number): void {
    // At the limit of a quota, a write fails although the volume reports enough free bytes.
    const missingBytes = Math.max(1, neededBytes - freeBytes);
    this.#lacking.set(segment.number, { segment, neededBytes, missingBytes });
  }

  /** The error for the segment with the fewest missing bytes. Undefined when there was room for all segments. */
  error(segmentsDone: number): PinakesError | undefined {
    const [least, ...others] = [...this.#lacking.values()].sort((a, b) => a.missingBytes - b.missingBytes);
    if (!least) return undefined;
    const { segment, neededBytes, missingBytes } = least;
    const parts = [
      `writing ${segment.name} anew needs about ${inMib(neededBytes)} free, ${inMib(missingBytes)} more than there are`,
      ...(others.length > 0 ? [`${others.length} more with deleted records need as much or more`] : []),
      `${segmentsDone} ${segmentsDone === 1 ? 'was' : 'were'} written anew`,
    ];
    return new PinakesError('DISK_FULL', { where: `volume ${segment.volume}`, detail: parts.join('; ') });
  }
}

function inMib(bytes: number): string {
  return `${Math.ceil(bytes / MIB)} MiB`;
}
