import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { joinedRanges } from './joined-ranges.ts';

const KIB = 1024;
const range = fc.record({
  name: fc.constantFrom('a', 'b'),
  offset: fc.nat(100 * KIB),
  length: fc.oneof(fc.nat(100), fc.nat(9_000 * KIB)),
});

test('every range is in exactly one joined range, which reads no gap of more than 16 KiB', () => {
  fc.assert(
    fc.property(fc.array(range, { maxLength: 20 }), (ranges) => {
      const joined = joinedRanges(ranges);
      assert.deepEqual(
        joined.flatMap(({ wanted }) => wanted).sort((a, b) => a - b),
        ranges.map((_, index) => index),
      );
      for (const { name, offset, end, wanted } of joined) {
        const inside = wanted.map((index) => ranges[index]!);
        let read = offset;
        for (const wish of inside) {
          assert.equal(wish.name, name);
          assert.ok(wish.offset - read <= 16 * KIB);
          read = Math.max(read, wish.offset + wish.length);
        }
        assert.equal(offset, inside[0]!.offset);
        assert.equal(end, read);
      }
    }),
  );
});

test('near ranges are joined, and those of other objects and beyond 8 MiB are not', () => {
  const at = (offset: number, length: number, name = 'a') => ({ name, offset, length });
  assert.equal(joinedRanges([at(0, 10), at(10 + 16 * KIB, 10)]).length, 1);
  assert.equal(joinedRanges([at(0, 10), at(11 + 16 * KIB, 10)]).length, 2);
  assert.equal(joinedRanges([at(0, 10), at(5, 10, 'b')]).length, 2);
  assert.equal(joinedRanges([at(0, 5_000 * KIB), at(5_000 * KIB, 5_000 * KIB)]).length, 2);
});
