/**
 * Upgrades an archive in small batches. Prints how many captures are done after each batch, and goes on when it is sent
 * a byte.
 */
import { readSync, writeSync } from 'node:fs';
import { upgradeArchive } from '../../src/archive/index.ts';

const onProgress = (done: number) => {
  writeSync(1, `${done}\n`);
  readSync(0, Buffer.alloc(1));
};
await upgradeArchive(process.argv[2]!, { clock: Date.now, rowsAtOnce: 3, onProgress });
