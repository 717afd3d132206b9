/**
 * The order of segments (R4) survives the loss of the catalog: of segments that have their sequence number in them, and
 * of files of other writers, whose numbers are in a list beside the catalog.
 */
import assert from 'node:assert/strict';
import { copyFile, cp, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Archive, createArchive, openArchive, type StreamQuery, upgradeArchive } from '../../src/archive/index.ts';
import { samplePages, writePages } from './archive-sample.ts';
import { copied } from './old-archive-sample.ts';
import { contentOf, NOON, page, temporaryDirectory, trialOptions } from './trial-archive.ts';

const TYPES = ['response', 'revisit'];
/** The clock goes on from one opening to the next, so that no name of a segment occurs twice. */
let now = NOON;

async function open(t: TestContext, directory: string, seed: number): Promise<Archive> {
  const archive = await openArchive(directory, trialOptions({ seed, clock: () => (now += 1000) }));
  t.after(() => archive.close().catch(() => {}));
  return archive;
}

async function create(t: TestContext): Promise<{ directory: string; archive: Archive }> {
  const directory = await temporaryDirectory(t);
  await createArchive(directory);
  return { directory, archive: await open(t, directory, 1) };
}

async function store(archive: Archive, name: string, collection: string): Promise<void> {
  for (let n = 0; n < 4; n++)
    await archive.store(page(`http://${name}.test/${n}`, NOON + n, contentOf(`${name} ${n}`)), { collection });
}

async function urls(archive: Archive, query: StreamQuery, count = Number.POSITIVE_INFINITY) {
  const stream = await archive.stream({ ...query, selection: { types: TYPES } });
  const found: string[] = [];
  for await (const { head } of stream) {
    found.push(`${head.targetUri} ${head.date}`);
    if (found.length === count) break;
  }
  return { found, cursor: stream.cursor() };
}

/** An archive with a file of another writer between its own segments, and a cursor in the middle of that file. */
async function withForeignFile(t: TestContext) {
  const { directory, archive } = await create(t);
  await store(archive, 'first', 'z');
  const file = join(directory, 'foreign.warc.gz');
  await writePages(file, samplePages(12));
  await archive.add([file], { inPlace: true, collection: 'm' });
  await store(archive, 'second', 'b');
  const half = await urls(archive, {}, 9);
  const rest = (await urls(archive, { cursor: half.cursor })).found;
  await archive.createSnapshot('then');
  const then = (await urls(archive, { snapshot: 'then' })).found;
  assert.deepEqual([...half.found, ...rest], then);
  await store(archive, 'third', 'a');
  await archive.close();
  await rm(join(directory, 'catalog'), { recursive: true });
  return { directory, cursor: half.cursor, rest, then };
}

test('I8: without its catalog, an archive has its segments in the order that they had, a file used in place too', async (t) => {
  const { directory, cursor, rest, then } = await withForeignFile(t);
  const archive = await open(t, directory, 2);
  assert.deepEqual((await urls(archive, { cursor })).found, rest);
  assert.deepEqual((await urls(archive, { snapshot: 'then' })).found, then);
  await archive.rebuild();
  assert.deepEqual((await urls(archive, { cursor })).found, rest);
  assert.deepEqual((await urls(archive, {})).found.slice(0, then.length), then);
});

test('I8: without the list of sequence numbers too, a named snapshot has its records, and a cursor in a file used in place is refused', async (t) => {
  const { directory, cursor, then } = await withForeignFile(t);
  await rm(join(directory, 'sequences.jsonl'));
  const archive = await open(t, directory, 2);
  await assert.rejects(urls(archive, { cursor }), { code: 'CURSOR_EXPIRED' });
  assert.deepEqual((await urls(archive, { snapshot: 'then' })).found.sort(), then.sort());
});

test('I8: after a power cut that the catalog lost a segment to, cursors in that segment go on', async (t) => {
  const { directory, archive } = await create(t);
  await store(archive, 'first', 'z');
  await archive.close();
  await cp(join(directory, 'catalog'), join(directory, 'catalog-before'), { recursive: true });
  const later = await open(t, directory, 2);
  await store(later, 'second', 'm');
  await store(later, 'third', 'b');
  const half = await urls(later, {}, 6);
  const rest = (await urls(later, { cursor: half.cursor })).found;
  await later.createSnapshot('then');
  await later.close();
  await rm(join(directory, 'catalog'), { recursive: true });
  await cp(join(directory, 'catalog-before'), join(directory, 'catalog'), { recursive: true });
  const again = await open(t, directory, 3);
  assert.deepEqual((await urls(again, { cursor: half.cursor })).found, rest);
  await store(again, 'fourth', 'a');
  assert.deepEqual((await urls(again, { cursor: half.cursor })).found, rest);
  assert.deepEqual((await urls(again, { snapshot: 'then' })).found, [...half.found, ...rest]);
});

test('I8: the segment of another archive is new here, whatever number it has', async (t) => {
  const other = await create(t);
  await store(other.archive, 'other', 'a');
  await other.archive.close();
  const { directory, archive } = await create(t);
  await store(archive, 'first', 'z');
  await store(archive, 'second', 'b');
  await archive.createSnapshot('then');
  const { found, cursor: since } = await urls(archive, {});
  await archive.close();
  const [name] = await readdir(join(other.directory, 'volumes/main/a'));
  await mkdir(join(directory, 'volumes/main/a'));
  await copyFile(join(other.directory, 'volumes/main/a', name!), join(directory, 'volumes/main/a', name!));
  const again = await open(t, directory, 3);
  for (let attempt = 0; attempt < 2; attempt++) {
    assert.deepEqual((await urls(again, { snapshot: 'then' })).found, found);
    assert.equal((await urls(again, { since })).found.length, 4);
    await again.rebuild();
  }
});

test('I8: without its catalog, an archive that was compacted delivers each record once', async (t) => {
  const { directory, archive } = await create(t);
  await store(archive, 'first', 'z');
  await store(archive, 'second', 'm');
  await store(archive, 'third', 'b');
  await archive.close();
  const later = await open(t, directory, 2);
  for (let n = 0; n < 4; n++)
    await later.store(page(`http://again.test/${n}`, NOON + n, contentOf(`second ${n}`)), { collection: 'm' });
  const half = await urls(later, {}, 6);
  const rest = (await urls(later, { cursor: half.cursor })).found;
  await later.delete({ url: 'http://second.test/1' });
  await later.delete({ url: 'http://third.test/2' });
  assert.ok((await later.compact()).segments > 0);
  const left = (await urls(later, { cursor: half.cursor })).found;
  assert.deepEqual(
    left,
    rest.filter((url) => !url.startsWith('http://third.test/2')),
  );
  await later.close();
  await rm(join(directory, 'catalog'), { recursive: true });
  const again = await open(t, directory, 3);
  assert.deepEqual((await urls(again, { cursor: half.cursor })).found, left);
  await again.rebuild();
  assert.deepEqual((await urls(again, { cursor: half.cursor })).found, left);
});

test('I8: without its catalog, an archive that was upgraded has its segments in the order that they had', async (t) => {
  const directory = await copied(t);
  await upgradeArchive(directory, { clock: () => now });
  const archive = await open(t, directory, 2);
  const half = await urls(archive, {}, 60);
  const rest = (await urls(archive, { cursor: half.cursor })).found;
  assert.ok(rest.length > 60);
  await archive.close();
  await rm(join(directory, 'catalog'), { recursive: true });
  const again = await open(t, directory, 3);
  assert.deepEqual((await urls(again, { cursor: half.cursor })).found, rest);
  assert.deepEqual((await urls(again, {})).found, [...half.found, ...rest]);
});
