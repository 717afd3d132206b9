/**
 * Values of captures; key-order.ts has their keys.
 *
 *     form      1        bits 0-2 kind, bit 3 has a block, bit 4 its overflow is not 0, bit 5 has a long URL key,
 *                        bit 6 is set, bit 7 has a status other than 200
 *     url form  1        see url-difference.ts
 *     status    varint   when it is not 200
 *     collection varint
 *     mime      varint   number in the dictionary; 0: its length in bytes as a varint and its UTF-8 follow
 *     block     32 bytes the digest, when there is a block; then its overflow as a varint, when it is not 0
 *     hash      4 bytes  highest first
 *     length    varint   of the record
 *     url key   n        when it is long: its length in bytes as a varint and its UTF-8
 *     url       rest     depends on the url form
 *
 * So a row has all that a line of an index needs, and listing captures reads no other table.
 *
 * Rows of format 3 have bit 6 clear. Their status is always there: 0 for 200, else the status plus one. Their block is
 * the first 6 bytes of its digest and then, when bit 4 is set, a slot as a varint. Prefix and slot name an entry of the
 * blocks table, which has the whole digest and stays as long as a capture or an alias names it (see block-codec.ts).
 * Such rows are read and upgraded, and never written.
 */
import { assert } from '../base/index.ts';
import type { UrlKey } from '../url/index.ts';
import { BLOCK_PREFIX_BYTES, type BlockReference, DIGEST_BYTES } from './block-codec.ts';
import type { BlockKey, Capture, CaptureKind } from './catalog.ts';
import { isCaptureTime, isLongKey, readCaptureKey } from './key-order.ts';
import { type MimeDictionary, WRITTEN_OUT } from './level/mime-dictionary.ts';
import { DamagedRow, RowReader, type RowWriter } from './row-bytes.ts';
import { readUrl, urlDifference, writeUrlRest } from './url-difference.ts';

const KINDS: readonly CaptureKind[] = ['response', 'revisit', 'resource', 'conversion', 'metadata'];
const KIND_BITS = 7;
const HASH_BYTES = 4;
const HAS_BLOCK = 8;
/** The block has a slot in format 3, and an overflow in format 4. */
const HAS_NUMBER = 16;
const HAS_LONG_KEY = 32;
const IS_FORMAT_4 = 64;
const HAS_STATUS = 128;
const PLAIN_STATUS = 200;

/** What tells a capture from others of its URL and time, besides its place, and what counts in the totals. */
export type CaptureIdentity = Pick<Capture, 'kind' | 'collection' | 'hash' | 'block'>;

/** The block of a row, or in format 3 the name of its entry in the blocks table. */
type Link = { readonly block: BlockKey | undefined; readonly reference: BlockReference | undefined };

/** A capture as its row has it. With a reference, its block is not looked up yet. */
export type LinkedCapture = Link & { readonly capture: Omit<Capture, 'block'> };

const NO_LINK: Link = { block: undefined, reference: undefined };

export function assertCapture(capture: Capture): void {
  assert(isCaptureTime(capture.time), 'the time of a capture is not a whole number, or is out of range');
  assert(capture.urlKey.isWellFormed() && capture.url.isWellFormed(), 'a URL or its key is not valid Unicode');
  assert(capture.mime.isWellFormed(), 'a media type is not valid Unicode');
  assert(capture.hash >>> 0 === capture.hash, 'the hash of a capture is not a 32-bit number');
}

export function writeCapture(writer: RowWriter, capture: Capture, mimeNumber: number): void {
  const kind = KINDS.indexOf(capture.kind);
  assert(kind >= 0, 'a capture has an unknown kind');
  const difference = urlDifference(capture.urlKey, capture.url);
  const hasLongKey = isLongKey(capture.urlKey);
  const { block, status } = capture;
  writer.byte(
    kind |
      IS_FORMAT_4 |
      (block ? blockBits(block) : 0) |
      (hasLongKey ? HAS_LONG_KEY : 0) |
      (status === PLAIN_STATUS ? 0 : HAS_STATUS),
  );
  writer.byte(difference.form);
  if (status !== PLAIN_STATUS) writer.varint(status);
  writer.varint(capture.collection);
  writer.varint(mimeNumber);
  if (mimeNumber === WRITTEN_OUT) writeText(writer, capture.mime);
  if (block) writeBlock(writer, block);
  writer.fixed(capture.hash, HASH_BYTES);
  writer.varint(capture.place.length);
  if (hasLongKey) writeText(writer, capture.urlKey);
  writeUrlRest(writer, difference, capture.url);
}

export function readCapture(key: Buffer, value: Buffer, mimes: MimeDictionary): LinkedCapture {
  const reader = new RowReader(value);
  const form = reader.byte();
  const urlForm = reader.byte();
  const status = readStatus(reader, form);
  const collection = reader.varint();
  const mime = readMime(reader, mimes);
  const link = readLink(reader, form);
  const hash = reader.fixed(HASH_BYTES);
  const length = reader.varint();
  const longKey = form & HAS_LONG_KEY ? (reader.utf8(reader.varint()) as UrlKey) : undefined;
  const { urlKey, time, segment, offset } = readCaptureKey(key, longKey);
  const url = readUrl(reader, urlKey, urlForm);
  if (!reader.isAtEnd) throw new DamagedRow('a capture goes on after its end');
  const place = { segment, offset, length };
  return { capture: { urlKey, time, place, url, kind: readKind(form), collection, status, mime, hash }, ...link };
}

export function readCaptureIdentity(value: Buffer): CaptureIdentity {
  const reader = new RowReader(value);
  const { form, collection } = readStart(reader);
  const { block, reference } = readLink(reader, form);
  if (reference) throw new DamagedRow('a capture has the format of an earlier release');
  return { kind: readKind(form), collection, block, hash: reader.fixed(HASH_BYTES) };
}

/** Only the hash, for a search that wants few of many captures. */
export function readCaptureHash(value: Buffer): number {
  const reader = new RowReader(value);
  const { form } = readStart(reader);
  readLink(reader, form);
  return reader.fixed(HASH_BYTES);
}

/** The entry that a row of format 3 names; undefined for other rows. */
export function readOldReference(value: Buffer): BlockReference | undefined {
  const reader = new RowReader(value);
  const { form } = readStart(reader);
  return readLink(reader, form).reference;
}

/** Whether a row has format 3. */
export function isOldRow(value: Buffer): boolean {
  return (value[0]! & IS_FORMAT_4) === 0;
}

/** Writes a row of format 3 as one of format 4, with the block that it names. */
export function writeUpgraded(writer: RowWriter, value: Buffer, block: BlockKey | undefined): void {
  const reader = new RowReader(value);
  const form = reader.byte();
  const urlForm = reader.byte();
  const status = readStatus(reader, form);
  const middle = reader.at;
  readCollectionAndMime(reader);
  const end = reader.at;
  readLink(reader, form);
  const kept = form & (KIND_BITS | HAS_LONG_KEY);
  writer.byte(kept | IS_FORMAT_4 | (block ? blockBits(block) : 0) | (status === PLAIN_STATUS ? 0 : HAS_STATUS));
  writer.byte(urlForm);
  if (status !== PLAIN_STATUS) writer.varint(status);
  writer.bytes(value.subarray(middle, end));
  if (block) writeBlock(writer, block);
  writer.bytes(value.subarray(reader.at));
}

function blockBits({ overflow }: BlockKey): number {
  return HAS_BLOCK | (overflow > 0 ? HAS_NUMBER : 0);
}

function writeBlock(writer: RowWriter, { digest, overflow }: BlockKey): void {
  writer.bytes(digest);
  if (overflow > 0) writer.varint(overflow);
}

/** Reads the fields before the block. */
function readStart(reader: RowReader): { readonly form: number; readonly collection: number } {
  const form = reader.byte();
  reader.byte();
  readStatus(reader, form);
  return { form, collection: readCollectionAndMime(reader) };
}

function readCollectionAndMime(reader: RowReader): number {
  const collection = reader.varint();
  if (reader.varint() === WRITTEN_OUT) reader.bytes(reader.varint());
  return collection;
}

function readStatus(reader: RowReader, form: number): number {
  if (form & IS_FORMAT_4) return form & HAS_STATUS ? reader.varint() : PLAIN_STATUS;
  const written = reader.varint();
  return written === 0 ? PLAIN_STATUS : written - 1;
}

/** The capture with its block, in the order of properties that every capture has. */
export function withBlock(linked: LinkedCapture, block: BlockKey | undefined): Capture {
  return { ...linked.capture, block };
}

function writeText(writer: RowWriter, text: string): void {
  writer.varint(Buffer.byteLength(text));
  writer.utf8(text);
}

function readKind(form: number): CaptureKind {
  const kind = KINDS[form & KIND_BITS];
  const isUnknown = (form & IS_FORMAT_4) === 0 && form >= HAS_STATUS;
  if (kind === undefined || isUnknown) throw new DamagedRow('a capture has an unknown form');
  return kind;
}

function readMime(reader: RowReader, mimes: MimeDictionary): string {
  const number = reader.varint();
  if (number === WRITTEN_OUT) return reader.utf8(reader.varint());
  const mime = mimes.textOf(number);
  if (mime === undefined) throw new DamagedRow(`there is no media type ${number}`);
  return mime;
}

function readLink(reader: RowReader, form: number): Link {
  if ((form & HAS_BLOCK) === 0) return NO_LINK;
  if ((form & IS_FORMAT_4) === 0) {
    const prefix = reader.fixed(BLOCK_PREFIX_BYTES);
    return { block: undefined, reference: { prefix, slot: form & HAS_NUMBER ? reader.varint() : 0 } };
  }
  const digest = new Uint8Array(reader.bytes(DIGEST_BYTES));
  return { block: { digest, overflow: form & HAS_NUMBER ? reader.varint() : 0 }, reference: undefined };
}
