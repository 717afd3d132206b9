import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentCount } from './recent-count.ts';

const NOON = Date.UTC(2026, 0, 1, 12);

test('amounts are counted for one minute', () => {
  const count = new RecentCount();
  for (let second = 0; second < 90; second++) count.add(second, NOON + second * 1000);
  assert.equal(count.sum(NOON + 89_999), ((30 + 89) * 60) / 2);
  assert.equal(count.sum(NOON + 100_000), ((41 + 89) * 49) / 2);
  assert.equal(count.sum(NOON + 3_600_000), 0);
});

test('a clock that is set back loses at most what was counted, and counts on', () => {
  const count = new RecentCount();
  count.add(1, NOON);
  count.add(1, NOON - 30_000);
  assert.equal(count.sum(NOON - 30_000), 2);
  count.add(1, NOON - 3_600_000);
  assert.equal(count.sum(NOON - 3_600_000), 1);
  assert.equal(count.sum(NOON - 3_600_000 + 59_000), 1);
  assert.equal(count.sum(NOON - 3_600_000 + 60_000), 0);
});
