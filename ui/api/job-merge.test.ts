import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isUnderWay, mergedJobs } from './job-merge.ts';
import type { Job } from './replies.ts';

const job = (id: string, state: Job['state'], done?: number): Job => ({
  id,
  kind: 'add',
  state,
  origin: 'api',
  input: {},
  createdAt: `2024-01-01T00:00:0${id}Z`,
  log: [],
  ...(done !== undefined && { progress: { done, unit: 'bytes' } }),
});

test('jobs are sorted newest first, each once', () => {
  const merged = mergedJobs([job('1', 'done')], [job('2', 'queued'), job('1', 'done')]);
  assert.deepEqual(
    merged.map(({ id }) => id),
    ['2', '1'],
  );
});

test('an older state of a job does not replace a newer one', () => {
  const known = mergedJobs([], [job('1', 'done', 9), job('2', 'running', 5)]);
  const merged = mergedJobs(known, [job('1', 'queued'), job('2', 'running', 3)]);
  assert.deepEqual(merged, known);
  assert.equal(mergedJobs(merged, [job('2', 'cancelled', 5)])[0]!.state, 'cancelled');
});

test('a job is under way while it is queued or running', () => {
  const states = ['queued', 'running', 'done', 'failed', 'cancelled'] as const;
  assert.deepEqual(
    states.filter((state) => isUnderWay(job('1', state))),
    ['queued', 'running'],
  );
});

test('a job that waits again, because its server died, is shown as waiting', () => {
  const known = mergedJobs([], [job('1', 'running', 5)]);
  const again = { ...job('1', 'queued', 5), attempt: 2 };
  assert.equal(mergedJobs(known, [again])[0]!.state, 'queued');
  assert.equal(mergedJobs([again], known)[0]!.state, 'queued');
});
