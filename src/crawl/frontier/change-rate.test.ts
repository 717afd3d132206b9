import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../base/index.ts';
import { changeLikelihood, changeRate } from './change-rate.ts';

const DAY_MS = 24 * 3600_000;

test('the estimate is near the true rate, which a plain count of changes underestimates', () => {
  const random = seededRandom(7);
  const trueRate = 1.2;
  const visits = 20_000;
  let changes = 0;
  for (let visit = 0; visit < visits; visit++) if (random() < 1 - Math.exp(-trueRate)) changes++;
  const estimate = changeRate(visits, changes, visits * DAY_MS)!;
  assert.ok(Math.abs(estimate - trueRate) < 0.05, `seed 7 gave ${estimate}`);
  assert.ok(changes / visits < 0.75, 'the plain ratio is far too low');
});

test('the rate is finite if every visit saw a change, zero if none did, and unknown after a single visit', () => {
  assert.ok(Number.isFinite(changeRate(5, 5, 5 * DAY_MS)!));
  assert.equal(changeRate(5, 0, 5 * DAY_MS), 0);
  assert.equal(changeRate(0, 0, 0), undefined);
});

test('the likelihood of a change grows with the time since the last visit', () => {
  assert.ok(changeLikelihood(4, 2, 4 * DAY_MS, 2 * DAY_MS) > changeLikelihood(4, 2, 4 * DAY_MS, DAY_MS));
  assert.ok(changeLikelihood(4, 3, 4 * DAY_MS, DAY_MS) > changeLikelihood(4, 1, 4 * DAY_MS, DAY_MS));
  assert.equal(changeLikelihood(0, 0, 0, DAY_MS), 1);
});
