/** A clock that was set back gives a new segment the name of an earlier one. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { dropCatalog, openArchive } from '../../src/archive/index.ts';
import { allCaptures, contentOf, makeArchive, NOON, page, trialOptions } from '../archive/trial-archive.ts';

test('tombstones of a removed segment do not apply to a new segment, although the clock gives it the same name', async (t) => {
  const clock = () => NOON;
  const archive = await makeArchive(t, { clock });
  const { directory } = archive;
  const store = (into: typeof archive, name: string) =>
    into.store(page(`http://x.example/${name}`, NOON, contentOf(name)));
  await store(archive, 'gone');
  const { name } = (await archive.segments())[0]!;
  const [gone] = await allCaptures(archive);
  await archive.delete({ url: 'http://x.example/gone' });
  const tombstones = join(directory, 'volumes/main', `${name}.tombstones.open`);
  await archive.compact();
  await archive.close();
  await writeFile(tombstones, `${gone!.place.offset} -\n`);
  await dropCatalog(directory);

  const again = await openArchive(directory, trialOptions({ seed: 2, clock }));
  await store(again, 'kept');
  await again.rebuild();
  assert.deepEqual(
    (await allCaptures(again)).map(({ url }) => url),
    ['http://x.example/kept'],
  );
  await again.close();
});
