/**
 * Translates a range of captures into keys: the first and the last key of the scan, the times that it keeps, and the
 * jumps over other times. After a row that is past the wanted times of its URL key, the scan jumps to the next key, so
 * that it does not read years of captures to find one day.
 */
import type { EpochMs } from '../../base/index.ts';
import type { UrlKey } from '../../url/index.ts';
import { type CaptureRange, onlyKeyOf } from '../catalog.ts';
import {
  afterUrlKeyOf,
  atTimeOf,
  beforeUrlKeyOf,
  clampTime,
  isLongKey,
  timeOfCaptureKey,
  writeBesideLongKeys,
  writeCaptureKey,
  writeKeyAndTime,
  writeKeyStart,
  writePastKey,
} from '../key-order.ts';
import { isCut, sideOf } from '../key-range.ts';
import { RowWriter } from '../row-bytes.ts';
import { TABLE, tableRange } from '../table.ts';

export type CaptureBounds = {
  readonly from: Buffer;
  readonly to: Buffer;
  readonly reverse: boolean;
  holds(time: EpochMs): boolean;
  /** Whether a URL key is in the range; undefined when `from` and `to` already ensure this. */
  readonly holdsKey: ((key: UrlKey) => boolean) | undefined;
  /** The key at which the scan continues after a page that ended with this row; undefined for the next row. */
  skipFrom(row: Buffer): Buffer | undefined;
};

/** The bounds of a range; undefined when the range is empty. */
export function captureBounds(range: CaptureRange): CaptureBounds | undefined {
  const writer = new RowWriter();
  const table = tableRange(TABLE.captures);
  const timeFrom = Math.ceil(range.timeFrom ?? Number.NEGATIVE_INFINITY);
  const timeTo = Math.floor(range.timeTo ?? Number.POSITIVE_INFINITY);
  const reverse = range.reverse ?? false;
  let from = range.keyFrom === undefined ? table.from : rangeStart(writer, range, timeFrom);
  let to = range.keyTo === undefined ? table.to : rangeEnd(writer, range);
  if (range.after) {
    const { urlKey, time, place } = range.after;
    const side = sideOf(urlKey, range);
    if (side === (reverse ? 'below' : 'above')) return undefined;
    if (side === 'inside') {
      writeCaptureKey(writer, { urlKey, time: clampTime(time), segment: place.segment, offset: place.offset });
      const after = writer.finish();
      // The smallest key after another is that key and one more byte.
      if (reverse) to = least(to, after);
      else from = greatest(from, Buffer.concat([after, Buffer.of(0)]));
    }
  }
  if (timeFrom > timeTo || from.compare(to) >= 0) return undefined;
  return {
    from,
    to,
    reverse,
    holds: (time) => time >= timeFrom && time <= timeTo,
    holdsKey: isCut(range) ? (key) => sideOf(key, range) === 'inside' : undefined,
    skipFrom: (row) => {
      const time = timeOfCaptureKey(row);
      if (time < timeFrom) return reverse ? beforeUrlKeyOf(row) : atTimeOf(row, writer, clampTime(timeFrom));
      if (time > timeTo) return reverse ? atTimeOf(row, writer, clampTime(timeTo + 1)) : afterUrlKeyOf(row);
      return undefined;
    },
  };
}

function rangeStart(writer: RowWriter, range: CaptureRange, timeFrom: number): Buffer {
  const key = range.keyFrom!;
  if (isLongKey(key) && onlyKeyOf(range) === undefined) writeBesideLongKeys(writer, key, 'before');
  // Starting at the key alone, the scan would drop earlier captures of the first key one by one.
  else writeKeyAndTime(writer, key, clampTime(timeFrom));
  return writer.finish();
}

function rangeEnd(writer: RowWriter, range: CaptureRange): Buffer {
  const key = range.keyTo!;
  const only = onlyKeyOf(range);
  if (only !== undefined) writePastKey(writer, only);
  else if (isLongKey(key)) writeBesideLongKeys(writer, key, 'behind');
  else writeKeyStart(writer, key);
  return writer.finish();
}

function least(a: Buffer, b: Buffer): Buffer {
  return a.compare(b) <= 0 ? a : b;
}

function greatest(a: Buffer, b: Buffer): Buffer {
  return a.compare(b) >= 0 ? a : b;
}
