import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CRAWL_DEFAULTS } from '../settings.ts';
import { HostDelay, retryAfterMs } from './host-delay.ts';

const ORIGIN = 'http://a.test';
const SETTINGS = { ...CRAWL_DEFAULTS, delayMs: 1000, retryDelayMs: 500 };

test('a slow host or a Crawl-delay makes the pause of a host longer than the configured delay', () => {
  const delay = new HostDelay(SETTINGS);
  assert.equal(delay.readyAt, 0);
  delay.begin(0);
  assert.equal(delay.readyAt, Number.POSITIVE_INFINITY, 'one request at a time');
  delay.end(100, { time: 10, latencyMs: 100 });
  assert.equal(delay.readyAt, 1010, 'counted from when the request was sent');
  delay.begin(1010);
  delay.end(5010, { time: 1010, latencyMs: 4000 });
  assert.ok(delay.readyAt > 5010 - 4000 + 2 * 1000, 'a slow host has a longer pause');
  delay.useCrawlDelay(10_000);
  delay.begin(20_000);
  delay.end(20_100, { time: 20_000, latencyMs: 100 });
  assert.equal(delay.readyAt, 30_000);
});

test('a very long Crawl-delay is shortened', () => {
  const delay = new HostDelay(SETTINGS);
  delay.useCrawlDelay(1e12);
  delay.begin(0);
  delay.end(1, { time: 0, latencyMs: 1 });
  assert.equal(delay.readyAt, SETTINGS.crawlDelayMsMax);
});

test('a refusal pauses the host as long as Retry-After says; without it each pause is twice the last', () => {
  const delay = new HostDelay(SETTINGS);
  delay.noteRefusal(0, 7000);
  assert.equal(delay.readyAt, 7000);
  const other = new HostDelay(SETTINGS);
  other.noteRefusal(0, undefined);
  assert.equal(other.readyAt, 500);
  other.noteRefusal(0, undefined);
  assert.equal(other.readyAt, 1000);
  other.noteAnswer(ORIGIN);
  other.noteRefusal(10_000, undefined);
  assert.equal(other.readyAt, 10_500);
});

test('a host that asks for pauses of more than an hour, or refuses many URLs in a row, is given up', () => {
  const delay = new HostDelay(SETTINGS);
  delay.noteRefusal(0, 3600_000);
  delay.noteRefusal(1000, 3000_000);
  assert.ok(!delay.isGivenUp, 'pauses that were asked for at the same time count once');
  delay.noteRefusal(3600_000, 1000);
  assert.ok(delay.isGivenUp);
  const other = new HostDelay(SETTINGS);
  const refuseMany = (urls: number, status = 429) => {
    for (let url = 0; url < urls; url++)
      for (const lastStatus of [undefined, undefined, status]) other.noteRefusal(0, undefined, lastStatus);
  };
  refuseMany(19);
  assert.ok(!other.isGivenUp);
  other.noteAnswer(ORIGIN);
  refuseMany(19);
  assert.ok(!other.isGivenUp, 'an answer between the refusals counts');
  refuseMany(1);
  assert.ok(other.isGivenUp);
  other.noteAnswer(ORIGIN);
  refuseMany(30, 503);
  assert.ok(other.hasRefusedMany && !other.isGivenUp, 'the pages may be broken, not the host');
});

test('a host that cannot be connected to is given up after growing pauses of some minutes', () => {
  const delay = new HostDelay(CRAWL_DEFAULTS);
  const waits: number[] = [];
  let now = 0;
  for (; !delay.isGivenUp; now = Math.max(now, delay.readyAt)) {
    delay.noteConnectionFailure(now, ORIGIN);
    delay.noteConnectionFailure(now, ORIGIN);
    waits.push((delay.readyAt - now) / 1000);
  }
  assert.deepEqual(waits.slice(0, -1), [0, 10, 20, 40, 80, 160, 320]);
  delay.noteAnswer(ORIGIN);
  assert.ok(!delay.isGivenUp);
  for (let number = 0; number < 100; number++) delay.noteConnectionFailure(now, 'https://a.test');
  assert.equal(delay.readyAt, now, 'it answers with the other scheme');
});

test('a refusal with no Retry-After, or with one of zero, gets the usual pause', () => {
  const delay = new HostDelay(CRAWL_DEFAULTS);
  const waits = [undefined, 0, 0, 120_000].map((asked) => {
    const now = Math.max(0, delay.readyAt);
    delay.noteRefusal(now, asked);
    return (delay.readyAt - now) / 1000;
  });
  assert.deepEqual(waits, [10, 20, 40, 120]);
});

test('Retry-After is read as seconds and as a date', () => {
  assert.equal(retryAfterMs('120', 0), 120_000);
  assert.equal(retryAfterMs('Thu, 01 Jan 1970 00:01:00 GMT', 0), 60_000);
  for (const invalid of ['soon', '-1', '1.5', '0x10', '30, 60', ''])
    assert.equal(retryAfterMs(invalid, 0), undefined, invalid);
  assert.equal(retryAfterMs(undefined, 0), undefined);
});
