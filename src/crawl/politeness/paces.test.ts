import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CRAWL_DEFAULTS } from '../settings.ts';
import { Paces } from './paces.ts';

const HOUR_MS = 3600_000;

test('what is known of a host outlasts thousands of others, while it is used, waits or is given up', () => {
  const paces = new Paces(CRAWL_DEFAULTS, () => 0);
  const [busy, lost, waiting, active] = ['busy.test', 'lost.test', 'waiting.test', 'active.test'].map((host) =>
    paces.of(host),
  );
  lost!.refuse(0, 2 * HOUR_MS);
  waiting!.refuse(0, HOUR_MS);
  for (let number = 0; number < 5000; number++) {
    paces.of(`${number}.test`);
    if (number % 100 === 0) assert.equal(paces.of('busy.test'), busy);
  }
  assert.equal(paces.of('lost.test'), lost);
  assert.equal(paces.of('waiting.test'), waiting);
  paces.keep('active.test', active!);
  assert.equal(paces.of('active.test'), active);
  const first = paces.of('first.test');
  for (let number = 0; number < 5000; number++) paces.of(`${number}.test`);
  assert.notEqual(paces.of('first.test'), first, 'the others are forgotten');
});
