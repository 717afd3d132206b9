/**
 * How a file is compressed. The first bytes show the coding. When they are damaged, the first record found after them
 * decides. Without this rule, one wrong byte at the start of a `.warc.gz` would cost all of its records.
 */

import { findArcRecord } from '../record/record-search.ts';
import { isWarcHead, isWarcStart, lineEnds, looksLikeRecord } from '../record/record-start.ts';
import { inflateRawHandle } from './codec-handle.ts';
import { beginsRecordMember, GZIP_MAGIC, gzipHeadLength } from './gzip-member.ts';
import { beginsRecordFrame, ZSTD_MAGIC } from './zstd-frame.ts';

export type Coding = 'gzip' | 'zstd' | 'none';

/** This many bytes show whether a record begins in plain bytes. */
const WARC_HEAD_BYTES = 32;
/** This many bytes show whether a member of any coding begins with a record. */
const PROBE_BYTES = 256 * 1024;

/** The coding whose magic number is at the beginning of the file. */
export function codingOf(start: Uint8Array): Coding {
  if (start[0] === 0x1f && start[1] === 0x8b) return 'gzip';
  if (start[0] === 0x28 && start[1] === 0xb5 && start[2] === 0x2f && start[3] === 0xfd) return 'zstd';
  if (((start[0] ?? 0) & 0xf0) === 0x50 && start[1] === 0x2a && start[2] === 0x4d && start[3] === 0x18) return 'zstd';
  return 'none';
}

/**
 * The coding of a file; undefined when its first bytes are not enough to decide. `isAll` means that there are no more
 * bytes.
 */
export function sniffCoding(start: Buffer, isAll: boolean): Coding | undefined {
  if (start.length < 4 && !isAll) return undefined;
  const coding = codingOf(start);
  if (coding !== 'none') return coding;
  if (looksLikeRecord(start, lineEnds(start, 0, start.length), start.length)) return 'none';
  return isAll ? codingOfFirstRecord(start) : undefined;
}

/**
 * The coding of the WARC record that begins at `at`; undefined when no record begins there; 'short' when more bytes are
 * needed to decide. `isAll` means that there are no more bytes.
 */
export function recordCodingAt(bytes: Buffer, at: number, end: number, isAll: boolean): Coding | 'short' | undefined {
  if (end - at < WARC_HEAD_BYTES && !isAll) return 'short';
  if (isWarcHead(bytes, at, end)) return 'none';
  const coding = codingOf(bytes.subarray(at, end));
  if (coding === 'none') return undefined;
  if (end - at < PROBE_BYTES && !isAll) return 'short';
  const member = bytes.subarray(at, end);
  return (coding === 'gzip' ? findGzipRecord(member) : findZstdRecord(member)) === 0 ? coding : undefined;
}

function codingOfFirstRecord(start: Buffer): Coding {
  const found: { coding: Coding; at: number }[] = [
    { coding: 'none', at: findWarcLine(start) },
    { coding: 'none', at: findArcRecord(start, 0, start.length) },
    { coding: 'gzip', at: findGzipRecord(start) },
    { coding: 'zstd', at: findZstdRecord(start) },
  ];
  const first = found.filter(({ at }) => at >= 0).sort((a, b) => a.at - b.at)[0];
  return first?.coding ?? 'none';
}

/**
 * Finds a record at the start of a line. A head elsewhere may be inside a member whose content was stored without
 * compression.
 */
function findWarcLine(start: Buffer): number {
  const line = Buffer.from('\nWARC/');
  for (let at = start.indexOf(line); at >= 0; at = start.indexOf(line, at + 1)) {
    if (isWarcStart(start, at + 1, start.length)) return at + 1;
  }
  return -1;
}

function findGzipRecord(start: Buffer): number {
  const prober = inflateRawHandle();
  try {
    for (let at = start.indexOf(GZIP_MAGIC); at >= 0; at = start.indexOf(GZIP_MAGIC, at + 1)) {
      const head = gzipHeadLength(start, at, start.length);
      if (head > 0 && beginsRecordMember(prober, start, at + head, start.length)) return at;
    }
    return -1;
  } finally {
    prober.close();
  }
}

function findZstdRecord(start: Buffer): number {
  for (let at = start.indexOf(ZSTD_MAGIC); at >= 0; at = start.indexOf(ZSTD_MAGIC, at + 1)) {
    if (beginsRecordFrame(undefined, start, at, start.length)) return at;
  }
  return -1;
}
