import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createArchive, openArchive } from '../../archive/index.ts';
import { seededIds, seededRandom } from '../../base/index.ts';
import { putSchedule } from '../../crawl/index.ts';
import { JobJournal } from './job-journal.ts';
import { JobQueue } from './job-queue.ts';
import { watchSchedules } from './schedule-clock.ts';

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
  putSchedule(archive, { collection: 'site', every: '6h', seeds: ['http://site.test/'], settings });
  now += 7 * HOUR_MS;
  const { journal } = await JobJournal.open(join(directory, 'jobs.jsonl'));
  const jobs = new JobQueue({ archive, journal, clock, newId, isNeeded: () => false }, []);
  const stopping = new AbortController();
  t.after(async () => {
    stopping.abort();
    await jobs.stop();
    await archive.close();
  });
  const look = async () => {
    watchSchedules(archive, jobs, stopping.signal);
    while (jobs.counts().queued! + jobs.counts().running! > 0) await new Promise(setImmediate);
    return jobs.list().map(({ state }) => state);
  };
  assert.deepEqual(await look(), ['failed']);
  assert.deepEqual(await look(), ['failed']);
  now += HOUR_MS;
  assert.deepEqual(await look(), ['failed', 'failed']);
});
