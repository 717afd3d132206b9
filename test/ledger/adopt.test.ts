import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { MemoryCatalog } from '../../src/catalog/index.ts';
import { adoptAll, collectLeftovers, rebuildCatalog } from '../../src/ledger/index.ts';
import { judgeCatalog, judgeRebuilt } from '../simulation/judge.ts';
import { healingOf } from '../simulation/ledger-healer.ts';
import { storesOf } from '../simulation/ledger-machine.ts';
import { storeGroups } from '../simulation/ledger-writer.ts';
import { SmallArchive } from './small-archive.ts';

const c = (id: string, content = 'x') => ({ id, content });

/** Makes a catalog again from the volume of an archive. */
async function rebuilt(archive: SmallArchive, catalog = new MemoryCatalog({ clock: () => archive.now })) {
  const machine = archive.machine('R', catalog);
  const options = { ...healingOf(machine, archive.kind), stores: storesOf(machine, archive.kind) };
  assert.ok(await rebuildCatalog(options, 'R'));
  return catalog;
}

for (const kind of ['bucket', 'disk'] as const)
  suite(`A rebuild on a ${kind}`, () => {
    test('gives the catalog that was lost', async () => {
      const archive = new SmallArchive(kind);
      await archive.sealed('A', [c('a'), c('b', 'y')]);
      await archive.sealed('B', [c('d'), c('e', 'z')]);
      const deleter = await archive.deleter('D');
      await deleter.deleteCaptures([(await archive.capture('a'))!, (await archive.capture('b'))!], 'request');
      for (const id of ['a', 'b']) archive.book.deletionTried.add(id).add(id);
      archive.book.deleted.add('a').add('b');
      const catalog = await rebuilt(archive);
      assert.deepEqual(await judgeCatalog(catalog, await archive.objects(), archive.book), []);
      const segmentsOf = async (of: MemoryCatalog) =>
        (await of.segments()).map(({ name, sequence }) => [name, sequence]).sort();
      // The segment of the deletions was open.
      const before = (await segmentsOf(archive.catalog)).filter(([name]) => !String(name).startsWith('_'));
      const after = (await segmentsOf(catalog)).filter(([name]) => !String(name).startsWith('_'));
      assert.deepEqual(after, before);
      assert.deepEqual(
        (await judgeRebuilt(archive.catalog, catalog)).filter((line) => !line.includes('_deletions')),
        [],
      );
    });

    test('begins an incarnation above every other, and refuses what was deleted', async () => {
      const archive = new SmallArchive(kind);
      await archive.sealed('A', [c('a')]);
      const deleter = await archive.deleter('D');
      await deleter.deleteCaptures([(await archive.capture('a'))!], 'request');
      const catalog = await rebuilt(archive);
      assert.equal(await catalog.incarnation(), 3);
      assert.equal(await catalog.isAdopting(), false);
      const again = await rebuilt(archive);
      assert.equal(await again.incarnation(), 5, 'the list in the volume has the number 3');
      const writer = archive.machine('W', again);
      archive.book.acknowledged.clear();
      const other = new SmallArchive(kind);
      Object.assign(other, { catalog: again, bucket: archive.bucket, disk: archive.disk, book: archive.book });
      await storeGroups(writer, await other.writer('W'), [[c('a')]]);
      assert.equal(archive.book.acknowledged.has('a'), false);
    });

    test('enters what was written and not committed, once', async () => {
      const archive = new SmallArchive(kind);
      const writer = await archive.writer('W');
      await storeGroups(archive.machine('W'), writer, [[c('a')]]);
      const { commit } = archive.catalog;
      archive.catalog.commit = () => Promise.reject(new TypeError('the process ends'));
      await assert.rejects(storeGroups(archive.machine('W'), writer, [[c('b', 'y')]]), TypeError);
      archive.catalog.commit = commit;
      const catalog = await rebuilt(archive);
      assert.deepEqual(await judgeCatalog(catalog, await archive.objects(), archive.book), []);
      assert.equal((await catalog.totals()).captures, 2);
      const again = await rebuilt(archive);
      assert.deepEqual(await judgeRebuilt(catalog, again), []);
    });
  });

suite('What an earlier incarnation left', () => {
  test('counts for nothing when it arrives after the list was written', async () => {
    const archive = new SmallArchive('bucket');
    const writer = await archive.writer('W');
    await storeGroups(archive.machine('W'), writer, [[c('a')]]);
    const [open] = writer.openSegments();
    const catalog = await rebuilt(archive);
    archive.bucket.set(open!.segment.name, Uint8Array.from([1]));
    const part = [...archive.bucket.keys()].find((name) => name.endsWith('.part'));
    assert.equal(part, undefined, 'the parts went after the sealing');
    await archive.store.append(open!.segment.name, 0, [Uint8Array.from([1])], 9);
    const again = await rebuilt(archive);
    assert.deepEqual(await judgeRebuilt(catalog, again), []);
  });

  test('is collected when it has been there for a day, and what others put there never is', async () => {
    const archive = new SmallArchive('bucket');
    await archive.sealed('A', [c('a')]);
    const name = await archive.sealed('B', [c('b', 'y')]);
    archive.now += 3_600_000;
    const [row] = (await archive.catalog.segments()).filter((segment) => segment.name === name);
    const { number, state, bytes, volume } = row!;
    const captures = [(await archive.capture('b'))!];
    await archive.catalog.commit({
      removeCaptures: captures,
      segments: [{ number, from: { state, bytes, volume }, to: undefined }],
    });
    archive.bucket.set('sim/of-others.warc.gz', archive.bucket.get(name)!.slice(0, 10));
    const { catalog } = archive;
    const stores = storesOf(archive.machine('G'));
    const collect = () => collectLeftovers({ catalog, stores, clock: () => archive.now, graceMs: 0 }, 'G');
    assert.deepEqual(await collect(), []);
    archive.now += 23 * 3_600_000;
    assert.deepEqual(await collect(), []);
    archive.now += 3_600_000;
    assert.deepEqual(await collect(), [name]);
    assert.equal(archive.bucket.has('sim/of-others.warc.gz'), true);
    assert.deepEqual(await catalog.notes('unlisted:'), {});
  });
});

suite('An adoption', () => {
  test('is not begun when nothing is to be adopted', async () => {
    const archive = new SmallArchive();
    const machine = archive.machine('A');
    const options = { ...healingOf(machine), stores: storesOf(machine) };
    assert.equal(await adoptAll(options, 'A'), undefined);
  });

  test('leaves a writer of this incarnation alone (I13)', async () => {
    const archive = new SmallArchive();
    await archive.catalog.beginIncarnation(2);
    const writer = await archive.writer('W');
    await storeGroups(archive.machine('W'), writer, [[c('a')]]);
    const machine = archive.machine('A');
    const options = { ...healingOf(machine), stores: storesOf(machine) };
    assert.deepEqual(await adoptAll(options, 'A'), { segments: [] });
    await storeGroups(archive.machine('W'), writer, [[c('b', 'y')]]);
    assert.deepEqual([...archive.book.acknowledged].sort(), ['a', 'b']);
    assert.deepEqual(await archive.judge(), []);
  });
});
