/** Servers of a cluster as their operator sees them: readiness, figures, and leaving. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { ContentsClient } from '../../src/client/index.ts';
import { Telemetry } from '../../src/server/index.ts';
import { contentOf, NOON, page } from '../archive/trial-archive.ts';
import { pinakesJson, startPinakes } from '../journeys/pinakes-process.ts';
import { ask, makeServer } from '../server/trial-server.ts';
import { noPostgres, TestCluster } from './cluster-sample.ts';

describe('operating a cluster', { skip: noPostgres }, () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await TestCluster.start();
  });
  after(() => cluster[Symbol.asyncDispose]());

  test('a server that leaves gives its leases back, and what it stored is on another machine', async (t) => {
    const { catalog, archive } = await cluster.archive();
    const [directory, other] = [await cluster.machine(catalog), await cluster.machine(catalog)];
    const ports = ['--port', '0', '--replay-port', '0'];
    const child = startPinakes(directory, 'serve', '-a', '.', '--json', '--no-index', ...ports);
    t.after(() => child.kill('SIGKILL'));
    const [line] = await once(createInterface({ input: child.stdout! }), 'line');
    const { uiAddress, token } = JSON.parse(String(line)) as { uiAddress: string; token: string };
    assert.equal((await ask(uiAddress, '/readyz')).status, 200);
    const client = new ContentsClient(uiAddress, { token });
    const captures = [{ url: 'http://a.example/', mime: 'text/plain', content: Buffer.from('a page') }];
    assert.equal((await client.store(captures, { id: randomUUID(), time: new Date(NOON) })).stored, 1);
    const living = () => {
      const [{ catalog: found }] = pinakesJson(other, 'doctor', '-a', '.', '--json') as [
        { catalog: { leases: { isLiving: boolean; holder: string }[] } },
      ];
      return found.leases.filter(({ isLiving, holder }) => isLiving && holder.includes('serve'));
    };
    assert.equal(living().length, 1);
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
    assert.deepEqual(living(), []);
    assert.equal((await archive.totals()).captures, 1);
    await archive.close();
  });

  test('a token that one machine adds is known to all, until one revokes it', async () => {
    const { catalog, archive } = await cluster.archive();
    const [one, other] = [await cluster.machine(catalog), await cluster.machine(catalog)];
    const [added] = pinakesJson(one, 'token', 'add', 'crawler', '-a', '.', '--rights', 'add', '--json');
    assert.match(String(added!.token), /^pin_/);
    const names = () => pinakesJson(other, 'token', 'ls', '-a', '.', '--json').map(({ name }) => name);
    assert.deepEqual(names(), ['crawler']);
    pinakesJson(other, 'token', 'revoke', 'crawler', '-a', '.', '--json');
    assert.deepEqual(names(), []);
    await archive.close();
  });

  test('machines that create the archive at the same moment all have the same one', async () => {
    const catalog = cluster.newCatalog();
    const directories = await Promise.all(Array.from({ length: 6 }, () => cluster.machine(catalog)));
    const ids = directories.map(
      (directory) => /^id: (.*)$/m.exec(readFileSync(join(directory, 'archive.yaml'), 'utf8'))![1],
    );
    assert.equal(new Set(ids).size, 1);
  });

  test('statements and leases are counted, and a server without its database is alive and not ready', async (t) => {
    const telemetry = new Telemetry(() => performance.now());
    const { archive } = await cluster.archive({ observe: telemetry.observe, clusterTimes: {} });
    const { server } = await makeServer(t, { archive, telemetry });
    await archive.store(page('http://a.example/', NOON, contentOf('a page')));
    const { text } = await ask(server.uiAddress, '/metrics');
    assert.match(text, /^pinakes_ledger_commit_duration_seconds_count\{outcome="committed"\} [1-9]/m);
    assert.match(
      text,
      /^pinakes_postgresql_statement_duration_seconds_count\{statement="insert",outcome="ok"\} [1-9]/m,
    );
    assert.match(text, /^pinakes_postgresql_connection_wait_seconds_count\{pool="commits",outcome="ok"\} [1-9]/m);
    assert.match(text, /^pinakes_leases_held [1-9]/m);
    assert.equal((await ask(server.uiAddress, '/readyz')).status, 200);
    await cluster.postgres.stop('immediate');
    try {
      for (;;) {
        const { status, text: reasons } = await ask(server.uiAddress, '/readyz');
        if (status === 200) await wait(50);
        else {
          assert.deepEqual([status, JSON.parse(reasons).reasons[0].code], [503, 'CATALOG_UNREACHABLE']);
          break;
        }
      }
      assert.equal((await ask(server.uiAddress, '/healthz')).status, 200);
    } finally {
      await cluster.postgres.startAgain();
    }
    while ((await ask(server.uiAddress, '/readyz')).status !== 200) await wait(50);
    await server.close();
    await archive.close();
  });
});
