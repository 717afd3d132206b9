import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { PinakesError } from '../../src/base/index.ts';
import type { CommitGroup, Segment } from '../../src/catalog/index.ts';
import {
  boundsOfRows,
  compactionLease,
  HeldLease,
  isInBounds,
  pendingSwaps,
  type Replacement,
  ReplacementWriter,
  RootPlaces,
  readReplacedNotes,
  Swaps,
  sealedBytes,
  segmentRecords,
} from '../../src/ledger/index.ts';
import { idOf } from '../simulation/book.ts';
import { recordsOf } from '../simulation/found-record.ts';
import { judgeObjects } from '../simulation/judge.ts';
import { compact } from '../simulation/ledger-compactor.ts';
import { CONTENTS, storesOf, type VolumeKind, writerOf } from '../simulation/ledger-machine.ts';
import { VOLUME } from '../simulation/world.ts';
import { SmallArchive } from './small-archive.ts';

const c = (id: string, content = id) => ({ id, content });

async function compactAll(archive: SmallArchive, name: string, graceMs = 0): Promise<void> {
  const machine = archive.machine(name);
  await compact(machine, { volume: archive.kind, rounds: 20, merges: true, graceMs });
  assert.deepEqual(await archive.judge(), []);
}

async function remove(archive: SmallArchive, by: string, ...ids: string[]): Promise<void> {
  for (const id of ids) {
    await (await archive.deleter(`${by}${id}`)).deleteCaptures([(await archive.capture(id))!], by);
    archive.book.deletionTried.add(id);
    archive.book.deleted.add(id);
  }
  for (const { lease, state, number, ...row } of await archive.catalog.segments())
    if (state === 'open' && lease) await sealAs(archive, { lease, state, number, ...row });
}

async function sealAs(archive: SmallArchive, row: Segment): Promise<void> {
  const writer = writerOf(archive.machine(row.lease!.name), { lease: row.lease!, volume: archive.kind });
  writer.resume(row, CONTENTS);
  await writer.seal(writer.openSegments()[0]!);
}

/** The root place of each capture, by its id. */
async function rootsOfCaptures(archive: SmallArchive): Promise<Map<string, string>> {
  const places = await RootPlaces.load(archive.catalog);
  const roots = new Map<string, string>();
  for await (const page of archive.catalog.captures({}))
    for (const { url, place, urlKey, time } of page) {
      const root = await places.rootOf(place);
      assert.ok(root);
      roots.set(idOf(url), `${root.root} ${root.sequence} ${root.offset}`);
      const [current] = await places.currentOf(root.root, root.offset);
      assert.deepEqual(
        [current?.segment.number, current?.offset, current?.isSame],
        [place.segment, place.offset, true],
      );
      const [capture] = await places.capturesOf([{ urlKey, time, root }]);
      assert.equal(capture?.url, url);
    }
  return roots;
}

/** A replacement of a segment without its dead records, under a lease of its own. */
async function replacementOf(archive: SmallArchive, name: string, by: string) {
  const machine = archive.machine(by);
  const held = await HeldLease.take(archive.catalog, compactionLease(VOLUME), by, { lifeMs: 60_000 });
  assert.ok(held, 'the compaction lease is free');
  const { lease } = held;
  const stores = storesOf(machine, archive.kind);
  const swaps = new Swaps({
    catalog: machine.catalog,
    stores,
    volume: VOLUME,
    lease,
    clock: machine.clock,
    graceMs: 1000,
  });
  const old = (await archive.catalog.segmentByName(name))!;
  const options = {
    catalog: archive.catalog,
    stores,
    writer: writerOf(machine, { lease, volume: archive.kind }),
    clock: machine.clock,
    newId: machine.ids,
  };
  const writer = await ReplacementWriter.begin(options, [old], CONTENTS);
  const dead = new Set((await archive.catalog.deadRecords(old.number)).map(({ offset }) => offset));
  for await (const { facts } of segmentRecords(archive.store, sealedBytes(name, old.bytes), 0, old.bytes))
    if (facts.kind && !dead.has(facts.offset)) await writer.copy(old, facts.offset, facts.length);
  return { swaps, writer, held, finish: (): Promise<Replacement> => writer.finish() };
}

for (const kind of ['bucket', 'disk'] as VolumeKind[])
  suite(`A segment that is replaced, on a ${kind},`, () => {
    test('leaves no bytes of what was deleted, and the rest as it was (I4, I6)', async () => {
      const archive = new SmallArchive(kind);
      const name = await archive.sealed('P', [c('a'), c('b'), c('d')]);
      const before = await recordsOf((await archive.objects()).get(name)!);
      await remove(archive, 'D', 'b');
      await compactAll(archive, 'K');
      const objects = await archive.objects();
      assert.deepEqual(await judgeObjects(archive.catalog, objects, archive.book), []);
      assert.ok(!objects.has(name));
      const { place } = (await archive.capture('d'))!;
      const row = (await archive.catalog.segment(place.segment))!;
      const after = await recordsOf(objects.get(row.name)!);
      const old = before.find(({ url }) => idOf(url) === 'd')!;
      const copied = after.find(({ url }) => idOf(url) === 'd')!;
      assert.deepEqual({ ...copied, offset: 0 }, { ...old, offset: 0 });
      const notes = await readReplacedNotes(storesOf(archive.machine('r'), kind), () => true);
      assert.equal(notes.of(name)?.by, row.name);
      assert.ok(notes.isReplacement(row.name));
    });

    test('keeps the root places of its records, however often it is replaced (R4)', async () => {
      const archive = new SmallArchive(kind);
      await archive.sealed('P', [c('a'), c('b'), c('d'), c('e'), c('f')]);
      const roots = await rootsOfCaptures(archive);
      for (const [by, gone] of [
        ['D', 'b'],
        ['E', 'e'],
        ['F', 'a'],
      ] as const) {
        await remove(archive, by, gone);
        const places = await RootPlaces.load(archive.catalog);
        const { place } = (await archive.capture('d'))!;
        const root = (await places.rootOf(place))!;
        await compactAll(archive, `K${by}`);
        roots.delete(gone);
        assert.deepEqual(await rootsOfCaptures(archive), roots);
        const [from] = await (await RootPlaces.load(archive.catalog)).currentOf(root.root, 0);
        assert.equal(from?.isSame, false, 'the warcinfo record is not one of the records');
      }
      const bounds = boundsOfRows(await archive.catalog.segments());
      await archive.sealed('Q', [c('late')]);
      const places = await RootPlaces.load(archive.catalog);
      for (const id of ['d', 'f', 'late']) {
        const root = (await places.rootOf((await archive.capture(id))!.place))!;
        assert.equal(isInBounds(bounds, root), id !== 'late', id);
      }
    });

    test('may be several: deletion segments are merged, and say the same (D2)', async () => {
      const archive = new SmallArchive(kind);
      await archive.sealed('P', [c('a'), c('b'), c('d')]);
      await remove(archive, 'D', 'a', 'b');
      const deletions = async () =>
        (await archive.catalog.segments()).filter(({ collection }) => collection === 0).map(({ name }) => name);
      const before = await deletions();
      assert.equal(before.length, 2);
      await compactAll(archive, 'K');
      const [merged, ...others] = await deletions();
      assert.deepEqual(others, []);
      const row = (await archive.catalog.segmentByName(merged!))!;
      assert.equal(row.roots?.length, 2);
      let found = 0;
      for await (const { deletion, origin } of segmentRecords(archive.store, row, 0, row.bytes)) {
        found += deletion?.deletion?.marks.length ?? 0;
        if (origin) assert.deepEqual([...origin.replaces].sort(), before.sort());
      }
      assert.equal(found, 2);
    });

    test('is swapped by the next holder of the lease, whatever step the last one came to', async () => {
      for (let failing = 1; failing < 12; failing++) {
        const archive = new SmallArchive(kind);
        const name = await archive.sealed('P', [c('a'), c('b'), c('d')]);
        await remove(archive, 'D', 'b');
        const { swaps, finish } = await replacementOf(archive, name, 'K');
        const { catalog } = archive;
        const commit = catalog.commit.bind(catalog);
        let commits = 0;
        catalog.commit = async (group: CommitGroup) => {
          if (++commits === failing) throw new PinakesError('LEASE_LOST');
          return commit(group);
        };
        let isDone = true;
        try {
          await swaps.swap(await finish());
          archive.now += 1000;
          await swaps.removeReplaced();
        } catch (error) {
          if (!(error instanceof PinakesError && error.code === 'LEASE_LOST')) throw error;
          isDone = false;
        }
        catalog.commit = commit;
        assert.deepEqual(await archive.judge(), [], `after commit ${failing}`);
        archive.catalog.expireLease(compactionLease(VOLUME));
        await compactAll(archive, 'L');
        assert.equal((await pendingSwaps(archive.catalog)).size, 0);
        assert.deepEqual(await judgeObjects(archive.catalog, await archive.objects(), archive.book), []);
        assert.deepEqual(Object.keys(await archive.catalog.notes('replaced:')), []);
        if (isDone) {
          assert.ok(failing >= 4, 'begin, end, check and removal are commits');
          return;
        }
      }
      assert.fail('the swap never comes to its end');
    });

    test('is there until its grace is over, and is not removed under a lease that was lost', async () => {
      const archive = new SmallArchive(kind);
      const name = await archive.sealed('P', [c('a'), c('b')]);
      await remove(archive, 'D', 'b');
      const { swaps, finish } = await replacementOf(archive, name, 'K');
      assert.ok(await swaps.swap(await finish()));
      archive.now += 999;
      assert.equal(await swaps.removeReplaced(), 1);
      assert.ok((await archive.objects()).has(name));
      archive.now += 1;
      archive.catalog.expireLease(compactionLease(VOLUME));
      await assert.rejects(swaps.removeReplaced(), { code: 'LEASE_LOST' });
      assert.ok((await archive.objects()).has(name));
    });

    test('stays as it is when its replacement was not finished, which the next holder removes', async () => {
      const archive = new SmallArchive(kind);
      const name = await archive.sealed('P', [c('a'), c('b')]);
      await remove(archive, 'D', 'b');
      const { writer } = await replacementOf(archive, name, 'K');
      writer.abandon();
      const fresh = (await archive.catalog.segments()).find(({ state }) => state === 'open')!;
      archive.catalog.expireLease(compactionLease(VOLUME));
      await compactAll(archive, 'L');
      assert.equal(await archive.catalog.segment(fresh.number), undefined);
      assert.ok(!(await archive.objects()).has(fresh.name));
    });
  });
