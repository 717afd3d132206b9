/**
 * The ledger's real code over a real PostgreSQL, in a few random schedules of some scenarios. More of them:
 * `npm run simulate -- ledger --postgres postgresql://user@host/database --seeds 20`.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type CopyableCatalog, openPostgresCatalog } from '../../src/catalog/index.ts';
import { noPostgres, PostgresServer } from '../contract/postgres-server.ts';
import { exploreSeed } from './explorer.ts';
import { LEDGER_SCENARIOS } from './ledger-scenarios.ts';
import { joinPostgres } from './postgres-twin.ts';
import { REMOVAL_SCENARIOS } from './removal-scenarios.ts';
import { prepare } from './scenario.ts';

const SEEDS = 2;
/** A writer beside a deleter, lost answers, healing of what was deleted, a takedown, compaction. */
const NAMED = ['A ', 'B ', 'C ', 'G ', 'L ', 'J '];

suite('the simulated ledger on PostgreSQL', { skip: noPostgres }, () => {
  let server: PostgresServer;
  let catalog: CopyableCatalog;
  before(async () => {
    server = await PostgresServer.start();
    catalog = await openPostgresCatalog({ url: server.url, schema: 'simulation' });
  });
  after(async () => {
    await catalog.close();
    await server.dispose();
  });
  for (const scenario of [...LEDGER_SCENARIOS, ...REMOVAL_SCENARIOS])
    if (NAMED.some((name) => scenario.name.startsWith(name)))
      test(scenario.name, async () => {
        const prepared = await prepare(scenario);
        for (let seed = 1; seed <= SEEDS; seed++) {
          const found = await exploreSeed(scenario, seed, prepared, undefined, (world) => joinPostgres(world, catalog));
          assert.equal(found, undefined, `--seed ${seed}`);
        }
      });
});
