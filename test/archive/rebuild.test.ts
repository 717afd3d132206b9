/** A rebuild makes the next incarnation of the catalog, also when it is killed and the next opening goes on. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { dropCatalog, openArchive } from '../../src/archive/index.ts';
import { parseList } from '../../src/ledger/index.ts';
import { catalogOf, openWithParts } from './opened-parts.ts';
import { allCaptures, audit, contentOf, makeArchive, NOON, page, trialOptions } from './trial-archive.ts';

const POLICIES = { segmentBytesMax: 64 * 1024 };

function listOf(directory: string, incarnation: number) {
  const path = join(directory, 'volumes/main/_pinakes/catalog', `${incarnation}-1`);
  return existsSync(path) ? parseList(readFileSync(path)) : undefined;
}

test('R2 a rebuild begins an incarnation and lists what it counted, and collections keep their numbers', async (t) => {
  const archive = await makeArchive(t, { policies: POLICIES });
  for (const collection of ['zeta', 'alpha'])
    for (let n = 0; n < 30; n++)
      await archive.store(page(`http://${collection}.example/${n}`, NOON + n, contentOf(`${n % 20}`)), { collection });
  const before = await allCaptures(archive);
  const names = (await archive.segments()).map(({ name }) => name);
  assert.equal(await catalogOf(archive).incarnation(), 1);
  await archive.rebuild();
  assert.equal(await catalogOf(archive).incarnation(), 2);
  assert.deepEqual([...listOf(archive.directory, 2)!.segments].sort(), [...names].sort());
  const facts = (captures: typeof before) => captures.map(({ url, collection }) => [url, collection]);
  assert.deepEqual(facts(await allCaptures(archive)), facts(before));
  await archive.store(page('http://new.example/', NOON, contentOf('new')), { collection: 'middle' });
  const numbers = (await archive.collections.all()).map(({ number }) => number);
  assert.equal(new Set(numbers).size, 3, 'a new collection gets a number of its own');
  assert.deepEqual(await audit(archive), []);
  await archive.delete({ url: 'http://new.example/' });
  await archive.rebuild();
  assert.equal(await catalogOf(archive).incarnation(), 3);
  assert.equal((await allCaptures(archive)).length, 60, 'what was deleted stays deleted');
});

test('R2 the next opening completes a rebuild that was aborted, and one after a lost catalog is above all lists', async (t) => {
  const archive = await makeArchive(t, { policies: POLICIES });
  const { directory } = archive;
  for (let n = 0; n < 90; n++) await archive.store(page(`http://a.example/${n}`, NOON + n, contentOf(`page ${n}`)));
  const stop = new AbortController();
  await assert.rejects(archive.rebuild({ signal: stop.signal, onProgress: () => stop.abort() }), {
    name: 'AbortError',
  });
  await archive.close();
  assert.equal(listOf(directory, 2), undefined);
  const again = await openArchive(directory, trialOptions({ seed: 2 }));
  assert.equal((await allCaptures(again)).length, 90);
  assert.ok(listOf(directory, 2));
  assert.deepEqual(await audit(again), []);
  await again.close();

  await dropCatalog(directory);
  const lost = await openWithParts(directory, trialOptions({ seed: 3 }));
  t.after(() => lost.close());
  assert.equal(await catalogOf(lost).incarnation(), 3);
  assert.equal((await allCaptures(lost)).length, 90);
  await lost.delete({ url: 'http://a.example/1' });
  assert.equal((await allCaptures(lost)).length, 89);
});
