import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { ClassicLevel } from 'classic-level';
import { openLevelCatalog } from '../../src/catalog/index.ts';
import { all } from './catalog-fixture.ts';
import { CAPTURES_PER_BATCH, numberedBatch } from './numbered-batch.ts';
import { write } from './write-by-commit.ts';

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

/** A catalog with captures, leases and collections. Damaged: a byte of it is changed. */
async function fill(directory: string, isDamaged: boolean): Promise<void> {
  const catalog = await openLevelCatalog(directory);
  for (let number = 1; number <= 3; number++) await write(catalog, numberedBatch(number));
  for (const name of ['writer', 'writer', 'compaction'])
    await catalog.endLease((await catalog.takeLease(name, 'test'))!);
  assert.equal(await catalog.collectionNumber('news'), 1);
  assert.equal(await catalog.collectionNumber('art'), 2);
  await catalog.listSegment({ volume: 'main', name: 'a', collection: 1 });
  await catalog.close();
  if (!isDamaged) return;
  // Opening moves the log into a table.
  await (await openLevelCatalog(directory)).close();
  const table = join(directory, readdirSync(directory).find((name) => name.endsWith('.ldb'))!);
  const bytes = readFileSync(table);
  bytes[Math.floor(bytes.length / 4)]! ^= 1;
  writeFileSync(table, bytes);
}

/** Runs work, and calls `before` ahead of every step that changes files of a catalog. */
async function withSteps(before: () => void, work: () => Promise<void>): Promise<void> {
  const undo: (() => void)[] = [];
  const intercept = <Owner extends object>(owner: Owner, names: readonly (keyof Owner)[]): void => {
    for (const name of names) {
      const method = owner[name];
      const intercepted = function (this: unknown, ...given: unknown[]): unknown {
        before();
        return (method as (...given: unknown[]) => unknown).apply(this, given);
      };
      owner[name] = intercepted as Owner[keyof Owner];
      undo.push(() => {
        owner[name] = method;
      });
    }
  };
  intercept(fs, ['open', 'rename', 'rm']);
  intercept(ClassicLevel.prototype, ['clear', 'batch', 'close', 'open', 'compactRange']);
  intercept(ClassicLevel, ['destroy']);
  syncBuiltinESMExports();
  try {
    await work();
  } finally {
    for (const restore of undo) restore();
    syncBuiltinESMExports();
  }
}

for (const isDamaged of [false, true]) {
  const state = isDamaged ? 'damaged' : 'sound';
  test(`a process that is killed at any step of clearing a ${state} catalog leaves it whole, or cleared with its notes`, async () => {
    const made = mkdtempSync(join(tmpdir(), 'pinakes-catalog-clear-'));
    try {
      const directory = join(made, 'catalog');
      await fill(directory, isDamaged);
      const catalog = await openLevelCatalog(directory);
      // What a kill leaves is what is in the files then.
      const left: string[] = [];
      await withSteps(
        () => cpSync(directory, left[left.push(join(made, `step-${left.length + 1}`)) - 1]!, { recursive: true }),
        () => catalog.clear({ 'collection:news': '1', kept: 'yes' }),
      );
      await catalog.close();
      const kinds: string[] = [];
      for (const copy of [...left, directory]) kinds.push(await examine(copy, isDamaged));
      assert.ok(kinds.lastIndexOf('whole') < kinds.indexOf('cleared'), kinds.join(' '));
      assert.ok(kinds.indexOf('whole') === 0 && kinds.length > 5, kinds.join(' '));
    } finally {
      rmSync(made, { recursive: true });
    }
  });
}

/** Opens what a killed process left. Whether its clearing has begun. */
async function examine(directory: string, isDamaged: boolean): Promise<'whole' | 'cleared'> {
  const catalog = await openLevelCatalog(directory);
  const leases = new Map((await catalog.leases()).map(({ name, epoch }) => [name, epoch]));
  assert.deepEqual([leases.get('writer'), leases.get('compaction')], [2, 1], directory);
  assert.equal(await catalog.collectionNumber('news'), 1, directory);
  assert.ok((await catalog.collectionNumber('new')) > 2, `${directory}: 2 was dealt before`);
  assert.equal((await catalog.listSegment({ volume: 'main', name: 'b', collection: 1 }))?.number, 2, directory);
  const { last, kept } = await catalog.notes();
  if (kept) {
    assert.deepEqual([last, kept], [undefined, 'yes'], directory);
    assert.deepEqual(await all(catalog.captures({})), [], directory);
  } else {
    assert.equal(last, '3', directory);
    if (!isDamaged) assert.equal((await all(catalog.captures({}))).length, 3 * CAPTURES_PER_BATCH, directory);
  }
  await catalog.close();
  return kept ? 'cleared' : 'whole';
}
