/**
 * The form of a gzip member (RFC 1952):
 *
 * ```
 *   1f 8b 08 FLG  MTIME(4)  XFL OS  [XLEN(2) extra] [name 00] [comment 00] [HCRC(2)]  deflate...  CRC32(4) ISIZE(4)
 * ```
 */
import { looksLikeRecord, RECORD_START_BYTES } from '../record/record-start.ts';
import type { CodecHandle } from './codec-handle.ts';

export const GZIP_MAGIC = Buffer.from([0x1f, 0x8b, 0x08]);
const FLAG_HCRC = 2;
const FLAG_EXTRA = 4;
const FLAG_NAME = 8;
const FLAG_COMMENT = 16;
export const GZIP_FLAGS_RESERVED = 0xe0;
export const GZIP_TRAILER_BYTES = 8;
/** A member with a longer head is garbage: names and comments are short. */
export const GZIP_HEAD_BYTES_MAX = 64 * 1024 + 4096;
/** How much of a candidate is inflated to see whether a record begins in it. */
export const GZIP_PROBE_BYTES = 4096;

/** Length of the gzip head at `at`; 0 when more bytes are needed to decide; -1 when there is no head. */
export function gzipHeadLength(bytes: Uint8Array, at: number, end: number): number {
  for (let i = 0; i < GZIP_MAGIC.length && at + i < end; i++) if (bytes[at + i] !== GZIP_MAGIC[i]) return -1;
  if (end - at < 10) return 0;
  const flags = bytes[at + 3]!;
  let next = at + 10;
  if (flags & FLAG_EXTRA) {
    if (end - next < 2) return 0;
    next += 2 + (bytes[next]! | (bytes[next + 1]! << 8));
  }
  for (const flag of [FLAG_NAME, FLAG_COMMENT]) {
    if (!(flags & flag)) continue;
    if (next >= end) return 0;
    const nul = bytes.subarray(0, end).indexOf(0, next);
    if (nul < 0) return end - at > GZIP_HEAD_BYTES_MAX ? -1 : 0;
    next = nul + 1;
  }
  if (flags & FLAG_HCRC) next += 2;
  return next <= end ? next - at : 0;
}

/** Whether the deflate stream at `at` inflates to the beginning of a record. */
export function beginsRecordMember(prober: CodecHandle, bytes: Uint8Array, at: number, end: number): boolean {
  const sample = Buffer.alloc(RECORD_START_BYTES);
  prober.reset();
  prober.write(bytes, at, Math.min(end, at + GZIP_PROBE_BYTES), sample, 0, sample.length);
  return prober.failure === undefined && looksLikeRecord(sample, 0, prober.produced);
}
