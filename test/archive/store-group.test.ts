/** Many stores at once are committed in groups, while another thread already encodes the next records. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openArchive } from '../../src/archive/index.ts';
import { utf8 } from '../../src/base/index.ts';
import {
  allCaptures,
  audit,
  contentOf,
  makeArchive,
  NOON,
  page,
  payloadAt,
  trialOptions,
  walk,
} from './trial-archive.ts';

const STORES = 300;
const CONTENTS = 100;

/**
 * Every content three times, in an order that mixes first and later ones. Some are too small for a revisit, and some
 * are already compressed.
 */
function storeOf(index: number) {
  const content = (index * 7) % CONTENTS;
  const body = contentOf(`content ${content}`, content % 10 === 0 ? 100 : 9000);
  const fields = content % 4 === 0 ? ['Content-Encoding: x-none'] : [];
  return {
    ...page(`http://a.example/${index}`, NOON + index, body, fields),
    request: utf8(`GET /${index} HTTP/1.1\r\n\r\n`),
  };
}

for (const segmentBytesMax of [2 ** 30, 200_000]) {
  test(`many stores at once keep each content once, with requests and in order, in segments of ${segmentBytesMax} bytes`, async (t) => {
    const archive = await makeArchive(t, { policies: { segmentBytesMax } });
    const stored = await Promise.all(Array.from({ length: STORES }, (_, index) => archive.store(storeOf(index))));
    assert.equal(stored.filter(({ isNew }) => isNew).length, CONTENTS);
    const kinds = new Map<string, number>();
    for (const { kind } of await allCaptures(archive)) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    // A tenth is too small to refer to another record.
    assert.deepEqual(Object.fromEntries(kinds), { response: 120, revisit: 180 });
    const records = await walk(archive);
    const ids = records.map(({ head }) => head.recordId);
    assert.equal(new Set(ids).size, ids.length);
    for (const [at, { head }] of records.entries()) {
      if (head.type !== 'request') continue;
      const before = records[at - 1]!.head;
      assert.equal(head.get('warc-concurrent-to'), before.recordId);
      assert.equal(head.targetUri, before.targetUri);
    }
    assert.equal(records.filter(({ head }) => head.type === 'request').length, STORES);
    for (const index of [0, 1, 150, 299]) {
      const expected = Buffer.from(storeOf(index).body as Uint8Array);
      assert.deepEqual(await payloadAt(archive, `http://a.example/${index}`), expected);
    }
    assert.deepEqual(await audit(archive), []);
    assert.equal((await archive.verify()).errors, 0);
  });
}

test('stores of one content in two modes at the same time follow the rule of each mode', async (t) => {
  const archive = await makeArchive(t);
  const body = contentOf('shared', 20_000);
  const modes = ['regular', 'force-new', 'compare', 'regular', 'force-new'] as const;
  const stored = await Promise.all(
    modes.map((mode, index) => archive.store(page(`http://a.example/${index}`, NOON + index, body), { mode })),
  );
  assert.deepEqual(
    stored.map(({ capture }) => capture.kind),
    ['response', 'response', 'revisit', 'revisit', 'response'],
  );
  assert.deepEqual(
    stored.map(({ capture }) => capture.block!.overflow),
    [0, 1, 0, 0, 2],
  );
  assert.deepEqual(await audit(archive), []);
});

test('a store that may wait is acknowledged even if no other store arrives or the archive is closed', async (t) => {
  const archive = await makeArchive(t);
  const store = (name: string) =>
    archive.store(page(`http://a.example/${name}`, NOON, contentOf(name)), { mayWait: true });
  assert.equal((await store('alone')).isNew, true);
  const stores = ['one', 'two', 'three'].map(store);
  await new Promise((resolve) => setImmediate(resolve));
  await archive.close();
  assert.deepEqual(
    (await Promise.all(stores)).map(({ isNew }) => isNew),
    [true, true, true],
  );
});

test('a store that the catalog cannot take leaves nothing, and the other stores of its group are in the archive once', async (t) => {
  const archive = await makeArchive(t);
  const taken = ['http://a.example/', 'http://c.example/'];
  const refused = {
    kind: 'resource',
    url: 'http://b.example/',
    time: NOON,
    mime: 'text/\ud800',
    body: contentOf('b'),
  } as const;
  const results = await Promise.allSettled([
    archive.store(page(taken[0]!, NOON, contentOf('a'))),
    archive.store(refused),
    archive.store(page(taken[1]!, NOON, contentOf('c'))),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  const urlsOf = async (one: typeof archive) => (await allCaptures(one)).map(({ url }) => url);
  assert.deepEqual(await urlsOf(archive), taken);
  assert.equal((await archive.segments()).length, 1);
  await archive.close();
  const reopened = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  t.after(() => reopened.close());
  assert.deepEqual(await urlsOf(reopened), taken);
  assert.deepEqual(await audit(reopened), []);
});
