import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compare, utf8 } from '../base/index.ts';
import type { UrlKey } from '../url/index.ts';
import {
  type CaptureKeyParts,
  compareKeys,
  compareRowsOfKeys,
  isLongKey,
  KEY_BYTES_MAX,
  readCaptureKey,
  timeOfCaptureKey,
  writeBesideLongKeys,
  writeCaptureKey,
  writeKeyStart,
} from './key-order.ts';
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

test('the parts of a key are read from it', () => {
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

test('the start of a key sorts before all its captures and after all captures of smaller keys', () => {
  fc.assert(
    fc.property(anyParts, anyKey, (parts, key) => {
      const isLess = compare(utf8(parts.urlKey), utf8(key)) < 0;
      assert.equal(written(parts).compare(keyStart(key)) < 0, isLess);
    }),
    { numRuns: 500 },
  );
});

/** Keys near the length at which they are cut, with few differences between them. */
const anyLength = fc
  .tuple(
    fc.integer({ min: KEY_BYTES_MAX - 4, max: KEY_BYTES_MAX }),
    fc.array(fc.constantFrom('', 'a', '\0', '\x01', '\u{10000}'), { maxLength: 6 }),
  )
  .map(([length, end]) => 'k'.repeat(length) + end.join(''));

test('rows of long keys are short, and sort by beginning and then by digest', () => {
  fc.assert(
    fc.property(anyLength, anyLength, anyParts, (one, other, parts) => {
      const [a, b] = [one, other].map((key) => written({ ...parts, urlKey: key as UrlKey }));
      assert.ok(a!.length < 2 * KEY_BYTES_MAX);
      assert.equal(Math.sign(a!.compare(b!)), Math.sign(compareRowsOfKeys(one, other)));
      const areAlike = isLongKey(one) && isLongKey(other) && compare(cut(one), cut(other)) === 0;
      if (!areAlike) assert.equal(Math.sign(a!.compare(b!)), Math.sign(compareKeys(one, other)));
      assert.deepEqual(readCaptureKey(a!, one as UrlKey), { ...parts, urlKey: one });
      if (isLongKey(one)) assert.equal(isBetween(a!, one), true);
      if (isLongKey(one)) assert.equal(isBetween(b!, one), areAlike);
    }),
    { numRuns: 500 },
  );
});

function cut(key: string): Uint8Array {
  return utf8(key).subarray(0, KEY_BYTES_MAX);
}

function isBetween(row: Buffer, longKey: string): boolean {
  const writer = new RowWriter();
  writeBesideLongKeys(writer, longKey, 'before');
  const before = writer.finish();
  writeBesideLongKeys(writer, longKey, 'behind');
  return before.compare(row) < 0 && row.compare(writer.finish()) < 0;
}

test('any bytes are read as a key or as damage', () => {
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
