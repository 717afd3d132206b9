import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CRAWL_DEFAULTS } from '../settings.ts';
import { HostDelays } from './host-delays.ts';

const HOUR_MS = 3600_000;

test('the delay of a host that is used, paused or given up is remembered among thousands of others', () => {
  const delays = new HostDelays(CRAWL_DEFAULTS, () => 0);
  const [busy, lost, waiting, active] = ['busy.test', 'lost.test', 'waiting.test', 'active.test'].map((host) =>
    delays.of(host),
  );
  lost!.noteRefusal(0, 2 * HOUR_MS);
  waiting!.noteRefusal(0, HOUR_MS);
  for (let number = 0; number < 5000; number++) {
    delays.of(`${number}.test`);
    if (number % 100 === 0) assert.equal(delays.of('busy.test'), busy);
  }
  assert.equal(delays.of('lost.test'), lost);
  assert.equal(delays.of('waiting.test'), waiting);
  delays.keep('active.test', active!);
  assert.equal(delays.of('active.test'), active);
  const first = delays.of('first.test');
  for (let number = 0; number < 5000; number++) delays.of(`${number}.test`);
  assert.notEqual(delays.of('first.test'), first, 'the others are forgotten');
});
