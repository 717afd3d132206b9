/**
 * Finds lines in a byte-sorted text file by binary search, without reading the whole file, as in CDX and CDXJ files.
 *
 * Ranges are half open and compare as bytes: a line is in [start, end) when start <= line < end. An unsorted file is
 * not detected, and lines that are out of order may be missed.
 */
import { indexOf, LF } from '../../base/index.ts';
import { type LineReadOptions, readLineBatches, toByteText } from '../cdx/cdx-line.ts';
import { type ByteSource, streamSource } from './wacz-source.ts';

export type LineRange = { readonly start: string; readonly end?: string };

/** The captures of exactly one key: the range from the blank after the key to the character after the blank. */
export function exactRange(urlKey: string): LineRange {
  return { start: `${urlKey} `, end: `${urlKey}!` };
}

/** The captures of all keys with this prefix. */
export function prefixRange(prefix: string): LineRange {
  const last = prefix.codePointAt(prefix.length - 1);
  if (last === undefined) return { start: '' };
  // Keys are ASCII. For a last character beyond ASCII the end stays open: more lines are read, and none is lost.
  return last < 0x7f ? { start: prefix, end: prefix.slice(0, -1) + String.fromCharCode(last + 1) } : { start: prefix };
}

/** A line of a sorted file, with its offset. */
export type PlacedLine = { readonly line: string; readonly offset: number };

/** The lines of a range. */
export async function* searchLines(
  source: ByteSource,
  range: LineRange,
  options: LineReadOptions,
): AsyncGenerator<PlacedLine> {
  const start = toByteText(range.start);
  const end = range.end === undefined ? undefined : toByteText(range.end);
  for await (const placed of linesAround(source, range.start, options)) {
    const text = toByteText(placed.line);
    if (text < start) continue;
    if (end !== undefined && text >= end) return;
    yield placed;
  }
}

/** The binary search stops at a range of this size. The lines in this range are read one after the other. */
const WINDOW_BYTES = 16 * 1024;
const PROBE_BYTES = 4 * 1024;

/**
 * All lines from a place shortly before the first line that is not below `start`. The first returned line is below
 * `start`, unless it is the first line of the file.
 */
async function* linesAround(source: ByteSource, start: string, options: LineReadOptions): AsyncGenerator<PlacedLine> {
  const from = await lowerBound(source, toByteText(start));
  for await (const { lines, offsets } of readLineBatches(streamSource(source, from), options)) {
    for (let i = 0; i < lines.length; i++) {
      if (lines[i] !== '') yield { line: lines[i]!, offset: from + offsets[i]! };
    }
  }
}

/** The offset of a line that is below `start` and at most a window before the first line that is not; or 0. */
async function lowerBound(source: ByteSource, start: string): Promise<number> {
  let low = 0;
  let high = source.size;
  while (high - low > WINDOW_BYTES) {
    const middle = low + Math.floor((high - low) / 2);
    const probe = await lineAfter(source, middle, high, start.length);
    if (probe === undefined || probe.text >= start) high = middle;
    else low = probe.offset;
  }
  return low;
}

/** The first line that begins after a position and before `limit`, up to the length needed to compare it. */
async function lineAfter(
  source: ByteSource,
  position: number,
  limit: number,
  compared: number,
): Promise<{ text: string; offset: number } | undefined> {
  let at = position;
  for (;;) {
    const bytes = await source.read(at, PROBE_BYTES);
    const found = indexOf(bytes, LF);
    if (found >= 0) {
      const offset = at + found + 1;
      if (offset >= limit) return undefined;
      const head = Buffer.from(await source.read(offset, compared + 1)).toString('latin1');
      const end = head.indexOf('\n');
      return { text: end < 0 ? head : head.slice(0, end), offset };
    }
    at += bytes.length;
    if (bytes.length === 0 || at >= limit) return undefined;
  }
}
