/**
 * Writes numbered batches into the catalog of a directory, from a given number on, and prints each number once its
 * batch is acknowledged. It never ends by itself.
 */
import { writeSync } from 'node:fs';
import { openLevelCatalog } from '../../src/catalog/index.ts';
import { numberedBatch } from './numbered-batch.ts';

const [directory, first] = process.argv.slice(2);
const catalog = await openLevelCatalog(directory!);
for (let number = Number(first); ; number++) {
  await catalog.write({ ...numberedBatch(number), durable: number % 3 !== 0 });
  writeSync(1, `${number}\n`);
}
