import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endOfGap } from './gap.ts';

const SECTOR_BYTES = 4096;

/** Searches for the end of a gap whose unreadable bytes are [from, to), and counts the tries. */
function search(from: number, to: number, end: number): { found: number | undefined; tries: number } {
  const steps = endOfGap(from, end);
  let step = steps.next();
  let tries = 0;
  for (; !step.done; tries++) {
    assert.ok(step.value > from && step.value < end);
    step = steps.next(step.value >= to);
  }
  return { found: step.value, tries };
}

test('a gap of any length ends at the first readable sector', () => {
  for (let sectors = 1; sectors < 500; sectors++)
    for (const from of [0, 5 * SECTOR_BYTES, 5 * SECTOR_BYTES + 100]) {
      const to = (Math.floor(from / SECTOR_BYTES) + sectors) * SECTOR_BYTES;
      assert.equal(search(from, to, 1e9).found, to);
      assert.equal(search(from, to, to + 1).found, to, 'although only one byte follows it');
      assert.equal(search(from, Infinity, to).found, undefined);
    }
});

test('the end of a large gap is found in few tries', () => {
  const { found, tries } = search(0, 1000 * 1024 * 1024, 4e9);
  assert.equal(found, 1000 * 1024 * 1024);
  assert.ok(tries < 120, String(tries));
});
