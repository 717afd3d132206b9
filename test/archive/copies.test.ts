/** Copies of contents on other volumes: made by references, read when the original is not there, restored from. */
import assert from 'node:assert/strict';
import { chmodSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Archive, openArchive } from '../../src/archive/index.ts';
import { allCaptures, bytesOf, contentOf, makeArchive, NOON, page, trialOptions } from './trial-archive.ts';
import { problemsOf } from './two-volumes.ts';

const CONTENTS = 30;
const POPULAR = 6;

const urlOf = (content: number, reference: number) => `http://site.example/${content}/${reference}`;
const bodyOf = (content: number) => contentOf(`content ${content}`);

/** Seals the open segments, so that their files have their names. */
async function seal(archive: Archive): Promise<void> {
  for (const volume of ['main', 'second'])
    for (const isWritable of [false, true]) await archive.setVolumeWritable(volume, isWritable);
}

/** Six contents with twelve references each, and the others with one; in two volumes. */
async function filled(t: TestContext): Promise<Archive> {
  const archive = await makeArchive(t, { policies: { distribution: 'hash', copies: { 2: 10 } } });
  await archive.addVolume({ name: 'second', path: join(archive.directory, 'volumes/second') });
  for (let content = 0; content < CONTENTS; content++)
    for (let reference = 0; reference < (content < POPULAR ? 12 : 1); reference++)
      await archive.store(page(urlOf(content, reference), NOON + reference, bodyOf(content)));
  await seal(archive);
  return archive;
}

async function reopened(t: TestContext, archive: Archive): Promise<Archive> {
  await archive.close();
  const again = await openArchive(archive.directory, trialOptions({ seed: 7 }));
  t.after(() => again.close());
  return again;
}

const read = async (archive: Archive, content: number, reference = 0) =>
  bytesOf((await archive.get(urlOf(content, reference))).payload);

/** The packs of all volumes. */
function packs(archive: Archive): string[] {
  const found = [];
  for (const volume of ['main', 'second'])
    for (const name of readdirSync(join(archive.directory, 'volumes', volume), { recursive: true, encoding: 'utf8' }))
      if (name.endsWith('.copies')) found.push(join(archive.directory, 'volumes', volume, name));
  return found;
}

/** Damages the middle of the record that holds a content. Returns the member as it was, with its file. */
async function damage(archive: Archive, content: number) {
  const { capture } = await archive.get(urlOf(content, 0));
  const [block] = await archive.getBlocks([capture.block!]);
  const [location] = await archive.records.locate([block!.holder]);
  const { volume, segment, offset, length } = location!;
  const file = join(archive.directory, 'volumes', volume, segment);
  const bytes = readFileSync(file);
  const member = Buffer.from(bytes.subarray(offset, offset + length));
  const middle = offset + Math.floor(length / 2);
  bytes.fill(0x55, middle, middle + 40);
  chmodSync(file, 0o644);
  writeFileSync(file, bytes);
  chmodSync(file, 0o444);
  return { member, key: capture.block! };
}

test('contents with many references are copied to another volume, once, and nothing shows them twice', async (t) => {
  const archive = await filled(t);
  const planned = await archive.makeCopies({ dryRun: true });
  assert.deepEqual(packs(archive), []);
  const made = await archive.makeCopies();
  assert.deepEqual([made, made.copies, made.lacking], [planned, POPULAR, 0]);
  assert.equal((await archive.makeCopies()).copies, 0, 'nothing is missing now');
  const captures = await allCaptures(archive);
  assert.equal(captures.length, CONTENTS - POPULAR + POPULAR * 12);
  let streamed = 0;
  for await (const { head } of await archive.stream()) if (head.type !== 'warcinfo') streamed++;
  assert.equal(streamed, captures.length);
  assert.deepEqual(await problemsOf(archive), []);
  const again = await reopened(t, archive);
  await again.rebuild();
  assert.equal((await allCaptures(again)).length, captures.length);
  assert.equal((await again.makeCopies()).copies, 0, 'a rebuild enters the copies');
  assert.deepEqual(await problemsOf(again), []);
});

test('I15 while a volume is missing, contents with copies are read, by URL and by key', async (t) => {
  const archive = await filled(t);
  await archive.makeCopies();
  const keys = [];
  for (let content = 0; content < CONTENTS; content++)
    keys.push(
      `main:sha256:${Buffer.from((await archive.get(urlOf(content, 0))).capture.block!.digest).toString('hex')}`,
    );
  await archive.close();
  for (const volume of ['main', 'second']) {
    renameSync(join(archive.directory, 'volumes', volume), join(archive.directory, 'unplugged'));
    const without = await openArchive(archive.directory, trialOptions({ seed: 3 }));
    let missing = 0;
    for (let content = 0; content < CONTENTS; content++) {
      const body = Buffer.from(bodyOf(content));
      if (content < POPULAR) {
        for (const reference of [0, 5]) assert.deepEqual(await read(without, content, reference), body);
        assert.deepEqual(await bytesOf((await without.content(keys[content]!)).payload), body);
      } else {
        const code = await read(without, content).then(
          () => undefined,
          (error: { code: string }) => error.code,
        );
        if (code !== undefined) missing++;
        assert.ok(code === undefined || code === 'VOLUME_MISSING', code);
      }
    }
    assert.ok(missing > 0 && missing < CONTENTS - POPULAR, `${missing} contents without copies are away`);
    await without.close();
    renameSync(join(archive.directory, 'unplugged'), join(archive.directory, 'volumes', volume));
  }
});

test('damaged records are read from copies, and restored byte for byte; records without a copy stay damaged', async (t) => {
  const archive = await filled(t);
  await archive.makeCopies();
  const before = (await allCaptures(archive)).length;
  const damaged = [];
  for (const content of [0, 3, 5]) damaged.push({ content, ...(await damage(archive, content)) });
  const lost = await damage(archive, 20);
  archive.forgetRecentRecords();
  for (const { content } of damaged)
    for (const reference of [0, 7])
      assert.deepEqual(await read(archive, content, reference), Buffer.from(bodyOf(content)));
  assert.notEqual((await problemsOf(archive)).length, 0);
  const planned = await archive.restore({ dryRun: true });
  assert.notEqual((await problemsOf(archive)).length, 0);
  assert.deepEqual(await archive.restore(), planned);
  assert.deepEqual(planned, { checked: POPULAR, restored: 3, left: [], unread: [] });
  for (const { key, member } of damaged) {
    const [block] = await archive.getBlocks([key]);
    const pieces = archive.records.memberPieces(block!.holder);
    assert.deepEqual(await bytesOf(pieces), member, 'the member is as it was, byte for byte');
  }
  for (const pack of packs(archive)) rmSync(pack);
  const again = await reopened(t, archive);
  for (const { content } of damaged) assert.deepEqual(await read(again, content, 3), Buffer.from(bodyOf(content)));
  assert.equal((await allCaptures(again)).length, before);
  const [block] = await again.getBlocks([lost.key]);
  const problems = await problemsOf(again);
  const [location] = await again.records.locate([block!.holder]);
  assert.ok(problems.some(({ segment, offset }) => segment === location!.segment && offset === location!.offset));
  assert.equal((await again.restore()).restored, 0);
});

test('a copy that is damaged does not count, and a lost segment is restored as far as there are copies', async (t) => {
  const before = await filled(t);
  await before.makeCopies();
  const { capture } = await before.get(urlOf(0, 0));
  const [location] = await before.records.locate([(await before.getBlocks([capture.block!]))[0]!.holder]);
  rmSync(join(before.directory, 'volumes', location!.volume, location!.segment));
  const archive = await reopened(t, before);
  const { restored, left } = await archive.restore();
  assert.ok(restored > 0 && left.length === 0);
  for (let content = 0; content < POPULAR; content++)
    assert.deepEqual(await read(archive, content), Buffer.from(bodyOf(content)));
  for (const pack of packs(archive)) {
    const bytes = readFileSync(pack);
    chmodSync(pack, 0o644);
    writeFileSync(pack, bytes.fill(0x55, 10, bytes.length - 10));
  }
  await damage(archive, 1);
  archive.forgetRecentRecords();
  const spoiled = await archive.restore();
  assert.deepEqual([spoiled.restored, spoiled.left.length], [0, 1]);
});

test('I6 when the last reference goes, or a content is taken down, no copy is left after compaction', async (t) => {
  const archive = await filled(t);
  await archive.makeCopies();
  const bytes = () => Buffer.concat(packs(archive).map((pack) => readFileSync(pack)));
  const before = bytes().length;
  for (let reference = 0; reference < 12; reference++) await archive.delete({ url: urlOf(0, reference) });
  const { capture } = await archive.get(urlOf(1, 0));
  const key = `sha256:${Buffer.from(capture.block!.digest).toString('hex')}`;
  await archive.takeDown({ keys: [key] }, { reason: 'a court order', by: 'the archivist' });
  const { isGone, uncompacted } = await archive.takedowns();
  assert.deepEqual([isGone, uncompacted.filter((name) => name.endsWith('.copies')).length], [false, 1]);
  await archive.compact();
  assert.equal((await archive.takedowns()).isGone, true);
  assert.ok(bytes().length <= (before * (POPULAR - 2)) / POPULAR + 2000);
  assert.equal((await archive.makeCopies()).copies, 0, 'the other copies are kept');
  assert.deepEqual(await problemsOf(archive), []);
});
