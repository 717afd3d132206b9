/** What storing guarantees. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { openArchive } from '../../src/archive/index.ts';
import { PinakesError, toHex, utf8 } from '../../src/base/index.ts';
import { volumeOf } from './opened-parts.ts';
import {
  allCaptures,
  answers,
  audit,
  bytesOf,
  contentOf,
  makeArchive,
  NOON,
  page,
  payloadAt,
  trialOptions,
  walk,
} from './trial-archive.ts';

test('a content that is stored twice is kept once, and the second capture is a revisit that points at the first', async (t) => {
  const archive = await makeArchive(t);
  const body = contentOf('a');
  const first = await archive.store(page('http://a.example/', NOON, body));
  const second = await archive.store(page('http://b.example/', NOON + 1234, body, ['X-Own: yes']));
  assert.equal(first.isNew, true);
  assert.equal(second.isNew, false);
  assert.equal(first.key, second.key);
  assert.equal(second.capture.kind, 'revisit');
  const revisit = (await walk(archive)).find(({ head }) => head.type === 'revisit')!;
  assert.equal(revisit.head.get('warc-refers-to-target-uri'), 'http://a.example/');
  assert.equal(revisit.head.get('warc-refers-to-date'), '2026-01-01T12:00:00Z');
  const back = await archive.get('http://b.example/');
  assert.equal(back.http?.get('x-own'), 'yes');
  assert.deepEqual(await bytesOf(back.payload), Buffer.from(body));
  assert.deepEqual(await audit(archive), []);
});

test('I7 Never a false duplicate: the empty payload and payloads smaller than a revisit are stored whole each time', async (t) => {
  const archive = await makeArchive(t);
  for (const [index, body] of [utf8(''), utf8('tiny'), contentOf('edge', 150)].entries()) {
    await archive.store(page(`http://a.example/${index}`, NOON, body));
    const again = await archive.store(page(`http://b.example/${index}`, NOON + 1, body));
    assert.equal(again.capture.kind, 'response');
    assert.deepEqual(await payloadAt(archive, `http://b.example/${index}`), Buffer.from(body));
  }
  const edge = contentOf('larger than a revisit', 560);
  await archive.store(page('http://a.example/edge', NOON, edge));
  assert.equal((await archive.store(page('http://b.example/edge', NOON, edge))).capture.kind, 'revisit');
  assert.equal((await archive.totals()).blocks, 4);
  assert.deepEqual(await audit(archive), []);
});

test('I7 Never a false duplicate: transfer coding is not a part of the content, content coding is', async (t) => {
  const archive = await makeArchive(t);
  const body = contentOf('c');
  const chunked = Buffer.concat([utf8(`${body.length.toString(16)}\r\n`), body, utf8('\r\n0\r\n\r\n')]);
  const plain = await archive.store(page('http://a.example/', NOON, body));
  const same = await archive.store(page('http://b.example/', NOON, chunked, ['Transfer-Encoding: chunked']));
  assert.equal(same.key, plain.key);
  assert.equal(same.capture.kind, 'revisit');
  assert.deepEqual(await payloadAt(archive, 'http://b.example/'), Buffer.from(body));
});

test('force-new stores a held content again, under a new overflow number', async (t) => {
  const archive = await makeArchive(t);
  const body = contentOf('forced');
  const first = await archive.store(page('http://a.example/', NOON, body));
  const forced = await archive.store(page('http://a.example/', NOON + 1, body), { mode: 'force-new' });
  assert.equal(forced.key, `${first.key}~1`);
  assert.deepEqual(await bytesOf((await archive.content(forced.key)).payload), Buffer.from(body));
  assert.deepEqual(await audit(archive), []);
});

test('compare stores equal bytes as one content', async (t) => {
  const archive = await makeArchive(t);
  const body = contentOf('compared');
  const first = await archive.store(page('http://a.example/', NOON, body));
  const [second, third] = await Promise.all([
    archive.store(page('http://b.example/', NOON, body), { mode: 'compare' }),
    archive.store(page('http://c.example/', NOON, body), { mode: 'compare' }),
  ]);
  assert.deepEqual([second.key, third.key], [first.key, first.key]);
  assert.deepEqual(await audit(archive), []);
});

test('I1 Referent before reference: of many stores of one content at once, the record that holds the content precedes all revisits', async (t) => {
  const archive = await makeArchive(t, { policies: { segmentBytesMax: 9000 } });
  const body = contentOf('shared');
  const stores = Array.from({ length: 120 }, (_, n) =>
    archive.store(page(`http://e${n % 5}.example/${n}`, NOON + n, n % 3 === 0 ? contentOf(`own ${n}`) : body), {
      collection: n % 2 === 0 ? 'even' : 'odd',
    }),
  );
  const stored = await Promise.all(stores);
  assert.equal(stored.filter(({ isNew }) => isNew).length, 41);
  const walked = await walk(archive);
  const holder = walked.findIndex(({ head, payloadBytes }) => head.type === 'response' && payloadBytes === body.length);
  const holderOf = new Map<string, number>();
  for (const [index, { head, segment }] of walked.entries()) {
    if (head.type === 'response') holderOf.set(`${head.date} ${head.targetUri}`, index);
    if (head.type !== 'revisit') continue;
    const target = holderOf.get(`${head.get('warc-refers-to-date')} ${head.get('warc-refers-to-target-uri')}`);
    if (walked[target ?? -1]?.segment === segment) assert.ok(target! < index);
  }
  assert.ok(holder >= 0);
  assert.deepEqual(await audit(archive), []);
});

test('a store that fails does not affect the other stores in its group', async (t) => {
  const archive = await makeArchive(t);
  const results = await Promise.allSettled([
    archive.store(page('http://a.example/1', NOON, contentOf('1'))),
    archive.store(page('http://a.example/2', NOON, contentOf('2')), { collection: 'not/a/name' }),
    archive.store(page('http://a.example/3', NOON, contentOf('3')), { volume: 'nowhere' }),
    archive.store(page('http://a.example/4', NOON, contentOf('4'))),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
  );
  for (const result of results) if (result.status === 'rejected') assert.ok(result.reason instanceof PinakesError);
  assert.equal((await allCaptures(archive)).length, 2);
  assert.deepEqual(await audit(archive), []);
});

test('a body that breaks off while it is read is not stored, and the next store succeeds', async (t) => {
  const archive = await makeArchive(t);
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield contentOf('half');
    throw new Error('the connection was reset');
  }
  await assert.rejects(archive.store(page('http://a.example/', NOON, broken())));
  await archive.store(page('http://a.example/', NOON, contentOf('whole')));
  assert.equal((await allCaptures(archive)).length, 1);
  assert.deepEqual(await audit(archive), []);
});

async function* pieces(seed: string, count: number): AsyncGenerator<Uint8Array> {
  for (let n = 0; n < count; n++) yield contentOf(`${seed} ${n}`, 64 * 1024);
}

test('I9 Bounded memory: a body larger than the memory limit goes through a file, is deduplicated, and is read back in pieces', async (t) => {
  const archive = await makeArchive(t);
  const first = await archive.store(page('http://a.example/large', NOON, pieces('large', 200)));
  const again = await archive.store(page('http://b.example/large', NOON, pieces('large', 200)), { mode: 'compare' });
  assert.equal(first.capture.kind, 'response');
  assert.equal(again.capture.kind, 'revisit');
  assert.deepEqual(await readdir(archive.scratch), []);
  let largest = 0;
  const parts: Buffer[] = [];
  for await (const piece of (await archive.get('http://b.example/large')).payload) {
    largest = Math.max(largest, piece.length);
    parts.push(Buffer.from(piece));
  }
  assert.ok(largest <= 1024 * 1024, `a piece of ${largest} bytes`);
  assert.deepEqual(Buffer.concat(parts), await bytesOf(pieces('large', 200)));
  assert.deepEqual(await audit(archive), []);
});

test('I9 Bounded memory: storing and reading back 400 MB keeps resident memory far below that', async (t) => {
  const archive = await makeArchive(t);
  const block = Buffer.alloc(1024 * 1024, 7);
  async function* many(): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < 400; n++) yield block;
  }
  const before = process.memoryUsage().rss;
  await archive.store({ kind: 'resource', url: 'http://a.example/video', time: NOON, mime: 'video/mp4', body: many() });
  let bytes = 0;
  for await (const piece of (await archive.get('http://a.example/video')).payload) bytes += piece.length;
  assert.equal(bytes, 400 * block.length);
  const grown = process.memoryUsage().rss - before;
  assert.ok(grown < 200 * 1024 * 1024, `memory grew by ${grown} bytes`);
});

test('the request is stored with the response, and names the response', async (t) => {
  const archive = await makeArchive(t);
  const request = utf8('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n');
  await archive.store({ ...page('http://a.example/', NOON, contentOf('r')), request });
  const walked = await walk(archive);
  const [response, asked] = ['response', 'request'].map((type) => walked.find(({ head }) => head.type === type)!);
  assert.equal(asked!.head.get('warc-concurrent-to'), response!.head.recordId);
  assert.equal(response!.segment, asked!.segment);
});

test('resources and bare bytes share contents with responses', async (t) => {
  const archive = await makeArchive(t);
  const body = contentOf('shared by all');
  const response = await archive.store(page('http://a.example/', NOON, body));
  const resource = await archive.store({
    kind: 'resource',
    url: 'http://a.example/r',
    time: NOON,
    mime: 'text/plain',
    body,
  });
  const bytes = await archive.store({ kind: 'bytes', time: NOON, body });
  assert.deepEqual([resource.key, bytes.key], [response.key, response.key]);
  assert.equal(bytes.capture.url, `urn:sha256:${toHex(response.capture.block!.digest)}`);
  assert.equal((await archive.get('http://a.example/r')).capture.mime, 'text/plain');
  assert.deepEqual(await payloadAt(archive, bytes.capture.url), Buffer.from(body));
  assert.deepEqual(await audit(archive), []);
});

test('collections share contents, and each collection has its own segments', async (t) => {
  const archive = await makeArchive(t);
  const body = contentOf('across');
  await archive.store(page('http://a.example/', NOON, body), { collection: 'one' });
  const other = await archive.store(page('http://a.example/', NOON + 1, body), { collection: 'two' });
  assert.equal(other.capture.kind, 'revisit');
  assert.deepEqual(
    (await archive.segments()).map(({ name }) => name.split('/')[0]),
    ['one', 'two'],
  );
});

test('collections that are named for the first time at the same moment get different numbers', async (t) => {
  const archive = await makeArchive(t);
  const names = ['a', 'b', 'c', 'd', 'e'];
  const numbers = await Promise.all(names.map((name) => archive.collections.number(name)));
  assert.equal(new Set(numbers).size, names.length);
});

test('I2 Acknowledged means durable: a stored capture is in the volume before `store` returns', async (t) => {
  const archive = await makeArchive(t);
  const body = contentOf('kept');
  await archive.store(page('http://a.example/', NOON, body));
  const { bytes, sealed } = (await volumeOf(archive).list())[0]!;
  assert.equal(sealed, false);
  assert.equal(bytes, (await archive.segments())[0]!.bytes, 'the volume has all acknowledged bytes');
  const before = await answers(archive);
  await archive.close();
  const again = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  t.after(() => again.close());
  assert.deepEqual(await answers(again), before);
});

test('a segment past its size is sealed and another one begins, and the next process resumes an open segment', async (t) => {
  const archive = await makeArchive(t, { policies: { segmentBytesMax: 5000 } });
  for (let n = 0; n < 8; n++) await archive.store(page(`http://a.example/${n}`, NOON + n, contentOf(`s ${n}`)));
  const states = (await archive.segments()).map(({ state }) => state);
  assert.ok(states.length > 2);
  assert.deepEqual(new Set(states.slice(0, -1)), new Set(['sealed']));
  await archive.close();
  const again = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  t.after(() => again.close());
  const before = (await again.segments()).length;
  await again.store(page('http://a.example/next', NOON, contentOf('next', 1100)));
  assert.equal((await again.segments()).length, states.at(-1) === 'open' ? before : before + 1);
  assert.deepEqual(await audit(again), []);
});
