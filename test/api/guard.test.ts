import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { test } from 'node:test';
import { FRAMES_MIME, formatFrame } from '../../src/base/index.ts';
import { type Served, served, storeDays, TOKEN } from './served-archive.ts';

/** Sends a request with a Host field, which fetch does not allow. */
async function withHost({ server }: Served, host: string): Promise<number> {
  const { port } = new URL(server.uiAddress);
  return new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', path: '/api/info', headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    })
      .on('error', reject)
      .end();
  });
}

test('pages of other origins are refused, even for reading, and archived pages are of another origin', async (t) => {
  const one = await served(t);
  const origin = one.server.uiUrl;
  for (const [headers, status] of [
    [{ origin }, 200],
    [{ origin, 'sec-fetch-site': 'same-origin' }, 200],
    [{ 'sec-fetch-site': 'none' }, 200],
    [{ origin: one.server.uiAddress, 'sec-fetch-site': 'same-origin' }, 200],
    [{ origin: one.server.replayAddress }, 403],
    [{ origin: one.server.replayUrl }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: 'http://evil.test' }, 403],
    [{ 'sec-fetch-site': 'same-site' }, 403],
    [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }, 403],
  ] as [Record<string, string>, number][]) {
    const reply = await one.call('/api/info', { headers });
    assert.equal(reply.status, status, JSON.stringify(headers));
    assert.equal(reply.headers.get('access-control-allow-origin'), null);
  }
  const posted = await one.call('/api/jobs', {
    json: { kind: 'compact', input: {} },
    headers: { origin: one.server.replayUrl },
  });
  assert.equal(posted.status, 403);
});

test('a Host field with the name of another site is refused', async (t) => {
  const one = await served(t);
  const { port } = new URL(one.server.uiAddress);
  assert.equal(await withHost(one, `localhost:${port}`), 200);
  assert.equal(await withHost(one, `evil.test:${port}`), 421);
});

/** The status of the reply to a command, sent to a port or to a socket. */
async function commandStatus(to: { port: string; host: string } | { socketPath: string }): Promise<number> {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': FRAMES_MIME };
  const command = { argv: ['stats'], directory: '/', isTerminal: false, columns: 80, user: 'ada' };
  return new Promise((resolve, reject) => {
    request({ ...to, method: 'POST', path: '/api/commands', headers }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    })
      .on('error', reject)
      .end(formatFrame('C', JSON.stringify(command)));
  });
}

test('the command socket accepts commands and no other request, and other sockets refuse commands', async (t) => {
  const one = await served(t, { runCommand: async () => 0 });
  const { hostname: host, port } = new URL(one.server.uiAddress);
  const socketPath = one.server.commandPath!;
  assert.equal(await commandStatus({ port, host }), 403, 'also from this machine, without fields of a proxy');
  assert.equal(await commandStatus({ socketPath }), 200);
  const sent = request({ socketPath, path: '/api/info' }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  assert.equal(response.statusCode, 404);
});

test('writing needs the token as a Bearer token', async (t) => {
  const one = await served(t);
  const begin = (headers: Record<string, string>, search = '') =>
    one.call(`/api/jobs${search}`, { json: { kind: 'compact', input: {} }, token: '', headers });
  assert.equal((await begin({ authorization: `Bearer ${TOKEN}` })).status, 202);
  assert.equal((await begin({ authorization: `bearer   ${TOKEN}` })).status, 202);
  for (const headers of [
    {},
    { authorization: `Basic ${TOKEN}` },
    { authorization: TOKEN },
    { authorization: `Bearer ${TOKEN}x` },
    { authorization: `Bearer ${TOKEN.slice(0, -1)}` },
    { cookie: `token=${TOKEN}` },
    { 'x-token': TOKEN },
  ] as Record<string, string>[]) {
    const reply = await begin(headers);
    assert.equal(reply.status, 401, JSON.stringify(headers));
    assert.equal(reply.headers.get('www-authenticate'), 'Bearer');
  }
  assert.equal((await begin({}, `?token=${TOKEN}`)).status, 401);
});

test('invalid requests are refused with a sentence, never with a stack trace', async (t) => {
  const one = await served(t);
  const begin = (json: unknown) => one.call('/api/jobs', { json });
  for (const reply of [
    await begin({ kind: 'compact' }),
    await begin({ kind: 'compact', input: { force: true } }),
    await begin({ kind: 'export', input: { format: 'tar' } }),
    await begin([]),
    await begin(null),
    await one.call('/api/jobs', { body: Buffer.from('{"kind":'), headers: { 'content-type': 'application/json' } }),
    await one.call('/api/captures?url=a.test&url=b.test'),
    await one.call('/api/captures?url=a.test&limit=1e99'),
    await one.call('/api/captures?url=a.test&from=99999999999999'),
    await one.call('/api/urls?after=%00'),
  ]) {
    assert.ok(reply.status === 400 || reply.status === 200, `${reply.status} ${reply.bytes}`);
    assert.doesNotMatch(reply.bytes.toString(), /node_modules|\.ts:\d+|at async/);
  }
  for (const path of ['/api/captures/%ff', '/api/jobs?after=nobody']) {
    const { status, json } = await one.call(path);
    assert.deepEqual([status, (json.error as { code: string }).code], [400, 'BAD_REQUEST'], path);
  }
  const large = await one.call('/api/jobs', { json: { kind: 'add', input: { paths: ['x'.repeat(2_000_000)] } } });
  assert.equal(large.status, 413);
  const xml = await one.call('/api/jobs', { body: Buffer.from('<a/>'), headers: { 'content-type': 'text/xml' } });
  assert.equal(xml.status, 415);
});

test('details of jobs need the token, and clients without it see only that there are jobs', async (t) => {
  const one = await served(t);
  await storeDays(one.archive, 'http://secret.test/', [1]);
  const selection = { url: 'http://secret.test/' };
  const { token } = (await one.call('/api/deletes/preview', { json: { selection } })).json as { token: string };
  const { id } = (await one.call('/api/deletes', { json: { selection, token } })).json as { id: string };
  await one.overJob(id);
  const { id: failed } = (await one.call('/api/jobs', { json: { kind: 'add', input: { paths: ['/nowhere/secret'] } } }))
    .json as { id: string };
  await one.overJob(failed);
  for (const path of ['/api/jobs', `/api/jobs/${id}`, `/api/jobs/${failed}`]) {
    const open = (await one.call(path, { token: '' })).bytes.toString();
    assert.ok(!open.includes('secret'), open);
    assert.match((await one.call(path)).bytes.toString(), /secret/);
    assert.equal((await one.call(path, { token: 'wrong' })).status, 401);
  }
  const { createdAt, startedAt, endedAt, ...told } = (await one.call(`/api/jobs/${id}`, { token: '' })).json;
  assert.deepEqual(told, { id, kind: 'delete', state: 'done', origin: 'api' });
  assert.ok(createdAt && startedAt && endedAt);
  const events = await fetch(`${one.server.uiAddress}/api/jobs/events`);
  let heard = '';
  for await (const piece of events.body!) {
    heard += Buffer.from(piece).toString();
    if (heard.includes(id) && heard.includes(failed)) break;
  }
  assert.ok(!heard.includes('secret'), heard);
});
