import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NamedSnapshots } from '../../src/archive/index.ts';
import { makeArchive } from './trial-archive.ts';

test('snapshots can be created and removed at the same time, and no two get the same name', async (t) => {
  const archive = await makeArchive(t);
  await archive.createSnapshot('old');
  const [one, two, removal, ...same] = await Promise.allSettled([
    archive.createSnapshot('one'),
    archive.createSnapshot('two'),
    archive.removeSnapshot('old'),
    archive.createSnapshot('same'),
    archive.createSnapshot('same'),
  ]);
  assert.deepEqual(
    [one, two, removal].map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled'],
  );
  assert.deepEqual(same.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  const written = new NamedSnapshots(archive.directory);
  await written.load();
  assert.deepEqual(
    written
      .all()
      .map(({ name }) => name)
      .sort(),
    ['one', 'same', 'two'],
  );
});
