import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLevelCatalog } from '../../src/catalog/index.ts';
import { catalogContract } from './catalog.ts';

catalogContract('LevelCatalog', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-catalog-'));
  return {
    open: () => openLevelCatalog(join(directory, 'catalog')),
    dispose: async () => rmSync(directory, { recursive: true }),
  };
});
