/** A catalog that is made again serves nothing that was deleted, whichever volume says so. */
import assert from 'node:assert/strict';
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Archive, createArchive, openArchive } from '../../src/archive/index.ts';
import { allCaptures, contentOf, NOON, page, temporaryDirectory, trialOptions } from './trial-archive.ts';

const urlsOf = async (archive: Archive) => (await allCaptures(archive)).map(({ url }) => url);

/** The directory of an archive with captures in the volume `main`, one of which is deleted by a record in `second`. */
async function withDeletion(t: TestContext): Promise<{ readonly directory: string; readonly second: string }> {
  const directory = await temporaryDirectory(t);
  const second = await temporaryDirectory(t);
  await createArchive(directory, { policies: { segmentBytesMax: 4000 } });
  const archive = await openArchive(directory, trialOptions());
  for (const name of ['a', 'b', 'c', 'd'])
    await archive.store(page(`http://${name}.example/`, NOON, contentOf(name)), { collection: name });
  await archive.addVolume({ name: 'second', path: second });
  await archive.setVolumeWritable('main', false);
  await archive.delete({ url: 'http://b.example/' });
  await archive.setVolumeWritable('main', true);
  await archive.close();
  return { directory, second };
}

const LEFT = ['http://a.example/', 'http://c.example/', 'http://d.example/'];

test('I6: a catalog that was lost is not made again while a volume is away, since deletions may be in it', async (t) => {
  const { directory, second } = await withDeletion(t);
  rmSync(join(directory, 'catalog'), { recursive: true });
  renameSync(second, `${second}-away`);
  for (const _ of [1, 2])
    await assert.rejects(openArchive(directory, trialOptions({ seed: 2 })), {
      code: 'VOLUME_NEEDED',
      message: /second/,
    });
  const waiting = await openArchive(directory, { ...trialOptions({ seed: 3 }), awaitsVolumes: true });
  assert.deepEqual(await urlsOf(waiting), []);
  await waiting.close();
  renameSync(`${second}-away`, second);
  const archive = await openArchive(directory, trialOptions({ seed: 4 }));
  assert.deepEqual(await urlsOf(archive), LEFT);
  await archive.close();
});

test('I6: nothing that was deleted is seen at any moment of a rebuild', async (t) => {
  const { directory } = await withDeletion(t);
  const archive = await openArchive(directory, trialOptions({ seed: 2 }));
  t.after(() => archive.close());
  const seen: Promise<string[]>[] = [];
  await archive.rebuild({ onProgress: () => void seen.push(urlsOf(archive)) });
  const all = (await Promise.all(seen)).flat();
  assert.ok(all.includes('http://d.example/'));
  assert.ok(!all.includes('http://b.example/'));
  assert.deepEqual(await urlsOf(archive), LEFT);
  assert.equal((await archive.verify()).errors, 0);
});
