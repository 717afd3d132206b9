import { after, before, describe } from 'node:test';
import { openPostgresCatalog } from '../../src/catalog/index.ts';
import { catalogContract } from './catalog.ts';
import { manyWriters } from './many-writers.ts';
import { noPostgres, PostgresServer } from './postgres-server.ts';
import { sharedCatalogModel } from './shared-catalog-model.ts';
import { withWrite } from './write-by-commit.ts';

describe('a catalog on PostgreSQL', { skip: noPostgres }, () => {
  let server: PostgresServer;
  let schemas = 0;
  before(async () => {
    server = await PostgresServer.start();
  });
  after(() => server.dispose());

  catalogContract(
    'PostgresCatalog',
    async () => {
      const schema = `catalog ${++schemas}`;
      return {
        open: async () => withWrite(await openPostgresCatalog({ url: server.url, schema })),
        dispose: async () => {},
      };
    },
    { hasOneOwner: false },
  );

  const open = () => openPostgresCatalog({ url: server.url, schema: `model ${++schemas}` });
  sharedCatalogModel('PostgresCatalog', open);
  manyWriters('PostgresCatalog', open);
});
