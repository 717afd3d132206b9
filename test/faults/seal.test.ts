/**
 * A full segment that cannot be sealed. The records in it are durable and in the catalog, so their stores are
 * acknowledged once.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createArchive, VolumeSet } from '../../src/archive/index.ts';
import { seededRandom } from '../../src/base/index.ts';
import { MemoryCatalog } from '../../src/catalog/index.ts';
import { FaultyVolume, openMemoryVolume } from '../../src/volume/index.ts';
import { openWithParts } from '../archive/opened-parts.ts';
import {
  allCaptures,
  audit,
  contentOf,
  NOON,
  page,
  temporaryDirectory,
  trialOptions,
} from '../archive/trial-archive.ts';

const SETTING = { name: 'main', kind: 'directory', path: 'volumes/main', writable: true } as const;
const NUMBERS = [0, 1, 2, 3, 4, 5];

test('stores are acknowledged once when the segment that they filled cannot be sealed', async (t) => {
  const directory = await temporaryDirectory(t);
  await createArchive(directory, { policies: { segmentBytesMax: 3000 } });
  const inner = openMemoryVolume('main');
  const catalog = new MemoryCatalog({ clock: () => 0 });
  const open = (volume: FaultyVolume) =>
    openWithParts(directory, trialOptions({ catalog, volumes: VolumeSet.of([{ setting: SETTING, volume }]) }));
  const faulty = new FaultyVolume(inner, seededRandom(1), [{ nth: 1, on: ['seal'], effect: 'io-error' }]);
  const archive = await open(faulty);
  const inputs = NUMBERS.map((number) => page(`http://x.example/${number}`, NOON, contentOf(`p${number}`)));
  await Promise.all(inputs.map((input) => archive.store(input)));
  assert.equal(faulty.fired.length, 1);
  assert.equal((await allCaptures(archive)).length, NUMBERS.length);
  await archive.store(page('http://x.example/later', NOON, contentOf('later')));
  await archive.close();
  const again = await open(new FaultyVolume(inner, seededRandom(2)));
  assert.equal((await allCaptures(again)).length, NUMBERS.length + 1);
  assert.deepEqual(await audit(again), []);
  assert.equal((await again.verify()).errors, 0);
  await again.close();
});
