import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Exchange } from '../fetch/exchange.ts';
import { CRAWL_DEFAULTS } from '../settings.ts';
import { HostDelay } from './host-delay.ts';
import { HostTurns } from './host-turns.ts';
import { RobotsRules } from './robots-rules.ts';

const HOUR_MS = 3600_000;
const PICTURE = 'https://a.test/picture.png';

/** Turns at one host, with a clock that the test sets. */
function turnsAt(delay: HostDelay, rules: RobotsRules | undefined) {
  const time = { now: 0 };
  const turns: HostTurns = new HostTurns({
    clock: () => time.now,
    delayOf: () => delay,
    reserve: async () => {},
    mayAsk: () => true,
    rulesOf: async () => rules,
    fetchRules: async (_, turn) => turn.noteRefusal(10 * 24 * HOUR_MS) as undefined,
    wake: () => setImmediate(() => turns.start(16)),
  });
  return { turns, time };
}

test('a request gets no turn when its host is given up while robots.txt is fetched', async () => {
  const delay = new HostDelay(CRAWL_DEFAULTS);
  const { turns } = turnsAt(delay, undefined);
  assert.equal(await turns.take(PICTURE, AbortSignal.timeout(5000)), undefined);
  assert.equal(turns.start(16), Number.POSITIVE_INFINITY);
});

test('a waiting request gets no turn when its host is given up', async () => {
  const delay = new HostDelay(CRAWL_DEFAULTS);
  const { turns } = turnsAt(delay, RobotsRules.allowing());
  const first = (await turns.take(PICTURE, AbortSignal.timeout(5000)))!;
  const second = turns.take(PICTURE, AbortSignal.timeout(5000));
  first.noteRefusal(2 * HOUR_MS);
  first.end(undefined);
  assert.equal(await second, undefined);
});

test('answers between its refusals keep a host from being given up', async () => {
  const delay = new HostDelay(CRAWL_DEFAULTS);
  const { turns, time } = turnsAt(delay, RobotsRules.allowing());
  for (let count = 0; count < 3; count++) {
    const refused = (await turns.take(PICTURE, AbortSignal.timeout(5000)))!;
    refused.noteRefusal(HOUR_MS / 2);
    refused.end({ status: 429, time: time.now, latencyMs: 1 } as Exchange);
    time.now += HOUR_MS;
    const answered = (await turns.take(PICTURE, AbortSignal.timeout(5000)))!;
    answered.end({ url: PICTURE, status: 200, time: time.now, latencyMs: 1 } as Exchange);
    time.now += HOUR_MS;
  }
  assert.ok(!delay.isGivenUp);
});
