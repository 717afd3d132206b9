import { seededRandom } from '../../src/base/index.ts';
import { FaultyVolume, openMemoryVolume } from '../../src/volume/index.ts';
import { volumeContract } from './volume.ts';

const SEED = 20240302;

volumeContract(`the faulty volume without faults, where a restart is a crash (seed ${SEED})`, async () => {
  const inner = openMemoryVolume('faulty');
  const random = seededRandom(SEED);
  let volume = new FaultyVolume(inner, random);
  return {
    volume,
    reopen: async () => {
      await volume.crash();
      volume = new FaultyVolume(inner, random);
      return volume;
    },
    dispose: async () => undefined,
  };
});
