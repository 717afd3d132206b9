/**
 * Values of captures; key-order.ts has their keys.
 *
 *     form      1        bits 0-2 kind, bit 3 has a block, bit 4 its slot is not 0, bit 5 has a long URL key
 *     url form  1        see url-difference.ts
 *     status    varint   0 for 200, else the status plus one
 *     collection varint
 *     mime      varint   number in the dictionary; 0: its length in bytes as a varint and its UTF-8 follow
 *     block     6 bytes  first bytes of the digest, when there is a block; then its slot as a varint, when it has one
 *     hash      4 bytes  highest first
 *     length    varint   of the record
 *     url key   n        when it is long: its length in bytes as a varint and its UTF-8
 *     url       rest     depends on the url form
 *
 * The fields that captures have most in common come first, so that they compress well.
 *
 * The row has only the beginning of the digest. Prefix and slot name an entry of the blocks table. That entry has the
 * whole digest, and stays as long as a capture names it (see block-codec.ts). So a capture is never given another
 * block.
 */
import { assert } from '../base/index.ts';
import type { UrlKey } from '../url/index.ts';
import { BLOCK_PREFIX_BYTES, type BlockReference } from './block-codec.ts';
import type { BlockKey, Capture, CaptureKind } from './catalog.ts';
import { isCaptureTime, isLongKey, readCaptureKey } from './key-order.ts';
import { type MimeDictionary, WRITTEN_OUT } from './level/mime-dictionary.ts';
import { DamagedRow, RowReader, type RowWriter } from './row-bytes.ts';
import { readUrl, urlDifference, writeUrlRest } from './url-difference.ts';

const KINDS: readonly CaptureKind[] = ['response', 'revisit', 'resource', 'conversion', 'metadata'];
const KIND_BITS = 7;
const HASH_BYTES = 4;
const HAS_BLOCK = 8;
const HAS_SLOT = 16;
const HAS_LONG_KEY = 32;

/** The part of a capture that concerns blocks and totals. */
export type CaptureLink = { readonly kind: CaptureKind; readonly reference: BlockReference | undefined };

export type CaptureIdentity = CaptureLink & Pick<Capture, 'collection' | 'hash'>;

/** A capture whose block is not looked up yet. */
export type LinkedCapture = {
  readonly capture: Omit<Capture, 'block'>;
  readonly reference: BlockReference | undefined;
};

export function assertCapture(capture: Capture): void {
  assert(isCaptureTime(capture.time), 'the time of a capture is not a whole number, or is out of range');
  assert(capture.urlKey.isWellFormed() && capture.url.isWellFormed(), 'a URL or its key is not valid Unicode');
  assert(capture.mime.isWellFormed(), 'a media type is not valid Unicode');
  assert(capture.hash >>> 0 === capture.hash, 'the hash of a capture is not a 32-bit number');
}

export function writeCapture(
  writer: RowWriter,
  capture: Capture,
  reference: BlockReference | undefined,
  mimeNumber: number,
): void {
  const kind = KINDS.indexOf(capture.kind);
  assert(kind >= 0, 'a capture has an unknown kind');
  const difference = urlDifference(capture.urlKey, capture.url);
  const hasLongKey = isLongKey(capture.urlKey);
  const blockBits = reference ? HAS_BLOCK | (reference.slot > 0 ? HAS_SLOT : 0) : 0;
  writer.byte(kind | blockBits | (hasLongKey ? HAS_LONG_KEY : 0));
  writer.byte(difference.form);
  writer.varint(capture.status === 200 ? 0 : capture.status + 1);
  writer.varint(capture.collection);
  writer.varint(mimeNumber);
  if (mimeNumber === WRITTEN_OUT) writeText(writer, capture.mime);
  if (reference) {
    writer.fixed(reference.prefix, BLOCK_PREFIX_BYTES);
    if (reference.slot > 0) writer.varint(reference.slot);
  }
  writer.fixed(capture.hash, HASH_BYTES);
  writer.varint(capture.place.length);
  if (hasLongKey) writeText(writer, capture.urlKey);
  writeUrlRest(writer, difference, capture.url);
}

export function readCapture(key: Buffer, value: Buffer, mimes: MimeDictionary): LinkedCapture {
  const reader = new RowReader(value);
  const form = reader.byte();
  const urlForm = reader.byte();
  const writtenStatus = reader.varint();
  const collection = reader.varint();
  const mime = readMime(reader, mimes);
  const reference = readReference(reader, form);
  const hash = reader.fixed(HASH_BYTES);
  const length = reader.varint();
  const longKey = form & HAS_LONG_KEY ? (reader.utf8(reader.varint()) as UrlKey) : undefined;
  const { urlKey, time, segment, offset } = readCaptureKey(key, longKey);
  const url = readUrl(reader, urlKey, urlForm);
  if (!reader.isAtEnd) throw new DamagedRow('a capture goes on after its end');
  const status = writtenStatus === 0 ? 200 : writtenStatus - 1;
  const place = { segment, offset, length };
  return { capture: { urlKey, time, place, url, kind: readKind(form), collection, status, mime, hash }, reference };
}

/** What tells a capture from others of its URL and time, besides its place. */
export function readCaptureIdentity(value: Buffer): CaptureIdentity {
  const reader = new RowReader(value);
  return { ...readLink(reader), hash: reader.fixed(HASH_BYTES) };
}

/** Only the hash, for a search that wants few of many captures. */
export function readCaptureHash(value: Buffer): number {
  const reader = new RowReader(value);
  readLink(reader);
  return reader.fixed(HASH_BYTES);
}

export function readCaptureLink(value: Buffer): CaptureLink {
  return readLink(new RowReader(value));
}

function readLink(reader: RowReader): CaptureLink & Pick<Capture, 'collection'> {
  const form = reader.byte();
  reader.byte();
  reader.varint();
  const collection = reader.varint();
  if (reader.varint() === WRITTEN_OUT) reader.bytes(reader.varint());
  return { kind: readKind(form), collection, reference: readReference(reader, form) };
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
  if (kind === undefined || form > (KIND_BITS | HAS_BLOCK | HAS_SLOT | HAS_LONG_KEY))
    throw new DamagedRow('a capture has an unknown form');
  return kind;
}

function readMime(reader: RowReader, mimes: MimeDictionary): string {
  const number = reader.varint();
  if (number === WRITTEN_OUT) return reader.utf8(reader.varint());
  const mime = mimes.textOf(number);
  if (mime === undefined) throw new DamagedRow(`there is no media type ${number}`);
  return mime;
}

function readReference(reader: RowReader, form: number): BlockReference | undefined {
  if ((form & HAS_BLOCK) === 0) return undefined;
  const prefix = reader.fixed(BLOCK_PREFIX_BYTES);
  return { prefix, slot: form & HAS_SLOT ? reader.varint() : 0 };
}
