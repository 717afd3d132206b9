/** A volume whose directory disappears while the archive is open. */
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { catalogOf, leaveTombstones } from './opened-parts.ts';
import { allCaptures, contentOf, makeArchive, NOON, page } from './trial-archive.ts';
import { problemsOf, twoVolumes, urlOf } from './two-volumes.ts';

const COUNT = 12;

test('verify reports a missing volume once, and no problem in the others', async (t) => {
  const { archive, second } = await twoVolumes(t, COUNT);
  await archive.delete({ url: urlOf('main', 3) });
  renameSync(second, `${second}-unplugged`);
  t.after(() => renameSync(`${second}-unplugged`, second));
  const problems = await problemsOf(archive);
  assert.deepEqual(
    problems.map(({ code, volume, leaning }) => ({ code, volume, leaning })),
    [{ code: 'volume-missing', volume: 'second', leaning: COUNT }],
  );
  assert.match(problems[0]!.message, /12 captures have their record there, 12 contents are held there$/);
});

test('verify does not report deleted records as lost when their tombstones are in a missing volume', async (t) => {
  const { archive, second } = await twoVolumes(t, COUNT);
  await archive.delete({ url: urlOf('main', 3) });
  await leaveTombstones(
    archive,
    (await archive.segments()).find(({ volume, deadBytes }) => volume === 'main' && deadBytes > 0)!,
    'second',
  );
  renameSync(second, `${second}-unplugged`);
  const problems = await problemsOf(archive);
  assert.deepEqual(
    problems.map(({ code, volume }) => ({ code, volume })),
    [{ code: 'volume-missing', volume: 'second' }],
  );
  assert.match(problems[0]!.message, /tombstones of other volumes lie there, of default\/[^,]+$/);
  renameSync(`${second}-unplugged`, second);
  assert.deepEqual(await problemsOf(archive), []);
});

test('stores go to the volumes that are left, and fail with the name of a missing one when none is left', async (t) => {
  const { archive, second } = await twoVolumes(t, COUNT);
  renameSync(second, `${second}-unplugged`);
  for (let number = 0; number < 2 * COUNT; number++)
    await archive.store(page(urlOf('later', number), NOON, contentOf(`later ${number}`)));
  for (const capture of await allCaptures(archive)) {
    if (!capture.url.startsWith('http://later.')) continue;
    assert.equal((await archive.segments()).find(({ number }) => number === capture.place.segment)?.volume, 'main');
  }
  renameSync(join(archive.directory, 'volumes/main'), join(archive.directory, 'volumes/unplugged'));
  const failing = archive.store(page('http://late.example/', NOON, contentOf('late')));
  await assert.rejects(failing, { code: 'VOLUME_MISSING', message: /volume main/ });
  renameSync(join(archive.directory, 'volumes/unplugged'), join(archive.directory, 'volumes/main'));
  renameSync(`${second}-unplugged`, second);
  assert.deepEqual(await problemsOf(archive), []);
});

test('a volume that disappears right after a store gets no content, and no store fails', async (t) => {
  // At one moment, so that the space of the volumes is not asked again by itself.
  const archive = await makeArchive(t, { clock: () => NOON });
  const second = join(archive.directory, 'volumes/second');
  await archive.addVolume({ name: 'second', path: second });
  const storeAll = (site: string) =>
    Promise.all(
      Array.from({ length: COUNT }, async (_, number) => {
        const stored = await archive.store(page(urlOf(site, number), NOON, contentOf(`${site} ${number}`)));
        return stored.key.slice(0, stored.key.indexOf(':'));
      }),
    );
  assert.deepEqual(new Set(await storeAll('before')), new Set(['main', 'second']));
  renameSync(second, `${second}-unplugged`);
  assert.deepEqual(new Set(await storeAll('after')), new Set(['main']));
  renameSync(`${second}-unplugged`, second);
  assert.deepEqual(await problemsOf(archive), []);
});

test('stores that fail while the volume is missing leave one row of a segment at most', async (t) => {
  const archive = await makeArchive(t);
  await archive.store(page(urlOf('main', 1), NOON, contentOf('first')));
  const directory = join(archive.directory, 'volumes/main');
  renameSync(directory, `${directory}-unplugged`);
  for (let number = 0; number < COUNT; number++) {
    const failing = archive.store(page(urlOf('late', number), NOON, contentOf(`late ${number}`)));
    await assert.rejects(failing, { code: 'VOLUME_MISSING' });
  }
  renameSync(`${directory}-unplugged`, directory);
  await archive.store(page(urlOf('main', 2), NOON, contentOf('second')));
  const rows = await catalogOf(archive).segments();
  assert.equal(rows.length, 2);
  assert.ok(rows.every(({ bytes }) => bytes > 0));
});
