import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Database } from '../../src/database/index.ts';
import { openTokens, TokenTable } from '../../src/server/index.ts';
import { noPostgres, PostgresServer } from './postgres-server.ts';
import { newNamedToken, tokenStoreContract } from './token-store.ts';

describe('tokens in a database', { skip: noPostgres }, () => {
  let server: PostgresServer;
  const databases: Database[] = [];
  const databaseOf = async (schema: string) => {
    const database = await Database.open({ url: server.url, schema });
    databases.push(database);
    return database;
  };
  before(async () => {
    server = await PostgresServer.start();
  });
  after(async () => {
    await Promise.all(databases.map((database) => database.close()));
    await server.dispose();
  });
  tokenStoreContract(() => ({
    hasManyServers: true,
    open: async (name) => openTokens('/nowhere', await databaseOf(`tokens ${name}`)),
  }));

  test('the rows of many charges are folded, and the sum stays', async () => {
    const database = await databaseOf('folds');
    const tokens = await openTokens('/nowhere', database);
    assert.ok(tokens instanceof TokenTable);
    const token = newNamedToken('bob', { quotaBytes: 1_000_000 });
    await tokens.add(token);
    await database.query(`insert into folds.token_charges (hash, bytes) select $1, 3 from generate_series(1, 1500)`, [
      token.hash,
    ]);
    await tokens.charge(token, 1);
    const [row] = await database.query('select count(*) as rows from folds.token_charges');
    assert.ok(Number(row!.rows) === 502, `${row!.rows} rows`);
    assert.equal(await tokens.usedBytes(token), 4501);
    await tokens.close();
  });

  test('a charge does not wait for one whose server hangs in a transaction', async () => {
    const database = await databaseOf('hangs');
    const tokens = await openTokens('/nowhere', database);
    const token = newNamedToken('bob', { quotaBytes: 1000 });
    await tokens.add(token);
    let isCharged = false;
    await database.transact(async (query) => {
      await query(`insert into hangs.token_charges (hash, bytes) values ($1, 10)`, [token.hash]);
      isCharged = await tokens.charge(token, 10);
    });
    assert.ok(isCharged);
    assert.equal(await tokens.usedBytes(token), 20);
    await tokens.close();
  });
});
