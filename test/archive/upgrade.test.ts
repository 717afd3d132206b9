/** Reading an archive of an earlier version as it is, and upgrading it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { ClassicLevel } from 'classic-level';
import {
  type Archive,
  createArchive,
  openArchive,
  readConnector,
  type UpgradeReport,
  upgradeArchive,
} from '../../src/archive/index.ts';
import { PinakesError, seededRandom } from '../../src/base/index.ts';
import { pinakes } from '../journeys/pinakes-runner.ts';
import {
  assertDeletedStayAway,
  capturesOf,
  contents,
  copied,
  FIXTURES,
  NEXT_DAY,
  OLD,
  recordIds,
} from './old-archive-sample.ts';
import { contentOf, page, temporaryDirectory, trialOptions } from './trial-archive.ts';

const CHILD = join(import.meta.dirname, 'upgrading-child.ts');
const clock = () => NEXT_DAY;

async function opened(t: TestContext, directory: string): Promise<Archive> {
  const archive = await openArchive(directory, trialOptions({ clock, seed: 99 }));
  t.after(() => archive.close().catch(() => {}));
  return archive;
}

async function linesOf(lines: AsyncIterable<string>): Promise<string[]> {
  return Array.fromAsync(lines);
}

/** Everything that the archive answers and that an upgrade must not change. */
async function answersOf(archive: Archive): Promise<object> {
  return {
    captures: await capturesOf(archive),
    lines: await linesOf(archive.exportCdxj({})),
    records: await recordIds(archive, {}),
    snapshot: await recordIds(archive, { snapshot: OLD.snapshot.name }),
    totals: await archive.totals(),
    segments: (await archive.segments()).map(({ sequence: _, ...segment }) => segment),
  };
}

/** The digest of every file outside of the catalog, by path. */
async function filesOf(directory: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || path.startsWith(join(directory, 'catalog'))) continue;
    files[path] = createHash('sha256')
      .update(await readFile(path))
      .digest('hex');
  }
  return files;
}

async function rowsOf(directory: string): Promise<string[]> {
  const database = new ClassicLevel<Buffer, Buffer>(join(directory, 'catalog'), {
    keyEncoding: 'buffer',
    valueEncoding: 'buffer',
  });
  const rows = await database.iterator().all();
  await database.close();
  return rows.map(([key, value]) => `${key.toString('hex')} ${value.toString('hex')}`);
}

const isOld = (error: unknown) => error instanceof PinakesError && error.code === 'ARCHIVE_OLD';

async function assertOnlyRead(archive: Archive, directory: string): Promise<void> {
  const metadata = { url: 'http://a.example/', time: NEXT_DAY, mime: 'text/plain', body: Buffer.from('a') };
  const changes: Readonly<Record<string, () => Promise<unknown>>> = {
    store: () => archive.store(page('http://new.example/', NEXT_DAY, contentOf('new')), { collection: 'spring' }),
    metadata: () => archive.storeMetadata(metadata),
    add: () => archive.add([join(FIXTURES, 'archive-1-files/added.warc.gz')], { collection: 'new' }),
    addInPlace: () => archive.add([join(FIXTURES, 'archive-1-files/added.warc.gz')], { inPlace: true }),
    delete: () => archive.delete({}),
    compact: () => archive.compact(),
    recompress: () => archive.recompress(),
    rebuild: () => archive.rebuild(),
    createSnapshot: () => archive.createSnapshot('later'),
    removeSnapshot: () => archive.removeSnapshot(OLD.snapshot.name),
    addVolume: () => archive.addVolume({ name: 'more', path: join(directory, 'more') }),
    setVolumeWritable: () => archive.setVolumeWritable('main', false),
    keepRoom: () => archive.keepRoom(),
  };
  for (const [name, change] of Object.entries(changes)) await assert.rejects(change(), isOld, name);
}

test('I14: an old archive is read as it is, and every change of it is refused', async (t) => {
  const directory = await copied(t);
  const files = await filesOf(directory);
  const rows = await rowsOf(directory);
  const archive = await opened(t, directory);
  assert.equal(archive.isOld, true);
  assert.deepEqual(await capturesOf(archive), OLD.captures);
  await answersOf(archive);
  await assertOnlyRead(archive, directory);
  await archive.flush();
  await archive.close();
  assert.deepEqual(await filesOf(directory), files);
  assert.deepEqual(await rowsOf(directory), rows);
});

test('a dry run of an upgrade changes nothing, and says what would be done', async (t) => {
  const directory = await copied(t);
  const files = await filesOf(directory);
  const rows = await rowsOf(directory);
  const report = await upgradeArchive(directory, { clock, dryRun: true });
  const { version, isNeeded, captures, capturesDone } = report;
  assert.deepEqual([version, isNeeded, captures, capturesDone], [1, true, OLD.captures.length, 0]);
  assert.ok(report.roomBytes > 0);
  assert.deepEqual(await filesOf(directory), files);
  assert.deepEqual(await rowsOf(directory), rows);
});

test('an upgraded archive answers as before, takes changes, and keeps deleted captures away after a rebuild', async (t) => {
  const directory = await copied(t);
  const before = await opened(t, directory);
  const answers = await answersOf(before);
  await before.close();
  assert.equal((await upgradeArchive(directory, { clock })).isNeeded, true);
  // Earlier releases refuse every other version than 1.
  assert.match(await readFile(join(directory, 'archive.yaml'), 'utf8'), /^version: 2$/m);
  const archive = await opened(t, directory);
  assert.equal(archive.isOld, false);
  assert.deepEqual(await answersOf(archive), answers);
  assert.deepEqual(
    (await archive.segments()).map(({ sequence }) => sequence),
    (await archive.segments()).map(({ number }) => number),
  );
  await assertDeletedStayAway(archive);
  await archive.rebuild();
  assert.deepEqual(contents(await capturesOf(archive)), contents(OLD.captures));
  await assertDeletedStayAway(archive);
  await archive.store(page('http://new.example/', NEXT_DAY, contentOf('new')), { collection: 'spring' });
  await archive.close();
  assert.equal((await upgradeArchive(directory, { clock })).isNeeded, false);
});

/** Kills an upgrade after so many of its batches, sometimes within the next one. */
async function killUpgrade(directory: string, batches: number, isWithin: boolean): Promise<boolean> {
  const child = spawn(process.execPath, [CHILD, directory], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.on('error', () => {});
  let seen = 0;
  for await (const _ of createInterface({ input: child.stdout })) {
    if (++seen !== batches || isWithin) child.stdin.write('x');
    if (seen === batches) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.signalCode === 'SIGKILL';
}

test('an upgrade that was killed leaves an archive that is only read, and the next one continues', async (t) => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const random = seededRandom(seed);
  const directory = await copied(t);
  const before = await opened(t, directory);
  const answers = await answersOf(before);
  await before.close();
  let done = 0;
  for (let kills = 0; kills < 3; kills++) {
    const isWithin = kills < 2 && random() < 0.5;
    assert.ok(await killUpgrade(directory, 1 + Math.floor(random() * 3), isWithin), 'the upgrade was not killed');
    assert.equal((await readConnector(directory)).version, 2);
    const report: UpgradeReport = await upgradeArchive(directory, { clock, dryRun: true });
    assert.deepEqual([report.isNeeded, report.captures], [true, OLD.captures.length]);
    assert.ok(report.capturesDone > done, 'the upgrade began again');
    done = report.capturesDone;
    const archive = await opened(t, directory);
    assert.deepEqual(await answersOf(archive), answers);
    await assertOnlyRead(archive, directory);
    await archive.close();
  }
  await upgradeArchive(directory, { clock });
  const archive = await opened(t, directory);
  assert.equal(archive.isOld, false);
  assert.deepEqual(await answersOf(archive), answers);
});

test('an upgrade that is aborted before its first row continues later', async (t) => {
  const directory = await copied(t);
  const signal = AbortSignal.abort();
  await assert.rejects(upgradeArchive(directory, { clock, signal }), { name: 'AbortError' });
  assert.equal((await opened(t, directory)).isOld, true);
});

test('an old archive without a catalog is upgraded, and its catalog is made from the segments', async (t) => {
  const directory = await copied(t);
  await rm(join(directory, 'catalog'), { recursive: true });
  await assert.rejects(openArchive(directory, trialOptions({ clock })), isOld);
  const { isNeeded, isCatalogLost } = await upgradeArchive(directory, { clock });
  assert.deepEqual([isNeeded, isCatalogLost], [true, true]);
  const archive = await opened(t, directory);
  assert.deepEqual(contents(await capturesOf(archive)), contents(OLD.captures));
  await assertDeletedStayAway(archive);
});

test('an old archive whose catalog was to be removed for a rebuild is upgraded, and its catalog made again', async (t) => {
  const directory = await copied(t);
  await writeFile(join(directory, 'catalog/DROPPED'), '');
  await assert.rejects(openArchive(directory, trialOptions({ clock })), isOld);
  assert.equal((await upgradeArchive(directory, { clock })).isCatalogLost, true);
  assert.deepEqual(contents(await capturesOf(await opened(t, directory))), contents(OLD.captures));
});

test('an old archive with a damaged catalog is upgraded, and rebuilt by the command', async (t) => {
  const directory = await copied(t);
  await rm(join(directory, 'catalog/CURRENT'));
  const upgraded = await pinakes(directory, 'upgrade', '--archive', '.');
  assert.equal(upgraded.code, 0);
  assert.match(upgraded.out, /^upgraded to version 2.*\n.*`pinakes rebuild/);
  assert.equal((await pinakes(directory, 'rebuild', '--archive', '.')).code, 0);
  assert.deepEqual(contents(await capturesOf(await opened(t, directory))), contents(OLD.captures));
});

test('a rebuild is refused before an upgrade, and replaces a catalog whose upgrade was interrupted', async (t) => {
  const directory = await copied(t);
  const refused = await pinakes(directory, 'rebuild', '--archive', '.');
  assert.match(refused.err, /ARCHIVE_OLD.*pinakes upgrade/s);
  await assert.rejects(upgradeArchive(directory, { clock, signal: AbortSignal.abort() }));
  assert.equal((await pinakes(directory, 'rebuild', '--archive', '.')).code, 0);
  const archive = await opened(t, directory);
  assert.equal(archive.isOld, false);
  assert.deepEqual(contents(await capturesOf(archive)), contents(OLD.captures));
});

test('an upgrade is refused while the archive is open, and a new archive needs none', async (t) => {
  const directory = await temporaryDirectory(t);
  await createArchive(directory, { name: 'new' });
  const archive = await opened(t, directory);
  const isBusy = (error: unknown) => error instanceof PinakesError && error.code === 'ARCHIVE_BUSY';
  await assert.rejects(upgradeArchive(directory, { clock }), isBusy);
  await archive.close();
  const { version, isNeeded } = await upgradeArchive(directory, { clock });
  assert.deepEqual([version, isNeeded], [2, false]);
});

test('an archive of a later version is refused', async (t) => {
  const directory = await temporaryDirectory(t);
  await createArchive(directory, { name: 'new' });
  const path = join(directory, 'archive.yaml');
  await writeFile(path, (await readFile(path, 'utf8')).replace('version: 2', 'version: 3'));
  const isNewer = (error: unknown) => error instanceof PinakesError && error.code === 'CONNECTOR_INVALID';
  await assert.rejects(openArchive(directory, trialOptions()), isNewer);
  await assert.rejects(upgradeArchive(directory, { clock }), isNewer);
});
