/** Rebalancing: exactly the records move whose hash says so, and everything stays readable. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { type Archive, openArchive } from '../../src/archive/index.ts';
import { formatW3cDate } from '../../src/base/index.ts';
import type { Capture } from '../../src/catalog/index.ts';
import { foreignId, response, warcinfo, writeForeign } from './foreign-file.ts';
import { allCaptures, bytesOf, contentOf, makeArchive, NOON, page, trialOptions } from './trial-archive.ts';
import { problemsOf } from './two-volumes.ts';

const COUNT = 60;
const CONTENTS = 40;

const urlOf = (number: number) => `http://site.example/${String(number).padStart(4, '0')}`;
const bodyOf = (number: number) => contentOf(`content ${number % CONTENTS}`);
const request = Buffer.from('GET / HTTP/1.1\r\nHost: site.example\r\n\r\n');

async function filled(t: TestContext, volumes: readonly string[] = ['second', 'third']): Promise<Archive> {
  const archive = await makeArchive(t, { policies: { distribution: 'hash', segmentBytesMax: 20_000 } });
  for (const name of volumes) await addVolume(archive, name);
  for (let number = 0; number < COUNT; number++)
    await archive.store({ ...page(urlOf(number), NOON + number, bodyOf(number)), request });
  return archive;
}

const addVolume = (archive: Archive, name: string) =>
  archive.addVolume({ name, path: join(archive.directory, `volumes/${name}`) });

/** Each capture by its URL, with its volume. */
async function volumes(archive: Archive): Promise<Map<string, string>> {
  const captures = await allCaptures(archive);
  const locations = await archive.records.locate(captures.map(({ place }: Capture) => place));
  return new Map(captures.map(({ url }, index) => [url, locations[index]!.volume]));
}

async function assertWhole(archive: Archive, count = COUNT): Promise<void> {
  for (let number = 0; number < count; number++)
    assert.deepEqual(await bytesOf((await archive.get(urlOf(number))).payload), Buffer.from(bodyOf(number)));
  assert.deepEqual(await problemsOf(archive), []);
}

/** URLs and types of all records of a stream, from a cursor on. */
async function streamed(archive: Archive, cursor?: string, count = Number.POSITIVE_INFINITY) {
  const stream = await archive.stream({ order: 'storage', cursor });
  const found: string[] = [];
  for await (const { head } of stream) {
    if (head.type === 'warcinfo') continue;
    found.push(`${head.type} ${head.targetUri}`);
    if (found.length >= count) break;
  }
  return { found, cursor: stream.cursor() };
}

test('a new volume takes exactly the records whose hash says so, with their requests', async (t) => {
  const archive = await filled(t);
  const before = await volumes(archive);
  assert.deepEqual((await archive.rebalance()).moves, [], 'everything is where it belongs');
  const whole = (await streamed(archive)).found;
  const half = await streamed(archive, undefined, 31);
  await addVolume(archive, 'fourth');
  const planned = await archive.rebalance({ dryRun: true });
  assert.deepEqual(await volumes(archive), before, 'a dry run moves nothing');
  const done = await archive.rebalance();
  assert.deepEqual([done, done.staying], [planned, []]);
  const after = await volumes(archive);
  const moved = [...after].filter(([url, volume]) => before.get(url) !== volume);
  assert.equal(
    moved.length,
    done.moves.reduce((sum, { records }) => sum + records, 0),
  );
  assert.ok(moved.length > 5 && moved.every(([, volume]) => volume === 'fourth'));
  // What is stored now goes where the same contents went.
  for (let number = 0; number < CONTENTS; number++) {
    const { key, isNew } = await archive.store(page(`http://again.example/${number}`, NOON, bodyOf(number)));
    assert.deepEqual([key.split(':')[0], isNew], [after.get(urlOf(number)), false]);
  }
  await assertWhole(archive);
  assert.deepEqual((await archive.rebalance()).moves, []);
  assert.ok(
    (await archive.segments()).every(({ deadBytes }) => deadBytes === 0),
    'the old segments are written anew',
  );
  const again = (await streamed(archive)).found.filter((line) => !line.includes('again.example'));
  assert.deepEqual(again, whole, 'a stream has all records in the same order, requests included');
  assert.deepEqual([...half.found, ...(await streamed(archive, half.cursor)).found], whole);
  await archive.rebuild();
  await assertWhole(archive);
  assert.deepEqual([...half.found, ...(await streamed(archive, half.cursor)).found], whole);
  assert.deepEqual((await archive.rebalance()).moves, [], 'a rebuild knows where everything is');
});

test('I8 a stream that runs while records move delivers each of them once', async (t) => {
  const archive = await filled(t);
  const whole = (await streamed(archive)).found;
  await addVolume(archive, 'fourth');
  for (const pauseAt of [1, 20, 55]) {
    const found: string[] = [];
    for await (const { head } of await archive.stream({ order: 'storage' })) {
      if (head.type === 'warcinfo') continue;
      found.push(`${head.type} ${head.targetUri}`);
      if (found.length !== pauseAt) continue;
      await (pauseAt === 20 ? addVolume(archive, 'fifth') : undefined);
      await archive.rebalance();
      if (pauseAt === 55) await archive.compact();
    }
    assert.deepEqual(found, whole);
  }
});

test('every read is right while records move', async (t) => {
  const archive = await filled(t);
  await addVolume(archive, 'fourth');
  let isOver = false;
  let reads = 0;
  const reading = (async () => {
    for (let number = 0; !isOver; number = (number + 7) % COUNT, reads++) {
      archive.forgetRecentRecords();
      assert.deepEqual(await bytesOf((await archive.get(urlOf(number))).payload), Buffer.from(bodyOf(number)));
      await setImmediate();
    }
  })();
  await archive.rebalance().finally(() => (isOver = true));
  await reading;
  assert.ok(reads > 0);
});

test('a volume that comes back gets its contents home, and what was stored with force-new stays', async (t) => {
  const archive = await filled(t, ['second']);
  const before = await volumes(archive);
  await archive.setVolumeWritable('second', false);
  for (let number = 0; number < 30; number++)
    await archive.store(page(`http://meanwhile.example/${number}`, NOON, contentOf(`meanwhile ${number}`)));
  await archive.setVolumeWritable('second', true);
  const forced = [];
  for (const volume of ['main', 'second'])
    forced.push(await archive.store(page(`http://${volume}.example/`, NOON, bodyOf(0)), { volume, mode: 'force-new' }));
  const { moves } = await archive.rebalance();
  assert.deepEqual(
    moves.map(({ from, to }) => [from, to]),
    [['main', 'second']],
  );
  const after = await volumes(archive);
  for (const [url, volume] of before) assert.equal(after.get(url), volume);
  assert.deepEqual([after.get('http://main.example/'), after.get('http://second.example/')], ['main', 'second']);
  assert.ok([...after].some(([url, volume]) => url.includes('meanwhile') && volume === 'second'));
  await assertWhole(archive);
});

test('deleted records do not move, a kept segment stays and is named, and a compaction ends what a rebalance left', async (t) => {
  const archive = await filled(t);
  await archive.createSnapshot('kept');
  await addVolume(archive, 'fourth');
  const kept = await archive.rebalance();
  assert.ok(kept.staying.length > 0 && kept.staying.every(({ why }) => why === 'the snapshot kept keeps it'));
  assert.deepEqual(kept.moves, []);
  await archive.removeSnapshot('kept');
  for (let number = 0; number < COUNT; number += 2) await archive.delete({ url: urlOf(number) });
  const { moves } = await archive.rebalance();
  assert.ok(moves.length > 0);
  await archive.compact();
  assert.deepEqual(await problemsOf(archive), []);
  await archive.close();
  const again = await openArchive(archive.directory, trialOptions({ seed: 9 }));
  t.after(() => again.close());
  assert.equal((await allCaptures(again)).length, COUNT / 2);
  assert.deepEqual(await problemsOf(again), []);
});

test('metadata that only refers to a page stays when the page moves', async (t) => {
  const archive = await makeArchive(t, { policies: { distribution: 'hash' } });
  const file = join(archive.directory, 'foreign.warc.gz');
  const records = Array.from({ length: 12 }, (_, number) => {
    const one = response(urlOf(number), NOON + number, bodyOf(number));
    const date = formatW3cDate(NOON + 86_400_000);
    const fields = [{ name: 'WARC-Refers-To', value: one.record.recordId }];
    const record = { type: 'metadata', recordId: foreignId(), date, contentType: 'text/plain', fields } as const;
    return [one, { record: { ...record, targetUri: `urn:note:${number}` }, block: Buffer.from(`about ${number}`) }];
  });
  await writeForeign(file, [warcinfo(), ...records.flat()]);
  await archive.add([file]);
  const whole = (await streamed(archive)).found.sort();
  assert.equal(whole.length, 24);
  await addVolume(archive, 'second');
  assert.ok((await archive.rebalance()).moves.length > 0);
  assert.deepEqual((await streamed(archive)).found.sort(), whole);
  await archive.compact();
  assert.deepEqual((await streamed(archive)).found.sort(), whole);
});
