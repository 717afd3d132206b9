import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Segment } from '../catalog.ts';
import { DamagedRow, RowWriter } from '../row-bytes.ts';
import { numberKey, TABLE } from '../table.ts';
import { readSegment, writeSegment } from './segment-codec.ts';

const number = fc.oneof(fc.nat(3), fc.maxSafeNat());
const text = fc.string({ unit: 'grapheme' });
const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record(model, { noNullPrototype: true });
const lease = record({ name: text, epoch: number, incarnation: number });
const roots = fc.array(record({ name: text, sequence: number }), { maxLength: 3 });
const parts = fc.array(record({ name: text.map((end) => `open/a.warc.gz/${end}`), offset: number }), { maxLength: 4 });

const anySegment: fc.Arbitrary<Segment> = fc.record(
  {
    number,
    volume: text,
    name: text,
    collection: number,
    state: fc.constantFrom('open', 'sealing', 'sealed'),
    bytes: number,
    records: number,
    deadBytes: number,
    sequence: number,
    roots,
    lease,
    lastCommit: text,
    parts,
  },
  {
    noNullPrototype: true,
    requiredKeys: ['number', 'volume', 'name', 'collection', 'state', 'bytes', 'records', 'deadBytes'],
  },
);

function rowOf(segment: Segment): Buffer {
  const writer = new RowWriter();
  writeSegment(writer, segment);
  return writer.finish();
}

test('a segment is read as it was written, with all its fields and without absent ones', () => {
  fc.assert(
    fc.property(anySegment, (segment) => {
      assert.deepEqual(readSegment(numberKey(TABLE.segments, segment.number), rowOf(segment)), segment);
    }),
  );
});

test('a segment without the fields that leases and replacements add is written as in the rows of version 3', () => {
  const plain = { number: 1, volume: 'v', name: 'n', collection: 2, bytes: 3, records: 4, deadBytes: 5 };
  assert.deepEqual([...rowOf({ ...plain, state: 'open' })], [0, 2, 3, 4, 5, 1, 0x76, 0x6e]);
  assert.deepEqual([...rowOf({ ...plain, state: 'sealed' })], [1, 2, 3, 4, 5, 1, 0x76, 0x6e]);
});

test('the names of parts with the same beginning are written once', () => {
  const name = 'x'.repeat(200);
  const parts = Array.from({ length: 100 }, (_, index) => ({ name: `${name}${index}`, offset: index }));
  const segment = { number: 1, volume: 'v', name, collection: 2, bytes: 3, records: 4, deadBytes: 5, parts };
  assert.ok(rowOf({ ...segment, state: 'open' }).length < 200 * 2 + 100 * 8);
});

test('any bytes are read as a segment or as damage', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      try {
        readSegment(numberKey(TABLE.segments, 1), Buffer.from(bytes));
      } catch (error) {
        assert.ok(error instanceof DamagedRow, String(error));
      }
    }),
  );
});
