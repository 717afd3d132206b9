/**
 * Rows of the segments table.
 *
 *     key    's'  number (ordered)
 *     value  form        1        bits 0-1 state: 0 open, 1 sealed, 2 sealing; the other bits say what follows: bit 2
 *                                 sequence, bit 3 roots, bit 4 lease, bit 5 last commit, bit 6 parts
 *            collection  varint
 *            bytes       varint
 *            records     varint
 *            deadBytes   varint
 *            sequence    varint
 *            roots       their count as a varint, then for each its name and its sequence as a varint
 *            lease       name, then epoch and incarnation as varints
 *            last commit text
 *            parts       their count as a varint, then for each: the bytes that its name has in common with the name of
 *                        the part before it as a varint, the rest of the name, the offset as a varint
 *            volume      text
 *            name        UTF-8, the rest
 *
 * A text or name is its length in bytes as a varint, then UTF-8.
 */
import { assert, utf8 } from '../../base/index.ts';
import type { Lease, RootSegment, Segment, SegmentPart, SegmentState } from '../catalog.ts';
import { DamagedRow, RowReader, type RowWriter } from '../row-bytes.ts';

const STATES: readonly SegmentState[] = ['open', 'sealed', 'sealing'];
const STATE_BITS = 3;
const HAS_SEQUENCE = 4;
const HAS_ROOTS = 8;
const HAS_LEASE = 16;
const HAS_LAST_COMMIT = 32;
const HAS_PARTS = 64;
const ALL_BITS = 127;

export function writeSegment(writer: RowWriter, segment: Segment): void {
  const { sequence, roots, lease, lastCommit, parts } = segment;
  writer.byte(
    STATES.indexOf(segment.state) |
      (sequence === undefined ? 0 : HAS_SEQUENCE) |
      (roots ? HAS_ROOTS : 0) |
      (lease ? HAS_LEASE : 0) |
      (lastCommit === undefined ? 0 : HAS_LAST_COMMIT) |
      (parts ? HAS_PARTS : 0),
  );
  writer.varint(segment.collection);
  writer.varint(segment.bytes);
  writer.varint(segment.records);
  writer.varint(segment.deadBytes);
  if (sequence !== undefined) writer.varint(sequence);
  if (roots) writeRoots(writer, roots);
  if (lease) writeLease(writer, lease);
  if (lastCommit !== undefined) writeText(writer, lastCommit);
  if (parts) writeParts(writer, parts);
  writeText(writer, segment.volume);
  assertText(segment.name);
  writer.utf8(segment.name);
}

export function readSegment(key: Buffer, value: Buffer): Segment {
  const number = new RowReader(key, 1).ordered();
  const reader = new RowReader(value);
  const form = reader.byte();
  const state = STATES[form & STATE_BITS];
  if (state === undefined || form > ALL_BITS) throw new DamagedRow('a segment has an unknown form');
  const collection = reader.varint();
  const bytes = reader.varint();
  const records = reader.varint();
  const deadBytes = reader.varint();
  const later = {
    ...(form & HAS_SEQUENCE && { sequence: reader.varint() }),
    ...(form & HAS_ROOTS && { roots: readRoots(reader) }),
    ...(form & HAS_LEASE && { lease: readLease(reader) }),
    ...(form & HAS_LAST_COMMIT && { lastCommit: readText(reader) }),
    ...(form & HAS_PARTS && { parts: readParts(reader) }),
  };
  const volume = readText(reader);
  const name = reader.restUtf8();
  return { number, volume, name, collection, state, bytes, records, deadBytes, ...later };
}

function writeRoots(writer: RowWriter, roots: readonly RootSegment[]): void {
  writer.varint(roots.length);
  for (const { name, sequence } of roots) {
    writeText(writer, name);
    writer.varint(sequence);
  }
}

function readRoots(reader: RowReader): RootSegment[] {
  return listOf(reader, () => ({ name: readText(reader), sequence: reader.varint() }));
}

function writeLease(writer: RowWriter, { name, epoch, incarnation }: Lease): void {
  writeText(writer, name);
  writer.varint(epoch);
  writer.varint(incarnation);
}

function readLease(reader: RowReader): Lease {
  return { name: readText(reader), epoch: reader.varint(), incarnation: reader.varint() };
}

function writeParts(writer: RowWriter, parts: readonly SegmentPart[]): void {
  writer.varint(parts.length);
  let before = utf8('');
  for (const { name, offset } of parts) {
    assertText(name);
    const bytes = utf8(name);
    let shared = 0;
    while (shared < before.length && bytes[shared] === before[shared]) shared++;
    writer.varint(shared);
    writer.varint(bytes.length - shared);
    writer.bytes(bytes, shared);
    writer.varint(offset);
    before = bytes;
  }
}

function readParts(reader: RowReader): SegmentPart[] {
  let before = Buffer.alloc(0);
  return listOf(reader, () => {
    const shared = reader.varint();
    if (shared > before.length) throw new DamagedRow('the name of a part begins with more than the name before it');
    before = Buffer.concat([before.subarray(0, shared), reader.bytes(reader.varint())]);
    return { name: before.toString('utf8'), offset: reader.varint() };
  });
}

/** Reads as many items as the number before them says. A wrong number is noticed at the end of the row. */
function listOf<Item>(reader: RowReader, read: () => Item): Item[] {
  const items: Item[] = [];
  for (let left = reader.varint(); left > 0; left--) items.push(read());
  return items;
}

function writeText(writer: RowWriter, text: string): void {
  assertText(text);
  writer.varint(Buffer.byteLength(text));
  writer.utf8(text);
}

function readText(reader: RowReader): string {
  return reader.utf8(reader.varint());
}

function assertText(text: string): void {
  assert(text.isWellFormed(), 'a text of a segment is not valid Unicode');
}
