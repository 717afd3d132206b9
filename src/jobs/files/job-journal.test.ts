import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Job } from '../job.ts';
import { JobJournal } from './job-journal.ts';

function pathIn(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-journal-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, 'jobs.jsonl');
}

function job(id: string, state: Job['state']): Job {
  return { id, kind: 'add', state, origin: 'api', input: {}, createdAt: '2026-01-01T00:00:00Z', log: [] };
}

test('the last line of a job is its state, and jobs keep their order of creation', async (t) => {
  const path = pathIn(t);
  const { journal } = await JobJournal.open(path);
  for (const one of [job('a', 'queued'), job('b', 'queued'), job('a', 'running'), job('b', 'done'), job('a', 'done')])
    await journal.write(one, () => []);
  await journal.close();
  const { journal: again, jobs } = await JobJournal.open(path);
  await again.close();
  assert.deepEqual(jobs, [job('a', 'done'), job('b', 'done')]);
});

test('a torn last line and foreign lines are ignored; the line appended next is kept', async (t) => {
  const path = pathIn(t);
  writeFileSync(path, `${JSON.stringify(job('a', 'done'))}\nnull\n17\n{"id":4}\n{"id":"b","kind":"ad`);
  const { journal, jobs } = await JobJournal.open(path);
  assert.deepEqual(jobs, [job('a', 'done')]);
  await journal.write(job('c', 'queued'), () => []);
  await journal.close();
  const { journal: again, jobs: later } = await JobJournal.open(path);
  await again.close();
  assert.deepEqual(
    later.map(({ id }) => id),
    ['a', 'c'],
  );
});

test('a file of mostly outdated lines is rewritten with the kept jobs; later lines are appended', async (t) => {
  const path = pathIn(t);
  const { journal } = await JobJournal.open(path);
  const kept = [job('x', 'done'), job('y', 'running')];
  for (let turn = 0; turn < 600; turn++) await journal.write(job('y', 'running'), () => kept);
  const lines = readFileSync(path, 'utf8').split('\n').length;
  assert.ok(lines < 520, `${lines} lines`);
  await journal.write(job('z', 'queued'), () => kept);
  await journal.close();
  const { journal: again, jobs } = await JobJournal.open(path);
  await again.close();
  assert.deepEqual(
    jobs.map(({ id, state }) => [id, state]),
    [
      ['x', 'done'],
      ['y', 'running'],
      ['z', 'queued'],
    ],
  );
});

/** Writes a small job, a large one and a small one, with a limit of some kilobytes for files. */
const FULL_DISK = `
  const [journalModule, path] = process.argv.slice(1);
  const { JobJournal } = await import(journalModule);
  const { journal } = await JobJournal.open(path);
  const job = (id, text) => ({ id, kind: 'add', state: 'queued', origin: 'api', input: { text }, log: [] });
  const outcomes = [];
  for (const one of [job('a', ''), job('b', 'x'.repeat(100_000)), job('c', '')])
    outcomes.push(await journal.write(one, () => []).then(() => 'written', () => 'refused'));
  process.stdout.write(outcomes.join(' '));
`;

const noLimit = process.platform === 'win32' && 'no limits on the size of files here';

test('a line that does not fit on the disk is removed; the line appended next is kept', {
  skip: noLimit,
}, async (t) => {
  const path = pathIn(t);
  const script = 'ulimit -f 16 && exec "$1" --input-type=module -e "$2" "$3" "$4"';
  const journalModule = fileURLToPath(new URL('./job-journal.ts', import.meta.url));
  const { stdout, stderr } = spawnSync('sh', ['-c', script, 'sh', process.execPath, FULL_DISK, journalModule, path], {
    encoding: 'utf8',
    // The limit would also affect the cache of compiled code.
    env: { ...process.env, NODE_COMPILE_CACHE: '' },
  });
  assert.equal(stdout, 'written refused written', stderr);
  const { journal, jobs } = await JobJournal.open(path);
  await journal.close();
  assert.deepEqual(
    jobs.map(({ id }) => id),
    ['a', 'c'],
  );
});
