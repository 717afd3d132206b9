import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { openLevelCatalog } from '../../src/catalog/index.ts';
import { all } from './catalog-fixture.ts';
import { CAPTURES_PER_BATCH } from './numbered-batch.ts';

const CHILD = new URL('./cataloguing-child.ts', import.meta.url).pathname;

/**
 * Lets a child write until it has acknowledged a number of batches, kills it, and returns the last number that it
 * acknowledged.
 */
async function killAfter(directory: string, first: number, acknowledgements: number): Promise<number> {
  const child = spawn(process.execPath, [CHILD, directory, String(first)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let last = first - 1;
  for await (const line of createInterface({ input: child.stdout })) {
    last = Number(line);
    if (last - first + 1 === acknowledgements) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  assert.equal(child.signalCode, 'SIGKILL', 'the child ended by itself');
  return last;
}

test('I2: after kill -9 every acknowledged batch is complete, and no other batch is there in part', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-catalog-kill-'));
  try {
    let first = 1;
    for (const acknowledgements of [1, 20, 300]) {
      const acknowledged = await killAfter(directory, first, acknowledgements);
      const catalog = await openLevelCatalog(directory);
      const captures = await all(catalog.captures({}));
      const perBatch = new Map<number, number>();
      for (const { time } of captures) perBatch.set(time / 1000, (perBatch.get(time / 1000) ?? 0) + 1);
      const last = Math.max(...perBatch.keys());
      assert.ok(last >= acknowledged, `${acknowledged} was acknowledged, ${last} is the last there`);
      assert.equal(perBatch.size, last, 'a batch is missing');
      for (const [number, count] of perBatch) assert.equal(count, CAPTURES_PER_BATCH, `batch ${number} is not whole`);
      assert.deepEqual(await catalog.notes(), { last: String(last) });
      const blocks = await all(catalog.blocks());
      assert.equal(blocks.length, captures.length);
      assert.deepEqual(await catalog.totals(), {
        captures: captures.length,
        blocks: captures.length,
        revisits: 0,
        payloadBytes: captures.length * 10,
        uniquePayloadBytes: captures.length * 10,
      });
      await catalog.close();
      first = last + 1;
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
});
