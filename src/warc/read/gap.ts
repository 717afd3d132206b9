/**
 * Gaps: ranges of a file that the disk cannot read any more. Files are read in large pieces, but around a bad sector in
 * small ones. Everything readable before the gap is read, and the gap ends where bytes can be read again.
 */
import { type Finding, PinakesError, SECTOR_BYTES } from '../../base/index.ts';
import { countedBytes, warcFinding } from '../record/finding-catalogue.ts';

/** When the disk can read nothing up to the end of the file, a longer rest means that the whole disk has failed. */
const LAST_GAP_BYTES_MAX = 1024 * 1024;

/** `to` is the end of the file when nothing after the gap can be read. */
export type Gap = { readonly from: number; readonly to: number };

/**
 * Finds where a gap ends; undefined when nothing after it can be read. Yields positions to try, and is passed whether a
 * byte could be read there. The steps grow with the gap, since a failing disk takes seconds for each try. Then a binary
 * search between the last two tries finds the exact end, so that every readable sector is read.
 */
export function* endOfGap(from: number, end: number): Generator<number, number | undefined, boolean> {
  let bad = Math.floor(from / SECTOR_BYTES);
  const first = bad;
  const last = Math.ceil(end / SECTOR_BYTES) - 1;
  let good: number | undefined;
  while (good === undefined) {
    if (bad >= last) return undefined;
    const sector = Math.min(last, bad + Math.max(1, Math.floor((bad - first) / 8)));
    if (yield sector * SECTOR_BYTES) good = sector;
    else bad = sector;
  }
  while (good - bad > 1) {
    const sector = Math.floor((bad + good) / 2);
    if (yield sector * SECTOR_BYTES) good = sector;
    else bad = sector;
  }
  return good * SECTOR_BYTES;
}

/** The gap up to `end`, for a gap whose end was not found; undefined at the end of the file. */
export function gapToEnd(path: string, from: number, end: number): Gap | undefined {
  if (from >= end) return undefined;
  if (end - from > LAST_GAP_BYTES_MAX) throw new PinakesError('DEVICE_FAILED', { where: path });
  return { from, to: end };
}

export function gapFinding(file: string, { from, to }: Gap): Finding {
  return warcFinding('sector-unreadable', file, from, `${countedBytes(to - from)} from here on`);
}
