import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createArchive, openArchive } from '../../archive/index.ts';
import { seededIds, seededRandom } from '../../base/index.ts';
import { FileJobQueue, type Job, JobRunner } from '../../jobs/index.ts';
import { JOB_ERRORS } from './job-error.ts';
import { JobEvents } from './job-events.ts';

test('no events are queued for a client that does not read; when it reads again, it gets the latest state of each job', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-events-'));
  await createArchive(directory);
  const options = { clock: () => 0, newId: seededIds(seededRandom(3)) };
  const archive = await openArchive(directory, options);
  const path = join(directory, 'jobs.jsonl');
  const queue = await FileJobQueue.open({ path, clock: options.clock, historyId: 'server' });
  const jobs = new JobRunner({ queue, archive, newId: options.newId, errors: JOB_ERRORS });
  const say = (line: string) => Array.from({ length: 100 }, () => line);
  jobs.start([{ name: 'talk', run: async (job) => say('x'.repeat(1000)).forEach(job.say) }]);
  const events = new JobEvents(queue);
  const stopping = new AbortController();
  const { promise: responded, resolve } = Promise.withResolvers<ServerResponse>();
  const server = createServer((_request, response) => {
    events.send(response, { lastEventId: undefined, itemOf: (job) => job, stopping: stopping.signal });
    resolve(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    stopping.abort();
    server.closeAllConnections();
    server.close();
    await jobs.stop();
    await archive.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.pause();
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const response = await responded;

  // Each job has a log of 100 kB. All their changes together are far more than sockets can buffer.
  const last: Job[] = [];
  let mostHeld = 0;
  for (let number = 0; number < 150; number++) {
    const { over } = await jobs.submit('talk', { origin: 'api', input: { number }, lane: undefined });
    last.push(await over);
    mostHeld = Math.max(mostHeld, response.writableLength);
  }
  assert.ok(mostHeld < 2_000_000, `${mostHeld} bytes were held`);
  assert.ok(response.writableNeedDrain, 'the client should be behind');

  const done = new Set<string>();
  let rest = '';
  client.setEncoding('utf8');
  client.on('data', (piece: string) => {
    rest += piece;
    for (const match of rest.matchAll(/"id":"([^"]+)","kind":"talk","state":"done"/g)) done.add(match[1]!);
    rest = rest.slice(-200);
  });
  client.resume();
  while (done.size < last.length) await once(client, 'data');
  assert.deepEqual(done, new Set(last.map(({ id }) => id)));
});
