/** What an examination says of leases and of notes in the catalog of an open archive. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adviceOn } from '../../src/archive/index.ts';
import type { Catalog } from '../../src/catalog/index.ts';
import { REPLACED_NOTE, SEAL_NOTE, SEALED_NOTE, SWAPPING_NOTE } from '../../src/ledger/index.ts';
import { catalogOf } from './opened-parts.ts';
import { contentOf, makeArchive, NOON, page } from './trial-archive.ts';

test('leases are shown, and the open segments of an ended one are to be healed', async (t) => {
  const archive = await makeArchive(t);
  const catalog = catalogOf(archive) as ReturnType<typeof catalogOf> & Catalog;
  const lease = await catalog.takeLease('writer 7', 'process 7 on a host');
  assert.ok(lease);
  const row = await catalog.listSegment({ volume: 'main', name: 'default/a.warc.gz', collection: 1 }, lease);
  assert.ok(row);
  const living = await archive.examine();
  assert.deepEqual(
    living.catalog!.leases.map(({ name, holder, isLiving }) => ({ name, holder, isLiving })),
    [{ name: 'writer 7', holder: 'process 7 on a host', isLiving: true }],
  );
  assert.equal(living.catalog!.openSegments[0]!.lease, 'writer 7');
  assert.deepEqual(adviceOn(living), []);
  await catalog.endLease(lease);
  assert.match(
    adviceOn(await archive.examine())[0]!.message,
    /^1 open segment belongs to writers whose lease has ended$/,
  );
});

test('replaced segments, parts and a takedown are waited for as the notes of the catalog say', async (t) => {
  const archive = await makeArchive(t);
  await archive.store(page('http://a.test/', NOON, contentOf('a')));
  const removal = JSON.stringify({ by: 'new', volume: 'main', at: NOON });
  await catalogOf(archive).commit({
    putNotes: {
      [`${SWAPPING_NOTE}new`]: JSON.stringify(['old 1', 'old 2']),
      [`${REPLACED_NOTE}old 3`]: removal,
      [`${SEALED_NOTE}sealed`]: String(NOON),
      [`${SEAL_NOTE}open`]: 'request',
    },
  });
  const { pending } = (await archive.examine()).catalog!;
  assert.deepEqual(
    pending.map(({ kind, what, waitsFor }) => [kind, what, waitsFor]),
    [
      ['replaced segment', 'old 1', 'next change'],
      ['replaced segment', 'old 2', 'next change'],
      ['replaced segment', 'old 3', 'grace'],
      ['parts', 'sealed', 'grace'],
      ['barred bytes', 'open', 'sealing'],
    ],
  );
});
