import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ResolutionFilter } from './resolution-filter.ts';

suite('The filter of what was stored since unresolved revisits were tried', () => {
  const digest = new Uint8Array(32).fill(7);

  test('is complete after the first attempt, and has what is stored afterwards', () => {
    const filter = new ResolutionFilter({ isShared: false });
    assert.ok(!filter.isComplete, 'nothing was tried yet');
    filter.restart();
    assert.ok(filter.isEmpty);
    filter.addDigest(digest);
    assert.ok(filter.isComplete && !filter.isEmpty);
    assert.ok(filter.mayHaveDigest(digest));
  });

  test('is never complete where others store too', () => {
    const filter = new ResolutionFilter({ isShared: true });
    filter.restart();
    assert.ok(!filter.isComplete && !filter.isEmpty);
  });
});
