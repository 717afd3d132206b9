import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../src/base/index.ts';
import { FaultProxy } from './fault-proxy.ts';
import { tryAllFaults } from './s3-faults.ts';
import { noVersitygw, startVersitygw } from './s3-servers.ts';

test('no fault at any request of any call leaves a wrong state or gives a wrong answer', {
  skip: noVersitygw,
}, async (t) => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const server = await startVersitygw();
  const proxy = await FaultProxy.start(server.endpoint);
  try {
    const runs = await tryAllFaults(server, proxy, seededRandom(seed), seed);
    t.diagnostic(`${runs} runs`);
    assert.ok(runs > 100);
  } finally {
    await proxy.close();
    await server.close();
  }
});
