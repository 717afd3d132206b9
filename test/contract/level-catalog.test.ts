import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { openLevelCatalog } from '../../src/catalog/index.ts';
import { catalogContract } from './catalog.ts';
import type { CatalogUnderTest } from './catalog-fixture.ts';
import { catalogModel } from './catalog-model.ts';
import { manyWriters } from './many-writers.ts';

const made = mkdtempSync(join(tmpdir(), 'pinakes-catalog-'));
let catalogs = 0;
after(() => rmSync(made, { recursive: true }));

async function make(): Promise<CatalogUnderTest> {
  const directory = join(made, `${++catalogs}`, 'catalog');
  return { open: () => openLevelCatalog(directory, { clock: () => 0 }), dispose: async () => {} };
}

catalogContract('LevelCatalog', make);
catalogModel('LevelCatalog', make, { endsLeases: true });
manyWriters('LevelCatalog', async () => (await make()).open());
