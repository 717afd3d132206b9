/**
 * Writes batches with increasing numbers into the catalog of a directory, and prints each number when its batch is
 * acknowledged. It runs until it is killed.
 */
import { writeSync } from 'node:fs';
import { openLevelCatalog } from '../../src/catalog/index.ts';
import { numberedBatch } from './numbered-batch.ts';
import { write } from './write-by-commit.ts';

const [directory, first] = process.argv.slice(2);
const catalog = await openLevelCatalog(directory!);
for (let number = Number(first); ; number++) {
  await write(catalog, { ...numberedBatch(number), durable: number % 3 !== 0 });
  writeSync(1, `${number}\n`);
}
