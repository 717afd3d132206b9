/** The incarnation of an embedded catalog that was made again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstSequenceOf, MemoryCatalog } from '../../src/catalog/index.ts';
import { beginIncarnation, endBegunIncarnation, listName, parseList } from '../../src/ledger/index.ts';
import { storesOf } from '../simulation/ledger-machine.ts';
import { VOLUME } from '../simulation/world.ts';
import { SmallArchive } from './small-archive.ts';

test('R2 an incarnation is above all that left anything in the volumes, and lists what it counts', async () => {
  const archive = new SmallArchive('disk');
  const name = await archive.sealed('A', [{ id: 'a', content: 'x' }]);
  const { catalog } = archive;
  const stores = storesOf(archive.machine('R'), 'disk');
  assert.equal(await beginIncarnation({ catalog, stores }, 'R'), 2);
  assert.equal(await catalog.incarnation(), 2);
  assert.equal(await catalog.isAdopting(), false);
  const list = parseList((await archive.store.readObject(listName(2, 1), 10_000))!);
  assert.deepEqual([list?.incarnation, [...list!.segments]], [2, [name]]);
  const row = await catalog.listSegment({ volume: VOLUME, name: 'sim/next.warc.gz', collection: 1 });
  assert.ok(row!.sequence! >= firstSequenceOf(2));

  const lost = new MemoryCatalog({ clock: () => archive.now });
  assert.equal(await beginIncarnation({ catalog: lost, stores }, 'R'), 3, 'the volume has the list of the second');
});

test('R2 an incarnation that a killed owner began is completed by the next one', async () => {
  const { catalog } = new SmallArchive('disk');
  await catalog.beginIncarnation(2);
  await catalog.takeLease('adoption', 'killed', 1000);
  await endBegunIncarnation(catalog, 'next');
  assert.equal(await catalog.isAdopting(), true, 'a living process adopts');
  const other = new SmallArchive('disk').catalog;
  await other.beginIncarnation(2);
  await endBegunIncarnation(other, 'next');
  assert.equal(await other.isAdopting(), false);
  assert.equal(await other.incarnation(), 2);
});
