import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compare, utf8 } from '../base/index.ts';
import type { UrlKey } from '../url/index.ts';
import { type CaptureKeyParts, readCaptureKey, timeOfCaptureKey, writeCaptureKey, writeKeyStart } from './key-order.ts';
import { DamagedRow, RowWriter } from './row-bytes.ts';

const TIME_MIN = Date.parse('0000-01-01T00:00:00Z');
const TIME_MAX = Date.parse('9999-12-31T23:59:59.999Z');

const anyKey = fc.oneof(
  fc.string({ unit: fc.constantFrom('\0', '\x01', '\x02', 'a', 'b', '\u00ff', '\u{10000}'), maxLength: 5 }),
  fc.string({ unit: 'binary' }),
);
const anyParts: fc.Arbitrary<CaptureKeyParts> = fc.record({
  urlKey: anyKey as fc.Arbitrary<UrlKey>,
  time: fc.oneof(fc.integer({ min: TIME_MIN, max: TIME_MAX }), fc.integer({ min: -2001, max: 2001 })),
  segment: fc.oneof(fc.nat(300), fc.maxSafeNat()),
  offset: fc.oneof(fc.nat(300), fc.maxSafeNat()),
});

function written(parts: CaptureKeyParts): Buffer {
  const writer = new RowWriter();
  writeCaptureKey(writer, parts);
  return writer.finish();
}

function keyStart(key: string): Buffer {
  const writer = new RowWriter();
  writeKeyStart(writer, key);
  return writer.finish();
}

test('what a key was made of is read from it', () => {
  fc.assert(
    fc.property(anyParts, (parts) => {
      assert.deepEqual(readCaptureKey(written(parts)), { ...parts });
      assert.equal(timeOfCaptureKey(written(parts)), parts.time);
    }),
  );
});

test('the bytes of keys compare as (URL key, time, segment, offset) do', () => {
  fc.assert(
    fc.property(anyParts, anyParts, fc.nat(3), (a, other, shared) => {
      // Random pairs nearly always differ in the URL key already.
      const b = { ...other };
      if (shared > 0) b.urlKey = a.urlKey;
      if (shared > 1) b.time = a.time;
      if (shared > 2) b.segment = a.segment;
      const expected =
        compare(utf8(a.urlKey), utf8(b.urlKey)) || a.time - b.time || a.segment - b.segment || a.offset - b.offset;
      assert.equal(Math.sign(written(a).compare(written(b))), Math.sign(expected));
    }),
    { numRuns: 500 },
  );
});

test('the start of a key stands before all captures of it and behind all of lesser keys', () => {
  fc.assert(
    fc.property(anyParts, anyKey, (parts, key) => {
      const isLess = compare(utf8(parts.urlKey), utf8(key)) < 0;
      assert.equal(written(parts).compare(keyStart(key)) < 0, isLess);
    }),
    { numRuns: 500 },
  );
});

test('any bytes are a key or damage', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 30 }), (bytes) => {
      try {
        readCaptureKey(Buffer.from(bytes));
      } catch (error) {
        assert.ok(error instanceof DamagedRow, String(error));
      }
    }),
  );
});
