import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SegmentMoves } from './segment-moves.ts';

type Fate = 'stays' | 'leaves' | 'anew';

const segment = fc.array(
  fc.record({
    bytes: fc.integer({ min: 2, max: 5000 }),
    fate: fc.constantFrom<Fate>('stays', 'leaves', 'anew'),
    newBytes: fc.integer({ min: 2, max: 5000 }),
  }),
  { maxLength: 60 },
);

test('every offset of a record leads to the new place of that record, or to the next record that was kept', () => {
  fc.assert(
    fc.property(segment, fc.integer({ min: 0, max: 300 }), (records, newStart) => {
      const moves = new SegmentMoves();
      const places: { from: number; to: number | undefined }[] = [];
      let from = 0;
      let to = newStart;
      for (const { bytes, fate, newBytes } of records) {
        places.push({ from, to: fate === 'leaves' ? undefined : to });
        if (fate === 'stays') moves.add(from, to, bytes);
        if (fate === 'anew') moves.add(from, to, 1);
        from += bytes;
        if (fate !== 'leaves') to += fate === 'stays' ? bytes : newBytes;
      }
      const read = SegmentMoves.parse(moves.toString());
      for (const [index, place] of places.entries()) {
        const next = places.slice(index).find((other) => other.to !== undefined);
        const expected = next && { offset: next.to, isSame: next === place };
        assert.deepEqual(moves.find(place.from), expected);
        assert.deepEqual(read.find(place.from), expected);
      }
      assert.equal(moves.find(from), undefined);
    }),
  );
});

test('moves of an emptied segment can be stored too', () => {
  const moves = SegmentMoves.parse(new SegmentMoves().toString());
  assert.equal(moves.find(0), undefined);
});

test('a thousand runs take little space', () => {
  const moves = new SegmentMoves();
  for (let at = 0; at < 1000; at++) moves.add(at * 1_000_000, at * 999_000, 999_000);
  assert.ok(moves.toString().length < 10_000);
});
