import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openPostgresCatalog } from '../../src/catalog/index.ts';
import { catalogContract } from './catalog.ts';
import type { CatalogUnderTest } from './catalog-fixture.ts';
import { catalogModel } from './catalog-model.ts';
import { manyWriters } from './many-writers.ts';
import { noPostgres, PostgresServer } from './postgres-server.ts';

describe('a catalog on PostgreSQL', { skip: noPostgres }, () => {
  let server: PostgresServer;
  let schemas = 0;
  before(async () => {
    server = await PostgresServer.start();
  });
  after(() => server.dispose());

  const make = async (): Promise<CatalogUnderTest> => {
    const schema = `catalog ${++schemas}`;
    return { open: () => openPostgresCatalog({ url: server.url, schema }), dispose: async () => {} };
  };
  catalogContract('PostgresCatalog', make);
  catalogModel('PostgresCatalog', make, { endsLeases: false });
  manyWriters('PostgresCatalog', async () => (await make()).open());

  test('D3 what is barred stays barred while a rebuild empties the catalog', async () => {
    const catalog = await (await make()).open();
    await catalog.commit({ bars: [{ kind: 'content', digest: new Uint8Array(32) }], putNotes: { gone: 'yes' } });
    await catalog.beginIncarnation(2);
    assert.equal(await catalog.beginEmpty(3, {}), true);
    assert.deepEqual([(await catalog.bars()).length, await catalog.notes()], [1, {}]);
    await catalog.close();
  });
});
