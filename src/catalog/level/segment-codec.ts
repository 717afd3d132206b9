/**
 * Rows of the segments table.
 *
 *     key    's'  number (ordered)
 *     value  form        1        bit 0 sealed
 *            collection  varint
 *            bytes       varint
 *            records     varint
 *            deadBytes   varint
 *            volume      its length in bytes as a varint, then UTF-8
 *            name        UTF-8, the rest
 */
import { assert } from '../../base/index.ts';
import type { Segment } from '../catalog.ts';
import { DamagedRow, RowReader, type RowWriter } from '../row-bytes.ts';

const SEALED = 1;

export function writeSegment(writer: RowWriter, segment: Segment): void {
  assert(segment.volume.isWellFormed() && segment.name.isWellFormed(), 'the name of a segment is not valid Unicode');
  writer.byte(segment.state === 'sealed' ? SEALED : 0);
  writer.varint(segment.collection);
  writer.varint(segment.bytes);
  writer.varint(segment.records);
  writer.varint(segment.deadBytes);
  writer.varint(Buffer.byteLength(segment.volume));
  writer.utf8(segment.volume);
  writer.utf8(segment.name);
}

export function readSegment(key: Buffer, value: Buffer): Segment {
  const number = new RowReader(key, 1).ordered();
  const reader = new RowReader(value);
  const form = reader.byte();
  if (form > SEALED) throw new DamagedRow('a segment has an unknown form');
  const collection = reader.varint();
  const bytes = reader.varint();
  const records = reader.varint();
  const deadBytes = reader.varint();
  const volume = reader.utf8(reader.varint());
  const name = reader.restUtf8();
  const state = form === SEALED ? 'sealed' : 'open';
  return { number, volume, name, collection, state, bytes, records, deadBytes };
}
