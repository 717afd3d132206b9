import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { closest, latestNotAfter } from './closest.ts';

const sortedTimes = fc
  .array(fc.integer({ min: 0, max: 50 }), { maxLength: 12 })
  .map((times) => times.sort((a, b) => a - b));

test('the latest time not after the wanted time is the last time at or before it', () => {
  fc.assert(
    fc.property(sortedTimes, fc.integer({ min: -5, max: 55 }), (times, wanted) => {
      assert.equal(
        latestNotAfter(times, wanted),
        times.findLastIndex((time) => time <= wanted),
      );
    }),
  );
});

test('the closest time has the least distance, and is the earlier of two equally near times', () => {
  fc.assert(
    fc.property(sortedTimes, fc.integer({ min: -5, max: 55 }), (times, wanted) => {
      const distance = Math.min(...times.map((time) => Math.abs(time - wanted)));
      const nearest = times.find((time) => Math.abs(time - wanted) === distance);
      assert.equal(times[closest(times, wanted)], nearest);
    }),
  );
});

test('an empty list of times has no closest time', () => {
  assert.equal(closest([], 5), -1);
  assert.equal(latestNotAfter([], 5), -1);
});

test('the last of several equal times is returned', () => {
  assert.equal(closest([10, 20, 20], 15.5), 2);
  assert.equal(closest([20, 20], 1), 1);
  assert.equal(latestNotAfter([20, 20], 20), 1);
});
