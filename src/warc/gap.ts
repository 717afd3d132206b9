/**
 * Stretches of a file that the disk does not give any more. Much is read at a time, so around a bad sector little is asked for: all that can be had before the gap is
 * read, and the gap ends where something can be had again.
 */
import { PinakesError } from '../base/index.ts';

/** The least that disks and the system's memory of files read at once. */
const SECTOR_BYTES = 4096;
/** When nothing comes up to the end of the file, and that is more than this, it is the disk that is gone and not a sector. */
const LAST_GAP_BYTES_MAX = 1024 * 1024;

/** `to` is the end of the file when nothing behind the gap can be had. */
export type Gap = { readonly from: number; readonly to: number };

/** Whether a read failed because the disk does not give these bytes. */
export function isEio(cause: unknown): boolean {
  return (cause as { code?: unknown } | null | undefined)?.code === 'EIO';
}

/** How much there is from a position to the end of its sector. */
export function sectorRest(position: number): number {
  return SECTOR_BYTES - (position % SECTOR_BYTES);
}

/** Where to try behind a bad sector, up to the end: in steps that grow with the gap, since a dying disk takes seconds over each. */
export function* triesBehind(from: number, end: number): Generator<number> {
  for (let to = from; ; ) {
    const step = Math.max(SECTOR_BYTES, (to - from) / 8);
    to = Math.floor((to + step) / SECTOR_BYTES) * SECTOR_BYTES;
    if (to >= end) return;
    yield to;
  }
}

/** A gap of which no end was found; none where the file is over. */
export function lastGap(path: string, from: number, end: number): Gap | undefined {
  if (from >= end) return undefined;
  if (end - from > LAST_GAP_BYTES_MAX) throw new PinakesError('DEVICE_FAILED', { where: path });
  return { from, to: end };
}
