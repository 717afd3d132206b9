import { MemoryCatalog } from '../../src/catalog/index.ts';
import { catalogContract } from './catalog.ts';

catalogContract('MemoryCatalog', async () => {
  const catalog = new MemoryCatalog({ clock: () => 0 });
  return { open: async () => catalog, dispose: async () => {} };
});
