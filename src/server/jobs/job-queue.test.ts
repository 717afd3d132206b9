import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createArchive, openArchive } from '../../archive/index.ts';
import { seededIds, seededRandom } from '../../base/index.ts';
import type { Job } from './job.ts';
import { JobJournal } from './job-journal.ts';
import { JobQueue } from './job-queue.ts';

async function queueIn(t: TestContext): Promise<{ jobs: JobQueue; path: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-queue-'));
  await createArchive(directory);
  const parts = { clock: () => 0, newId: seededIds(seededRandom(4)) };
  const archive = await openArchive(directory, parts);
  const path = join(directory, 'jobs.jsonl');
  const { journal } = await JobJournal.open(path);
  const jobs = new JobQueue({ archive, journal, ...parts, isNeeded: () => false }, []);
  t.after(async () => {
    await jobs.stop();
    await archive.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return { jobs, path };
}

test('when a job ends, its end is durable first, then its files are removed, then listeners are notified', async (t) => {
  const { jobs, path } = await queueIn(t);
  const seen: unknown[] = [];
  const newJob = { kind: 'add', origin: 'api', input: {}, lane: 'write', run: async () => ({}) } as const;
  const onOver = async ({ id }: Job) => {
    const last = readFileSync(path, 'utf8').trimEnd().split('\n').at(-1)!;
    seen.push((JSON.parse(last) as Job).state, jobs.get(id)?.state);
  };
  const { over } = await jobs.submit({ ...newJob, onOver });
  assert.equal((await over).state, 'done');
  assert.deepEqual(seen, ['done', 'running']);
});
