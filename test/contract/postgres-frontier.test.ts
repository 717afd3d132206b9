import { after, before, describe } from 'node:test';
import { openCrawlState } from '../../src/crawl/index.ts';
import { Database } from '../../src/database/index.ts';
import { frontierContract } from './frontier.ts';
import { noPostgres, PostgresServer } from './postgres-server.ts';

describe('a frontier on PostgreSQL', { skip: noPostgres }, () => {
  let server: PostgresServer;
  let schemas = 0;
  before(async () => {
    server = await PostgresServer.start();
  });
  after(() => server.dispose());

  frontierContract('PostgreSQL', async () => {
    const schema = `frontier ${++schemas}`;
    const databases: Database[] = [];
    const database = await Database.open({ url: server.url, schema });
    databases.push(database);
    return {
      open: () => openCrawlState({ directory: '/nowhere', database, clock: Date.now }),
      dispose: async () => {
        for (const one of databases) await one.close();
      },
    };
  });
});
