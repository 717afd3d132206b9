import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryDisk, openMemoryVolume, type Volume } from '../../volume/index.ts';
import { RecentSpaces } from './volume-spaces.ts';

function countedVolume(name: string): { volume: Volume; asked: () => number } {
  const volume = openMemoryVolume(name, new MemoryDisk(2 ** 30));
  let asked = 0;
  const space = volume.space.bind(volume);
  volume.space = () => {
    asked++;
    return space();
  };
  return { volume, asked: () => asked };
}

test('the space of the same volumes is asked again after a fifth of a second, and when the clock was set back', async () => {
  let now = 1e12;
  const spaces = new RecentSpaces(() => now);
  const { volume, asked } = countedVolume('one');
  for (const time of [0, 100, 199]) {
    now = 1e12 + time;
    assert.equal((await spaces.of([volume])).spaces[0]!.totalBytes, 2 ** 30);
  }
  assert.equal(asked(), 1);
  now += 1;
  await spaces.of([volume]);
  assert.equal(asked(), 2);
  now -= 1e6;
  await spaces.of([volume]);
  assert.equal(asked(), 3);
});

test('other volumes are asked at once', async () => {
  const spaces = new RecentSpaces(() => 1e12);
  const one = countedVolume('one');
  const two = countedVolume('two');
  await spaces.of([one.volume]);
  assert.equal((await spaces.of([one.volume, two.volume])).there.length, 2);
  assert.deepEqual([one.asked(), two.asked()], [2, 1]);
});
