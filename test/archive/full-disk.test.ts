/**
 * An archive on a full disk can be opened, read and made smaller, refuses to grow, and loses nothing. The disk is a
 * real, small one.
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

/** Plays scenes one after the other on a disk of 84 MiB, each in a process of its own. */
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

test('on a full disk an archive can be opened, read, deleted from and compacted, and it refuses to grow until there is room', {
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

test('an archive that filled its disk and was killed then opens with everything that was acknowledged (I2, I3)', {
  skip,
}, async (t) => {
  const [filled, opened] = await play(t, 'filledByItself', 'openedAfterwards');
  assert.match(String(filled!.last), /^(DISK_FULL|CATALOG_STOPPED)$/);
  assert.ok(Number(filled!.stored) > 10);
  assert.ok(Number(opened!.held) >= Number(filled!.stored));
  assert.equal(opened!.errors, 0);
});

test('on a disk that becomes full while an archive is open, deleting makes room, and storing continues when there is room', {
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

test('compaction without room for every segment begins with those that need the least, and leaves the others as they are', {
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

test('compaction on a full disk first writes anew what there is room for, and continues in the room that this frees', {
  skip,
}, async (t) => {
  const [seen] = await play(t, 'promoted');
  assert.deepEqual(seen, { compact: 'done', isShared: true, names: ['kept 0', 'gone 0'], errors: 0 });
});

test('an index that needs more room than there is stops while the archive can still be made smaller', {
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

test('without a reserve, opening on a full disk fails with DISK_FULL, and with room everything is there', {
  skip,
}, async (t) => {
  const [seen] = await play(t, 'withoutReserve');
  assert.deepEqual(seen, { openWhileFull: 'DISK_FULL', isHeld: true, errors: 0 });
});

test('the first store creates the reserve of an archive, and reading does not', async (t) => {
  const archive = await makeArchive(t);
  const reserve = join(archive.directory, 'reserve');
  await archive.verify();
  assert.equal(existsSync(reserve), false);
  await archive.store(page('http://one.example/', NOON, contentOf('one')));
  assert.equal(statSync(reserve).size, RESERVE_BYTES);
});
