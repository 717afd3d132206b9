import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDirectoryVolume, openDirectoryVolume, type Volume } from '../../src/volume/index.ts';
import { type OpenVolume, volumeContract } from './volume.ts';

function openWith(handlesMax: number, stopwatch?: () => number): () => Promise<OpenVolume> {
  return async () => {
    const directory = await mkdtemp(join(tmpdir(), 'pinakes-volume-'));
    await createDirectoryVolume('main', directory);
    const opened: Volume[] = [];
    const open = async () => {
      const volume = await openDirectoryVolume('main', directory, { writable: true, handlesMax, stopwatch });
      opened.push(volume);
      return volume;
    };
    return {
      volume: await open(),
      reopen: open,
      dispose: async () => {
        await Promise.all(opened.map((volume) => volume.close()));
        await rm(directory, { recursive: true });
      },
    };
  };
}

volumeContract('in a directory', openWith(64), 1500);
volumeContract('in a directory, with hardly any open files', openWith(2), 500);
volumeContract(
  'in a directory that is read at once',
  openWith(64, () => 0),
  500,
);
