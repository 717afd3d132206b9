/**
 * What a question for captures means in keys: where the scan begins and ends, which times it keeps, and how it leaps over the times that it does
 * not. A row past the wanted times of its URL key lets the scan leap to the next key, so that years of captures are not read to find a day.
 */
import type { EpochMs } from '../base/index.ts';
import type { CaptureRange } from './catalog.ts';
import {
  afterUrlKeyOf,
  atTimeOf,
  beforeUrlKeyOf,
  clampTime,
  timeOfCaptureKey,
  writeCaptureKey,
  writeKeyAndTime,
  writeKeyStart,
} from './key-order.ts';
import { RowWriter } from './row-bytes.ts';
import { TABLE, tableRange } from './table.ts';

export type CaptureBounds = {
  readonly from: Buffer;
  readonly to: Buffer;
  readonly reverse: boolean;
  holds(time: EpochMs): boolean;
  /** Where the scan goes on after a page that ended with this row; undefined: with the next row. */
  skipFrom(row: Buffer): Buffer | undefined;
};

/** The bounds of a range, or undefined when nothing can lie in it. */
export function captureBounds(range: CaptureRange): CaptureBounds | undefined {
  const writer = new RowWriter();
  const table = tableRange(TABLE.captures);
  const timeFrom = Math.ceil(range.timeFrom ?? Number.NEGATIVE_INFINITY);
  const timeTo = Math.floor(range.timeTo ?? Number.POSITIVE_INFINITY);
  const reverse = range.reverse ?? false;
  let from = table.from;
  let to = table.to;
  if (range.keyFrom !== undefined) {
    // Earlier captures of the first key would be dropped one by one.
    writeKeyAndTime(writer, range.keyFrom, clampTime(timeFrom));
    from = writer.finish();
  }
  if (range.keyTo !== undefined) {
    writeKeyStart(writer, range.keyTo);
    to = writer.finish();
  }
  if (range.after) {
    const { urlKey, time, place } = range.after;
    writeCaptureKey(writer, { urlKey, time, segment: place.segment, offset: place.offset });
    const after = writer.finish();
    // The shortest key behind another is that key and one more byte.
    if (reverse) to = least(to, after);
    else from = greatest(from, Buffer.concat([after, Buffer.of(0)]));
  }
  if (timeFrom > timeTo || from.compare(to) >= 0) return undefined;
  return {
    from,
    to,
    reverse,
    holds: (time) => time >= timeFrom && time <= timeTo,
    skipFrom: (row) => {
      const time = timeOfCaptureKey(row);
      if (time < timeFrom) return reverse ? beforeUrlKeyOf(row) : atTimeOf(row, writer, clampTime(timeFrom));
      if (time > timeTo) return reverse ? atTimeOf(row, writer, clampTime(timeTo + 1)) : afterUrlKeyOf(row);
      return undefined;
    },
  };
}

function least(a: Buffer, b: Buffer): Buffer {
  return a.compare(b) <= 0 ? a : b;
}

function greatest(a: Buffer, b: Buffer): Buffer {
  return a.compare(b) >= 0 ? a : b;
}
