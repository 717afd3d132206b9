/** The server as a whole: the files of the UI, frames, metrics, the access log, stopping. */
import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { type AccessLine, startServer } from '../../src/server/index.ts';
import { response, writeForeign } from '../archive/foreign-file.ts';
import { contentOf, makeArchive, page, temporaryDirectory } from '../archive/trial-archive.ts';
import { ask, makeServer, TOKEN } from './trial-server.ts';

const TIME = Date.UTC(2024, 2, 1, 10);
/** More than the buffers at both ends of a connection can take. */
const LARGE = Buffer.alloc(30_000_000, 'a long text that repeats itself ');
const WINDOW = { 'sec-fetch-dest': 'document', accept: 'text/html' };

async function makeUi(t: TestContext): Promise<string> {
  const directory = await temporaryDirectory(t);
  await mkdir(join(directory, 'assets'));
  await writeFile(join(directory, 'index.html'), '<!doctype html><title>the application</title>');
  await writeFile(join(directory, 'assets', 'main-A1B2C3D4.js'), `// ${'x'.repeat(5000)}`);
  return directory;
}

test('the UI is served from its directory, with a strict policy', async (t) => {
  const { server } = await makeServer(t, { uiDirectory: await makeUi(t) });
  const get = (target: string, headers: Record<string, string> = {}) => ask(server.uiAddress, target, { headers });
  for (const screen of ['/', '/jobs', '/collections/given', '/web/*/http://site.test/']) {
    const reply = await get(screen);
    assert.equal(reply.status, 200, screen);
    assert.match(reply.text, /the application/);
    assert.equal(reply.headers['cache-control'], 'no-cache');
    const policy = String(reply.headers['content-security-policy']);
    assert.match(policy, /default-src 'self'/);
    assert.match(policy, new RegExp(`frame-src ${server.replayUrl}$`));
    assert.doesNotMatch(policy, /unsafe/);
    assert.equal(reply.headers['set-cookie'], undefined);
  }
  const script = await get('/assets/main-A1B2C3D4.js');
  assert.equal(script.headers['cache-control'], 'public, max-age=31536000, immutable');
  assert.equal(script.headers['content-type'], 'text/javascript; charset=utf-8');
  const packed = await get('/assets/main-A1B2C3D4.js', { 'accept-encoding': 'gzip' });
  assert.equal(packed.headers['content-encoding'], 'gzip');
  assert.deepEqual(gunzipSync(packed.body), script.body);
  const again = await get('/assets/main-A1B2C3D4.js', { 'if-none-match': String(script.headers.etag) });
  assert.deepEqual([again.status, again.text], [304, '']);
  assert.equal((await get('/assets/other.js')).status, 404);
  assert.equal((await get('/assets/')).status, 404);
});

test('browsers get advice instead of a redirect when the files of the UI are missing', async (t) => {
  const { archive, server, failures } = await makeServer(t);
  await archive.store(page('http://site.test/', TIME, contentOf('a page')));
  const { host } = new URL(server.uiUrl);
  const ui = (target: string, headers: Record<string, string> = {}) =>
    ask(server.uiAddress, target, { headers: { host, ...headers } });
  const memento = '/web/20240301100000/http://site.test/';
  for (const target of ['/', '/jobs', '/web/*/http://site.test/', memento]) {
    const reply = await ui(target, WINDOW);
    assert.equal(reply.status, 503, target);
    assert.match(reply.text, /npm run ui/);
    assert.match(String(reply.headers['content-type']), /^text\/html/);
  }
  // A browser window at the replay socket is redirected to this address for the frame page, and is not redirected
  // again.
  const windowed = await ask(server.replayAddress, '/web/20240301100000mp_/http://site.test/', { headers: WINDOW });
  assert.equal(windowed.headers.location, `${server.uiUrl}${memento}`);
  assert.equal((await ui('/assets/main.js')).status, 404);
  const led = await ui(memento);
  assert.equal(led.status, 307);
  assert.equal((await ask(server.replayAddress, new URL(String(led.headers.location)).pathname)).status, 200);
  assert.equal((await ui('/api/info')).status, 200);
  assert.deepEqual(failures, []);
});

test('an error page has links, except in a frame or without screens', async (t) => {
  const { server } = await makeServer(t, { uiDirectory: await makeUi(t) });
  const ways = new RegExp(
    `<form action="${server.uiUrl}/search".*<a href="${server.uiUrl}/collections">.*<a href="${server.uiUrl}/">`,
    's',
  );
  const wrong: readonly (readonly [address: string, target: string, status: number])[] = [
    [server.uiAddress, '/nothing.txt', 404],
    [server.uiAddress, '/api/nothing', 404],
    [server.uiAddress, '/web/', 400],
    [server.uiAddress, '/web/99999999999999/http://site.test/', 400],
    [server.replayAddress, '/nothing', 404],
    [server.replayAddress, '/web/20240301100000xy_/http://site.test/', 400],
  ];
  for (const [address, target, status] of wrong) {
    const reply = await ask(address, target, { headers: { accept: 'text/html' } });
    assert.equal(reply.status, status, target);
    assert.match(reply.text, ways, target);
    const policy = String(reply.headers['content-security-policy']);
    assert.match(policy, new RegExp(`default-src 'none';.*form-action ${server.uiUrl}$`));
    const framed = await ask(address, target, { headers: { accept: 'text/html', 'sec-fetch-dest': 'iframe' } });
    assert.doesNotMatch(framed.text, /<form|<a /, target);
    assert.match(String(framed.headers['content-security-policy']), /form-action 'none'/);
  }
  const refused = await ask(server.uiAddress, '/', { headers: { host: 'evil.test', accept: 'text/html' } });
  assert.equal(refused.status, 421);
  assert.match(refused.text, ways);
  const { server: bare } = await makeServer(t);
  const nowhere = await ask(bare.uiAddress, '/nothing.txt', { headers: { accept: 'text/html' } });
  assert.doesNotMatch(nowhere.text, /<form|<a /);
});

test('a browser window gets the frame page, and other clients get the memento', async (t) => {
  const { archive, server, failures } = await makeServer(t, { uiDirectory: await makeUi(t) });
  const body = contentOf('a page');
  await archive.store(page('http://site.test/', TIME, body));
  const { host } = new URL(server.uiUrl);
  const ui = (target: string, headers: Record<string, string> = {}) =>
    ask(server.uiAddress, target, { headers: { host, ...headers } });
  const replay = (target: string, headers: Record<string, string> = {}) =>
    ask(server.replayAddress, target, { headers });

  assert.match((await ui('/web/20240301100000/http://site.test/', WINDOW)).text, /the application/);
  assert.match((await ui('/web/20240301100000if_/http://site.test/', WINDOW)).text, /the application/);
  const latest = await ui('/web/http://site.test/', WINDOW);
  assert.deepEqual(
    [latest.status, latest.headers.location],
    [302, `${server.uiUrl}/web/20240301100000/http://site.test/`],
  );
  const part = await ui('/web/2024/http://site.test/', WINDOW);
  assert.deepEqual([part.status, part.headers.location], [302, `${server.uiUrl}/web/20240301100000/http://site.test/`]);
  const year = 365 * 24 * 3_600_000;
  await archive.store(page('http://site.test/span', TIME - year, contentOf('nearer to the beginning of 2024')));
  await archive.store(page('http://site.test/span', TIME + year / 2, contentOf('of 2024')));
  assert.match(
    (await ui('/web/2024/http://site.test/span', WINDOW)).headers.location ?? '',
    /\/web\/20240830/,
    'the capture for a year is of that year, although another is nearer to its beginning',
  );
  assert.match((await ui('/web/2022/http://site.test/span', WINDOW)).headers.location ?? '', /\/web\/20230302/);
  const missing = await ui('/web/20240301100000/http://other.test/', WINDOW);
  assert.equal(missing.status, 404);
  const raw = await ui('/web/20240301100000id_/http://site.test/', WINDOW);
  assert.equal(raw.headers.location, `${server.replayUrl}/web/20240301100000id_/http://site.test/`);
  const otherName = await ask(server.uiAddress, '/jobs', { headers: { ...WINDOW, host: '127.0.0.1:1' } });
  assert.deepEqual([otherName.status, otherName.headers.location], [307, `${server.uiUrl}/jobs`]);

  const framed = await replay('/web/20240301100000mp_/http://site.test/', WINDOW);
  assert.deepEqual(
    [framed.status, framed.headers.location],
    [302, `${server.uiUrl}/web/20240301100000/http://site.test/`],
  );
  const shown = await replay('/web/20240301100000mp_/http://site.test/', { 'sec-fetch-dest': 'iframe' });
  assert.equal(shown.status, 200);
  assert.match(shown.text, /wombat/);
  assert.equal(shown.headers['set-cookie'], undefined);
  const stored = await replay('/web/20240301100000id_/http://site.test/');
  assert.deepEqual(stored.body, Buffer.from(body));
  assert.match(String(stored.headers['content-security-policy']), /default-src 'none'.*sandbox/);
  assert.equal((await replay('/web/20240301100000mp_/http://site.test/', { 'service-worker': 'script' })).status, 403);
  const script = await replay('/static/wombat.js');
  assert.equal(script.status, 200);
  assert.match(String(script.headers['content-security-policy']), /^default-src 'self'/, 'for workers made from it');
  assert.equal((await replay('/api/info')).status, 404);
  assert.equal((await replay('/cdx?url=http://site.test/')).status, 404);
  assert.equal((await replay('/metrics')).status, 404);
  const timemap = await replay('/web/timemap/link/http://site.test/');
  assert.deepEqual(
    [timemap.status, timemap.headers.location],
    [307, `${server.uiUrl}/web/timemap/link/http://site.test/`],
  );
  assert.deepEqual(failures, []);
});

test('a server on all addresses uses the host name of the request, and refuses foreign names', async (t) => {
  const { archive, server } = await makeServer(t, { host: '0.0.0.0', uiDirectory: await makeUi(t) });
  await archive.store(page('http://site.test/', TIME, contentOf('a page')));
  const [uiPort, replayPort] = [server.uiUrl, server.replayUrl].map((origin) => new URL(origin).port);
  const ui = (host: string, target: string, headers: Record<string, string> = {}) =>
    ask(`http://127.0.0.1:${uiPort}`, target, { headers: { host, ...headers } });
  for (const name of ['192.0.2.7', 'localhost', hostname().toLowerCase()]) {
    const host = `${name}:${uiPort}`;
    const replayOrigin = `http://${name}:${replayPort}`;
    const screen = await ui(host, '/', WINDOW);
    assert.equal(screen.status, 200, name);
    assert.match(String(screen.headers['content-security-policy']), new RegExp(`; frame-src ${replayOrigin}$`));
    assert.equal(JSON.parse((await ui(host, '/api/info')).text).replayOrigin, replayOrigin);
    const memento = `/web/20240301100000mp_/http://site.test/`;
    assert.equal((await ui(host, '/web/http://site.test/')).headers.location, replayOrigin + memento);
    const shown = await ask(`http://127.0.0.1:${replayPort}`, memento, {
      headers: { host: `${name}:${replayPort}`, 'sec-fetch-dest': 'iframe' },
    });
    assert.match(String(shown.headers['content-security-policy']), new RegExp(`frame-ancestors 'self' http://${host}`));
    assert.ok(shown.text.includes(`"prefix":"${replayOrigin}/web/"`), name);
  }
  const otherPort = await ui('192.0.2.7:1', '/jobs', WINDOW);
  assert.deepEqual([otherPort.status, otherPort.headers.location], [307, `http://192.0.2.7:${uiPort}/jobs`]);
  const byNumber = await ui(`[2001:db8::7]:${uiPort}`, '/jobs', WINDOW);
  assert.equal(byNumber.headers.location, `http://localhost:${uiPort}/jobs`, 'a policy cannot name it');
  for (const name of ['evil.test', 'localhost.evil.test', `x;script-src'unsafe-inline'.localhost`])
    assert.equal((await ui(`${name}:${uiPort}`, '/api/info')).status, 421, name);
});

test('a proxy that adds the default port to the Host field causes no redirect loop', async (t) => {
  const uiDirectory = await makeUi(t);
  for (const [uiOrigin, port] of [
    ['https://archive.test', 443],
    ['http://archive.test', 80],
  ] as const) {
    const { server } = await makeServer(t, { uiOrigin, replayOrigin: 'https://replay.test', uiDirectory });
    const shown = async (host: string) => (await ask(server.uiAddress, '/', { headers: { host, ...WINDOW } })).status;
    assert.deepEqual([await shown('archive.test'), await shown(`archive.test:${port}`)], [200, 200], uiOrigin);
    assert.equal(await shown('archive.test:8080'), 307);
  }
});

test('a window also gets the frame page over plain HTTP, where browsers send no Sec-Fetch fields', async (t) => {
  const { archive, server } = await makeServer(t, { uiDirectory: await makeUi(t) });
  await archive.store(page('http://site.test/', TIME, contentOf('a page')));
  const { host } = new URL(server.uiUrl);
  const headers = { host, accept: 'text/html', 'upgrade-insecure-requests': '1' };
  const reply = await ask(server.uiAddress, '/web/20240301100000/http://site.test/', { headers });
  assert.match(reply.text, /the application/, 'a redirect to the memento would be redirected back here');
});

test('a path that a script of an archived page requests is resolved on the site of the page', async (t) => {
  const { archive, server } = await makeServer(t);
  await archive.store(page('http://site.test/images/a.png?x=1', TIME, contentOf('picture')));
  const referer = `${server.replayUrl}/web/20240301100000mp_/http://site.test/deep/page`;
  const reply = await ask(server.replayAddress, '/images/a.png?x=1', {
    headers: { referer, 'sec-fetch-dest': 'image' },
  });
  assert.deepEqual(
    [reply.status, reply.headers.location],
    [307, '/web/20240301100000im_/http://site.test/images/a.png?x=1'],
  );
  const foreign = await ask(server.replayAddress, '/images/a.png', {
    headers: { referer: 'http://evil.test/web/2024mp_/http://site.test/' },
  });
  assert.equal(foreign.status, 404);
});

test('segments are sent by the file name in an index line, whole or by range', async (t) => {
  const { archive, server } = await makeServer(t);
  await archive.store(page('http://site.test/', TIME, contentOf('a page')));
  const line = (await ask(server.uiAddress, '/cdx?url=site.test&fl=filename,offset,length')).text.trim();
  const [file, offset, length] = line.split(' ') as [string, string, string];
  const range = `bytes=${offset}-${Number(offset) + Number(length) - 1}`;
  const part = await ask(server.uiAddress, `/warc/${file}`, { headers: { range } });
  assert.deepEqual([part.status, part.body.length], [206, Number(length)]);
  assert.match(gunzipSync(part.body).toString(), /^WARC\/1\.1\r\n/);
  const whole = await ask(server.uiAddress, `/warc/${file}`);
  assert.deepEqual(whole.body.subarray(Number(offset), Number(offset) + Number(length)), part.body);
  assert.equal((await ask(server.uiAddress, `/warc/${file}`, { headers: { range: 'bytes=99999999-' } })).status, 416);
  const etag = String(whole.headers.etag);
  for (const known of [etag, `"other", W/${etag}`, '*']) {
    const same = await ask(server.uiAddress, `/warc/${file}`, { headers: { 'if-none-match': known, range } });
    assert.deepEqual([same.status, same.body.length, same.headers.etag], [304, 0, etag], known);
  }
  const other = await ask(server.uiAddress, `/warc/${file}`, { headers: { 'if-range': '"other"', range } });
  assert.deepEqual([other.status, other.body.length], [200, whole.body.length]);
  const head = await ask(server.uiAddress, `/warc/${file}`, { method: 'HEAD', headers: { range } });
  assert.deepEqual([head.status, head.headers['content-length']], [200, String(whole.body.length)]);
  assert.equal((await ask(server.uiAddress, '/warc/other.warc.gz')).status, 404);
});

test('only the operator sees paths of the machine', async (t) => {
  const { archive, server, failures } = await makeServer(t);
  const file = await writeForeign(join(archive.directory, 'linked.warc.gz'), [
    response('http://site.test/', TIME, contentOf('a page')),
  ]);
  await archive.add([file], { inPlace: true });
  await rm(file);
  const { name } = (await archive.segments()).at(-1)!;
  const { items } = JSON.parse((await ask(server.uiAddress, '/api/captures?url=http://site.test/')).text);
  for (const [address, target] of [
    [server.uiAddress, `/api/captures/${items[0].id}`],
    [server.uiAddress, `/api/segments/linked/${name}`],
    [server.replayAddress, '/web/20240301100000id_/http://site.test/'],
  ] as const) {
    const { status, text } = await ask(address, target);
    assert.deepEqual([status, JSON.parse(text).error.code], [500, 'FILE_MISSING'], target);
    assert.ok(!text.includes(archive.directory), text);
  }
  assert.ok(failures.length === 3 && failures.every((error) => (error as Error).message.includes(file)));
});

test('requests are counted, and logged without secrets', async (t) => {
  const lines: AccessLine[] = [];
  const { archive, server } = await makeServer(t, { onAccess: (line) => lines.push(line) });
  await archive.store(page('http://site.test/', TIME, contentOf('a page')));
  const headers = { authorization: `Bearer ${TOKEN}`, 'user-agent': 'a "quoted" agent', referer: 'http://from.test/' };
  assert.deepEqual(JSON.parse((await ask(server.uiAddress, '/healthz', { headers })).text), { status: 'ok' });
  await ask(server.uiAddress, '/cdx?url=site.test', { headers });
  await ask(server.replayAddress, '/web/20240301100000mp_/http://site.test/', { headers });
  await ask(server.uiAddress, '/healthz', { headers: { host: 'evil.test' } });
  // A request is counted when its reply is closed, a moment after the client received it.
  while (lines.length < 4) await new Promise((resolve) => setImmediate(resolve));
  const metrics = (await ask(server.uiAddress, '/metrics')).text;
  assert.match(metrics, /^pinakes_http_requests_total\{route="cdx",status="200"\} 1$/m);
  assert.match(metrics, /^pinakes_http_requests_total\{route="replay",status="200"\} 1$/m);
  assert.match(metrics, /^pinakes_http_requests_total\{route="refused",status="421"\} 1$/m);
  assert.match(metrics, /^pinakes_archive_captures 1$/m);
  assert.match(metrics, /^pinakes_http_request_duration_seconds_count\{route="cdx"\} 1$/m);
  assert.match(metrics, /^pinakes_ledger_lost_races_total 0$/m);
  assert.match(metrics, /^pinakes_ledger_sealed_segments_total \d+$/m);
  assert.match(metrics, /^process_cpu_seconds_total /m);
  assert.doesNotMatch(JSON.stringify(lines), new RegExp(TOKEN));
  const line = lines.find(({ target }) => target.startsWith('/cdx'))!;
  assert.deepEqual([line.method, line.status, line.socket, line.agent], ['GET', 200, 'ui', 'a "quoted" agent']);
  assert.ok(line.bytes > 100);
});

/** Begins a reply that is too large to end before the test reads it. */
async function beginLargeReply(t: TestContext) {
  const archive = await makeArchive(t);
  await archive.store(page('http://site.test/large', TIME, LARGE));
  const { server } = await makeServer(t, { archive });
  const { port } = new URL(server.replayAddress);
  const reply = await new Promise<IncomingMessage>((resolve, reject) => {
    const path = '/web/20240301100000id_/http://site.test/large';
    httpRequest({ host: '127.0.0.1', port, path, agent: false }, resolve).on('error', reject).end();
  });
  return { archive, server, reply };
}

test('stopping waits for running replies, refuses new work, and leaves the archive open', async (t) => {
  const { archive, server, reply } = await beginLargeReply(t);
  const closing = server.close();
  const { status, headers } = await ask(server.uiAddress, '/api/jobs', { method: 'POST' });
  assert.deepEqual([status, headers['retry-after']], [503, '5']);
  assert.equal((await ask(server.uiAddress, '/readyz')).status, 503);
  let bytes = 0;
  for await (const piece of reply) bytes += (piece as Buffer).length;
  await closing;
  await assert.rejects(ask(server.uiAddress, '/healthz'), { code: 'ECONNREFUSED' });
  assert.equal(bytes, 30_000_000);
  assert.equal((await archive.totals()).captures, 1);
});

test('stopping by force breaks off running replies', async (t) => {
  const { server, reply } = await beginLargeReply(t);
  await server.close({ force: AbortSignal.abort() });
  await assert.rejects(async () => {
    for await (const _ of reply);
  });
});

test('a port in use is reported by its number, and the other port is released', async (t) => {
  const { archive, server } = await makeServer(t);
  const { port } = new URL(server.uiAddress);
  const options = {
    archive,
    host: '127.0.0.1',
    token: TOKEN,
    clock: archive.clock,
    newId: archive.newId,
    version: '0',
    jobKinds: [],
  };
  const isTaken = { code: 'PORT_IN_USE', where: `127.0.0.1:${port}` };
  await assert.rejects(startServer({ ...options, port: Number(port), replayPort: 0 }), isTaken);
  await assert.rejects(startServer({ ...options, port: 0, replayPort: Number(port) }), isTaken);
  await assert.rejects(startServer({ ...options, host: '192.0.2.1', port: 0, replayPort: 0 }), {
    code: 'LISTEN_FAILED',
  });
});
