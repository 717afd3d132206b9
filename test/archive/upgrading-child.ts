/** Upgrades an archive in small batches, and prints how many captures are done after each. */
import { writeSync } from 'node:fs';
import { upgradeArchive } from '../../src/archive/index.ts';

const onProgress = (done: number) => writeSync(1, `${done}\n`);
await upgradeArchive(process.argv[2]!, { clock: Date.now, rowsAtOnce: 3, onProgress });
