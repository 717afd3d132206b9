/**
 * While a catalog is made again, it keeps the contents of deleted records, since captures that refer to them may still
 * be found. These contents are removed when all segments were read.
 */
import assert from 'node:assert/strict';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createArchive, dropCatalog, openArchive } from '../../src/archive/index.ts';
import { openLevelCatalog } from '../../src/catalog/index.ts';
import {
  contentOf,
  makeArchive,
  NOON,
  page,
  payloadAt,
  temporaryDirectory,
  trialOptions,
} from '../archive/trial-archive.ts';

const URL = 'http://x.example/';

test('I6 Deleted means gone: a deleted content stays gone when the opening that makes the catalog again is interrupted', async (t) => {
  const archive = await makeArchive(t);
  const { directory } = archive;
  const { key } = await archive.store(page(URL, NOON, contentOf('to be deleted')));
  await archive.store(page(`${URL}other`, NOON, contentOf('other')));
  await archive.delete({ url: URL });
  await archive.close();
  await dropCatalog(directory);
  const catalog = await openLevelCatalog(join(directory, 'catalog'));
  const commit = catalog.commit.bind(catalog);
  catalog.commit = (group) => (group.sweep?.length ? Promise.reject(new Error('killed')) : commit(group));
  await assert.rejects(openArchive(directory, { ...trialOptions({ seed: 2 }), catalog }), /killed/);

  const again = await openArchive(directory, trialOptions({ seed: 3 }));
  await assert.rejects(again.content(key), { code: 'CONTENT_MISSING' });
  assert.equal((await again.compact()).segments, 1);
  assert.equal((await again.totals()).blocks, 1);
  await again.close();
});

test('I5 No capture loses its content: a catalog that was lost waits for the volume of a capture', async (t) => {
  const directory = await temporaryDirectory(t);
  const second = join(directory, 'second');
  await createArchive(join(directory, 'archive'));
  const archive = await openArchive(join(directory, 'archive'), trialOptions());
  await archive.addVolume({ name: 'second', path: second });
  await archive.store(page(URL, NOON, contentOf('shared')), { volume: 'main' });
  await archive.store(page(`${URL}later`, NOON + 1000, contentOf('shared')), { volume: 'second' });
  await archive.delete({ url: URL });
  await archive.close();
  await dropCatalog(archive.directory);
  await rename(second, `${second}-unplugged`);
  // Without the volume nothing would refer to the content that it shares.
  await assert.rejects(openArchive(archive.directory, trialOptions({ seed: 2 })), { code: 'VOLUME_NEEDED' });
  await rename(`${second}-unplugged`, second);
  const whole = await openArchive(archive.directory, trialOptions({ seed: 3 }));
  await whole.compact();
  assert.deepEqual(await payloadAt(whole, `${URL}later`), Buffer.from(contentOf('shared')));
  assert.equal((await whole.verify()).errors, 0);
  await whole.close();
});
