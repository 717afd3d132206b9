import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MirrorStatus } from '../../archive/index.ts';
import { formatW3cDate } from '../../base/index.ts';
import type { Job } from '../../jobs/index.ts';
import { isDue } from './mirror-kind.ts';

const HOUR_MS = 3600 * 1000;
const NOW = Date.UTC(2026, 0, 1, 12);
const BASE = { name: 'attic', target: '/attic', id: 'x', delayMs: 0, withLinked: false, last: undefined };

function mirrorOf(ageMs: number | undefined, setting: Partial<MirrorStatus>): MirrorStatus {
  const counts = { number: 1, objects: 1, bytes: 1, copied: 0, copiedBytes: 0, removed: 0, earlier: 0, absent: 0 };
  const last = ageMs === undefined ? undefined : { ...counts, time: formatW3cDate(NOW - ageMs), barred: [] };
  return { ...BASE, ...setting, last };
}

function jobOf(kind: string, state: Job['state'], endedMsAgo: number, input: object = {}): Job {
  const at = formatW3cDate(NOW - endedMsAgo);
  const ended = state === 'running' || state === 'queued' ? {} : { endedAt: at };
  return { id: kind, kind, state, origin: 'api', createdAt: at, log: [], input, ...ended };
}

test('a mirror with an interval is due when it was never synced, or so long ago', () => {
  const everyMs = 6 * HOUR_MS;
  assert.equal(isDue(mirrorOf(undefined, { everyMs }), [], NOW), true);
  assert.equal(isDue(mirrorOf(5 * HOUR_MS, { everyMs }), [], NOW), false);
  assert.equal(isDue(mirrorOf(6 * HOUR_MS, { everyMs }), [], NOW), true);
  assert.equal(isDue(mirrorOf(undefined, {}), [jobOf('add', 'done', 0)], NOW), false);
});

test('a mirror that follows jobs is due when one that changes the archive has ended since the last sync', () => {
  const mirror = mirrorOf(HOUR_MS, { afterJobs: true });
  assert.equal(isDue(mirror, [jobOf('add', 'done', HOUR_MS / 2)], NOW), true);
  assert.equal(isDue(mirror, [jobOf('crawl', 'cancelled', HOUR_MS / 2)], NOW), true);
  assert.equal(isDue(mirror, [jobOf('add', 'done', 2 * HOUR_MS)], NOW), false);
  assert.equal(isDue(mirror, [jobOf('add', 'running', 0)], NOW), false);
  assert.equal(isDue(mirror, [jobOf('verify', 'done', 0), jobOf('export', 'done', 0)], NOW), false);
});

test('a mirror is not due while a sync of it waits or runs, nor soon after one failed', () => {
  const mirror = mirrorOf(undefined, { everyMs: 1 });
  for (const state of ['queued', 'running'] as const)
    for (const input of [{}, { mirror: 'attic' }])
      assert.equal(isDue(mirror, [jobOf('mirror-sync', state, 0, input)], NOW), false);
  assert.equal(isDue(mirror, [jobOf('mirror-sync', 'running', 0, { mirror: 'other' })], NOW), true);
  assert.equal(isDue(mirror, [jobOf('mirror-sync', 'failed', HOUR_MS / 2)], NOW), false);
  assert.equal(isDue(mirror, [jobOf('mirror-sync', 'failed', 2 * HOUR_MS)], NOW), true);
});
