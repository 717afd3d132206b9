/** What the volumes do at present: states, requests under way, rates of the last minute, and the last error. */
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Archive, type NodeStatus, openArchive } from '../../src/archive/index.ts';
import { startVolumeServerProcess } from '../volume-server/volume-server-process.ts';
import { bytesOf, contentOf, makeArchive, NOON, page, trialOptions } from './trial-archive.ts';

const MINUTE_MS = 60_000;

const urlOf = (name: string) => `http://node.example/${name}`;

/** An archive with a clock that only the test moves. */
async function stillArchive(t: TestContext): Promise<{ archive: Archive; pass: (ms: number) => void }> {
  let now = NOON;
  const archive = await makeArchive(t, { clock: () => now });
  return { archive, pass: (ms) => (now += ms) };
}

async function nodeOf(archive: Archive, name: string): Promise<NodeStatus> {
  const found = (await archive.nodes()).find((node) => node.name === name);
  assert.ok(found, `there is no node ${name}`);
  return found;
}

const stateOf = async (archive: Archive, name: string) => (await nodeOf(archive, name)).state;

test('a node is storing after a write, then idle, and its rates are those of the last minute', async (t) => {
  const { archive, pass } = await stillArchive(t);
  pass(10 * MINUTE_MS);
  assert.deepEqual((await nodeOf(archive, 'main')).lastMinute, { requests: 0, readBytes: 0, writtenBytes: 0 });
  assert.equal(await stateOf(archive, 'main'), 'idle');
  await archive.store(page(urlOf('a'), NOON, contentOf('a')));
  const stored = await nodeOf(archive, 'main');
  const [segment] = await archive.segments();
  assert.equal(stored.state, 'storing');
  assert.equal(stored.lastMinute.writtenBytes, segment!.bytes);
  assert.ok(stored.lastMinute.requests >= 2, 'an append and a sync');
  assert.equal(stored.bytes, segment!.bytes);
  assert.ok(stored.totalBytes! > stored.freeBytes!);
  pass(MINUTE_MS / 2);
  archive.forgetRecentRecords();
  await bytesOf((await archive.get(urlOf('a'))).payload);
  const read = await nodeOf(archive, 'main');
  assert.equal(read.state, 'idle');
  assert.ok(read.lastMinute.readBytes > 1000 && read.lastMinute.writtenBytes === segment!.bytes);
  pass(MINUTE_MS / 2 + 1000);
  const later = (await nodeOf(archive, 'main')).lastMinute;
  assert.deepEqual(later, { ...read.lastMinute, requests: later.requests, writtenBytes: 0 });
  assert.ok(later.requests > 0 && later.requests < read.lastMinute.requests);
  pass(MINUTE_MS);
  assert.deepEqual((await nodeOf(archive, 'main')).lastMinute, { requests: 0, readBytes: 0, writtenBytes: 0 });
});

test('a node is streaming until its reader ends, and new contents prefer the other node meanwhile', async (t) => {
  const { archive, pass } = await stillArchive(t);
  await archive.addVolume({ name: 'second', path: join(archive.directory, 'volumes/second') });
  await archive.store(page(urlOf('first'), NOON, contentOf('first')), { volume: 'main' });
  pass(MINUTE_MS);
  const [segment] = await archive.segments();
  const stream = archive.segmentBytes(segment!.name);
  await stream.next();
  const streaming = await nodeOf(archive, 'main');
  assert.deepEqual([streaming.state, streaming.pending.stream], ['streaming', 1]);
  assert.equal(await stateOf(archive, 'second'), 'idle');
  const share = async (round: string) => {
    const segments = new Map((await archive.segments()).map(({ number, volume }) => [number, volume]));
    let second = 0;
    for (let number = 0; number < 120; number++) {
      await archive.store(page(urlOf(`${round}${number}`), NOON, contentOf(`${round} ${number}`, 600)));
      const { capture } = await archive.get(urlOf(`${round}${number}`));
      if (!segments.has(capture.place.segment))
        for (const one of await archive.segments()) segments.set(one.number, one.volume);
      if (segments.get(capture.place.segment) === 'second') second++;
    }
    return second;
  };
  const during = await share('during');
  await stream.return(undefined);
  assert.equal((await nodeOf(archive, 'main')).pending.stream, 0);
  pass(MINUTE_MS);
  assert.equal(await stateOf(archive, 'main'), 'idle');
  const after = await share('later');
  // The contents are fixed, so the shares are too: about two thirds of 120, and about half.
  assert.ok(during > 70 && during < 90, `${during} while the first node is streaming`);
  assert.ok(after > 48 && after < 72, `${after} afterwards`);
});

test('a node that disappears is missing, and its last error stays when it is back', async (t) => {
  const { archive } = await stillArchive(t);
  await archive.store(page(urlOf('a'), NOON, contentOf('a')));
  const main = join(archive.directory, 'volumes/main');
  renameSync(main, `${main}-unplugged`);
  const missing = await nodeOf(archive, 'main');
  assert.equal(missing.state, 'missing');
  assert.equal(missing.failure?.code, 'VOLUME_MISSING');
  const storing = archive.store(page(urlOf('b'), NOON, contentOf('b')), { volume: 'main' });
  await assert.rejects(storing, { code: 'VOLUME_MISSING' });
  renameSync(`${main}-unplugged`, main);
  const back = await nodeOf(archive, 'main');
  assert.notEqual(back.state, 'missing');
  assert.equal(back.lastError?.code, 'VOLUME_MISSING');
  assert.equal(back.lastError.time, archive.clock());
  assert.deepEqual(back.pending, { read: 0, stream: 0, write: 0, sync: 0, list: 0 });
});

/** The different states with a rebalancing node that are seen while the work is under way. */
async function statesDuring(work: () => Promise<unknown>, states: () => Promise<string[]>): Promise<string[]> {
  let isOver = false;
  const working = work().finally(() => (isOver = true));
  const seen = new Set<string>();
  while (!isOver) seen.add((await states()).join(', '));
  await working;
  return [...seen].filter((line) => line.includes('rebalancing'));
}

test('a read-only node says so, and both nodes of a migration are rebalancing while it runs', async (t) => {
  const archive = await makeArchive(t);
  await archive.addVolume({ name: 'old', path: join(archive.directory, 'volumes/old') });
  await archive.setVolumeWritable('old', false);
  await archive.addVolume({ name: 'second', path: join(archive.directory, 'volumes/second') });
  assert.equal(await stateOf(archive, 'old'), 'read-only');
  for (let number = 0; number < 8; number++)
    await archive.store(page(urlOf(`${number}`), NOON, contentOf(`${number}`)), {
      volume: 'main',
      collection: `c${number}`,
    });
  const states = async () => (await archive.nodes()).map(({ name, state }) => `${name} ${state}`).toSorted();
  assert.deepEqual(await statesDuring(() => archive.migrate('main', 'second', { dryRun: true }), states), []);
  const seen = await statesDuring(() => archive.migrate('main', 'second'), states);
  assert.deepEqual(seen, ['main rebalancing, old read-only, second rebalancing']);
  assert.doesNotMatch((await states()).join(), /rebalancing/);
});

test('a bucket has the counts of its requests, and is missing soon after its server is gone', async (t) => {
  await using server = await startVolumeServerProcess();
  process.env.AWS_ACCESS_KEY_ID = server.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = server.secretAccessKey;
  const made = await makeArchive(t);
  await made.close();
  const archive = await openArchive(made.directory, trialOptions());
  t.after(() => archive.close().catch(() => {}));
  const { endpoint, bucket } = server;
  await archive.addVolume({ name: 'far', path: `s3://${bucket}/node`, endpoint, region: 'local' });
  await archive.store(page(urlOf('a'), NOON, contentOf('a')), { volume: 'far' });
  const far = await nodeOf(archive, 'far');
  assert.equal(far.failure, undefined);
  assert.ok(far.bucket!.puts > 0 && far.bucket!.bytesWritten > 0);
  assert.deepEqual(far.bucket!.pending, { put: 0, get: 0, head: 0, list: 0, delete: 0 });
  assert.equal(far.totalBytes, undefined);
  await server.kill();
  const gone = await nodeOf(archive, 'far');
  assert.equal(gone.state, 'missing');
  assert.equal(gone.failure?.code, 'VOLUME_MISSING');
  assert.equal((await nodeOf(archive, 'main')).failure, undefined, 'the other node is not affected');
});
