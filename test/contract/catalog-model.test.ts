/**
 * Compares LevelCatalog with MemoryCatalog. Both get the same random batches over a few keys that often collide, and
 * then the same questions. `PINAKES_SEED=<seed>` repeats a run.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { seededRandom } from '../../src/base/index.ts';
import { type Catalog, type CatalogView, MemoryCatalog, openLevelCatalog } from '../../src/catalog/index.ts';
import { all } from './catalog-fixture.ts';
import { CatalogWorld } from './catalog-world.ts';

const RUNS = 8;
const BATCHES = 40;

const EVERYTHING: readonly ((catalog: CatalogView) => Promise<unknown>)[] = [
  (catalog) => all(catalog.captures({})),
  (catalog) => all(catalog.blocks()),
  (catalog) => catalog.segments(),
  (catalog) => catalog.notes(),
  (catalog) => catalog.totals(),
];

async function compare(seed: number): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-catalog-model-'));
  const world = new CatalogWorld(seededRandom(seed));
  const model = new MemoryCatalog();
  let catalog: Catalog = await openLevelCatalog(directory);
  try {
    for (let step = 0; step < BATCHES; step++) {
      const where = `seed ${seed}, step ${step}`;
      const batch = world.batch();
      await using modelView = await model.view();
      await using view = await catalog.view();
      await model.write(batch);
      await catalog.write(batch);
      for (const ask of EVERYTHING) assert.deepEqual(await ask(catalog), await ask(model), where);
      for (let count = 0; count < 6; count++) {
        const ask = world.question();
        assert.deepEqual(await ask(catalog), await ask(model), where);
        assert.deepEqual(await ask(view), await ask(modelView), `${where}, in a view`);
      }
      if (world.below(8) === 0) {
        await view[Symbol.asyncDispose]();
        await catalog.close();
        catalog = await openLevelCatalog(directory);
      }
    }
  } finally {
    await catalog.close();
    rmSync(directory, { recursive: true });
  }
}

test('a LevelCatalog gives the same answer to every question as a MemoryCatalog', async (t) => {
  const given = process.env.PINAKES_SEED;
  const seeds = given ? [Number(given)] : Array.from({ length: RUNS }, () => Math.floor(Math.random() * 2 ** 32));
  t.diagnostic(`seeds ${seeds.join(' ')}`);
  for (const seed of seeds) await compare(seed);
});
