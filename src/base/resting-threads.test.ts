import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { RestingThreads } from './resting-threads.ts';

const WAITING = "require('node:worker_threads').parentPort.on('message', (code) => process.exit(code))";

async function newThread(): Promise<Worker> {
  const worker = new Worker(WAITING, { eval: true });
  await once(worker, 'online');
  return worker;
}

test('a thread at rest is given to one who needs its kind, once', async () => {
  const resting = new RestingThreads(60_000);
  const worker = await newThread();
  resting.rest('scan', worker);
  assert.equal(resting.take('links'), undefined);
  assert.equal(resting.take('scan'), worker);
  assert.equal(resting.take('scan'), undefined);
  await worker.terminate();
});

test('a thread that nobody came for ends', async () => {
  const resting = new RestingThreads(1);
  const worker = await newThread();
  const exit = once(worker, 'exit');
  resting.rest('scan', worker);
  worker.ref();
  await exit;
  assert.equal(resting.size, 0);
});

test('a thread that dies at rest is given to nobody', async () => {
  const resting = new RestingThreads(60_000);
  const worker = await newThread();
  resting.rest('scan', worker);
  const exit = once(worker, 'exit');
  worker.ref();
  worker.postMessage(3);
  await exit;
  assert.equal(resting.take('scan'), undefined);
});
