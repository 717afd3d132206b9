import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { PinakesError } from '../../src/base/index.ts';
import {
  adoptAll,
  boundsOfRows,
  collectLeftovers,
  droppedSegments,
  type HealedSegment,
  healSegment,
  isInBounds,
  LEASE_LIFE_MS,
  leasesToHeal,
  RootPlaces,
  type SegmentWriter,
} from '../../src/ledger/index.ts';
import type { TestCapture } from '../simulation/book.ts';
import { heal, healingOf } from '../simulation/ledger-healer.ts';
import { CONTENTS, storesOf, writerOf } from '../simulation/ledger-machine.ts';
import { storeGroups } from '../simulation/ledger-writer.ts';
import { VOLUME } from '../simulation/world.ts';
import { SmallArchive } from './small-archive.ts';

const c = (id: string, content = 'x') => ({ id, content });

class HealedArchive extends SmallArchive {
  /** A writer that stores some groups, and writes one more without committing it. */
  async left(name: string, stored: readonly (readonly TestCapture[])[], lost: readonly TestCapture[]): Promise<void> {
    const writer = await this.writer(name);
    await storeGroups(this.machine(name), writer, stored);
    await this.write(name, writer, lost);
  }

  /** Writes a group without committing it. */
  async write(name: string, writer: SegmentWriter, group: readonly TestCapture[]): Promise<void> {
    await this.withoutCommits(() => storeGroups(this.machine(name), writer, [group]));
  }

  /** Runs work while no commit reaches the catalog. */
  async withoutCommits(work: () => Promise<void>): Promise<void> {
    const { commit } = this.catalog;
    this.catalog.commit = () => Promise.reject(new PinakesError('CATALOG_UNREACHABLE', { where: 'test' }));
    await work();
    this.catalog.commit = commit;
  }

  async heal(name: string): Promise<HealedSegment[]> {
    this.now += LEASE_LIFE_MS;
    const healed = await heal(this.machine(`healer of ${name}`), name, this.kind);
    assert.ok(healed, 'the lease has ended');
    return healed;
  }
}

for (const kind of ['bucket', 'disk'] as const)
  suite(`Healing on a ${kind}`, () => {
    test('enters what a dead writer wrote and did not commit, and seals', async () => {
      const archive = new HealedArchive(kind);
      await archive.left('W', [[c('a')]], [c('b'), c('d', 'y')]);
      assert.equal(await archive.capture('b'), undefined);
      archive.now += LEASE_LIFE_MS;
      assert.deepEqual(await leasesToHeal(archive.catalog), ['W']);
      const [healed] = await archive.heal('W');
      assert.equal(healed?.kind, 'sealed');
      for (const id of ['a', 'b', 'd']) assert.ok(await archive.capture(id), id);
      assert.deepEqual(await archive.judge(), []);
      assert.deepEqual(await leasesToHeal(archive.catalog), []);
    });

    test('enters the first commit of a segment too', async () => {
      const archive = new HealedArchive(kind);
      await archive.left('W', [], [c('a')]);
      assert.equal((await archive.heal('W'))[0]?.kind, 'sealed');
      assert.ok(await archive.capture('a'));
      assert.deepEqual(await archive.judge(), []);
    });

    test('waits for the lease to end, and fences its holder (I13)', async () => {
      const archive = new HealedArchive(kind);
      const writer = await archive.writer('W');
      await storeGroups(archive.machine('W'), writer, [[c('a')]]);
      assert.equal(await heal(archive.machine('H'), 'W', kind), undefined);
      await archive.heal('W');
      assert.deepEqual(await writer.commit({ putNotes: { late: 'yes' } }), { kind: 'fenced', why: 'lease' });
    });

    test('ends the segment before the first record that is refused', async () => {
      const archive = new HealedArchive(kind);
      await archive.left('W', [[c('a')]], [c('b', 'y'), c('d', 'z'), c('e', 'v')]);
      await archive.sealed('V', [c('d', 'z')]);
      const [healed] = await archive.heal('W');
      assert.equal(healed?.kind, 'sealed');
      assert.ok(await archive.capture('b'));
      assert.equal(await archive.capture('e'), undefined, 'nothing after the refused record is entered');
      assert.deepEqual(await archive.judge(), []);
    });

    test('removes the row of a segment in which nothing was written', async () => {
      const archive = new HealedArchive(kind);
      const writer = await archive.writer('W');
      await writer.openFor({ collection: 1, collectionName: 'sim', volume: VOLUME, coding: 'gzip' });
      assert.equal((await archive.heal('W'))[0]?.kind, 'dropped');
      assert.deepEqual(await archive.catalog.segments(), []);
      assert.equal((await archive.objects()).size, 0);
    });

    test('goes on with the segment of the former owner of an embedded catalog', async () => {
      const archive = new HealedArchive(kind);
      const machine = archive.machine('W');
      const writer = writerOf(machine, { volume: kind });
      await storeGroups(machine, writer, [[c('a')]]);
      await archive.write('W', writer, [c('b', 'y')]);
      const [row] = await archive.catalog.segments();
      const options = { ...healingOf(machine, kind), lease: undefined };
      const healed = await healSegment(options, row!);
      assert.equal(healed.kind, 'open');
      assert.ok(await archive.capture('b'));
      const next = writerOf(machine, { volume: kind, firstAttempt: 2 ** 24 });
      next.resume(healed.row!, { collection: 1, collectionName: 'sim', volume: VOLUME, coding: 'gzip' });
      await storeGroups(machine, next, [[c('d', 'z')]]);
      assert.deepEqual([...archive.book.acknowledged].sort(), ['a', 'd']);
      assert.deepEqual(await archive.judge(), []);
      assert.equal((await archive.catalog.segments()).length, 1);
    });

    test('carries out a deletion that was written and not committed', async () => {
      const archive = new HealedArchive(kind);
      await archive.sealed('W', [c('a'), c('b')]);
      const writer = await archive.writer('D');
      const deleter = archive.deleterOf(writer);
      const seen = [(await archive.capture('a'))!];
      await archive.withoutCommits(() =>
        assert.rejects(deleter.deleteCaptures(seen, 'request'), { code: 'CATALOG_UNREACHABLE' }),
      );
      assert.ok(await archive.capture('a'));
      archive.book.deletionTried.add('a');
      await archive.heal('D');
      assert.equal(await archive.capture('a'), undefined);
      archive.book.deleted.add('a');
      assert.deepEqual(await archive.judge(), []);
    });
  });

suite('Healing', () => {
  test('cuts a torn record off a growing object (I3)', async () => {
    const archive = new HealedArchive('disk');
    await archive.left('W', [[c('a')]], [c('b', 'y')]);
    const [row] = await archive.catalog.segments();
    const object = archive.disk.objects.get(row!.name)!;
    await archive.store.append(row!.name, object.bytes, [object.buffer.slice(0, 100)], 1);
    assert.equal((await archive.heal('W'))[0]?.kind, 'sealed');
    assert.ok(await archive.capture('b'));
    assert.deepEqual(await archive.judge(), []);
  });

  test('reports a segment that is shorter than was committed, and leaves it', async () => {
    const archive = new HealedArchive('bucket');
    await archive.left('W', [[c('a')]], [c('b', 'y')]);
    const [row] = await archive.catalog.segments();
    archive.bucket.delete(row!.parts![0]!.name);
    assert.equal((await archive.heal('W'))[0]?.kind, 'damaged');
    assert.deepEqual(await archive.catalog.segments(), [row]);
  });

  test('leaves replacements that a compaction writes alone', async () => {
    const archive = new HealedArchive('bucket');
    const lease = await archive.catalog.takeLease('compaction:main', 'C', LEASE_LIFE_MS);
    await archive.catalog.listSegment({ volume: VOLUME, name: 'sim/new.warc.gz', collection: 1 }, lease);
    archive.now += LEASE_LIFE_MS;
    assert.deepEqual(await leasesToHeal(archive.catalog), []);
  });

  test('a part that arrives after its segment was dropped, and is adopted after a failover, is in no earlier snapshot (I8)', async () => {
    const archive = new HealedArchive('bucket');
    await archive.sealed('P', [c('p')]);
    const writer = await archive.writer('W');
    await writer.openFor(CONTENTS);
    await archive.sealed('Q', [c('q', 'y')]);
    assert.equal((await archive.heal('W'))[0]?.kind, 'dropped');
    const { catalog } = archive;
    const taken = async () => boundsOfRows(await catalog.segments(), await droppedSegments(catalog));
    const before = await taken();
    await archive.write('W', writer, [c('late', 'z')]);
    await catalog.beginIncarnation(2);
    const machine = archive.machine('A');
    assert.ok(await adoptAll({ ...healingOf(machine), stores: storesOf(machine) }, 'A'));
    const after = await taken();
    const places = await RootPlaces.load(catalog);
    for (const id of ['p', 'q', 'late']) {
      const root = (await places.rootOf((await archive.capture(id))!.place))!;
      assert.deepEqual([isInBounds(before, root), isInBounds(after, root)], [id !== 'late', true], id);
    }
    archive.now += 24 * 3600 * 1000;
    await collectLeftovers({ catalog, clock: machine.clock, stores: storesOf(machine), graceMs: 0 }, 'G');
    assert.deepEqual(await droppedSegments(catalog), []);
  });

  test('leaves a catalog that is being adopted alone (R2)', async () => {
    const archive = new HealedArchive('bucket');
    await archive.left('W', [[c('a')]], [c('b', 'y')]);
    await archive.catalog.beginIncarnation(2);
    assert.equal(await heal(archive.machine('H'), 'W'), undefined);
    assert.equal(await archive.capture('b'), undefined);
  });
});
