/** A batch with its number in every row, so that its remains after a crash can be recognised. */
import { createHash } from 'node:crypto';
import type { Block, Capture } from '../../src/catalog/index.ts';
import { urlKey } from '../../src/url/index.ts';
import type { Changes } from './write-by-commit.ts';

export const CAPTURES_PER_BATCH = 40;

export function numberedBatch(number: number): Changes {
  const putCaptures: Capture[] = [];
  const putBlocks: Block[] = [];
  for (let index = 0; index < CAPTURES_PER_BATCH; index++) {
    const offset = (number * CAPTURES_PER_BATCH + index) * 100;
    const place = { segment: 1, offset, length: 100 };
    const key = { digest: createHash('sha256').update(`${number} ${index}`).digest(), overflow: 0 };
    const url = `http://example.com/${index}/${number}`;
    putBlocks.push({ key, size: 10, holder: place, references: 1 });
    putCaptures.push({
      urlKey: urlKey(url),
      time: number * 1000,
      place,
      url,
      kind: 'response',
      collection: 1,
      status: 200,
      mime: `type/${number % 50}`,
      block: key,
      hash: number,
    });
  }
  return { putCaptures, putBlocks, putNotes: { last: String(number) } };
}
