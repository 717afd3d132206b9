import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LruCache } from './lru-cache.ts';

describe('the cache', () => {
  const kept = (weightMax: number, ...weights: number[]) => {
    const recent = new LruCache<number, { weight: number }>(weightMax, ({ weight }) => weight);
    for (const [key, weight] of weights.entries()) recent.keep(key, { weight });
    return recent;
  };

  it('drops the least recently used values when it is too heavy', () => {
    const recent = kept(6, 2, 2, 2);
    recent.get(0);
    recent.keep(3, { weight: 3 });
    assert.deepEqual(
      [0, 1, 2, 3].map((key) => recent.get(key)?.weight),
      [2, undefined, undefined, 3],
    );
    assert.equal(recent.size, 2);
  });

  it('keeps the first value of a key, and no value that is too heavy alone', () => {
    const recent = kept(6, 2);
    recent.keep(0, { weight: 5 });
    assert.equal(recent.get(0)?.weight, 2);
    recent.keep(1, { weight: 7 });
    assert.equal(recent.get(1), undefined);
  });

  it('has room again after a value was forgotten', () => {
    const recent = kept(4, 2, 2);
    recent.forget(0);
    recent.forget(9);
    recent.keep(2, { weight: 2 });
    assert.equal(recent.get(1)?.weight, 2);
    recent.clear();
    assert.equal(recent.size, 0);
    for (const key of [5, 6]) recent.keep(key, { weight: 2 });
    assert.equal(recent.size, 2);
  });
});
