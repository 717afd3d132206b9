/** The rows of the tables as the values of the catalog, and back. */
import { assert, copyOf, EMPTY, equal, utf8 } from '../../base/index.ts';
import type { Column, Row } from '../../database/index.ts';
import type { UrlKey } from '../../url/index.ts';
import type {
  Bar,
  Block,
  BlockKey,
  Capture,
  CaptureKind,
  DeadRecord,
  Place,
  Segment,
  SurplusRecord,
} from '../catalog.ts';
import { isLongKey, sortableKey } from '../key-order.ts';
import { RowReader, RowWriter } from '../row-bytes.ts';
import { readUrl, urlDifference, writeUrlRest } from '../url-difference.ts';

const KINDS: readonly CaptureKind[] = ['response', 'revisit', 'resource', 'conversion', 'metadata'];

export const REVISIT_KIND = KINDS.indexOf('revisit');

/** A capture to be written, with the mark that was checked. */
export type MarkedCapture = { readonly capture: Capture; readonly mark: Uint8Array };

/** The columns by which a capture is identified. */
export const CAPTURE_ID: readonly Column<Capture>[] = [
  { name: 'key', type: 'bytea', of: ({ urlKey }) => sortableKey(urlKey) },
  { name: 'time', type: 'bigint', of: ({ time }) => time },
  { name: 'segment', type: 'bigint', of: ({ place }) => place.segment },
  { name: 'record_offset', type: 'bigint', of: ({ place }) => place.offset },
];

/** The columns that say whether two records are of the same capture, wherever they are. */
export const CAPTURE_IDENTITY: readonly Column<Capture>[] = [
  { name: 'key', type: 'bytea', of: ({ urlKey }) => sortableKey(urlKey) },
  { name: 'time', type: 'bigint', of: ({ time }) => time },
  { name: 'collection', type: 'integer', of: ({ collection }) => collection },
  { name: 'hash', type: 'integer', of: ({ hash }) => hash | 0 },
  { name: 'digest', type: 'bytea', of: ({ block }) => block?.digest ?? EMPTY },
  { name: 'overflow', type: 'bigint', of: ({ block }) => block?.overflow ?? 0 },
];

const CAPTURE_REST: readonly Column<Capture>[] = [
  { name: 'record_length', type: 'bigint', of: ({ place }) => place.length },
  { name: 'collection', type: 'integer', of: ({ collection }) => collection },
  { name: 'status', type: 'integer', of: ({ status }) => status },
  { name: 'hash', type: 'integer', of: ({ hash }) => hash | 0 },
  { name: 'kind', type: 'smallint', of: ({ kind }) => kindNumber(kind) },
  { name: 'long_key', type: 'bytea', of: ({ urlKey }) => (isLongKey(urlKey) ? utf8(urlKey) : EMPTY) },
  { name: 'url', type: 'bytea', of: writtenUrl },
  { name: 'mime', type: 'bytea', of: ({ mime }) => utf8(mime) },
  { name: 'digest', type: 'bytea', of: ({ block }) => block?.digest ?? EMPTY },
  { name: 'overflow', type: 'bigint', of: ({ block }) => block?.overflow ?? 0 },
];

/** What a reader needs of a capture. */
export const CAPTURE_COLUMNS: readonly Column<Capture>[] = [...CAPTURE_ID, ...CAPTURE_REST];

export const MARKED_CAPTURE_COLUMNS: readonly Column<MarkedCapture>[] = [
  ...CAPTURE_COLUMNS.map(
    ({ name, type, of }): Column<MarkedCapture> => ({
      name,
      type,
      of: ({ capture }, index) => of(capture, index),
    }),
  ),
  { name: 'mark', type: 'bytea', of: ({ mark }) => mark },
];

export const BLOCK_KEY: readonly Column<BlockKey>[] = [
  { name: 'digest', type: 'bytea', of: ({ digest }) => digest },
  { name: 'overflow', type: 'bigint', of: ({ overflow }) => overflow },
];

export const PLACE_COLUMNS: readonly Column<Place>[] = [
  { name: 'segment', type: 'bigint', of: ({ segment }) => segment },
  { name: 'record_offset', type: 'bigint', of: ({ offset }) => offset },
  { name: 'record_length', type: 'bigint', of: ({ length }) => length },
];

export const BLOCK_COLUMNS: readonly Column<Pick<Block, 'key' | 'size' | 'holder'>>[] = [
  ...BLOCK_KEY.map(({ name, type, of }) => ({
    name,
    type,
    of: ({ key }: Pick<Block, 'key'>, index: number) => of(key, index),
  })),
  { name: 'size', type: 'bigint', of: ({ size }) => size },
  ...PLACE_COLUMNS.map(({ name, type, of }) => ({
    name,
    type,
    of: ({ holder }: Pick<Block, 'holder'>, index: number) => of(holder, index),
  })),
];

/** The URL as its difference from the key: the form, and the rest. */
function writtenUrl({ urlKey, url }: Capture): Uint8Array {
  const writer = new RowWriter();
  const difference = urlDifference(urlKey, url);
  writer.byte(difference.form);
  writeUrlRest(writer, difference, url);
  return writer.finish();
}

function urlOf(written: unknown, urlKey: UrlKey): string {
  assert(written instanceof Buffer, 'a column does not have bytes');
  const reader = new RowReader(written);
  return readUrl(reader, urlKey, reader.byte());
}

export function captureOf(row: Row): Capture {
  const urlKey = (text(row.long_key) || text(row.key)) as UrlKey;
  return {
    urlKey,
    time: number(row.time),
    place: placeOf(row),
    url: urlOf(row.url, urlKey),
    kind: kindOf(row),
    collection: number(row.collection),
    status: number(row.status),
    mime: text(row.mime),
    hash: number(row.hash) >>> 0,
    block: blockKeyOf(row),
  };
}

export function kindOf(row: Row): CaptureKind {
  return KINDS[number(row.kind)]!;
}

/** The content that a row names; undefined for an empty digest. */
export function blockKeyOf(row: Row): BlockKey | undefined {
  const digest = bytes(row.digest);
  return digest.length === 0 ? undefined : { digest, overflow: number(row.overflow) };
}

export function blockOf(row: Row): Block {
  return {
    key: blockKeyOf(row)!,
    size: number(row.size),
    holder: placeOf(row),
    references: number(row.reference_count),
  };
}

function placeOf(row: Row): Place {
  return { segment: number(row.segment), offset: number(row.record_offset), length: number(row.record_length) };
}

export function segmentOf(row: Row): Segment {
  return {
    number: number(row.number),
    volume: String(row.volume),
    name: text(row.name),
    collection: number(row.collection),
    state: row.state as Segment['state'],
    bytes: number(row.bytes),
    records: number(row.records),
    deadBytes: number(row.dead_bytes),
    sequence: number(row.sequence),
    ...(row.roots !== null && { roots: row.roots as NonNullable<Segment['roots']> }),
    ...(row.lease !== null && { lease: row.lease as NonNullable<Segment['lease']> }),
    ...(row.last_commit !== null && { lastCommit: String(row.last_commit) }),
    ...(row.parts !== null && { parts: row.parts as NonNullable<Segment['parts']> }),
  };
}

export function deadRecordOf(row: Row): DeadRecord {
  return { offset: number(row.record_offset), length: number(row.record_length), block: blockKeyOf(row) };
}

export function surplusRecordOf(row: Row): SurplusRecord {
  return { offset: number(row.record_offset), block: blockKeyOf(row)! };
}

export function barOf(row: Row): Bar {
  if (row.kind === 'content') return { kind: 'content', digest: bytes(row.value) };
  return { kind: 'url', urlKey: text(row.value) as UrlKey };
}

export function isSamePlace(one: Place | undefined, other: Place): boolean {
  return one?.segment === other.segment && one.offset === other.offset;
}

export function isSameKey(one: BlockKey, other: BlockKey): boolean {
  return one.overflow === other.overflow && equal(one.digest, other.digest);
}

export function number(value: unknown): number {
  assert(typeof value === 'number', 'a column is not a number');
  return value;
}

export function bytes(value: unknown): Uint8Array {
  assert(value instanceof Uint8Array, 'a column does not have bytes');
  return copyOf(value);
}

export function text(value: unknown): string {
  assert(value instanceof Buffer, 'a column does not have bytes');
  return value.toString('utf8');
}

function kindNumber(kind: CaptureKind): number {
  const index = KINDS.indexOf(kind);
  assert(index >= 0, 'a capture has an unknown kind');
  return index;
}
