import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatCursor, parseCursor } from './cursor.ts';

const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });

const plain = { noNullPrototype: true };

const storagePosition = { segment: count, offset: count, innerOffset: count };
const catalogPosition = { ...storagePosition, urlKey: fc.string({ unit: 'grapheme' }), time: fc.integer() };

const snapshot = {
  epoch: fc.string(),
  before: count,
  segments: count,
  open: fc.array(fc.tuple(count, count), { maxLength: 5 }),
};

const view = { query: fc.string(), snapshot: fc.record(snapshot, plain) };
const ofCatalog = fc.record(catalogPosition, plain);

const cursor = fc.oneof(
  fc.record(
    { ...view, position: fc.option(fc.oneof(fc.record(storagePosition, plain), ofCatalog), { nil: undefined }) },
    plain,
  ),
  fc.record({ ...view, ranking: fc.string(), position: fc.option(ofCatalog, { nil: undefined }) }, plain),
);

test('a cursor is parsed to the value that was formatted', () => {
  fc.assert(
    fc.property(cursor, (value) => {
      const text = formatCursor(value);
      assert.match(text, /^[A-Za-z0-9_-]+$/);
      assert.deepEqual(parseCursor(text), value);
    }),
  );
});

test('text that is not a cursor is refused with BAD_ARGUMENT', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json().map((json) => Buffer.from(json).toString('base64url')),
      ),
      (text) => {
        assert.throws(() => parseCursor(text), { code: 'BAD_ARGUMENT' });
      },
    ),
  );
});
