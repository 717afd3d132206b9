import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { FileJobQueue, type JobQueue } from '../../src/jobs/index.ts';
import { claimed, jobQueueContract, submitted } from './job-queue.ts';

function filesIn(directory: string) {
  const path = join(directory, 'jobs.jsonl');
  let opened = 0;
  let now = Date.parse('2026-01-01T00:00:00Z');
  return () => FileJobQueue.open({ path, clock: () => now++, historyId: `history${++opened}` });
}

jobQueueContract('FileJobQueue', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-jobs-'));
  const fill = async (queue: JobQueue, count: number, state: 'queued' | 'cancelled') => {
    const ids = await Promise.all(Array.from({ length: count }, () => submitted(queue)));
    if (state === 'cancelled') for (const id of ids) await queue.cancel(id);
  };
  return { open: filesIn(directory), fill, dispose: async () => rmSync(directory, { recursive: true }) };
});

test('what a dead server has left is interrupted when the next one starts', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-jobs-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const open = filesIn(directory);
  const hooks = { keeps: () => false, onOver: async () => {} };
  const dead = await open();
  await dead.start(hooks);
  const ids = [await submitted(dead, { lane: 'a' }), await submitted(dead, { lane: 'a' })];
  await claimed(dead);
  const queue = await open();
  await queue.start(hooks);
  for (const id of ids) assert.equal((await queue.get(id))?.error?.code, 'JOB_INTERRUPTED');
  await Promise.all([queue.close(), dead.close()]);
});
