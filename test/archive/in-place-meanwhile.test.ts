/** Other work on an archive while it adds a file in place, in many steps. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Archive } from '../../src/archive/index.ts';
import { utf8 } from '../../src/base/index.ts';
import { response, writeForeign } from './foreign-file.ts';
import { allCaptures, makeArchive, NOON } from './trial-archive.ts';

const COUNT = 4500;
const urlOf = (number: number) => `http://x.example/${number}`;

/** Adds a file in place, and does some work as soon as the first captures of the file are in the archive. */
async function addAnd(t: TestContext, work: (archive: Archive) => Promise<unknown>): Promise<Archive> {
  const archive = await makeArchive(t);
  const records = Array.from({ length: COUNT }, (_, number) => response(urlOf(number), NOON, utf8(`page ${number}`)));
  const file = await writeForeign(join(archive.directory, 'many.warc.gz'), records);
  const meanwhile = async () => {
    while ((await archive.segments()).length === 0) await setImmediate();
    await work(archive);
  };
  const [report] = await Promise.all([archive.add([file], { inPlace: true, workers: 0 }), meanwhile()]);
  assert.deepEqual([report.failures, report.captures], [[], COUNT]);
  return archive;
}

async function assertSound(archive: Archive, captures: number): Promise<void> {
  assert.equal((await allCaptures(archive)).length, captures);
  const { errors, warnings } = await archive.verify();
  assert.deepEqual([errors, warnings], [0, 0]);
}

test('I6 Deleted means gone: captures that are deleted while their file is being added in place stay deleted', async (t) => {
  const archive = await addAnd(t, (filling) => filling.delete({ url: urlOf(0) }));
  assert.ok((await archive.segments())[0]!.deadBytes > 0);
  await archive.migrate('linked', 'main');
  assert.equal((await archive.compact()).segments, 1);
  await assertSound(archive, COUNT - 1);
});

test('a file that is migrated while it is being added in place is complete in the new volume', async (t) => {
  const archive = await addAnd(t, (filling) => filling.migrate('linked', 'main'));
  await assertSound(archive, COUNT);
});

test('a rebuild while a file is being added in place enters nothing twice', async (t) => {
  const archive = await addAnd(t, (filling) => filling.rebuild());
  await assertSound(archive, COUNT);
});
