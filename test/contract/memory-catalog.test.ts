import { MemoryCatalog } from '../../src/catalog/index.ts';
import { catalogContract } from './catalog.ts';

catalogContract('MemoryCatalog', async () => {
  const catalog = new MemoryCatalog();
  return { open: async () => catalog, dispose: async () => {} };
});
