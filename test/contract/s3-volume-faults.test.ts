import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../src/base/index.ts';
import { FaultProxy } from './fault-proxy.ts';
import { tryAllFaults } from './s3-faults.ts';
import { noVersitygw, type S3Server, startVersitygw, startVolumeServer } from './s3-servers.ts';

/** The rest is for `npm run trial -- s3-faults`. */
const SHARE = 0.3;

function faultsOn(title: string, start: () => Promise<S3Server>, skip: string | false): void {
  test(`no fault at any request of any call leaves a wrong state or gives a wrong answer: ${title}`, {
    skip,
  }, async (t) => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    t.diagnostic(`seed ${seed}`);
    const server = await start();
    const proxy = await FaultProxy.start(server.endpoint);
    try {
      const runs = await tryAllFaults(server, proxy, seededRandom(seed), seed, SHARE);
      t.diagnostic(`${runs} runs`);
      assert.ok(runs > 20);
    } finally {
      await proxy.close();
      await server.close();
    }
  });
}

faultsOn('the volume server', startVolumeServer, false);
faultsOn('versitygw', startVersitygw, noVersitygw);
