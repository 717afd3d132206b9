import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededIds, seededRandom } from './random.ts';

test('each seed gives a sequence of numbers of its own', () => {
  const run = (seed: number) => {
    const random = seededRandom(seed);
    return Array.from({ length: 20 }, () => random());
  };
  assert.deepEqual(run(7), run(7));
  assert.notDeepEqual(run(7), run(8));
});

test('the numbers are in [0, 1) and evenly spread', () => {
  const random = seededRandom(1);
  const counts = new Array<number>(10).fill(0);
  for (let i = 0; i < 10_000; i++) {
    const number = random();
    assert.ok(number >= 0 && number < 1);
    counts[Math.floor(number * 10)]!++;
  }
  for (const count of counts) assert.ok(count > 850 && count < 1150, counts.join(' '));
});

test('record ids have the form of a random UUID and do not repeat', () => {
  const nextId = seededIds(seededRandom(3));
  const ids = Array.from({ length: 1000 }, nextId);
  for (const id of ids) {
    assert.match(id, /^<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}>$/);
  }
  assert.equal(new Set(ids).size, ids.length);
});
