import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { endIn, isInBounds, parseBounds, type SnapshotBounds } from './snapshot-bounds.ts';

const bounds: SnapshotBounds = {
  before: 5,
  open: [
    ['main/a.warc.gz', 100],
    ['main/b.warc.gz', 0],
  ],
};

suite('The bounds of a snapshot', () => {
  test('hold whole segments below the number, and open ones up to their length', () => {
    const at = (root: string, sequence: number, offset: number) => isInBounds(bounds, { root, sequence, offset });
    assert.ok(at('main/z.warc.gz', 4, 1e9));
    assert.ok(!at('main/z.warc.gz', 5, 0));
    assert.ok(at('main/a.warc.gz', 3, 99));
    assert.ok(!at('main/a.warc.gz', 3, 100));
    assert.ok(!at('main/b.warc.gz', 2, 0));
    assert.equal(endIn(bounds, { name: 'main/a.warc.gz', sequence: 3 }), 100);
  });

  test('survive JSON', () => {
    assert.deepEqual(parseBounds(JSON.parse(JSON.stringify(bounds))), bounds);
    assert.deepEqual(parseBounds({ before: 0, open: [] }), { before: 0, open: [] });
  });

  test('are refused when anything about them is odd', () => {
    const odd: unknown[] = [
      null,
      [],
      'x',
      {},
      { before: 1 },
      { before: -1, open: [] },
      { before: 1.5, open: [] },
      { before: '1', open: [] },
      { before: 1, open: {} },
      { before: 1, open: [['a']] },
      { before: 1, open: [['a', -1]] },
      { before: 1, open: [['a', 1, 2]] },
      { before: 1, open: [['../a', 1]] },
      { before: 1, open: [[1, 1]] },
      { before: 1, open: [], more: 1 },
      {
        before: 1,
        open: [
          ['b', 1],
          ['a', 1],
        ],
      },
      {
        before: 1,
        open: [
          ['a', 1],
          ['a', 2],
        ],
      },
    ];
    for (const value of odd) assert.equal(parseBounds(value), undefined, JSON.stringify(value));
  });
});
