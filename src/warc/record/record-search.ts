/** Searches for records inside other bytes: after a wrong length, or where the beginning of a file is damaged. */
import { fromLatin1, indexOf, LF } from '../../base/index.ts';
import { ARC_LINE_BYTES_MAX, isWarcHead, isWarcStart, parseArcLine } from './record-start.ts';

export const WARC_MAGIC = Buffer.from('WARC/');

/**
 * Index in [from, to) of the first record, or -1. Its head may continue after `to`. ARC records are searched for when
 * `hasArc` is set.
 */
export function findRecord(bytes: Uint8Array, from: number, to: number, hasArc: boolean): number {
  const warc = findWarcRecord(bytes, from, to);
  const arc = hasArc ? findArcRecord(bytes, from, warc < 0 ? to : warc) : -1;
  return arc < 0 ? warc : arc;
}

function findWarcRecord(bytes: Uint8Array, from: number, to: number): number {
  for (let at = indexOf(bytes, WARC_MAGIC, from); at >= 0 && at < to; at = indexOf(bytes, WARC_MAGIC, at + 1)) {
    const isLineStart = at > 0 && bytes[at - 1] === LF;
    if (isLineStart ? isWarcStart(bytes, at, bytes.length) : isWarcHead(bytes, at, bytes.length)) return at;
  }
  return -1;
}

export function findArcRecord(bytes: Uint8Array, from: number, to: number): number {
  for (let lf = indexOf(bytes, LF, from); lf >= 0 && lf + 1 < to; lf = indexOf(bytes, LF, lf + 1)) {
    const lineEnd = indexOf(bytes, LF, lf + 1);
    if (lineEnd < 0) return -1;
    if (lineEnd - lf > ARC_LINE_BYTES_MAX || !couldBeUrl(bytes[lf + 1]!)) continue;
    if (parseArcLine(fromLatin1(bytes, lf + 1, lineEnd).replace(/\r$/, ''))) return lf + 1;
  }
  return -1;
}

/** A URL begins with the letter of a scheme. */
export function couldBeUrl(byte: number): boolean {
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}
