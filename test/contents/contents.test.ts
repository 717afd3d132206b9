import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { ContentsClient } from '../../src/client/index.ts';
import { contentOf, type Served, served, TOKEN } from '../api/served-archive.ts';
import { ContentCalls, newToken, sha256 } from './content-client.ts';

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nX-Count: 1\r\n\r\n';

function callsOf(one: Served, token = TOKEN): ContentCalls {
  return new ContentCalls(one, token);
}

test('a content is sent once, and captures refer to it, each counted once however often it is asked for', async (t) => {
  const one = await served(t);
  const calls = callsOf(one);
  const content = contentOf(1);
  const digest = sha256(content);
  assert.deepEqual((await calls.missing([digest])).json, { missing: [0] });
  const captures = [
    { digest },
    { digest, url: 'http://a.test/', head: HEAD, ip: '192.0.2.1' },
    { digest, url: 'http://b.test/x' },
  ];
  const before = (await calls.post('first', captures)).json;
  assert.deepEqual([before.stored, before.missing], [0, [0, 1, 2]]);
  assert.equal((await calls.put(content)).status, 200);
  assert.equal((await one.archive.totals()).captures, 0, 'a sent content is not stored');
  const after = (await calls.post('first', captures, { keys: true })).json;
  assert.deepEqual([after.stored, after.keys], [3, captures.map(() => `main:sha256:${digest}`)]);
  const again = (await calls.post('first', captures)).json;
  assert.deepEqual([again.stored, again.known], [0, 3]);
  assert.deepEqual((await calls.missing([digest, sha256('other')])).json, { missing: [1] });
  const { captures: count, blocks, revisits } = await one.archive.totals();
  assert.deepEqual([count, blocks, revisits], [3, 1, 2]);
  const capture = (await one.archive.findCapture('http://a.test/'))!;
  const { head, http, payload } = await one.archive.open(capture);
  assert.equal(head.get('warc-ip-address'), '192.0.2.1');
  assert.deepEqual([http?.status, http?.get('x-count')], [200, '1']);
  assert.equal(Buffer.concat(await Array.fromAsync(payload)).toString(), content);
  assert.equal((await one.archive.findCapture('http://b.test/x'))!.kind, 'revisit');
  assert.equal((await one.archive.verify()).errors, 0);
});

test('the same id with another time, URL, content or collection is another capture', async (t) => {
  const one = await served(t);
  const calls = callsOf(one);
  const digests = [contentOf(1), contentOf(2)].map(sha256);
  for (const content of [contentOf(1), contentOf(2)]) await calls.put(content);
  const base = { digest: digests[0]!, url: 'http://a.test/', id: 'x' };
  const others = [
    base,
    { ...base, digest: digests[1]! },
    { ...base, url: 'http://b.test/' },
    { ...base, time: '2023-01-01T00:00:00Z' },
  ];
  // Captures of one batch with one id are compared too, though a commit does not compare its own captures.
  assert.equal((await calls.post('batch', [...others, base])).json.stored, 4);
  assert.equal((await calls.post('batch', others)).json.known, 4);
  assert.equal((await calls.post('batch', others, { collection: 'second' })).json.stored, 4);
  assert.equal((await calls.post('other', others)).json.stored, 4);
  assert.equal((await one.archive.totals()).captures, 12);
});

test('a capture that was deleted stays deleted when its batch is sent again, also after a rebuild', async (t) => {
  const one = await served(t);
  const calls = callsOf(one);
  const digest = sha256(contentOf(1));
  await calls.put(contentOf(1));
  const captures = [
    { digest, url: 'http://a.test/', head: HEAD },
    { digest, url: 'http://b.test/', head: HEAD },
  ];
  assert.equal((await calls.post('first', captures)).json.stored, 2);
  await one.archive.delete({ url: 'http://a.test/' });
  await one
    .call('/api/jobs', { json: { kind: 'rebuild', input: {} } })
    .then(({ json }) => one.overJob(json.id as string));
  const { deleted, known } = (await calls.post('first', captures)).json;
  assert.deepEqual([deleted, known], [[0], 1]);
  assert.equal((await one.archive.totals()).captures, 1);
});

test('wrong digests and sizes, broken codings and bombs are refused, and leave nothing', async (t) => {
  const one = await served(t);
  const calls = callsOf(one);
  const content = Buffer.from(contentOf(1));
  const path = `/api/contents/${sha256(content)}`;
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
  const cases: [query: string, body: Buffer, coding: string, status: number][] = [
    [`size=${content.length}`, Buffer.from(contentOf(2).slice(0, content.length)), 'identity', 422],
    [`size=${content.length - 1}&bytes=${content.length}`, content, 'identity', 413],
    [`size=${content.length}`, Buffer.concat([content, content]), 'identity', 400],
    [`size=${content.length}&bytes=${bomb.length}`, bomb, 'gzip', 413],
    [`size=${content.length}&bytes=${content.length}`, content, 'gzip', 400],
    [`size=${content.length}&bytes=${content.length}`, content, 'zstd', 400],
    [`size=${content.length}`, content, 'br', 415],
  ];
  for (const [query, body, coding, status] of cases) {
    const reply = await calls.call(`${path}?${query}`, {
      method: 'PUT',
      body,
      headers: { 'content-encoding': coding },
    });
    assert.equal(reply.status, status, `${query} ${coding}: ${reply.bytes.toString()}`);
  }
  assert.deepEqual((await calls.post('first', [{ digest: sha256(content) }])).json.missing, [0]);
  assert.ok(readdirSync(join(one.directory, 'staged')).every((name) => name.endsWith('.part')));
  for (const [coding, body] of [
    ['gzip', gzipSync(content)],
    ['zstd', zstdCompressSync(content)],
  ] as const) {
    const query = `size=${content.length}&bytes=${body.length}`;
    const reply = await calls.call(`${path}?${query}`, {
      method: 'PUT',
      body,
      headers: { 'content-encoding': coding },
    });
    assert.equal(reply.status, 200, coding);
  }
  assert.equal((await calls.post('first', [{ digest: sha256(content) }])).json.stored, 1);
  const big = gzipSync(Buffer.alloc(32 * 1024 * 1024, ' '));
  const posted = await calls.call('/api/contents/captures', { body: big, headers: { 'content-encoding': 'gzip' } });
  assert.equal(posted.status, 413);
});

test('an upload continues after its connection broke', async (t) => {
  const one = await served(t);
  const content = Buffer.alloc(3 * 1024 * 1024, contentOf(3));
  const path = `/api/contents/${sha256(content)}`;
  const half = content.length / 2;
  const cut = new ReadableStream({
    start(controller) {
      controller.enqueue(content.subarray(0, half));
      // The first half is on its way when the connection breaks.
      setTimeout(() => controller.error(new Error('cut')), 300);
    },
  });
  const sending = one.call(`${path}?size=${content.length}`, { method: 'PUT', body: cut });
  await assert.rejects(sending);
  const calls = callsOf(one);
  let received = 0;
  // The server learns of the cut a little later.
  while (received === 0) received = (await calls.call(`${path}/upload`)).json.received as number;
  assert.ok(received > 0 && received <= half, `${received}`);
  const wrong = await calls.call(`${path}?size=${content.length}&offset=${received + 1}`, {
    method: 'PUT',
    body: content,
  });
  assert.equal(wrong.status, 409);
  const client = new ContentsClient(one.server.uiAddress, { token: TOKEN });
  const reads: number[] = [];
  await client.send({
    digest: sha256(content),
    size: content.length,
    read: async (from, to) => {
      reads.push(from);
      return content.subarray(from, to);
    },
  });
  assert.deepEqual((await calls.call(`${path}/upload`)).json, {});
  const { keys } = await client.store(
    [{ content: { digest: sha256(content), size: content.length, read: assert.fail } }],
    {
      id: 'first',
      time: new Date(0),
    },
  );
  assert.match(keys[0]!, /^main:sha256:/);
  const got = Buffer.concat(await Array.fromAsync((await client.get(keys[0]!))!));
  assert.ok(got.equals(content));
});

test('a content is read whole, by ranges and as a head, and what is gone is given back once', async (t) => {
  const one = await served(t);
  const calls = callsOf(one);
  const content = contentOf(4);
  const digest = sha256(content);
  await calls.put(content);
  await calls.post('first', [{ digest }, { digest }]);
  for (const key of [digest, `sha256:${digest}`, `main:sha256:${digest}`, `gone:sha256:${digest}`])
    assert.equal((await calls.call(`/api/contents/${encodeURIComponent(key)}`)).bytes.toString(), content);
  const part = await calls.call(`/api/contents/${digest}`, { headers: { range: 'bytes=10-19' } });
  assert.deepEqual([part.status, part.bytes.toString()], [206, content.slice(10, 20)]);
  const head = await calls.call(`/api/contents/${digest}`, { method: 'HEAD' });
  assert.deepEqual([head.status, head.headers.get('content-length'), head.bytes.length], [200, `${content.length}`, 0]);
  for (let time = 0; time < 3; time++)
    assert.equal((await calls.call(`/api/contents/${digest}?request=r1`, { method: 'DELETE' })).json.captures, 1);
  assert.equal((await one.archive.totals()).captures, 1);
  assert.equal((await calls.call(`/api/contents/${digest}?request=r2`, { method: 'DELETE' })).json.contents, 1);
  assert.equal((await calls.call(`/api/contents/${digest}`)).status, 404);
  assert.deepEqual((await calls.post('second', [{ digest }])).json.missing, [0]);
  await calls.put(content);
  assert.equal((await calls.post('second', [{ digest }])).json.stored, 1);
});

test('what is not a capture is refused, and cannot write fields of records', async (t) => {
  const one = await served(t);
  const calls = callsOf(one);
  const digest = sha256('x');
  const url = 'http://a.test/';
  const wrong = [
    { digest: 'x' },
    { digest, url: 'http://a.test/\r\nWARC-Type: warcinfo' },
    { digest, url: 'not a url' },
    { digest, url, mime: 'text/html\r\nX: y' },
    { digest, url, ip: '1.2.3.4\r\nX: y' },
    { digest, url, head: 'HTTP/1.1 200 OK\r\n' },
    { digest, url, head: `${HEAD}body` },
    { digest, url, head: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n' },
    { digest, head: HEAD },
    { digest, time: 'yesterday' },
  ];
  for (const capture of wrong)
    assert.equal((await calls.post('first', [capture])).status, 400, JSON.stringify(capture));
  assert.equal((await calls.post('first', [])).status, 400);
  assert.equal(
    (
      await calls.post(
        'first',
        Array.from({ length: 1001 }, () => ({ digest })),
      )
    ).status,
    400,
  );
  assert.equal((await calls.post('first', [{ digest }], { collection: '../x' })).status, 400);
});

test('another token cannot refer to what a client has sent', async (t) => {
  const one = await served(t);
  const [first, second] = [await newToken(one.directory, 'a', ['add']), await newToken(one.directory, 'b', ['add'])];
  const digest = sha256(contentOf(1));
  await callsOf(one, first).put(contentOf(1));
  assert.deepEqual((await callsOf(one, second).post('x', [{ digest }])).json.missing, [0]);
  assert.equal((await callsOf(one, first).post('x', [{ digest }])).json.stored, 1);
  // A token without the right to read learns of nothing, not even of what it has stored.
  assert.deepEqual((await callsOf(one, first).missing([digest])).json.missing, [0]);
});

test('a content that was taken down is refused, and the captures beside it are stored', async (t) => {
  const one = await served(t);
  const calls = callsOf(one);
  for (const number of [1, 2]) await calls.put(contentOf(number));
  await calls.post('first', [{ digest: sha256(contentOf(1)) }]);
  await one.archive.takeDown({ keys: [`sha256:${sha256(contentOf(1))}`] }, { reason: 'a test', by: 'a test' });
  await calls.put(contentOf(1));
  const { stored, refused } = (
    await calls.post(
      'second',
      [1, 2].map((number) => ({ digest: sha256(contentOf(number)) })),
    )
  ).json;
  assert.equal(stored, 1);
  assert.deepEqual(
    (refused as { index: number; code: string }[]).map(({ index, code }) => [index, code]),
    [[0, 'CONTENT_BARRED']],
  );
});

test('many clients that store the same contents at one moment keep each once, with every reference', async (t) => {
  const one = await served(t);
  const contents = Array.from({ length: 30 }, (_, index) => Buffer.from(contentOf(index)));
  const store = async (name: string) => {
    const client = new ContentsClient(one.server.uiAddress, { token: TOKEN, waitMs: 5 });
    return client.store(
      contents.map((content) => ({ content })),
      { id: name, time: new Date(1e12) },
    );
  };
  const outcomes = await Promise.all(Array.from({ length: 12 }, (_, index) => store(`client ${index}`)));
  for (const { stored } of outcomes) assert.equal(stored, contents.length);
  const { captures, blocks, revisits } = await one.archive.totals();
  assert.deepEqual([captures, blocks, revisits], [360, 30, 330]);
  assert.equal((await one.archive.verify()).errors, 0);
});
