import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../src/base/index.ts';
import { contentOf, makeArchive, NOON, page } from '../archive/trial-archive.ts';

const SEED = 21;

test('successive streams deliver every record once, whatever is stored, deleted and compacted between them (I8)', async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const random = seededRandom(SEED);
  const archive = await makeArchive(t, { policies: { segmentBytesMax: 40_000 } });
  const stored = new Set<string>();
  const deleted = new Set<string>();
  const delivered = new Map<string, number>();
  let since: string | undefined;
  let number = 0;
  for (let round = 0; round < 12; round++) {
    for (let many = Math.floor(random() * 12); many > 0; many--) {
      const url = `http://site.example/${number++}`;
      await archive.store(page(url, NOON + number * 1000, contentOf(`content ${number}`)), {
        collection: random() < 0.5 ? 'a' : 'b',
      });
      stored.add(url);
    }
    const stream = await archive.stream({ since });
    for await (const record of stream) {
      if (record.head.type !== 'response') continue;
      const url = record.head.targetUri!;
      delivered.set(url, (delivered.get(url) ?? 0) + 1);
    }
    since = stream.cursor();
    for (const url of stored) {
      if (deleted.has(url) || random() > 0.15) continue;
      await archive.delete({ url });
      deleted.add(url);
    }
    if (random() < 0.5) await archive.compact();
  }
  assert.deepEqual([...delivered.keys()].sort(), [...stored].sort());
  assert.ok([...delivered.values()].every((times) => times === 1));
  assert.ok(deleted.size > 5);
});

test('a stream of new records can be stopped and resumed', async (t) => {
  const archive = await makeArchive(t);
  const store = (name: string, at: number) =>
    archive.store(page(`http://${name}.example/`, NOON + at, contentOf(name)));
  await store('old', 0);
  const first = await archive.stream({});
  for await (const _ of first);
  const since = first.cursor();
  for (const [at, name] of ['one', 'two', 'three'].entries()) await store(name, at + 1);
  const urls: (string | undefined)[] = [];
  let cursor: string | undefined;
  for (;;) {
    const stream = await archive.stream({ since, cursor });
    const next = await stream[Symbol.asyncIterator]().next();
    if (next.done) break;
    urls.push(next.value.head.targetUri);
    for await (const _ of next.value.block());
    cursor = stream.cursor();
  }
  assert.deepEqual(urls, ['http://one.example/', 'http://two.example/', 'http://three.example/']);
  await assert.rejects(archive.stream({ since, order: 'url' }), { code: 'BAD_ARGUMENT' });
  await assert.rejects(archive.stream({ cursor }), { code: 'BAD_ARGUMENT' });
});
