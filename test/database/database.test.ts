/** What the database gives to every part of an archive: versions of tables, and messages between processes. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { CallObserver } from '../../src/base/index.ts';
import { Database, type Migration, migrate } from '../../src/database/index.ts';
import { noPostgres, PostgresServer } from '../contract/postgres-server.ts';

const FIRST: Migration = (schema) => `create table ${schema}.things (name text primary key)`;
const SECOND: Migration = (schema) => `alter table ${schema}.things add column size integer not null default 0`;

describe('a database', { skip: noPostgres }, () => {
  let server: PostgresServer;
  let schemas = 0;
  before(async () => {
    server = await PostgresServer.start();
  });
  after(() => server.dispose());
  const open = (schema = `part "${++schemas}"`) => Database.open({ url: server.url, schema });

  test('makes the steps that are missing, once, whoever asks', async () => {
    const databases = await Promise.all([open('shared'), open('shared'), open('shared')]);
    await Promise.all(databases.map((database) => migrate(database, 'things', [FIRST])));
    await databases[0]!.query('insert into shared.things values ($1)', ['one']);
    await Promise.all(databases.map((database) => migrate(database, 'things', [FIRST, SECOND])));
    assert.deepEqual(await databases[1]!.query('select * from shared.things'), [{ name: 'one', size: 0 }]);
    await Promise.all(databases.map((database) => database.close()));
  });

  test('a step that fails leaves everything as it was', async () => {
    const database = await open('halfway');
    const broken: Migration = (schema) => `alter table ${schema}.nothing add column size integer`;
    await assert.rejects(migrate(database, 'things', [FIRST, broken]), /nothing/);
    assert.deepEqual(await database.query(`select to_regclass('halfway.things') as found`), [{ found: null }]);
    await migrate(database, 'things', [FIRST]);
    await database.close();
  });

  test('statements and waits for a connection are observed, with their outcomes', async () => {
    const seen: string[] = [];
    const observe: CallObserver = async (call, work) => {
      const name = [call.name, call.target].filter((part) => part !== undefined).join(' ');
      try {
        const value = await work();
        seen.push(name);
        return value;
      } catch (error) {
        seen.push(`${name} failed`);
        throw error;
      }
    };
    const database = await Database.open({ url: server.url, schema: 'observed', poolSize: 1, observe });
    await database.query('select 1');
    await assert.rejects(database.query('select nothing from nowhere'));
    await database.transact(async (query) => await query('create temporary table things (name text)'));
    await using snapshot = await database.snapshot();
    await snapshot.query('select 2');
    const statements = ['connect reads', 'select', 'connect reads', 'select failed', 'connect commits', 'begin'];
    assert.deepEqual(seen, [...statements, 'create', 'commit', 'connect snapshots', 'select']);
    await snapshot[Symbol.asyncDispose]();
    await database.close();
  });

  test('tables of a newer release are refused', async () => {
    const database = await open();
    await migrate(database, 'things', [FIRST, SECOND]);
    await assert.rejects(migrate(database, 'things', [FIRST]), { code: 'CATALOG_VERSION' });
    await database.close();
  });

  test('messages reach those who listen, also after their connection was lost', async () => {
    const [sender, receiver, stranger] = await Promise.all([open('talk'), open('talk'), open('elsewhere')]);
    const heard: (string | undefined)[] = [];
    const strange: (string | undefined)[] = [];
    stranger.listen('news', (message) => strange.push(message));
    const connected = new EventTarget();
    receiver.listen('news', (message) => {
      heard.push(message);
      connected.dispatchEvent(new Event('message'));
    });
    const said = () => once(connected, 'message');
    await said();
    await Promise.all([said(), sender.notify('news', 'first')]);
    assert.deepEqual(heard, [undefined, 'first']);
    const killer = new pg.Client({ connectionString: server.url });
    await killer.connect();
    const again = said();
    await killer.query(`select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen%talk%'`);
    await killer.end();
    await again;
    await Promise.all([said(), sender.notify('news', 'second')]);
    assert.deepEqual(heard, [undefined, 'first', undefined, 'second']);
    await delay(20);
    assert.deepEqual(strange, [undefined]);
    await Promise.all([sender.close(), receiver.close(), stranger.close()]);
  });
});
