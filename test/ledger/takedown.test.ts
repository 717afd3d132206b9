import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { fromHex } from '../../src/base/index.ts';
import type { Bar, CommitGroup } from '../../src/catalog/index.ts';
import {
  type parseDeletion,
  proveTakedown,
  SEAL_NOTE,
  segmentRecords,
  segmentsToSeal,
  takeDown,
} from '../../src/ledger/index.ts';
import type { UrlKey } from '../../src/url/index.ts';
import { digestOfContent, keyOf } from '../simulation/book.ts';
import { storeGroups } from '../simulation/ledger-writer.ts';
import { SmallArchive } from './small-archive.ts';

const c = (id: string, content = 'x') => ({ id, content });
const contentBar = (content: string): Bar => ({ kind: 'content', digest: fromHex(digestOfContent(content))! });
const urlBar = (id: string): Bar => ({ kind: 'url', urlKey: keyOf(id) as UrlKey });

async function run(archive: SmallArchive, bars: readonly Bar[], seal: (names: readonly string[]) => Promise<void>) {
  const { catalog } = archive;
  const writer = await archive.writer('T');
  const options = {
    catalog,
    lease: (await catalog.leases()).find(({ name }) => name === 'T'),
    deleter: archive.deleterOf(writer),
    seal,
    sleep: async () => {},
    waitMs: 3000,
  };
  return takeDown(options, { id: 'takedown', bars });
}

const nothing = async () => {};

suite('A takedown', () => {
  test('deletes every capture of a content, and refuses the content from then on', async () => {
    const archive = new SmallArchive();
    await archive.sealed('W', [c('a'), c('b'), c('y', 'y')]);
    const { captures, unsealed } = await run(archive, [contentBar('x')], nothing);
    assert.equal(captures, 2);
    assert.deepEqual(unsealed, []);
    archive.book.barTried.add('x');
    archive.book.barred.add('x');
    assert.deepEqual(await archive.judge(), []);
    const writer = await archive.writer('V');
    await storeGroups(archive.machine('V'), writer, [[c('again')], [c('other', 'y')]]);
    assert.ok(!archive.book.acknowledged.has('again'));
    assert.ok(archive.book.acknowledged.has('other'));
    assert.deepEqual(await archive.judge(), []);
  });

  test('deletes the captures of a URL, but not their contents elsewhere', async () => {
    const archive = new SmallArchive();
    await archive.sealed('W', [c('a'), c('b')]);
    assert.equal((await run(archive, [urlBar('a')], nothing)).captures, 1);
    archive.book.deletionTried.add('a');
    archive.book.deleted.add('a');
    assert.deepEqual(await archive.judge(), []);
    assert.ok(await archive.capture('b'));
    const writer = await archive.writer('V');
    await storeGroups(archive.machine('V'), writer, [[c('a', 'z')]]);
    assert.equal(await archive.capture('a'), undefined, 'a barred URL with another content');
  });

  test('bars even what nothing has yet, in a record that a rebuild reads', async () => {
    const archive = new SmallArchive();
    assert.equal((await run(archive, [contentBar('x'), urlBar('u')], nothing)).captures, 0);
    const [segment] = await archive.catalog.segments();
    const found: ReturnType<typeof parseDeletion>[] = [];
    for await (const { deletion } of segmentRecords(archive.store, segment!, 0, segment!.bytes))
      if (deletion) found.push(deletion);
    assert.equal(found.length, 1);
    assert.deepEqual(found[0]!.deletion?.marks, []);
    assert.equal(found[0]!.deletion?.bars.length, 2);
  });

  test('finds what was stored between its search and its commit', async () => {
    const archive = new SmallArchive();
    await archive.sealed('W', [c('a')]);
    const { catalog } = archive;
    const commit = catalog.commit.bind(catalog);
    let isFirst = true;
    catalog.commit = async (group: CommitGroup) => {
      if (isFirst && group.bars?.length) {
        isFirst = false;
        await archive.sealed('V', [c('late')]);
      }
      return commit(group);
    };
    assert.equal((await run(archive, [contentBar('x')], nothing)).captures, 2);
    assert.equal(await archive.capture('late'), undefined);
  });

  test('has every segment sealed that may hold the bytes, by who writes it', async () => {
    const archive = new SmallArchive();
    const writer = await archive.writer('W');
    await storeGroups(archive.machine('W'), writer, [[c('a')]]);
    const [open] = writer.openSegments();
    const { name } = open!.segment;
    let asked = 0;
    const { unsealed } = await run(archive, [contentBar('x')], async (names) => {
      assert.deepEqual(names, [name]);
      assert.deepEqual(await segmentsToSeal(archive.catalog, [name, 'other']), [name]);
      assert.deepEqual((await proveTakedown(archive.catalog, [contentBar('x')])).unsealed, [name]);
      if (++asked === 2) await writer.seal(open!);
    });
    assert.deepEqual(unsealed, []);
    assert.equal(asked, 2);
    assert.deepEqual(await archive.catalog.notes(SEAL_NOTE), {});
  });

  test('says which segments nobody sealed in time, and goes on asking for them', async () => {
    const archive = new SmallArchive();
    const writer = await archive.writer('W');
    await storeGroups(archive.machine('W'), writer, [[c('a')]]);
    const { name } = writer.openSegments()[0]!.segment;
    assert.deepEqual((await run(archive, [contentBar('x')], nothing)).unsealed, [name]);
    assert.deepEqual(await segmentsToSeal(archive.catalog, [name]), [name]);
  });

  test('names the segments to seal even if its process ends as soon as the bars are in', async () => {
    const archive = new SmallArchive();
    const writer = await archive.writer('W');
    await storeGroups(archive.machine('W'), writer, [[c('a')]]);
    const { name } = writer.openSegments()[0]!.segment;
    const { catalog } = archive;
    const commit = catalog.commit.bind(catalog);
    catalog.commit = async (group: CommitGroup) => {
      const outcome = await commit(group);
      if (group.bars?.length) throw new Error('the process ends');
      return outcome;
    };
    await assert.rejects(run(archive, [contentBar('x')], nothing), /the process ends/);
    const proof = await proveTakedown(catalog, [contentBar('x')]);
    assert.deepEqual([proof.captures, proof.unsealed], [0, [name]]);
  });

  test('is proved when no capture, no open segment and no dead record has the bytes', async () => {
    const archive = new SmallArchive();
    const name = await archive.sealed('W', [c('a'), c('y', 'y')]);
    const bars = [contentBar('x')];
    assert.equal((await proveTakedown(archive.catalog, bars)).captures, 1);
    await run(archive, bars, nothing);
    assert.deepEqual(await proveTakedown(archive.catalog, bars), { captures: 0, unsealed: [], uncompacted: [name] });
    assert.deepEqual((await proveTakedown(archive.catalog, [contentBar('y')])).uncompacted, []);
    assert.deepEqual((await proveTakedown(archive.catalog, [urlBar('other')])).uncompacted, [name]);
  });
});
