import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createLinkedVolume, openLinkedVolume } from '../../src/volume/index.ts';
import { volumeReadContract } from './volume.ts';

volumeReadContract('files linked where they lie', async (objects) => {
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-linked-'));
  const manifest = join(directory, 'manifest.jsonl');
  await createLinkedVolume('linked', manifest);
  const writing = await openLinkedVolume('linked', manifest);
  for (const [name, bytes] of objects) {
    const path = join(directory, 'elsewhere', `${name}.warc`);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, bytes);
    await writing.link(path, name);
  }
  await writing.close();
  const volume = await openLinkedVolume('linked', manifest);
  return {
    volume,
    dispose: async () => {
      await volume.close();
      await rm(directory, { recursive: true });
    },
  };
});
