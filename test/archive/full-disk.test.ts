/**
 * An archive on a full disk can be opened, read and made smaller, refuses to grow, and loses no data. The tests use a
 * small file system.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Scene, Seen } from './full-disk-child.ts';
import { contentOf, makeArchive, NOON, page, temporaryDirectory } from './trial-archive.ts';

const RESERVE_BYTES = 8 * 1024 * 1024;
const mayMount = spawnSync('unshare', ['-rm', 'sh', '-c', 'mount -t tmpfs -o size=1m none /mnt']).status === 0;
const skip = !mayMount && 'no permission to mount a small disk';

/** Runs scenes one after the other on a disk of 84 MiB, each in a separate process. */
async function play(t: TestContext, ...scenes: readonly Scene[]): Promise<Seen[]> {
  const disk = await temporaryDirectory(t);
  const script = [
    'node=$1 child=$2 disk=$3; shift 3',
    'mount -t tmpfs -o size=84m none "$disk" || exit 1',
    'for scene do "$node" "$child" "$disk" "$scene" || exit 1; done',
  ].join('\n');
  const child = join(import.meta.dirname, 'full-disk-child.ts');
  const args = ['-rm', 'sh', '-c', script, 'sh', process.execPath, child, disk, ...scenes];
  const { status, stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Seen);
}

test('a full disk refuses new captures, while opening, reading, deleting and compacting work', {
  skip,
}, async (t) => {
  const [seen] = await play(t, 'filledByOthers');
  assert.deepEqual(seen, {
    isHeld: true,
    errors: 0,
    store: 'ARCHIVE_FULL',
    add: 'ARCHIVE_FULL',
    rebuild: 'ARCHIVE_FULL',
    index: 'ARCHIVE_FULL',
    crawl: 'ARCHIVE_FULL',
    files: [],
    deleted: { captures: 500, contents: 500 },
    compact: 'done',
    captures: 500,
    isHeldAfter: true,
    isReserveBack: true,
    storeWithRoom: 'done',
    errorsWithRoom: 0,
    reserveBytes: RESERVE_BYTES,
  });
});

test('an archive whose process was killed when the disk was full opens with everything acknowledged (I2, I3)', {
  skip,
}, async (t) => {
  const [filled, opened] = await play(t, 'filledByItself', 'openedAfterwards');
  assert.match(String(filled!.last), /^(DISK_FULL|CATALOG_STOPPED)$/);
  assert.ok(Number(filled!.stored) > 10);
  assert.ok(Number(opened!.held) >= Number(filled!.stored));
  assert.equal(opened!.errors, 0);
});

test('when the disk of an open archive becomes full, deleting makes room and storing then continues', {
  skip,
}, async (t) => {
  const [seen] = await play(t, 'filledMeanwhile');
  assert.deepEqual(seen, {
    deleted: { captures: 100, contents: 100 },
    storeWhileFull: 'ARCHIVE_FULL',
    storeWithRoom: 'done',
    reserveBytes: RESERVE_BYTES,
  });
});

test('compaction without room for every segment begins with the segments that need the least room', {
  skip,
}, async (t) => {
  const [seen] = await play(t, 'compacted');
  assert.deepEqual(seen, {
    compact: 'DISK_FULL',
    says: 'writing large anew needs about 37 MiB free, more than there are; 1 was written anew',
    names: ['large true', 'small false'],
    errors: 0,
    captures: 35,
    compactWithRoom: 'done',
  });
});

test('compaction on a full disk first rewrites segments that fit, and then continues in the room that this frees', {
  skip,
}, async (t) => {
  const [seen] = await play(t, 'promoted');
  assert.deepEqual(seen, { compact: 'done', isShared: true, names: ['kept 0', 'gone 0'], errors: 0 });
});

test('indexing stops before it takes the room that the archive needs to become smaller', {
  skip,
}, async (t) => {
  const [seen] = await play(t, 'indexed');
  assert.deepEqual(seen, {
    isShort: true,
    indexWhileFull: 'ARCHIVE_FULL',
    isRoomLeft: true,
    deleted: { captures: 1, contents: 1 },
    compact: 'done',
    indexWithRoom: 'done',
  });
});

test('a missing catalog is made again on a full disk (I3)', { skip }, async (t) => {
  const [seen] = await play(t, 'catalogLost');
  assert.deepEqual(seen, { captures: 3000, errors: 0 });
});

test('an archive without its reserve file fails to open on a full disk with DISK_FULL', {
  skip,
}, async (t) => {
  const [seen] = await play(t, 'withoutReserve');
  assert.deepEqual(seen, { openWhileFull: 'DISK_FULL', isHeld: true, errors: 0 });
});

test('the first store creates the reserve file of an archive', async (t) => {
  const archive = await makeArchive(t);
  const reserve = join(archive.directory, 'reserve');
  await archive.verify();
  assert.equal(existsSync(reserve), false);
  await archive.store(page('http://one.example/', NOON, contentOf('one')));
  assert.equal(statSync(reserve).size, RESERVE_BYTES);
});
