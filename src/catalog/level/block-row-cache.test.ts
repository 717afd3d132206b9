import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BlockRowCache } from './block-row-cache.ts';

const ROW = Buffer.from('row');

test('rows are cached until the next batch', () => {
  const rows = new BlockRowCache();
  rows.keep(7, 1, ROW);
  rows.keep(7, 2, undefined);
  assert.deepEqual(
    [...rows.after(7)],
    [
      [1, ROW],
      [2, undefined],
    ],
  );
  assert.equal(rows.after(8).size, 0);
});

test('a row that was read before the last change is not cached', () => {
  const rows = new BlockRowCache();
  rows.keep(8, 1, ROW);
  rows.keep(7, 2, ROW);
  assert.deepEqual([...rows.after(8).keys()], [1]);
  rows.keep(9, 3, ROW);
  assert.deepEqual([...rows.after(9).keys()], [3]);
});

test('every attempted change empties the cache, also a change that fails', () => {
  const rows = new BlockRowCache();
  rows.keep(7, 1, ROW);
  rows.clear();
  assert.equal(rows.after(7).size, 0);
});

test('the number of rows is bounded', () => {
  const rows = new BlockRowCache();
  for (let prefix = 0; prefix < 20_000; prefix++) rows.keep(1, prefix, ROW);
  assert.equal(rows.after(1).size, 16 * 1024);
});
