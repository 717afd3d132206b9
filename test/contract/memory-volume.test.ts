import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom, utf8 } from '../../src/base/index.ts';
import { MemoryDisk, openMemoryVolume } from '../../src/volume/index.ts';
import { contentsOf, failsWith, put, volumeContract } from './volume.ts';

const SEED = 20240301;

volumeContract(`in memory, where a restart is a power loss (seed ${SEED})`, async () => {
  const disk = new MemoryDisk();
  const random = seededRandom(SEED);
  return {
    volume: openMemoryVolume('memory', disk),
    reopen: async () => {
      disk.powerLoss(random);
      return openMemoryVolume('memory', disk);
    },
    dispose: async () => undefined,
  };
});

test('over many runs, a simulated power loss loses every possible number of unsynced bytes', async () => {
  const random = seededRandom(SEED);
  const left = new Set<string>();
  for (let run = 0; run < 300; run++) {
    const disk = new MemoryDisk();
    const volume = openMemoryVolume('memory', disk);
    await put(volume, 'a', 'ab');
    await volume.append('a', 2, [utf8('cde')]);
    await volume.create('b');
    disk.powerLoss(random);
    left.add(`${await contentsOf(volume, 'a')} ${(await volume.stat(['b']))[0] ? 'b' : '-'}`);
  }
  const expected = ['ab', 'abc', 'abcd', 'abcde'].flatMap((a) => [`${a} -`, `${a} b`]);
  assert.deepEqual([...left].sort(), expected.sort());
});

test('a full memory volume fails with DISK_FULL and keeps its contents', async () => {
  const volume = openMemoryVolume('memory', new MemoryDisk(10));
  await put(volume, 'a', '12345678');
  await assert.rejects(volume.append('a', 8, [utf8('xyz')]), failsWith('DISK_FULL', 'a'));
  await volume.append('a', 8, [utf8('xy')]);
  assert.deepEqual(await volume.space(), { freeBytes: 0, totalBytes: 10 });
});

test('a read-only memory volume cannot be changed', async () => {
  const volume = openMemoryVolume('memory', new MemoryDisk(), { writable: false });
  await assert.rejects(volume.create('a'), failsWith('VOLUME_READ_ONLY'));
  await assert.rejects(volume.remove(['a']), failsWith('VOLUME_READ_ONLY'));
});
