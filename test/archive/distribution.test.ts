/** The policy `distribution: hash`, and keys that name the volume where a content is. */
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Archive, openArchive } from '../../src/archive/index.ts';
import { bytesOf, contentOf, makeArchive, NOON, page, trialOptions } from './trial-archive.ts';

async function volumesByHash(t: TestContext, names: readonly string[]): Promise<Archive> {
  const archive = await makeArchive(t, { policies: { distribution: 'hash' } });
  for (const name of names) await archive.addVolume({ name, path: join(archive.directory, `volumes/${name}`) });
  return archive;
}

const store = (archive: Archive, site: string, number: number) =>
  archive.store(page(`http://${site}.example/${number}`, NOON + number, contentOf(`content ${number}`)));

const volumeOf = (key: string) => key.slice(0, key.indexOf(':'));

test('a content and its revisits are in the volume that its hash says, whoever stores it first', async (t) => {
  const [one, other] = [await volumesByHash(t, ['second', 'third']), await volumesByHash(t, ['third', 'second'])];
  const homes = new Map<number, string>();
  for (let number = 0; number < 40; number++) homes.set(number, volumeOf((await store(one, 'one', number)).key));
  assert.equal(new Set(homes.values()).size, 3);
  for (let number = 39; number >= 0; number--) {
    assert.equal(volumeOf((await store(other, 'other', number)).key), homes.get(number));
    const again = await store(one, 'again', number);
    const [location] = await one.records.locate([again.capture.place]);
    assert.deepEqual([again.isNew, location?.volume], [false, homes.get(number)]);
  }
});

test('the key of a duplicate names the volume where the content is, and keys with another volume still work', async (t) => {
  const archive = await makeArchive(t);
  await archive.addVolume({ name: 'second', path: join(archive.directory, 'volumes/second') });
  const body = contentOf('a page');
  const first = await archive.store(page('http://one.example/', NOON, body), { volume: 'second' });
  const same = await archive.store(page('http://two.example/', NOON, body), { volume: 'main' });
  assert.deepEqual([volumeOf(first.key), same.key, same.isNew], ['second', first.key, false]);
  const [location] = await archive.records.locate([same.capture.place]);
  assert.equal(location?.volume, 'main', 'the revisit itself is where it was to be');
  for (const volume of ['main:', 'gone:', ''])
    assert.deepEqual(
      await bytesOf((await archive.content(first.key.replace('second:', volume))).payload),
      Buffer.from(body),
    );
});

test('while a volume is missing, the next one takes its contents, and the others keep theirs', async (t) => {
  const before = await volumesByHash(t, ['second', 'third']);
  const homes: string[] = [];
  for (let number = 0; number < 40; number++) homes.push(volumeOf((await store(before, 'before', number)).key));
  await before.close();
  renameSync(join(before.directory, 'volumes/third'), join(before.directory, 'unplugged'));
  const archive = await openArchive(before.directory, trialOptions({ seed: 2 }));
  t.after(() => archive.close());
  const takers = new Set<string>();
  for (let number = 40; number < 100; number++) takers.add(volumeOf((await store(archive, 'meanwhile', number)).key));
  assert.deepEqual(takers, new Set(['main', 'second']));
  // A duplicate whose holder is away is stored again, in the next volume.
  for (let number = 0; number < 40; number++) {
    const { key } = await store(archive, 'again', number);
    if (homes[number] === 'third') assert.notEqual(volumeOf(key), 'third');
    else assert.equal(volumeOf(key), homes[number]);
  }
});

test('duplicates that are stored together are written to one volume, unless their hash says where they belong', async (t) => {
  for (const distribution of ['uniform', 'hash'] as const) {
    const archive = await makeArchive(t, { policies: { distribution } });
    for (const name of ['second', 'third'])
      await archive.addVolume({ name, path: join(archive.directory, `volumes/${name}`) });
    const storeAll = async (site: string) => {
      const stored = await Promise.all(Array.from({ length: 40 }, (_, number) => store(archive, site, number)));
      const segments = await archive.records.locate(stored.map(({ capture }) => capture.place));
      return new Set(segments.map((segment) => segment?.volume));
    };
    assert.equal((await storeAll('one')).size, 3, 'new contents are distributed');
    assert.equal((await storeAll('two')).size, distribution === 'hash' ? 3 : 1);
    const { errors } = await archive.verify();
    assert.equal(errors, 0);
  }
});
