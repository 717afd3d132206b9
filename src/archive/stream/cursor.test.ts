import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatCursor, parseCursor } from './cursor.ts';

const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });

const plain = { noNullPrototype: true };

const name = fc.stringMatching(/^[a-z]{1,8}\/[a-z0-9-]{1,20}\.warc\.gz$/);
const storagePosition = { root: name, sequence: count, offset: count, innerOffset: count };
const catalogPosition = { ...storagePosition, urlKey: fc.string({ unit: 'grapheme' }), time: fc.integer() };

const snapshot = {
  before: count,
  open: fc
    .uniqueArray(fc.tuple(name, count), { maxLength: 5, selector: ([text]) => text })
    .map((entries) => entries.sort(([one], [other]) => (one < other ? -1 : 1))),
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

test('a cursor with the numbers of segments, as version 1 made it, has expired', () => {
  const text = Buffer.from(JSON.stringify([1, 'abcdefgh', 'epoch', 7, 6, [[6, 1000]], 3, 400, 0])).toString(
    'base64url',
  );
  assert.throws(() => parseCursor(text), { code: 'CURSOR_EXPIRED' });
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
