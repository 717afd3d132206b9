import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatW3cDate } from '../../base/index.ts';
import { INTERRUPTED, type Job } from '../../jobs/index.ts';
import { areCopiesDue } from './copies-kind.ts';

const MINUTE_MS = 60_000;
const NOW = Date.UTC(2026, 0, 1, 12);

/** A job that ran from one moment to another, in minutes before now. */
function jobOf(kind: string, state: Job['state'], from: number, to?: number, more: Partial<Job> = {}): Job {
  const at = (minutes: number) => formatW3cDate(NOW - minutes * MINUTE_MS);
  const ended = to === undefined ? {} : { endedAt: at(to) };
  return { id: kind, kind, state, origin: 'api', createdAt: at(from), startedAt: at(from), ...ended, log: [], ...more };
}

test('copies are made after a job that stored something, and not again until another one has', () => {
  assert.equal(areCopiesDue([], NOW), false);
  assert.equal(areCopiesDue([jobOf('add', 'running', 5)], NOW), false);
  assert.equal(areCopiesDue([jobOf('verify', 'done', 5, 1), jobOf('export', 'done', 5, 1)], NOW), false);
  for (const state of ['done', 'failed', 'cancelled'] as const)
    assert.equal(areCopiesDue([jobOf('crawl', state, 5, 4)], NOW), true);
  const copied = jobOf('copies', 'done', 30, 29);
  assert.equal(areCopiesDue([jobOf('add', 'done', 40, 31), copied], NOW), false);
  assert.equal(areCopiesDue([jobOf('add', 'done', 40, 29), copied], NOW), true, 'it ended while copies were made');
});

test('copies are not made while they are being made, nor too often, nor soon after a failure', () => {
  const stored = jobOf('add', 'done', 2, 1);
  for (const state of ['queued', 'running'] as const)
    assert.equal(areCopiesDue([stored, jobOf('copies', state, 0)], NOW), false);
  assert.equal(areCopiesDue([stored, jobOf('copies', 'done', 9, 6)], NOW), false, 'it took three minutes');
  assert.equal(areCopiesDue([stored, jobOf('copies', 'done', 39, 36)], NOW), true);
  assert.equal(areCopiesDue([stored, jobOf('copies', 'cancelled', 30, 20)], NOW), false);
  assert.equal(areCopiesDue([stored, jobOf('copies', 'cancelled', 90, 80)], NOW), true);
  assert.equal(areCopiesDue([stored, jobOf('copies', 'failed', 30, 20, { error: INTERRUPTED })], NOW), true);
});
