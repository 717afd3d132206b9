/**
 * Files that were copied at different times and restored together: a replacement segment beside an older state of the
 * segment that it replaced. The latest captures are there, deleted captures are gone, and the only copy of a record is
 * never removed.
 */
import assert from 'node:assert/strict';
import { cp, mkdir, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Archive, createArchive, dropCatalog, openArchive } from '../../src/archive/index.ts';
import { catalogOf, openWithParts } from '../archive/opened-parts.ts';
import {
  allCaptures,
  audit,
  contentOf,
  NOON,
  page,
  payloadAt,
  temporaryDirectory,
  trialOptions,
} from '../archive/trial-archive.ts';

const urlOf = (name: string | number) => `http://x.example/${name}`;

async function store(archive: Archive, names: readonly (string | number)[], volume?: string): Promise<void> {
  for (const name of names)
    await archive.store(page(urlOf(name), NOON, contentOf(`p${name}`)), volume === undefined ? {} : { volume });
}

async function namesIn(archive: Archive): Promise<string[]> {
  return (await allCaptures(archive)).map(({ url }) => new URL(url).pathname.slice(1)).sort();
}

async function seal(archive: Archive): Promise<void> {
  await archive.setVolumeWritable('main', false);
  await archive.setVolumeWritable('main', true);
}

/**
 * Copies an archive twice into one directory, as a backup that never removes files does: first while a segment grows,
 * then after the segment was rewritten.
 */
async function copyTwice(t: TestContext, between: (archive: Archive) => Promise<void>): Promise<string> {
  const directory = await temporaryDirectory(t);
  const backup = join(directory, 'backup');
  const original = join(directory, 'original');
  await createArchive(original);
  const copy = async () => {
    for (const part of ['archive.yaml', 'volumes'])
      await cp(join(original, part), join(backup, part), { recursive: true });
  };
  await mkdir(backup);
  const archive = await openArchive(original, trialOptions());
  await store(archive, [0, 1, 2]);
  await copy();
  await store(archive, [3, 4, 5, 6, 7]);
  await between(archive);
  await copy();
  await archive.close();
  return backup;
}

const ALL = ['0', '1', '2', '3', '4', '5', '6', '7'];

async function assertHolds(directory: string, names: readonly string[]): Promise<void> {
  for (const seed of [2, 3]) {
    const archive = await openArchive(directory, trialOptions({ seed }));
    assert.deepEqual(await namesIn(archive), names);
    for (const name of names) assert.ok((await payloadAt(archive, urlOf(name))).equals(contentOf(`p${name}`)));
    assert.deepEqual(await audit(archive), []);
    await archive.rebuild();
    assert.deepEqual(await namesIn(archive), names);
    await archive.close();
  }
}

test('a recompressed segment is used instead of the growing one that an earlier copy left beside it', async (t) => {
  const backup = await copyTwice(t, async (archive) => {
    await seal(archive);
    await archive.recompress({ worthwhileShare: 5 });
  });
  await assertHolds(backup, ALL);
});

test('a compacted segment is used instead of the growing one that an earlier copy left beside it', async (t) => {
  const backup = await copyTwice(t, async (archive) => {
    await archive.delete({ url: urlOf(0) });
    await archive.compact();
  });
  await assertHolds(backup, ALL.slice(1));
});

test('the segment of the last compaction is used instead of those that earlier copies left', async (t) => {
  const backup = await copyTwice(t, async (archive) => {
    await archive.delete({ url: urlOf(0) });
    await archive.compact();
    const first = (await archive.segments()).find(({ name }) => name.startsWith('default/'));
    const path = join(archive.directory, 'volumes/main', first!.name);
    const kept = await readFile(path);
    await archive.delete({ url: urlOf(1) });
    await archive.compact();
    await writeFile(path, kept);
  });
  await assertHolds(backup, ALL.slice(2));
});

test('a replacement that was copied only in part is not used, and the older state stays', async (t) => {
  const backup = await copyTwice(t, async (archive) => {
    await archive.delete({ url: urlOf(7) });
    await archive.compact();
  });
  const folder = join(backup, 'volumes/main/default');
  const later = (await readdir(folder)).find((name) => name.endsWith('.warc.gz'))!;
  await truncate(join(folder, later), 700);
  const before = await readdir(folder);
  const archive = await openArchive(backup, trialOptions({ seed: 2 }));
  assert.deepEqual([...new Set(await namesIn(archive))], ['0', '1', '2']);
  for (const name of [0, 1, 2]) assert.ok((await payloadAt(archive, urlOf(name))).equals(contentOf(`p${name}`)));
  await archive.close();
  assert.deepEqual(await readdir(folder), before);
});

/** A finished replacement beside the segment that it replaces, as an interrupted swap leaves them, and no catalog. */
async function interruptExchange(t: TestContext): Promise<{ directory: string; folder: string; old: string }> {
  const directory = await temporaryDirectory(t);
  await createArchive(directory);
  const archive = await openArchive(directory, trialOptions());
  await store(archive, [0, 1, 2]);
  await archive.delete({ url: urlOf(0) });
  await seal(archive);
  const folder = join(directory, 'volumes/main/default');
  const kept = join(directory, 'kept');
  await cp(folder, kept, { recursive: true });
  const old = (await archive.segments())[0]!.name.split('/')[1]!;
  await archive.compact();
  await archive.close();
  await cp(kept, folder, { recursive: true });
  await dropCatalog(directory);
  return { directory, folder, old };
}

test('a finished replacement counts even when the replaced segment is damaged', async (t) => {
  const { directory, folder, old } = await interruptExchange(t);
  await writeFile(join(folder, old), 'no longer what it was');
  await assertHolds(directory, ['1', '2']);
});

test('a finished replacement is swapped in when the catalog is lost', async (t) => {
  const { directory } = await interruptExchange(t);
  await assertHolds(directory, ['1', '2']);
});

test('R1: a finished replacement whose swap is not noted does not count, and the replaced segment stays', async (t) => {
  const { directory, folder, old } = await interruptExchange(t);
  const later = (await readdir(folder)).find((name) => name.endsWith('.warc.gz') && name !== old)!;
  await rm(join(directory, 'volumes/main/_pinakes/replaced'), { recursive: true });
  await assertHolds(directory, ['1', '2']);
  const left = await readdir(folder);
  assert.ok(left.includes(old) && !left.includes(later), left.join(' '));
});

test('a compacted segment and later deletions are used instead of an unfinished copy of the segment', async (t) => {
  const directory = await temporaryDirectory(t);
  const second = join(directory, 'second');
  await createArchive(directory);
  const archive = await openArchive(directory, trialOptions());
  await archive.addVolume({ name: 'second', path: second });
  await store(archive, [0, 1, 2], 'main');
  await archive.delete({ url: urlOf(0) });
  await archive.compact();
  await archive.delete({ url: urlOf(1) });
  const segment = (await archive.segments()).find(({ name }) => name.startsWith('default/'));
  await archive.close();
  const bytes = await readFile(join(directory, 'volumes/main', segment!.name));
  await mkdir(join(second, 'default'));
  await writeFile(join(second, `${segment!.name}.open`), bytes.subarray(0, 1500));
  await dropCatalog(directory);
  await assertHolds(directory, ['2']);
  // With the list of the new incarnation of the catalog.
  assert.deepEqual(await readdir(second), ['.pinakes-volume', '_pinakes']);
});

test('an archive opens when a volume with an unfinished segment was made read-only', async (t) => {
  const { directory, folder, old } = await interruptExchange(t);
  const later = (await readdir(folder)).find((name) => name.endsWith('.warc.gz') && name !== old)!;
  await rename(join(folder, later), join(folder, `${later}.open`));
  const connector = join(directory, 'archive.yaml');
  await writeFile(connector, (await readFile(connector, 'utf8')).replace('writable: true', 'writable: false'));
  const archive = await openArchive(directory, trialOptions({ seed: 2 }));
  assert.deepEqual(await namesIn(archive), ['1', '2']);
  await archive.close();
});

test('an interrupted swap in a volume that is now missing is finished when the volume is back', async (t) => {
  const directory = await temporaryDirectory(t);
  const second = join(directory, 'second');
  await createArchive(directory);
  const archive = await openWithParts(directory, trialOptions());
  await archive.addVolume({ name: 'second', path: second });
  await store(archive, ['gone', 'stays'], 'second');
  await store(archive, ['elsewhere', 'more'], 'main');
  await archive.delete({ url: urlOf('gone') });
  const catalog = catalogOf(archive);
  const commit = catalog.commit.bind(catalog);
  catalog.commit = (group) =>
    group.segments?.some(({ to }) => !to) ? Promise.reject(new Error('stopped')) : commit(group);
  await assert.rejects(archive.compact(), /stopped/);
  catalog.commit = commit;
  await archive.close();
  await rename(second, join(directory, 'away'));
  const without = await openArchive(directory, trialOptions({ seed: 2 }));
  assert.ok((await payloadAt(without, urlOf('elsewhere'))).equals(contentOf('pelsewhere')));
  await without.delete({ url: urlOf('more') });
  await without.close();
  await rename(join(directory, 'away'), second);
  await assertHolds(directory, ['elsewhere', 'stays']);
});
