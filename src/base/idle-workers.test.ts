import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { IdleWorkers } from './idle-workers.ts';

const WAITING = "require('node:worker_threads').parentPort.on('message', (code) => process.exit(code))";

async function newThread(): Promise<Worker> {
  const worker = new Worker(WAITING, { eval: true });
  await once(worker, 'online');
  return worker;
}

test('an idle thread is given once, to a caller that needs its kind', async () => {
  const idle = new IdleWorkers(60_000);
  const worker = await newThread();
  idle.rest('scan', worker);
  assert.equal(idle.take('links'), undefined);
  assert.equal(idle.take('scan'), worker);
  assert.equal(idle.take('scan'), undefined);
  await worker.terminate();
});

test('an idle thread that no caller takes ends', async () => {
  const idle = new IdleWorkers(1);
  const worker = await newThread();
  const exit = once(worker, 'exit');
  idle.rest('scan', worker);
  worker.ref();
  await exit;
  assert.equal(idle.size, 0);
});

test('a thread that dies while idle is not given to a caller', async () => {
  const idle = new IdleWorkers(60_000);
  const worker = await newThread();
  idle.rest('scan', worker);
  const exit = once(worker, 'exit');
  worker.ref();
  worker.postMessage(3);
  await exit;
  assert.equal(idle.take('scan'), undefined);
});
