/**
 * Keys of captures. Their byte order is the order of (URL key, time, segment, offset):
 *
 *     'c'  URL key, escaped   00   time            segment   offset
 *     1    n                  1    5 or 7 bytes    ordered   ordered
 *
 * The URL key is UTF-8. Bytes 00 and 01 in it are written 01 01 and 01 02, so that 00 ends it, and a key that is the
 * beginning of another sorts before it, whatever follows.
 *
 * A key longer than KEY_BYTES_MAX is cut to this length, and 01 03 and 32 letters of its digest follow. The whole key
 * is in the row's value. The reason: LevelDB keeps a key of every block of rows in memory, and a few long URLs with the
 * same beginning would fill it. So long keys with the same beginning are in the order of their digests, after the key
 * that ends where they are cut.
 *
 * The time is twice the seconds since the year 0, in five bytes, highest first. If the time has milliseconds, this
 * number is one more, and two bytes of milliseconds follow. So a whole second, which most dates are, sorts before its
 * milliseconds. Every year of four digits fits.
 *
 * Segment and offset are `ordered` numbers (see row-bytes.ts).
 */
import { hash } from 'node:crypto';
import { ascii, assert, compare, concat, type EpochMs, utf8 } from '../base/index.ts';
import type { UrlKey } from '../url/index.ts';
import { DamagedRow, RowReader, type RowWriter } from './row-bytes.ts';
import { TABLE } from './table.ts';

const KEY_END = 0x00;
const ESCAPE = 0x01;
/** After ESCAPE: the key was cut here, and its digest follows. */
const CUT = 0x03;

/** Most URLs are far shorter. */
export const KEY_BYTES_MAX = 512;
const DIGEST_LETTERS = 32;

const YEAR_0_SECONDS = -62_167_219_200;
const TIME_MIN: EpochMs = YEAR_0_SECONDS * 1000;
const TIME_MAX: EpochMs = 253_402_300_799_999;

/** The most UTF-8 bytes of one UTF-16 unit. */
const UTF8_BYTES_MAX = 3;

const PLAIN_KEY = /^[\x02-\x7f]*$/;

export type CaptureKeyParts = {
  readonly urlKey: UrlKey;
  readonly time: EpochMs;
  readonly segment: number;
  readonly offset: number;
};

export function writeCaptureKey(writer: RowWriter, parts: CaptureKeyParts): void {
  writeKeyAndEnd(writer, parts.urlKey);
  writeTime(writer, parts.time);
  writer.ordered(parts.segment);
  writer.ordered(parts.offset);
}

/** The parts of a row's key. A long URL key must be passed in: it is in the row's value. */
export function readCaptureKey(row: Buffer, longKey?: UrlKey): CaptureKeyParts {
  const end = row.indexOf(KEY_END, 1);
  if (end < 0) throw new DamagedRow('the key of a capture has no end');
  const urlKey = longKey ?? (readUrlKey(row.subarray(1, end)) as UrlKey);
  const reader = new RowReader(row, end + 1);
  const time = readTime(reader);
  const segment = reader.ordered();
  const offset = reader.ordered();
  if (!reader.isAtEnd) throw new DamagedRow('the key of a capture goes on after its end');
  return { urlKey, time, segment, offset };
}

/** The time of a capture, without reading the rest of its key. */
export function timeOfCaptureKey(row: Buffer): EpochMs {
  return readTime(new RowReader(row, row.indexOf(KEY_END, 1) + 1));
}

/** Whether only the beginning of a URL key fits into a row's key. */
export function isLongKey(key: string): boolean {
  if (key.length > KEY_BYTES_MAX) return true;
  return key.length > KEY_BYTES_MAX / UTF8_BYTES_MAX && Buffer.byteLength(key) > KEY_BYTES_MAX;
}

/** The order of URL keys, which is the order of rows except for long keys with the same beginning. */
export function compareKeys(a: string, b: string): number {
  return compare(utf8(a), utf8(b));
}

/** The order of the rows of two URL keys. */
export function compareRowsOfKeys(a: string, b: string): number {
  if (!isLongKey(a) || !isLongKey(b)) return compareKeys(a, b);
  const isSameStart = compare(keyStart(a), keyStart(b)) === 0;
  return isSameStart ? compareKeys(digestOfKey(a), digestOfKey(b)) : compareKeys(a, b);
}

/**
 * Bytes that distinguish URL keys and sort like their rows: the whole UTF-8 or, for a long key, its beginning and its
 * digest. Long keys have more bytes than any other, so no two keys have the same bytes.
 */
export function sortableKey(key: string): Uint8Array {
  return isLongKey(key) ? concat([keyStart(key), ascii(digestOfKey(key))]) : utf8(key);
}

/** Writes bytes that sort before every capture of exactly this URL key, and after all captures of smaller keys. */
export function writeKeyAndEnd(writer: RowWriter, key: string): void {
  writeKey(writer, key);
  writer.byte(KEY_END);
}

/** Writes bytes that sort after every capture of exactly this URL key, and before all captures of larger keys. */
export function writePastKey(writer: RowWriter, key: string): void {
  writeKey(writer, key);
  writer.byte(ESCAPE);
}

/**
 * Writes bytes that sort before every URL key that begins with this key, and after all smaller keys. Fails for long
 * keys.
 */
export function writeKeyStart(writer: RowWriter, key: string): void {
  assert(!isLongKey(key), 'a long key has no start of its own');
  writer.byte(TABLE.captures);
  writeWhole(writer, key);
}

/** Writes bytes that sort before or after all long URL keys with the same beginning as this key. */
export function writeBesideLongKeys(writer: RowWriter, longKey: string, side: 'before' | 'behind'): void {
  writer.byte(TABLE.captures);
  writeCut(writer, longKey);
  if (side === 'behind') writer.byte(0xff);
}

/** Writes bytes that sort before the captures of this URL key at this time or later, and after its earlier captures. */
export function writeKeyAndTime(writer: RowWriter, key: string, time: EpochMs): void {
  writeKeyAndEnd(writer, key);
  writeTime(writer, time);
}

/** The part of a row's key after its URL key. */
export function afterUrlKeyOf(row: Buffer): Buffer {
  return Buffer.concat([row.subarray(0, row.indexOf(KEY_END, 1)), Buffer.of(ESCAPE)]);
}

/** The row's table and URL key with this time. */
export function atTimeOf(row: Buffer, writer: RowWriter, time: EpochMs): Buffer {
  writer.bytes(row.subarray(0, row.indexOf(KEY_END, 1) + 1));
  writeTime(writer, time);
  return writer.finish();
}

/** The row's table and URL key without the byte that ends it. */
export function beforeUrlKeyOf(row: Buffer): Buffer {
  return row.subarray(0, row.indexOf(KEY_END, 1));
}

/** The time of a question, clamped to the times that captures can have and one beyond at either end. */
export function clampTime(time: EpochMs): EpochMs {
  return Math.min(Math.max(time, TIME_MIN), TIME_MAX + 1);
}

export function isCaptureTime(time: EpochMs): boolean {
  return Number.isInteger(time) && time >= TIME_MIN && time <= TIME_MAX;
}

function writeTime(writer: RowWriter, time: EpochMs): void {
  assert(Number.isInteger(time) && time >= TIME_MIN && time <= TIME_MAX + 1, 'the time of a capture is out of range');
  const seconds = Math.floor(time / 1000);
  const milliseconds = time - seconds * 1000;
  writer.fixed((seconds - YEAR_0_SECONDS) * 2 + (milliseconds > 0 ? 1 : 0), 5);
  if (milliseconds > 0) writer.fixed(milliseconds, 2);
}

function readTime(reader: RowReader): EpochMs {
  const doubled = reader.fixed(5);
  const time = (Math.floor(doubled / 2) + YEAR_0_SECONDS) * 1000;
  return doubled % 2 === 0 ? time : time + reader.fixed(2);
}

function writeKey(writer: RowWriter, key: string): void {
  writer.byte(TABLE.captures);
  if (isLongKey(key)) {
    writeCut(writer, key);
    writer.latin1(digestOfKey(key));
  } else {
    writeWhole(writer, key);
  }
}

function writeWhole(writer: RowWriter, key: string): void {
  if (PLAIN_KEY.test(key)) writer.latin1(key);
  else writer.bytes(escaped(utf8(key)));
}

function writeCut(writer: RowWriter, longKey: string): void {
  writer.bytes(escaped(keyStart(longKey)));
  writer.byte(ESCAPE);
  writer.byte(CUT);
}

/** The bytes that all long keys with the same beginning as this one have in common. */
export function keyStart(longKey: string): Uint8Array {
  // One character more, because a surrogate pair must not be cut in its middle.
  return utf8(longKey.slice(0, KEY_BYTES_MAX + 1)).subarray(0, KEY_BYTES_MAX);
}

function digestOfKey(key: string): string {
  return hash('sha256', key, 'base64url').slice(0, DIGEST_LETTERS);
}

function escaped(bytes: Uint8Array): Uint8Array {
  const written: number[] = [];
  for (const byte of bytes) {
    if (byte <= ESCAPE) written.push(ESCAPE, byte + 1);
    else written.push(byte);
  }
  return Uint8Array.from(written);
}

function readUrlKey(bytes: Buffer): string {
  if (!bytes.includes(ESCAPE)) return bytes.toString('utf8');
  const read: number[] = [];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === ESCAPE) read.push((bytes[++at] ?? 0) - 1);
    else read.push(byte);
  }
  return Buffer.from(read).toString('utf8');
}
