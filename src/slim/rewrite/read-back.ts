/**
 * Reads a rewritten file back before it replaces the old one. Every copied byte is compared with the old file. Every
 * revisit must be the member that was written, and must decode to the expected record.
 */
import { crc32 } from 'node:zlib';
import { PinakesError } from '../../base/index.ts';
import { RecordDecoder, readFileStart } from '../../warc/index.ts';
import { FileWindow } from '../file-window.ts';
import type { ReplacementLog } from './replacement-log.ts';

/** Throws SLIM_READ_BACK at the first difference. */
export function readBack(oldPath: string, oldBytes: number, newPath: string, log: ReplacementLog): void {
  const { dictionary } = readFileStart(newPath);
  const decoder = new RecordDecoder();
  using before = new FileWindow(oldPath);
  using after = new FileWindow(newPath);
  try {
    let oldAt = 0;
    let newAt = 0;
    for (const entries of log.read()) {
      for (const { oldOffset, oldLength, newLength, memberCrc, recordCrc } of entries) {
        compareRange(before, oldAt, after, newAt, oldOffset - oldAt);
        newAt += oldOffset - oldAt;
        const member = after.readAll(newAt, newLength);
        const record = crc32(member) === memberCrc ? decoder.decodeMember(member, dictionary) : undefined;
        if (!record || crc32(record) !== recordCrc) throw readBackError(newPath, newAt);
        newAt += newLength;
        oldAt = oldOffset + oldLength;
      }
    }
    compareRange(before, oldAt, after, newAt, oldBytes - oldAt);
    const end = newAt + oldBytes - oldAt;
    if (after.readSome(end, 1).length > 0) throw readBackError(newPath, end);
  } finally {
    decoder.close();
  }
}

function compareRange(
  before: FileWindow,
  oldOffset: number,
  after: FileWindow,
  newOffset: number,
  length: number,
): void {
  for (let at = 0; at < length; ) {
    const old = before.readSome(oldOffset + at, length - at);
    const bytes = after.readSome(newOffset + at, old.length);
    if (bytes.length === 0 || !bytes.equals(old.subarray(0, bytes.length)))
      throw readBackError(after.path, newOffset + at);
    at += bytes.length;
  }
}

function readBackError(path: string, offset: number): PinakesError {
  return new PinakesError('SLIM_READ_BACK', { where: `${path}:${offset}` });
}
