/** What becomes of transactions and snapshots when answers are lost, the network is silent, or a process is stopped. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type CommitGroup, openPostgresCatalog } from '../../src/catalog/index.ts';
import { Database } from '../../src/database/index.ts';
import { capture } from '../contract/catalog-fixture.ts';
import { PostgresProxy } from '../contract/postgres-proxy.ts';
import { noPostgres, PostgresServer } from '../contract/postgres-server.ts';

describe('a database behind a failing network', { skip: noPostgres }, () => {
  let server: PostgresServer;
  let proxy: PostgresProxy;
  before(async () => {
    server = await PostgresServer.start();
    proxy = await PostgresProxy.start(server.url);
  });
  after(async () => {
    await proxy.close();
    await server.dispose();
  });

  test('a transaction whose answer is lost is not made again, and the error is retryable', async () => {
    const direct = await Database.open({ url: server.url, schema: 'lost' });
    await direct.query('create schema lost');
    await direct.query('create table lost.things (name text)');
    const database = await Database.open({ url: proxy.url, schema: 'lost' });
    let runs = 0;
    proxy.loseAnswerTo('commit');
    await assert.rejects(
      database.transact(async (query) => {
        runs++;
        await query('insert into lost.things values ($1)', ['one']);
      }),
      { code: 'CATALOG_UNREACHABLE', retryable: true },
    );
    assert.deepEqual([runs, proxy.lost], [1, 1]);
    await untilTrue(async () => (await direct.query('select * from lost.things')).length === 1);
    await Promise.all([database.close(), direct.close()]);
  });

  test('C4: a commit whose answer is lost is committed once, and asking again says so', async () => {
    const catalog = await openPostgresCatalog({ url: proxy.url, schema: 'again' });
    const lease = (await catalog.takeLease('writer', 'test', 60_000))!;
    const segment = (await catalog.listSegment({ volume: 'main', name: 's', collection: 1 }, lease))!;
    const group: CommitGroup = {
      id: 'commit 1',
      lease,
      segments: [
        {
          number: segment.number,
          from: { state: 'open', bytes: 0, volume: 'main' },
          to: { bytes: 100, records: 1 },
        },
      ],
      captures: [{ capture: capture('http://a.com/', { place: { segment: segment.number, offset: 0, length: 100 } }) }],
    };
    const lost = proxy.lost;
    proxy.loseAnswerTo('commit');
    await assert.rejects(catalog.commit(group), { code: 'CATALOG_UNREACHABLE', retryable: true });
    assert.equal(proxy.lost, lost + 1);
    assert.deepEqual(await catalog.commit(group), { kind: 'committed', lost: [], freed: 0 });
    const [row] = await catalog.segments();
    assert.deepEqual([row!.bytes, (await catalog.totals()).captures], [100, 1]);
    await catalog.close();
  });

  test('a transaction of a process that is stopped in the middle of it does not keep others waiting', async () => {
    const [stopped, other] = await Promise.all(
      [{ pauseMs: 200 }, {}].map((limits) => Database.open({ url: server.url, schema: 'stopped', limits })),
    );
    await other!.query('create schema stopped');
    await other!.query('create table stopped.things as select 1 as number');
    const update = 'update stopped.things set number = number + 1';
    let isLocked = () => {};
    const locked = new Promise<void>((resolve) => {
      isLocked = resolve;
    });
    const late = stopped!.transact(async (query) => {
      await query(update);
      isLocked();
      await delay(1000);
      await query(update);
    });
    const failed = assert.rejects(late, { code: 'CATALOG_UNREACHABLE', retryable: true });
    await locked;
    await other!.transact((query) => query(update));
    assert.deepEqual(await other!.query('select number from stopped.things'), [{ number: 2 }]);
    await failed;
    assert.deepEqual(await other!.query('select number from stopped.things'), [{ number: 2 }]);
    await Promise.all([stopped!.close(), other!.close()]);
  });

  test('a snapshot that is open for too long ends, also when its process is stopped', async () => {
    const database = await Database.open({ url: server.url, schema: 'views', limits: { snapshotMs: 150 } });
    const open = async () =>
      Number(
        (
          await database.query(`select count(*) as count from pg_stat_activity where backend_xmin is not null
        and pid <> pg_backend_pid() and query not like 'autovacuum%'`)
        )[0]!.count,
      );
    const snapshot = await database.snapshot();
    assert.deepEqual(await snapshot.query('select 1 as one'), [{ one: 1 }]);
    assert.equal(await open(), 1);
    await untilTrue(async () => (await open()) === 0);
    await assert.rejects(snapshot.query('select 1'), { code: 'CATALOG_VIEW_ENDED', retryable: true });
    await snapshot[Symbol.asyncDispose]();
    const another = await database.snapshot();
    assert.deepEqual(await another.query('select 1 as one'), [{ one: 1 }]);
    await another[Symbol.asyncDispose]();
    await database.close();
  });

  test('a network that is silent makes statements and transactions fail, not wait for ever', async () => {
    const silent = await PostgresProxy.start(server.url);
    const limits = { statementMs: 200, commitMs: 200 };
    const database = await Database.open({ url: silent.url, schema: 'silent', limits });
    assert.deepEqual(await database.query('select 1 as one'), [{ one: 1 }]);
    await database.transact((query) => query('select 1'));
    silent.goSilent();
    const unreachable = { code: 'CATALOG_UNREACHABLE', retryable: true };
    await assert.rejects(database.query('select 1'), unreachable);
    await assert.rejects(
      database.transact((query) => query('select 1')),
      unreachable,
    );
    await Promise.all([silent.close(), database.close()]);
  });
});

async function untilTrue(condition: () => Promise<boolean>): Promise<void> {
  for (let waitedMs = 0; !(await condition()); waitedMs += 20) {
    assert.ok(waitedMs < 10_000, 'it does not become true');
    await delay(20);
  }
}
