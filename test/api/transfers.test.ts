import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createArchive } from '../../src/archive/index.ts';
import { readRecords } from '../../src/warc/index.ts';
import { damageUrl } from '../archive/damage-sample.ts';
import {
  type JobReply,
  openServed,
  type Reply,
  type Served,
  scratch,
  served,
  storeDays,
  TOKEN,
  writeWarc,
} from './served-archive.ts';

function codeOf({ json }: Reply): string {
  return (json.error as { code: string }).code;
}

function uploadsOf({ directory }: Served): string[] {
  return readdirSync(join(directory, 'uploads'));
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function finished(one: Served, reply: Reply): Promise<JobReply> {
  assert.equal(reply.status, 202, reply.bytes.toString());
  return one.overJob((reply.json as unknown as JobReply).id);
}

test('an upload is added to its collection and leaves no file behind, whatever its name', async (t) => {
  const one = await served(t);
  const file = join(scratch(t), 'site.warc.gz');
  await writeWarc(file, 'site', 5);
  const bytes = readFileSync(file);
  for (const name of [
    'site.warc.gz',
    '../../../etc/passwd',
    '..\\boot.ini',
    '.hidden',
    'a\nb\u0000c',
    '%2e%2e%2f',
    '...',
    'x'.repeat(900),
  ]) {
    const job = await finished(
      one,
      await one.call(`/api/uploads?collection=sent&name=${encodeURIComponent(name)}`, { body: bytes }),
    );
    assert.equal(job.state, 'done', `${name}: ${job.error?.message}`);
    assert.match(String(job.input.upload), /^[0-9a-f-]{36}-[A-Za-z0-9][A-Za-z0-9._-]{0,119}$/);
  }
  assert.deepEqual(uploadsOf(one), []);
  const { captures } = await one.archive.totals();
  assert.equal(captures, 5);
  assert.ok((await one.archive.collections.find('sent')) !== undefined);
});

test('text, a picture, an empty file and a false package are refused with 422 and leave nothing', async (t) => {
  const one = await served(t);
  const samples: Record<string, Buffer> = {
    text: Buffer.from('WARC files are great'),
    picture: Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(5000, 7)]),
    zip: Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(3000, 1)]),
    gzip: Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0]), Buffer.alloc(3000, 9)]),
    nothing: Buffer.alloc(0),
  };
  for (const [name, body] of Object.entries(samples)) {
    const reply = await one.call(`/api/uploads?name=${name}.warc.gz`, { body });
    assert.deepEqual([reply.status, codeOf(reply)], [422, 'NOT_WARC'], name);
  }
  const broken = await one.call('/api/uploads?name=cut.wacz', { body: samples.zip! });
  assert.deepEqual([broken.status, codeOf(broken)], [422, 'NOT_WACZ']);
  assert.deepEqual(uploadsOf(one), []);
  assert.deepEqual((await one.call('/api/jobs')).json, { items: [] });
});

test('an upload that is cut off leaves nothing', async (t) => {
  const one = await served(t);
  const { port } = new URL(one.server.uiAddress);
  const socket = connect(Number(port), '127.0.0.1');
  socket.on('error', () => {});
  socket.write(
    `POST /api/uploads?name=a.warc HTTP/1.1\r\nHost: localhost:${port}\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\nWARC/1.1\r\n`,
  );
  await until(() => uploadsOf(one).length === 1);
  socket.destroy();
  await until(() => uploadsOf(one).length === 0);
  assert.deepEqual((await one.call('/api/jobs')).json, { items: [] });
});

test('a compression bomb does not delay other requests, and is dropped when its sender disconnects', async (t) => {
  const one = await served(t);
  // Every line looks like the beginning of a record.
  const bytes = gzipSync(Buffer.alloc(48 * 1024 * 1024, 'a\n'));
  const leaving = new AbortController();
  let isOver = false;
  const sending = fetch(`${one.server.uiAddress}/api/uploads?name=bomb.warc.gz`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}` },
    body: bytes,
    signal: leaving.signal,
  }).finally(() => {
    isOver = true;
  });
  const isAllThere = () =>
    uploadsOf(one).some((name) => statSync(join(one.directory, 'uploads', name)).size === bytes.length);
  await until(isAllThere);
  for (let times = 0; times < 10; times++) assert.equal((await one.call('/healthz')).status, 200);
  assert.equal(isOver, false);
  leaving.abort();
  await assert.rejects(sending, { name: 'AbortError' });
  await until(() => uploadsOf(one).length === 0);
});

test('an upload over the limit is refused with 413, with or without a Content-Length', async (t) => {
  const one = await served(t, { uploadBytesMax: 1000 });
  const told = await one.call('/api/uploads?name=a.warc', { body: Buffer.alloc(2000, 65) });
  assert.deepEqual([told.status, codeOf(told)], [413, 'BODY_TOO_LARGE']);
  // Many uploads at once, so that some are refused before their file exists.
  const untold = Array.from({ length: 50 }, () => {
    const body = new ReadableStream({
      start(controller) {
        for (let piece = 0; piece < 4; piece++) controller.enqueue(Buffer.alloc(500, 65));
        controller.close();
      },
    });
    return one.call('/api/uploads?name=a.warc', { body });
  });
  for (const reply of await Promise.all(untold))
    assert.deepEqual([reply.status, codeOf(reply)], [413, 'BODY_TOO_LARGE']);
  assert.deepEqual(uploadsOf(one), []);
});

test('files are added by path only from allowed directories, even through links', async (t) => {
  const at = scratch(t);
  mkdirSync(join(at, 'allowed'));
  mkdirSync(join(at, 'other'));
  await writeWarc(join(at, 'allowed', 'in.warc.gz'), 'in', 2);
  await writeWarc(join(at, 'other', 'out.warc.gz'), 'out', 2);
  symlinkSync(join(at, 'other', 'out.warc.gz'), join(at, 'allowed', 'link.warc.gz'));
  const one = await served(t, { addRoots: [join(at, 'allowed')] });
  const add = async (path: string) =>
    finished(one, await one.call('/api/jobs', { json: { kind: 'add', input: { paths: [path] } } }));
  for (const path of ['other/out.warc.gz', 'allowed/../other/out.warc.gz', 'allowed/link.warc.gz', 'allowed'])
    assert.equal((await add(join(at, path))).error?.code, 'PATH_REFUSED', path);
  // The reply does not even reveal whether a file elsewhere exists.
  for (const path of ['other/none.warc.gz', 'none/none.warc.gz', 'allowed/../none'])
    assert.equal((await add(join(at, path))).error?.code, 'PATH_REFUSED', path);
  assert.equal((await add(join(at, 'allowed', 'none.warc.gz'))).error?.code, 'FILE_MISSING');
  assert.equal((await one.archive.totals()).captures, 0);
  assert.equal((await add(join(at, 'allowed', 'in.warc.gz'))).state, 'done');
});

test('a job that adds a damaged file ends with errors, counts them, and keeps the readable records', async (t) => {
  const path = join(scratch(t), 'cut.warc.gz');
  await writeWarc(path, 'cut', 4);
  truncateSync(path, statSync(path).size - 20);
  const one = await served(t);
  const job = await finished(one, await one.call('/api/jobs', { json: { kind: 'add', input: { paths: [path] } } }));
  assert.deepEqual([job.state, job.hasErrors], ['done', true]);
  const { captures, errors } = job.report as { readonly captures: number; readonly errors: number };
  assert.ok(captures > 0 && errors > 0, JSON.stringify(job.report));
});

test('a job can be cancelled while it searches for its files, and the server can stop then', {
  timeout: 60_000,
}, async (t) => {
  const at = scratch(t);
  // Each level has twice as many paths as the level above, so the walk takes almost forever.
  const levels = 26;
  for (let level = 0; level < levels; level++) {
    mkdirSync(join(at, `level-${level}`));
    for (const name of ['a', 'b']) symlinkSync(join('..', `level-${level + 1}`), join(at, `level-${level}`, name));
  }
  mkdirSync(join(at, `level-${levels}`));
  const one = await served(t);
  const begin = async () => {
    const reply = await one.call('/api/jobs', { json: { kind: 'add', input: { paths: [join(at, 'level-0')] } } });
    const { id } = reply.json as unknown as JobReply;
    while ((await one.call(`/api/jobs/${id}`)).json.state !== 'running');
    return id;
  };
  const id = await begin();
  await one.call(`/api/jobs/${id}/cancel`, { method: 'POST' });
  assert.equal((await one.overJob(id)).state, 'cancelled');
  await begin();
  await one.server.close();
});

type SegmentRow = { readonly href: string; readonly name: string; readonly bytes: number; readonly state: string };

async function segmentsOf(one: Served): Promise<SegmentRow[]> {
  return (await one.call('/api/segments')).json.items as SegmentRow[];
}

test('a segment is sent as a WARC file, up to its last durable record while it is open', async (t) => {
  const one = await served(t);
  await storeDays(one.archive, 'http://a.test/', [1, 2]);
  const [before] = await segmentsOf(one);
  assert.equal(before!.state, 'open');
  const whole = await one.call(before!.href, { token: '' });
  assert.equal(whole.bytes.length, before!.bytes);
  assert.equal(whole.headers.get('content-type'), 'application/warc');
  assert.match(whole.headers.get('content-disposition')!, /^attachment; filename="default-\d+-00000-.*\.warc\.gz"$/);
  const path = join(scratch(t), 'got.warc.gz');
  writeFileSync(path, whole.bytes);
  const types: string[] = [];
  for await (const record of readRecords(path)) types.push(record.head.type);
  assert.deepEqual(types, ['warcinfo', 'response', 'response']);

  const etag = whole.headers.get('etag')!;
  const part = await one.call(before!.href, { headers: { range: 'bytes=100-199', 'if-range': etag } });
  assert.equal(part.status, 206);
  assert.equal(part.headers.get('content-range'), `bytes 100-199/${before!.bytes}`);
  assert.deepEqual(part.bytes, whole.bytes.subarray(100, 200));
  const last = await one.call(before!.href, { headers: { range: 'bytes=-50' } });
  assert.deepEqual(last.bytes, whole.bytes.subarray(-50));
  assert.equal((await one.call(before!.href, { headers: { 'if-none-match': etag } })).status, 304);
  const head = await one.call(before!.href, { method: 'HEAD' });
  assert.deepEqual(
    [head.status, head.headers.get('content-length'), head.bytes.length],
    [200, String(before!.bytes), 0],
  );

  await storeDays(one.archive, 'http://b.test/', [3]);
  const grown = await one.call(before!.href, { headers: { range: 'bytes=100-199', 'if-range': etag } });
  assert.equal(grown.status, 200);
  assert.ok(grown.bytes.length > whole.bytes.length);
  assert.deepEqual(grown.bytes.subarray(0, whole.bytes.length), whole.bytes);
});

test('only segments of the catalog are sent, however the path is written', async (t) => {
  const one = await served(t);
  await storeDays(one.archive, 'http://a.test/', [1]);
  const [segment] = await segmentsOf(one);
  const paths = [
    '/api/segments/main/..%2f..%2farchive.yaml',
    '/api/segments/main/%2e%2e/%2e%2e/archive.yaml',
    '/api/segments/..%2f../archive.yaml',
    '/api/segments/main/default',
    '/api/segments/main/',
    `/api/segments/other/${segment!.name}`,
    `/api/segments/main/${segment!.name}%00`,
    `/api/segments/main/${segment!.name}.open`,
  ];
  for (const path of paths) assert.equal((await one.call(path)).status, 404, path);
});

test('an export is downloaded with ranges, in every format, and can be removed', async (t) => {
  const one = await served(t);
  await storeDays(one.archive, 'http://a.test/', [1, 1, 2]);
  const formats = ['warc.gz', 'warc.zst', 'warc', 'wacz', 'cdxj', 'cdx', 'parquet'];
  for (const format of formats) {
    const input = { format, selection: { url: 'http://a.test/' } };
    const job = await finished(one, await one.call('/api/jobs', { json: { kind: 'export', input } }));
    assert.equal(job.state, 'done', `${format}: ${job.error?.message}`);
    const { href, captures } = job.report as { href: string; captures: number };
    assert.equal(captures, 3, format);
    const whole = await one.call(href);
    assert.equal(whole.status, 200, href);
    const part = await one.call(href, { headers: { range: 'bytes=2-9' } });
    assert.deepEqual([part.status, part.bytes], [206, whole.bytes.subarray(2, 10)]);
    assert.equal((await one.call(`/api/exports/${job.id}`, { method: 'DELETE' })).status, 200);
    assert.equal((await one.call(href)).status, 404);
  }
  assert.deepEqual(readdirSync(join(one.directory, 'exports')), []);
});

test('a WACZ is self-contained, unless the input says otherwise', async (t) => {
  const one = await served(t);
  await storeDays(one.archive, 'http://a.test/', [1, 1, 2]);
  for (const [format, selfContained, expanded] of [
    ['wacz', undefined, 1],
    ['wacz', false, 0],
    ['warc.gz', undefined, 0],
  ] as const) {
    const input = { format, selection: { url: 'http://a.test/' }, ...(selfContained === false && { selfContained }) };
    const { report } = await finished(one, await one.call('/api/jobs', { json: { kind: 'export', input } }));
    assert.equal(report!.expanded, expanded, format);
  }
});

test('an export is downloaded at an address that the public facts of its job do not have', async (t) => {
  const one = await served(t);
  await storeDays(one.archive, 'http://a.test/', [1]);
  const input = { format: 'warc.gz', selection: { url: 'http://a.test/' } };
  const { id, report } = await finished(one, await one.call('/api/jobs', { json: { kind: 'export', input } }));
  assert.equal((await one.call(String(report!.href), { token: '' })).status, 200);
  const { startedAt, ...told } = (await one.call(`/api/jobs/${id}`, { token: '' })).json;
  assert.equal(told.report, undefined);
  const guess = `trial-${String(startedAt).replace(/\D/g, '').slice(0, 14)}`;
  assert.ok(String(report!.file).startsWith(guess), `${report!.file} is not ${guess}`);
  assert.equal((await one.call(`/api/exports/${id}/${guess}.warc.gz`, { token: '' })).status, 404);
});

test('the file of an export that has not ended cannot be removed', async (t) => {
  const one = await served(t);
  await storeDays(one.archive, 'http://a.test/', [1, 2]);
  const input = { format: 'wacz', selection: { url: 'http://a.test/' } };
  const begin = () => one.call('/api/jobs', { json: { kind: 'export', input } });
  // Exports run one after another, so the last one waits.
  const replies = await Promise.all(Array.from({ length: 12 }, begin));
  const queued = await Promise.all(
    replies.map(async ({ json }) => one.call(`/api/exports/${(json as unknown as JobReply).id}`, { method: 'DELETE' })),
  );
  assert.ok(queued.some(({ status }) => status === 409));
  const jobs = await Promise.all(replies.map((reply) => finished(one, reply)));
  for (const { state } of jobs) assert.equal(state, 'done');
});

test('an export of damaged records reports them in its state, its numbers and its log', async (t) => {
  const one = await served(t);
  await storeDays(one.archive, 'http://a.test/', [1]);
  await storeDays(one.archive, 'http://b.test/', [2]);
  await one.archive.flush();
  const at = await damageUrl(one.archive, 'http://a.test/', 'sum');
  const run = async (url: string) => {
    const json = { kind: 'export', input: { format: 'warc.gz', selection: { url } } };
    return finished(one, await one.call('/api/jobs', { json }));
  };
  const damaged = await run('http://a.test/');
  assert.deepEqual([damaged.state, damaged.hasErrors, damaged.report?.damaged], ['done', true, 1]);
  assert.equal(damaged.log.length, 1);
  assert.ok(damaged.log[0]?.includes(`${at.segment}:${at.offset} (http://a.test/)`), damaged.log[0]);
  const sound = await run('http://b.test/');
  assert.deepEqual([sound.state, sound.hasErrors, sound.log], ['done', undefined, []]);
});

test('a compaction reports a damaged segment that it could not rewrite', async (t) => {
  const one = await served(t);
  await storeDays(one.archive, 'http://a.test/', [1, 2]);
  await one.archive.close();
  await one.server.close();
  const again = await openServed(one.directory);
  t.after(async () => {
    await again.server.close();
    await again.archive.close();
  });
  await again.archive.delete({ url: 'http://a.test/', to: Date.parse('2024-03-01T23:00:00Z') });
  await damageUrl(again.archive, 'http://a.test/', 'middle');
  const job = await finished(again, await again.call('/api/jobs', { json: { kind: 'compact', input: {} } }));
  assert.deepEqual([job.state, job.hasErrors], ['done', true]);
});

test('a restarted server keeps finished exports and removes the files of unfinished ones', async (t) => {
  const directory = scratch(t);
  await createArchive(directory);
  const before = await openServed(directory);
  await storeDays(before.archive, 'http://a.test/', [1]);
  const reply = await before.call('/api/jobs', { json: { kind: 'export', input: { format: 'warc.gz' } } });
  const { href } = (await finished(before, reply)).report as { href: string };
  const { bytes } = await before.call(href);
  await before.server.close();
  await before.archive.close();
  mkdirSync(join(directory, 'exports', 'dead'));
  writeFileSync(join(directory, 'exports', 'dead', 'half.warc.gz'), 'half');
  const after = await openServed(directory);
  t.after(async () => {
    await after.server.close();
    await after.archive.close();
  });
  assert.deepEqual((await after.call(href)).bytes, bytes);
  assert.equal(readdirSync(join(directory, 'exports')).length, 1);
});
