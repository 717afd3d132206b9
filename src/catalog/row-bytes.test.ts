import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { AssertionError } from '../base/index.ts';
import { DamagedRow, RowReader, RowWriter } from './row-bytes.ts';

const wholeNumber = fc.oneof(
  fc.maxSafeNat(),
  fc.nat(300),
  fc.nat({ max: 53 }).map((bits) => Math.min(2 ** bits, Number.MAX_SAFE_INTEGER)),
);

function ordered(value: number): Buffer {
  const writer = new RowWriter();
  writer.ordered(value);
  return writer.finish();
}

test('numbers are read back from both forms', () => {
  fc.assert(
    fc.property(fc.array(wholeNumber), (values) => {
      const writer = new RowWriter();
      for (const value of values) {
        writer.varint(value);
        writer.ordered(value);
      }
      const reader = new RowReader(writer.finish());
      for (const value of values) {
        assert.equal(reader.varint(), value);
        assert.equal(reader.ordered(), value);
      }
      assert.ok(reader.isAtEnd);
    }),
  );
});

test('the bytes of ordered numbers sort as the numbers do, and none is a prefix of another', () => {
  fc.assert(
    fc.property(wholeNumber, wholeNumber, (a, b) => {
      assert.equal(Math.sign(ordered(a).compare(ordered(b))), Math.sign(a - b));
      if (a !== b) assert.ok(!ordered(a).subarray(0, ordered(b).length).equals(ordered(b)));
    }),
  );
});

test('finished rows do not change when more are written', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 400 }), { maxLength: 50 }), (rows) => {
      const writer = new RowWriter();
      const written = rows.map((row) => {
        writer.bytes(row);
        return writer.finish();
      });
      assert.deepEqual(
        written.map((row) => [...row]),
        rows.map((row) => [...row]),
      );
    }),
  );
});

test('a fraction or a negative number is a bug and never written', () => {
  for (const value of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
    assert.throws(() => new RowWriter().varint(value), AssertionError);
    assert.throws(() => new RowWriter().ordered(value), AssertionError);
  }
});

test('any bytes are read up to their end or are damage', () => {
  const reads: ((reader: RowReader) => unknown)[] = [
    (reader) => reader.varint(),
    (reader) => reader.ordered(),
    (reader) => reader.fixed(5),
    (reader) => reader.utf8(reader.varint()),
    (reader) => reader.bytes(reader.varint()),
  ];
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 12 }), fc.constantFrom(...reads), (row, read) => {
      try {
        read(new RowReader(row));
      } catch (error) {
        assert.ok(error instanceof DamagedRow, String(error));
      }
    }),
  );
});
