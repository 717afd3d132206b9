/**
 * Rows of dead and of surplus records.
 *
 *     key    'd' or 'u'  segment (ordered)  offset (ordered)
 *     dead   length      varint
 *            content     nothing if it has none, else as below
 *     surplus content    digest (32 bytes), overflow (varint)
 */
import type { BlockKey, DeadRecord, SurplusRecord } from '../catalog.ts';
import { RowReader, RowWriter } from '../row-bytes.ts';
import type { TABLE } from '../table.ts';

const DIGEST_BYTES = 32;

type RecordTable = typeof TABLE.dead | typeof TABLE.surplus;

export function recordKey(table: RecordTable, segment: number, offset: number): Buffer {
  const writer = new RowWriter();
  writer.byte(table);
  writer.ordered(segment);
  writer.ordered(offset);
  return writer.finish();
}

/** The range of the records of a segment, [from, to). */
export function recordRange(table: RecordTable, segment: number): { readonly from: Buffer; readonly to: Buffer } {
  return { from: recordKey(table, segment, 0), to: recordKey(table, segment + 1, 0) };
}

export function writeDead(writer: RowWriter, { length, block }: DeadRecord): Buffer {
  writer.varint(length);
  if (block) writeContent(writer, block);
  return writer.finish();
}

export function readDead(key: Buffer, value: Buffer): DeadRecord {
  const reader = new RowReader(value);
  const length = reader.varint();
  return { offset: offsetOf(key), length, block: reader.isAtEnd ? undefined : readContent(reader) };
}

export function writeSurplus(writer: RowWriter, block: BlockKey): Buffer {
  writeContent(writer, block);
  return writer.finish();
}

export function readSurplus(key: Buffer, value: Buffer): SurplusRecord {
  return { offset: offsetOf(key), block: readContent(new RowReader(value)) };
}

function offsetOf(key: Buffer): number {
  const reader = new RowReader(key, 1);
  reader.ordered();
  return reader.ordered();
}

function writeContent(writer: RowWriter, { digest, overflow }: BlockKey): void {
  writer.bytes(digest);
  writer.varint(overflow);
}

function readContent(reader: RowReader): BlockKey {
  return { digest: new Uint8Array(reader.bytes(DIGEST_BYTES)), overflow: reader.varint() };
}
