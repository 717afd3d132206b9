import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FETCH_DEFAULTS } from '../fetch-settings.ts';
import { steadyClock } from '../steady-clock.ts';
import { BodyTimeout } from './body-timeout.ts';

const { idleTimeoutMs, exchangeTimeoutMs } = FETCH_DEFAULTS;

/** A body timeout with a clock that the test sets. */
function startBody(): { waitMs: (bytes: number) => number | undefined; pass: (ms: number) => void } {
  let now = 1000;
  const clock = () => now;
  const bodyTimeout = new BodyTimeout({ ...FETCH_DEFAULTS, clock }, steadyClock(clock, idleTimeoutMs), now);
  return {
    waitMs: (bytes) => bodyTimeout.waitMs(bytes, false),
    pass: (ms) => {
      now += ms;
    },
  };
}

test('a sleep of the machine or a change of its clock does not cut a body', () => {
  const { waitMs, pass } = startBody();
  assert.equal(waitMs(1000), idleTimeoutMs);
  pass(24 * 3600_000);
  assert.equal(waitMs(1000), idleTimeoutMs);
  pass(-48 * 3600_000);
  assert.equal(waitMs(2000), idleTimeoutMs);
});

test('a body that never ends or arrives too slowly is cut', () => {
  for (const [bytesPerSecond, longestMs] of [
    [1_000_000, exchangeTimeoutMs],
    [10, 2 * FETCH_DEFAULTS.slowAfterMs],
  ] as const) {
    const { waitMs, pass } = startBody();
    let elapsedMs = 0;
    while (waitMs((bytesPerSecond * elapsedMs) / 1000) !== undefined && elapsedMs <= 2 * longestMs) {
      pass(10_000);
      elapsedMs += 10_000;
    }
    assert.ok(elapsedMs > longestMs / 2 && elapsedMs <= 2 * longestMs, `given up after ${elapsedMs} ms`);
  }
});
