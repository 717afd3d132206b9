/**
 * Reads the compression and the dictionary of a file from its first bytes, for readers that begin at a later offset.
 * When the disk cannot read the first bytes, the bytes after the gap show the compression.
 */
import { closeSync, fstatSync } from 'node:fs';
import { fileError, openToRead, READ_CHUNK_BYTES, sectorRest } from '../../base/index.ts';
import { type Coding, sniffCoding } from '../member/file-coding.ts';
import { dictionaryOfFile } from '../member/zstd-frame.ts';
import { findGap, readIfPossible } from './file-feed.ts';

export type FileStart = { readonly coding: Coding; readonly dictionary: Buffer | undefined };

/** `position` is where the WARC begins, when it is only a part of the file. */
export function readFileStart(path: string, position = 0): FileStart {
  const descriptor = openToRead(path);
  try {
    let start = readStart(descriptor, position, 64 * 1024);
    if (sniffCoding(start, false) === undefined) start = readStart(descriptor, position, READ_CHUNK_BYTES);
    if (start.length === 0 && position < fstatSync(descriptor).size) {
      const { to = position } = findGap(path, descriptor, position) ?? {};
      return { coding: sniffCoding(readStart(descriptor, to, READ_CHUNK_BYTES), true)!, dictionary: undefined };
    }
    const coding = sniffCoding(start, true)!;
    if (coding !== 'zstd') return { coding, dictionary: undefined };
    let dictionary = dictionaryOfFile(start);
    if (dictionary === 'short' && start.length >= 8)
      dictionary = dictionaryOfFile(readStart(descriptor, position, 8 + start.readUInt32LE(4)));
    return { coding, dictionary: Buffer.isBuffer(dictionary) ? dictionary : undefined };
  } catch (cause) {
    throw fileError(cause, path);
  } finally {
    closeSync(descriptor);
  }
}

/** Up to `length` bytes; fewer at the end of the file and before bytes that the disk cannot read. */
function readStart(descriptor: number, position: number, length: number): Buffer {
  const start = Buffer.alloc(length);
  const whole = readIfPossible(descriptor, start, length, position);
  if (whole !== undefined) return start.subarray(0, whole);
  for (let filled = 0; ; ) {
    const at = position + filled;
    const sector = start.subarray(filled, filled + sectorRest(at));
    const bytes = sector.length > 0 ? readIfPossible(descriptor, sector, sector.length, at) : 0;
    if (!bytes) return start.subarray(0, filled);
    filled += bytes;
  }
}
