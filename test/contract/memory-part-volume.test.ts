import { MemoryPartVolume } from '../../src/volume/index.ts';
import { partVolumeContract } from './part-volume.ts';

partVolumeContract(
  'in memory',
  async () => {
    const bucket = new Map();
    return {
      volume: new MemoryPartVolume('memory', bucket),
      reopen: async () => new MemoryPartVolume('memory', bucket),
      dispose: async () => undefined,
    };
  },
  { manyObjects: 2_500 },
);
