/**
 * Joins ranges of one object that are near each other, so that one request reads them.
 *
 * A gap of up to 16 KiB is read too. At 100 MB/s it takes 0.2 ms, less than the round trip of any request, and where
 * the traffic out of a cloud is billed, it costs a few times as much as a request. A larger gap costs more than it
 * saves. A joined request ends at 8 MiB, so that long lists of ranges are read by several requests at a time.
 */
import type { ReadRange } from '../volume.ts';

const GAP_BYTES_MAX = 16 * 1024;
const JOINED_BYTES_MAX = 8 * 1024 * 1024;

export type JoinedRange = {
  readonly name: string;
  readonly offset: number;
  readonly end: number;
  /** The places of the wanted ranges in the list of the caller. */
  readonly wanted: readonly number[];
};

export function joinedRanges(ranges: readonly ReadRange[]): JoinedRange[] {
  const order = ranges
    .map((_, index) => index)
    .sort((a, b) => compare(ranges[a]!.name, ranges[b]!.name) || ranges[a]!.offset - ranges[b]!.offset);
  const joined: { name: string; offset: number; end: number; wanted: number[] }[] = [];
  for (const index of order) {
    const { name, offset, length } = ranges[index]!;
    const end = offset + length;
    const last = joined.at(-1);
    const isNear = last?.name === name && offset - last.end <= GAP_BYTES_MAX;
    if (isNear && (end <= last.end || end - last.offset <= JOINED_BYTES_MAX)) {
      last.end = Math.max(last.end, end);
      last.wanted.push(index);
    } else joined.push({ name, offset, end, wanted: [index] });
  }
  return joined;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
