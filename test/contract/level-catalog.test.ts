import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { openLevelCatalog } from '../../src/catalog/index.ts';
import { catalogContract } from './catalog.ts';
import { manyWriters } from './many-writers.ts';
import { sharedCatalogModel } from './shared-catalog-model.ts';
import { withWrite } from './write-by-commit.ts';

const made = mkdtempSync(join(tmpdir(), 'pinakes-catalog-'));
let catalogs = 0;
after(() => rmSync(made, { recursive: true }));

function newDirectory(): string {
  return join(made, `${++catalogs}`, 'catalog');
}

catalogContract('LevelCatalog', async () => {
  const directory = newDirectory();
  return { open: () => openLevelCatalog(directory), dispose: async () => {} };
});

catalogContract(
  'LevelCatalog by commits',
  async () => {
    const directory = newDirectory();
    return { open: async () => withWrite(await openLevelCatalog(directory)), dispose: async () => {} };
  },
  { hasOneOwner: false },
);

const open = () => openLevelCatalog(newDirectory(), { clock: () => 0 });
sharedCatalogModel('LevelCatalog', open);
manyWriters('LevelCatalog', open);
