/**
 * Stretches of a file that the disk does not give any more. Much is read at a time, so around a bad sector little is
 * asked for: all that can be had before the gap is read, and the gap ends where something can be had again.
 */
import { type Finding, PinakesError, SECTOR_BYTES } from '../../base/index.ts';
import { countedBytes, findingOf } from '../record/finding-catalogue.ts';

/**
 * When nothing comes up to the end of the file, and that is more than this, it is the disk that is gone and not a
 * sector.
 */
const LAST_GAP_BYTES_MAX = 1024 * 1024;

/** `to` is the end of the file when nothing behind the gap can be had. */
export type Gap = { readonly from: number; readonly to: number };

/**
 * Where a gap ends, if anything can be had behind it: yields where to try, and is told each time whether something
 * came. The steps grow with the gap, since a dying disk takes seconds over each; then the end is looked for between the
 * last two tries, so that nothing is passed over that can be had.
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

/** A gap of which no end was found; none where the file is over. */
export function lastGap(path: string, from: number, end: number): Gap | undefined {
  if (from >= end) return undefined;
  if (end - from > LAST_GAP_BYTES_MAX) throw new PinakesError('DEVICE_FAILED', { where: path });
  return { from, to: end };
}

export function gapFinding(file: string, { from, to }: Gap): Finding {
  return findingOf('sector-unreadable', file, from, `${countedBytes(to - from)} from here on`);
}
