import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createArchive, openArchive } from '../../archive/index.ts';
import { seededIds, seededRandom } from '../../base/index.ts';
import { putSchedule } from '../../crawl/index.ts';
import { FileJobQueue, isOver, JobRunner } from '../../jobs/index.ts';
import { crawlKind } from './crawl-kind.ts';
import { JOB_ERRORS } from './job-error.ts';
import { submitDueCrawls } from './schedule-clock.ts';

const HOUR_MS = 3600_000;

test('a scheduled crawl that cannot run is tried again after an hour, not at every check', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-schedule-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  let now = Date.parse('2024-03-01T10:00:00Z');
  const clock = () => now;
  const newId = seededIds(seededRandom(1));
  await createArchive(directory);
  const archive = await openArchive(directory, { clock, newId });
  const settings = { browser: 'all', browserPath: join(directory, 'no-browser') } as const;
  await putSchedule(archive, { collection: 'site', every: '6h', seeds: ['http://site.test/'], settings });
  now += 7 * HOUR_MS;
  const queue = await FileJobQueue.open({ path: join(directory, 'jobs.jsonl'), clock, historyId: 'one' });
  const jobs = new JobRunner({ queue, archive, newId, errors: JOB_ERRORS });
  jobs.start([crawlKind]);
  t.after(async () => {
    await jobs.stop();
    await archive.close();
  });
  const look = async () => {
    await submitDueCrawls(archive, jobs);
    while ((await queue.list()).some((job) => !isOver(job))) await new Promise(setImmediate);
    return (await queue.list()).map(({ state }) => state);
  };
  assert.deepEqual(await look(), ['failed']);
  assert.deepEqual(await look(), ['failed']);
  now += HOUR_MS;
  assert.deepEqual(await look(), ['failed', 'failed']);
});
