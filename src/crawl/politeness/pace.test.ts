import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CRAWL_DEFAULTS } from '../settings.ts';
import { Pace, retryAfterMs } from './pace.ts';

const ORIGIN = 'http://a.test';
const SETTINGS = { ...CRAWL_DEFAULTS, delayMs: 1000, retryDelayMs: 500 };

test('a host rests for the delay, longer when it is slow, and as long as it asks', () => {
  const pace = new Pace(SETTINGS);
  assert.equal(pace.readyAt, 0);
  pace.begin(0);
  assert.equal(pace.readyAt, Number.POSITIVE_INFINITY, 'one request at a time');
  pace.end(100, { time: 10, latencyMs: 100 });
  assert.equal(pace.readyAt, 1010, 'counted from when the request was sent');
  pace.begin(1010);
  pace.end(5010, { time: 1010, latencyMs: 4000 });
  assert.ok(pace.readyAt > 5010 - 4000 + 2 * 1000, 'a slow host rests longer');
  pace.heedCrawlDelay(10_000);
  pace.begin(20_000);
  pace.end(20_100, { time: 20_000, latencyMs: 100 });
  assert.equal(pace.readyAt, 30_000);
});

test('a Crawl-delay without measure is bounded', () => {
  const pace = new Pace(SETTINGS);
  pace.heedCrawlDelay(1e12);
  pace.begin(0);
  pace.end(1, { time: 0, latencyMs: 1 });
  assert.equal(pace.readyAt, SETTINGS.crawlDelayMsMax);
});

test('refusals wait as long as the host says, else ever longer', () => {
  const pace = new Pace(SETTINGS);
  pace.refuse(0, 7000);
  assert.equal(pace.readyAt, 7000);
  const other = new Pace(SETTINGS);
  other.refuse(0, undefined);
  assert.equal(other.readyAt, 500);
  other.refuse(0, undefined);
  assert.equal(other.readyAt, 1000);
  other.accept(ORIGIN);
  other.refuse(10_000, undefined);
  assert.equal(other.readyAt, 10_500);
});

test('a host is given up that asks for more than an hour in all, or refuses one URL after the other', () => {
  const pace = new Pace(SETTINGS);
  pace.refuse(0, 3600_000);
  pace.refuse(1000, 3000_000);
  assert.ok(!pace.isGivenUp, 'what was asked for at the same time counts once');
  pace.refuse(3600_000, 1000);
  assert.ok(pace.isGivenUp);
  const other = new Pace(SETTINGS);
  const refuseMany = (urls: number, status = 429) => {
    for (let url = 0; url < urls; url++)
      for (const lastStatus of [undefined, undefined, status]) other.refuse(0, undefined, lastStatus);
  };
  refuseMany(19);
  assert.ok(!other.isGivenUp);
  other.accept(ORIGIN);
  refuseMany(19);
  assert.ok(!other.isGivenUp, 'an answer in between counts');
  refuseMany(1);
  assert.ok(other.isGivenUp);
  other.accept(ORIGIN);
  refuseMany(30, 503);
  assert.ok(other.isTired && !other.isGivenUp, 'it may be the pages that are broken');
});

test('a host that cannot be reached is waited for, ever longer, and given up after some minutes', () => {
  const pace = new Pace(CRAWL_DEFAULTS);
  const waits: number[] = [];
  let now = 0;
  for (; !pace.isGivenUp; now = Math.max(now, pace.readyAt)) {
    pace.miss(now, ORIGIN);
    pace.miss(now, ORIGIN);
    waits.push((pace.readyAt - now) / 1000);
  }
  assert.deepEqual(waits.slice(0, -1), [0, 10, 20, 40, 80, 160, 320]);
  pace.accept(ORIGIN);
  assert.ok(!pace.isGivenUp);
  for (let number = 0; number < 100; number++) pace.miss(now, 'https://a.test');
  assert.equal(pace.readyAt, now, 'it answers by the other scheme');
});

test('a host that refuses and asks for no time, or for time that is over, gets some all the same', () => {
  const pace = new Pace(CRAWL_DEFAULTS);
  const waits = [undefined, 0, 0, 120_000].map((asked) => {
    const now = Math.max(0, pace.readyAt);
    pace.refuse(now, asked);
    return (pace.readyAt - now) / 1000;
  });
  assert.deepEqual(waits, [10, 20, 40, 120]);
});

test('Retry-After is read as seconds and as a date', () => {
  assert.equal(retryAfterMs('120', 0), 120_000);
  assert.equal(retryAfterMs('Thu, 01 Jan 1970 00:01:00 GMT', 0), 60_000);
  for (const neither of ['soon', '-1', '1.5', '0x10', '30, 60', ''])
    assert.equal(retryAfterMs(neither, 0), undefined, neither);
  assert.equal(retryAfterMs(undefined, 0), undefined);
});
