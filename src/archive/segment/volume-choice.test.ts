import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryDisk, openMemoryVolume } from '../../volume/index.ts';
import { volumeChoice } from './volume-choice.ts';

const MIB = 1024 * 1024;

async function namesChosen(...freeMib: number[]): Promise<Set<string>> {
  const volumes = freeMib.map((mib, index) => openMemoryVolume(`disk${index}`, new MemoryDisk(mib * MIB)));
  const choose = await volumeChoice({
    writable: () => volumes,
    noneWritable: () => {
      throw new Error('all of these are writable');
    },
  });
  return new Set(Array.from({ length: 256 }, (_, byte) => choose(Uint8Array.of(byte, byte, byte, byte))));
}

test('a volume that is nearly full gets no content while another one has room', async () => {
  assert.deepEqual(await namesChosen(1, 4000), new Set(['disk1']));
  assert.deepEqual(await namesChosen(500, 1, 500), new Set(['disk0', 'disk2']));
  assert.deepEqual(await namesChosen(1, 1), new Set(['disk0', 'disk1']));
});
