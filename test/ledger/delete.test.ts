import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { PinakesError, toHex } from '../../src/base/index.ts';
import type { Capture, Catalog, CommitGroup } from '../../src/catalog/index.ts';
import {
  addressOfContent,
  chooseReference,
  type Deletion,
  deletionMarksOf,
  marksOf,
  REQUEST_NOTE,
  segmentRecords,
} from '../../src/ledger/index.ts';
import { COLLECTION } from '../simulation/ledger-machine.ts';
import { SmallArchive } from './small-archive.ts';

const c = (id: string, content = 'x') => ({ id, content });

/** Every deletion record that is in the archive. */
async function deletionsIn({ catalog, store }: SmallArchive): Promise<Deletion[]> {
  const found: Deletion[] = [];
  for (const segment of await catalog.segments())
    for await (const { deletion } of segmentRecords(store, segment, 0, segment.bytes))
      if (deletion?.deletion) found.push(deletion.deletion);
  return found;
}

/** A catalog with another `commit` for the groups that delete. */
function withCommit(catalog: Catalog, commit: (group: CommitGroup) => ReturnType<Catalog['commit']>) {
  return new Proxy(catalog, {
    get(target, name) {
      if (name === 'commit')
        return (group: CommitGroup) => (group.deletions?.length ? commit(group) : target.commit(group));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

for (const kind of ['bucket', 'disk'] as const)
  suite(`A deletion on a ${kind}`, () => {
    test('removes captures from the catalog, and leaves the contents of others', async () => {
      const archive = new SmallArchive(kind);
      await archive.sealed('W', [c('a'), c('b'), c('z', 'y')]);
      const [a, z] = [(await archive.capture('a'))!, (await archive.capture('z'))!];
      const deleter = await archive.deleter('D');
      assert.deepEqual(await deleter.deleteCaptures([a, z], 'request 1'), { captures: 2, contents: 1 });
      for (const id of ['a', 'z']) {
        archive.book.deleted.add(id);
        archive.book.deletionTried.add(id);
      }
      assert.deepEqual(await archive.judge(), []);
      assert.equal(await archive.capture('a'), undefined);
      assert.ok(await archive.capture('b'));
    });

    test('is a durable record of marks, by which the captures are refused for good', async () => {
      const archive = new SmallArchive(kind);
      await archive.sealed('W', [c('a'), c('b')]);
      const seen = [(await archive.capture('a'))!, (await archive.capture('b'))!];
      assert.equal(seen[1]!.kind, 'revisit');
      const deleter = await archive.deleter('D');
      await deleter.deleteCaptures(seen, 'request 1');
      const [deletion, ...others] = await deletionsIn(archive);
      assert.deepEqual(others, []);
      assert.equal(deletion!.request, 'request 1');
      const marks = seen.flatMap((capture) => deletionMarksOf(capture, COLLECTION));
      assert.deepEqual(deletion!.marks.map(toHex), marks.map(toHex));
      assert.equal(marks.length, 3, 'two for the revisit');
      const place = { segment: 9, offset: 0, length: 1 };
      for (const capture of seen) {
        const entered = { ...capture, place, block: undefined };
        const both = [capture, ...(capture.kind === 'revisit' ? [entered] : [])];
        for (const one of both) {
          const group = { captures: [{ capture: one, marks: marksOf(one, COLLECTION) }] };
          assert.equal((await archive.catalog.commit(group)).kind, 'known');
        }
      }
    });

    test('finds a capture that was moved after it was seen', async () => {
      const archive = new SmallArchive(kind);
      await archive.sealed('W', [c('a')]);
      const seen = { ...(await archive.capture('a'))!, place: { segment: 77, offset: 5, length: 9 } };
      const deleter = await archive.deleter('D');
      assert.equal((await deleter.deleteCaptures([seen], 'r')).captures, 1);
      assert.equal(await archive.capture('a'), undefined);
      assert.deepEqual(await deleter.deleteCaptures([seen], 'r'), { captures: 0, contents: 0 });
      assert.equal((await deletionsIn(archive)).length, 1, 'nothing is written for what is gone');
    });

    test('makes the record again when another process deletes one of the captures in between', async () => {
      const archive = new SmallArchive(kind);
      await archive.sealed('W', [c('a'), c('b', 'y')]);
      const seen = [(await archive.capture('a'))!, (await archive.capture('b'))!];
      const other = await archive.deleter('E');
      let isFirst = true;
      const catalog = withCommit(archive.catalog, async (group) => {
        if (isFirst) {
          isFirst = false;
          await other.deleteCaptures([seen[0]!], 'of the other');
        }
        return archive.catalog.commit(group);
      });
      const deleter = await archive.deleter('D', catalog);
      assert.deepEqual(await deleter.deleteCaptures(seen, 'of this one'), { captures: 1, contents: 1 });
      const marks = (await deletionsIn(archive)).map((deletion) => [deletion.request, deletion.marks.length]);
      assert.deepEqual(marks.sort(), [
        ['of the other', 1],
        ['of this one', 1],
      ]);
      for (const id of ['a', 'b']) archive.book.deletionTried.add(id);
      assert.deepEqual(await archive.judge(), []);
    });

    test('keeps the other of two captures that differ only in their contents', async () => {
      const archive = new SmallArchive(kind);
      await archive.sealed('W', [c('a')]);
      const a = (await archive.capture('a'))!;
      const other: Capture = {
        ...a,
        place: { ...a.place, offset: 1 },
        block: { digest: new Uint8Array(32).fill(5), overflow: 0 },
      };
      await archive.catalog.commit({ captures: [{ capture: other }] });
      await (await archive.deleter('D')).deleteCaptures([a], 'r');
      const [left] = await archive.catalog.findCaptures([a]);
      assert.deepEqual(left, [other]);
    });
  });

suite('A deletion that has no answer', () => {
  test('fails with an error that says that asking again helps, and does not delete twice then', async () => {
    const archive = new SmallArchive();
    await archive.sealed('W', [c('a'), c('b'), c('d')]);
    const all = [(await archive.capture('a'))!, (await archive.capture('b'))!, (await archive.capture('d'))!];
    const catalog = withCommit(archive.catalog, async (group) => {
      await archive.catalog.commit(group);
      throw new PinakesError('CATALOG_UNREACHABLE');
    });
    /** Deletes one of those that are left. */
    const request = {
      id: 'once',
      isOnce: true,
      choose: async () => {
        const found = await archive.catalog.findCaptures(all);
        return found.flat().slice(0, 1);
      },
    };
    const failing = await archive.deleter('D', catalog);
    await assert.rejects(failing.delete(request), { code: 'CATALOG_UNREACHABLE', retryable: true });
    assert.equal((await archive.catalog.totals()).captures, 2);
    const deleter = await archive.deleter('E');
    assert.deepEqual(await deleter.delete(request), { captures: 1, contents: undefined });
    assert.equal((await archive.catalog.totals()).captures, 2);
    assert.deepEqual(await deleter.delete({ ...request, id: 'another' }), { captures: 1, contents: 0 });
    assert.equal((await archive.catalog.totals()).captures, 1);
  });

  test('deletes nothing when its lease was lost, or while the volumes are being adopted', async () => {
    const archive = new SmallArchive();
    await archive.sealed('W', [c('a')]);
    const seen = [(await archive.capture('a'))!];
    const fenced = await archive.deleter('D');
    await fenced.deleteCaptures([], 'r');
    archive.catalog.expireLease('D');
    await assert.rejects(fenced.deleteCaptures(seen, 'r'), { code: 'LEASE_LOST' });
    const early = await archive.writer('E');
    await archive.catalog.beginIncarnation(2);
    await assert.rejects(archive.deleterOf(early).deleteCaptures(seen, 'r'), { code: 'LEASE_LOST' });
    const adopting = await archive.deleter('F');
    await assert.rejects(adopting.deleteCaptures(seen, 'r'), { code: 'ARCHIVE_BUSY' });
    assert.ok(await archive.capture('a'));
    assert.deepEqual(await archive.judge(), []);
  });

  test('is forgotten after a month', async () => {
    const archive = new SmallArchive();
    await archive.sealed('W', [c('a')]);
    const deleter = await archive.deleter('D');
    const captures = [(await archive.capture('a'))!];
    await deleter.delete({ id: 'old', isOnce: true, choose: async () => captures });
    await deleter.forgetOldRequests();
    assert.deepEqual(Object.keys(await archive.catalog.notes(REQUEST_NOTE)), [`${REQUEST_NOTE}old`]);
    const day = 24 * 3600 * 1000;
    archive.now += 31 * day;
    await (await archive.deleter('E')).forgetOldRequests();
    assert.deepEqual(await archive.catalog.notes(REQUEST_NOTE), {});
  });
});

suite('A reference to give back', () => {
  const key = { digest: new Uint8Array(32).fill(1), overflow: 0 };
  const stored = (time: number, hash: number, block: Capture['block'] = key, collection = 1): Capture => ({
    urlKey: 'urn:x' as Capture['urlKey'],
    time,
    place: { segment: 1, offset: time, length: 1 },
    url: addressOfContent(key.digest),
    kind: 'resource',
    collection,
    status: 0,
    mime: '',
    block,
    hash,
  });

  test('is the newest capture at the address of the key', () => {
    assert.equal(chooseReference(key, [stored(1, 1), stored(3, 1), stored(2, 1)])?.time, 3);
    assert.equal(addressOfContent(key.digest), `urn:sha256:${'01'.repeat(32)}`);
  });

  test('does not depend on places or on the order of the answer', () => {
    const all = [stored(3, 5), stored(3, 9), stored(3, 9, key, 2)];
    for (const captures of [all, all.toReversed()]) {
      const chosen = chooseReference(key, captures);
      assert.deepEqual([chosen?.hash, chosen?.collection], [9, 1]);
    }
  });

  test('is none of another content, nor of one with the same digest', () => {
    const others = [
      stored(1, 1, { ...key, overflow: 1 }),
      { ...stored(1, 1), block: undefined },
      stored(1, 1, { digest: new Uint8Array(32), overflow: 0 }),
    ];
    assert.equal(chooseReference(key, others), undefined);
    assert.equal(chooseReference(key, []), undefined);
  });
});
