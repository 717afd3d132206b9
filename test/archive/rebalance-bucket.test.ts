/** Rebalancing, copies and restoring between a directory and a bucket of our own volume server. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { homeOf } from '../faults/rebalance-kill.ts';
import { startVolumeServerProcess } from '../volume-server/volume-server-process.ts';
import { damageRecord } from './damage-sample.ts';
import { allCaptures, answers, contentOf, makeArchive, NOON, page, payloadAt } from './trial-archive.ts';
import { problemsOf } from './two-volumes.ts';

const PAGES = 24;
const POPULAR = 6;
const urlOf = (number: number) => `http://site.example/${number}`;
const bodyOf = (number: number) => contentOf(`content ${number}`, 1500);

test('records move into a bucket and out of it, are copied to it, and are restored from it', async (t) => {
  await using server = await startVolumeServerProcess();
  process.env.AWS_ACCESS_KEY_ID = server.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = server.secretAccessKey;
  const policies = { distribution: 'hash', copies: { 2: 3 }, segmentBytesMax: 12_000 } as const;
  const archive = await makeArchive(t, { policies, clock: () => Date.now() });
  const { endpoint, bucket } = server;
  const store = async (host: string) => {
    for (let number = 0; number < POPULAR; number++)
      await archive.store(page(`http://${host}.example/${number}`, NOON, bodyOf(number)));
  };
  for (let number = 0; number < PAGES; number++) await archive.store(page(urlOf(number), NOON, bodyOf(number)));
  const before = await answers(archive);
  const assertHomes = async (volumes: readonly string[]) => {
    const captures = await allCaptures(archive);
    const places = await archive.records.locate(captures.map(({ place }) => place));
    for (const [index, { url }] of captures.entries()) {
      const number = Number(url.slice(url.lastIndexOf('/') + 1));
      assert.equal(places[index]!.volume, homeOf(bodyOf(number), volumes), url);
    }
    assert.deepEqual(await problemsOf(archive), []);
  };

  await archive.addVolume({ name: 'far', path: `s3://${bucket}/far`, endpoint, region: 'us-east-1' });
  const { moves, staying } = await archive.rebalance();
  assert.deepEqual([moves.map(({ from, to }) => `${from} ${to}`), staying], [['main far'], []]);
  assert.deepEqual(await answers(archive), before);
  for (const host of ['b', 'c']) await store(host);
  await assertHomes(['main', 'far']);

  assert.deepEqual([(await archive.makeCopies()).copies, (await archive.makeCopies()).copies], [POPULAR, 0]);
  const held = (await allCaptures(archive)).filter(({ url }) => url.startsWith('http://site.'));
  const places = await archive.records.locate(held.map(({ place }) => place));
  const isRestorable = (index: number) =>
    places[index]!.volume === 'main' && Number(held[index]!.url.split('/').at(-1)) < POPULAR;
  const damaged = held.filter((_, index) => isRestorable(index));
  assert.ok(damaged.length > 0 && damaged.length < POPULAR, 'contents with copies are in both volumes');
  const whole = await answers(archive);
  for (const { place } of damaged) await damageRecord(archive, place, 'start');
  archive.forgetRecentRecords();
  for (const { url } of damaged)
    assert.deepEqual(await payloadAt(archive, url), Buffer.from(bodyOf(Number(url.split('/').at(-1)))));
  const { restored, left } = await archive.restore();
  assert.deepEqual([restored, left], [damaged.length, []]);
  assert.deepEqual(await answers(archive), whole);

  await archive.addVolume({ name: 'third', path: join(archive.directory, 'volumes/third') });
  const again = await archive.rebalance();
  assert.deepEqual(again.moves.map(({ from, to }) => `${from} ${to}`).sort(), ['far third', 'main third']);
  await archive.compact();
  await assertHomes(['main', 'far', 'third']);
  assert.deepEqual(await answers(archive), whole);
  await archive.rebuild();
  assert.deepEqual(await answers(archive), whole);
  assert.deepEqual([(await archive.rebalance()).moves, (await archive.makeCopies()).copies], [[], 0]);
});
