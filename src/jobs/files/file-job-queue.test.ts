import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Job } from '../job.ts';
import { FileJobQueue } from './file-job-queue.ts';

test('when a job ends, its end is durable first, then its files are removed, then listeners are called', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-queue-'));
  const path = join(directory, 'jobs.jsonl');
  const queue = await FileJobQueue.open({ path, clock: () => 0, historyId: 'one' });
  t.after(async () => {
    await queue.close();
    rmSync(directory, { recursive: true });
  });
  const seen: unknown[] = [];
  const onOver = async ({ id }: Job) => {
    const last = readFileSync(path, 'utf8').trimEnd().split('\n').at(-1)!;
    seen.push((JSON.parse(last) as Job).state, (await queue.get(id))?.state);
  };
  await queue.start({ keeps: () => false, onOver });
  const place = { lane: 'write', isCancellable: true, isResumable: false, isLocal: false };
  await queue.submit({ id: 'a', kind: 'add', origin: 'api', input: {}, ...place });
  const claim = await queue.claim(new Set(['add']));
  assert.equal(await queue.end(claim!, { state: 'done', report: {} }), true);
  assert.equal((await queue.get('a'))?.state, 'done');
  assert.deepEqual(seen, ['done', 'running']);
});
