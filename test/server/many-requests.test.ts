/** Clients with very many requests or connections do not block other clients. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { formatFrame, readFrames } from '../../src/base/index.ts';
import { page } from '../archive/trial-archive.ts';
import { ask, makeServer, TOKEN } from './trial-server.ts';

/** The number of connections that one address may have. */
const CONNECTIONS = 512;
/** The number of requests that Node reads at once. */
const PIPELINED = 1000;

function connection(t: TestContext, address: string): Socket {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  t.after(() => socket.destroy());
  return socket;
}

test('many requests of one connection are served in order, and requests of other clients in between', async (t) => {
  const { server, failures } = await makeServer(t);
  const flooding = connection(t, server.uiAddress);
  const health = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
  flooding.write(health.repeat(PIPELINED - 2));
  // A request with a body that arrives in two parts is served as well.
  const post = 'POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000\r\n\r\n';
  flooding.write(`${post}${'{'.repeat(10_000)}`);
  flooding.write(`${'{'.repeat(10_000)}GET /missing.txt HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  const statuses: string[] = [];
  let received = '';
  const answered = Promise.withResolvers<void>();
  flooding.on('data', (piece: Buffer) => {
    received += piece.toString('latin1');
    statuses.push(...[...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status!));
    received = received.slice(received.lastIndexOf('HTTP/1.1 ') + 'HTTP/1.1 xxx '.length);
    if (statuses.length >= PIPELINED) answered.resolve();
  });
  await once(flooding, 'data');
  assert.equal((await ask(server.uiAddress, '/healthz')).status, 200);
  const before = statuses.length;
  assert.ok(before < PIPELINED, `${before} of ${PIPELINED} were answered before`);
  await answered.promise;
  assert.deepEqual(statuses, [...Array(PIPELINED - 2).fill('200'), '401', '404']);
  assert.deepEqual(failures, []);
});

test('later requests of a connection wait while its client reads a reply slowly, and are all served', async (t) => {
  const { archive, server, failures } = await makeServer(t);
  const body = Buffer.alloc(1024 * 1024, 'a large page ');
  await archive.store(page('http://site.test/', Date.UTC(2024, 2, 1), body));
  const slow = connection(t, server.replayAddress);
  const one = 'GET /web/20240301000000id_/http://site.test/ HTTP/1.1\r\nHost: localhost\r\n\r\n';
  slow.write(one.repeat(20));
  slow.write(one.repeat(20).replace(/\r\n\r\n$/, '\r\nConnection: close\r\n\r\n'));
  let bytes = 0;
  for await (const piece of slow) bytes += (piece as Buffer).length;
  assert.ok(bytes > 40 * body.length, `${bytes} bytes`);
  assert.deepEqual(failures, []);
});

test('one address cannot use all connections, and the command socket stays reachable', async (t) => {
  const { server } = await makeServer(t, { runCommand: async () => 0 });
  const held = Array.from({ length: CONNECTIONS }, () => connection(t, server.uiAddress));
  await Promise.all(held.map((socket) => once(socket, 'connect')));
  const reply = await ask(server.uiAddress, '/healthz');
  assert.deepEqual([reply.status, /TOO_MANY_CONNECTIONS/.test(reply.text)], [503, true]);
  assert.equal((await ask(server.replayAddress, '/static/none')).status, 404, 'each port has its own limit');
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/x-pinakes-frames' };
  const sent = httpRequest({ socketPath: server.commandPath, path: '/api/commands', method: 'POST', headers });
  const command = { argv: ['stats'], directory: '/', isTerminal: false, columns: 80, user: 'ada' };
  sent.write(formatFrame('C', JSON.stringify(command)));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const kinds: string[] = [];
  for await (const { kind } of readFrames(response)) kinds.push(kind);
  sent.end();
  assert.deepEqual(kinds, ['X']);
  const [first] = held;
  first!.destroy();
  for (;;) if ((await ask(server.uiAddress, '/healthz')).status === 200) break;
});

test('a client with too many requests gets 429 with the time to wait, and others and probes are served', async (t) => {
  let now = 0;
  const { server, failures } = await makeServer(t, {
    rate: { requests: 5, windowMs: 60_000 },
    proxies: ['127.0.0.1'],
    stopwatch: () => now,
  });
  const get = (target: string, client: string, fields: Record<string, string> = {}) =>
    ask(server.uiAddress, target, { headers: { 'x-forwarded-for': client, ...fields } });
  const statuses = async (client: string, times: number, fields?: Record<string, string>) => {
    const replies: number[] = [];
    for (let time = 0; time < times; time++) replies.push((await get('/api/collections', client, fields)).status);
    return replies;
  };
  assert.deepEqual(await statuses('198.51.100.1', 6), [200, 200, 200, 200, 200, 429]);
  const refused = await get('/cdx?url=site.test', '198.51.100.1');
  assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '12']);
  assert.match(refused.text, /TOO_MANY_REQUESTS/);
  const replay = await ask(server.replayAddress, '/web/2024/http://a.test/', {
    headers: { 'x-forwarded-for': '198.51.100.1' },
  });
  assert.equal(replay.status, 429, 'both ports count together');
  assert.equal((await get('/healthz', '198.51.100.1')).status, 200);
  assert.equal((await get('/readyz', '198.51.100.1')).status, 200);
  assert.deepEqual(await statuses('198.51.100.2', 1), [200]);
  assert.ok(
    (await statuses('127.0.0.1', 20)).every((status) => status === 200),
    'this machine is not limited',
  );
  const authorization = `Bearer ${TOKEN}`;
  assert.deepEqual(await statuses('198.51.100.2', 6, { authorization }), [200, 200, 200, 200, 200, 200]);
  now += 12_000;
  assert.deepEqual(await statuses('198.51.100.1', 2), [200, 429]);
  assert.deepEqual(failures, []);
});

test('a port has a limit of connections in all', async (t) => {
  const { server } = await makeServer(t, { proxies: ['127.0.0.1'], connections: { inAllMax: 3 } });
  const held = Array.from({ length: 3 }, () => connection(t, server.uiAddress));
  await Promise.all(held.map((socket) => once(socket, 'connect')));
  const reply = await ask(server.uiAddress, '/healthz');
  assert.deepEqual([reply.status, reply.headers['retry-after']], [503, '5']);
  held[0]!.destroy();
  for (;;) if ((await ask(server.uiAddress, '/healthz')).status === 200) break;
});

test('the connections of a proxy are not limited', async (t) => {
  const { server } = await makeServer(t, { proxies: ['127.0.0.1'] });
  const held = Array.from({ length: CONNECTIONS }, () => connection(t, server.uiAddress));
  await Promise.all(held.map((socket) => once(socket, 'connect')));
  assert.equal((await ask(server.uiAddress, '/healthz')).status, 200);
});
