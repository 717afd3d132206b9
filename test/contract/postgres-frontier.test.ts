import { after, before, describe } from 'node:test';
import { openCrawlState } from '../../src/crawl/index.ts';
import { Database } from '../../src/database/index.ts';
import { frontierContract } from './frontier.ts';
import { noPostgres, PostgresServer } from './postgres-server.ts';
import { sharedFrontier } from './shared-frontier.ts';

describe('a frontier on PostgreSQL', { skip: noPostgres }, () => {
  let server: PostgresServer;
  let schemas = 0;
  before(async () => {
    server = await PostgresServer.start();
  });
  after(() => server.dispose());

  const make = async () => {
    const database = await Database.open({ url: server.url, schema: `frontier_${++schemas}` });
    const open = () => openCrawlState({ directory: '/nowhere', database, clock: Date.now });
    return { database, open, dispose: () => database.close() };
  };
  frontierContract('PostgreSQL', make);
  sharedFrontier(async () => {
    const { database, open, dispose } = await make();
    const endLeases = async () => {
      await database.query(
        `update ${database.schema}.crawlers set expires = clock_timestamp() - interval '1 millisecond'`,
      );
    };
    return { state: open(), endLeases, dispose };
  });
});
