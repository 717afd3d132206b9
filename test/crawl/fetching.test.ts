/** Single fetches from servers that almost follow the rules. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants, createSecureServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, connect, createServer, type LookupFunction, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createServer as createSecureServer, type TlsOptions } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { type Exchange, FETCH_DEFAULTS, type FetchFailure, HttpFetcher } from '../../src/crawl/index.ts';
import { TEST_CERTIFICATE, TEST_KEY } from './test-certificate.ts';
import { TestWeb } from './test-web.ts';

const SETTINGS = { ...FETCH_DEFAULTS, clock: Date.now, allowPrivate: true, anyCertificate: true };

/** A server that answers each request with bytes; `count` is the number of the request on its connection. */
async function startServer(
  t: TestContext,
  answer: (path: string, count: number, socket: Socket) => string,
): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let count = 0;
    let received = '';
    socket.on('error', () => {});
    socket.on('data', (data) => {
      received += data.toString('latin1');
      for (let end = received.indexOf('\r\n\r\n'); end >= 0; end = received.indexOf('\r\n\r\n')) {
        const path = received.split(' ')[1]!;
        received = received.slice(end + 4);
        socket.write(answer(path, ++count, socket), 'latin1');
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function startFetcher(t: TestContext, web?: TestWeb): (url: string) => Promise<string> {
  const fetcher = new HttpFetcher({ ...SETTINGS, ...(web && { resolve: web.resolve }) });
  t.after(() => fetcher.close());
  return async (url) => told(await fetcher.fetch({ url }));
}

/** The status and body of an exchange, or the failure. */
async function told(fetched: Exchange | FetchFailure): Promise<string> {
  if (fetched.kind === 'failure') return `${fetched.reason}: ${fetched.detail}`;
  const parts: Uint8Array[] = [];
  for await (const piece of fetched.body) parts.push(piece);
  return `${fetched.status} ${Buffer.concat(parts).toString('latin1')}`;
}

const page = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

test('a URL is requested as it is written, with an empty query too', async (t) => {
  const origin = await startServer(t, (path) => page(path));
  const fetch = startFetcher(t);
  for (const path of ['/a', '/a?', '/?', '/a?b=c']) assert.equal(await fetch(origin + path), `200 ${path}`);
});

/** Answers every request, but accepts no connection until it is told to. */
const ABSENT_SERVER = `
  import { createServer } from 'node:net';
  import { parentPort, workerData } from 'node:worker_threads';
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello'));
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(new Int32Array(workerData), 0, 0);
  });
`;

test('a connection to a slow address is kept when another address does not answer', async (t) => {
  const isPresent = new SharedArrayBuffer(4);
  const server = new Worker(new URL(`data:text/javascript,${encodeURIComponent(ABSENT_SERVER)}`), {
    workerData: isPresent,
  });
  t.after(() => server.terminate());
  const [port] = (await once(server, 'message')) as [number];
  // Unaccepted connections fill the queue. Then the system ignores new connections, and their clients try again after a
  // second.
  const waiting = Array.from({ length: 8 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  t.after(() => {
    for (const socket of waiting) socket.destroy();
  });
  await once(waiting[0]!, 'connect');
  const addresses = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }));
  const resolve: LookupFunction = (_, { all }, done) => (all ? done(null, addresses) : done(null, '127.0.0.1', 4));
  const fetcher = new HttpFetcher({ ...SETTINGS, resolve });
  t.after(() => fetcher.close());
  const fetching = fetcher.fetch({ url: `http://far.test:${port}/` });
  setTimeout(() => {
    Atomics.store(new Int32Array(isPresent), 0, 1);
    Atomics.notify(new Int32Array(isPresent), 0);
  }, 600);
  assert.equal(await told(await fetching), '200 hello');
});

test('a limited number of empty lines before a head is skipped', async (t) => {
  const origin = await startServer(t, (path) => {
    if (path === '/many') return '\r\n'.repeat(5000);
    return `${path === '/bare' ? '\n' : '\r\n'}${page(path)}`;
  });
  const fetch = startFetcher(t);
  for (const path of ['/one', '/bare', '/two']) assert.equal(await fetch(origin + path), `200 ${path}`);
  assert.match(await fetch(`${origin}/many`), /^not-http/);
});

test('late bytes of an answer do not become the next answer, because the next URL is requested on another connection', async (t) => {
  const late = new WeakSet<Socket>();
  const requested: string[] = [];
  const origin = await startServer(t, (path, count, socket) => {
    requested.push(`${path} ${count}`);
    const isLate = late.delete(socket);
    if (path !== '/204') return `${isLate ? 'hello' : ''}${page(path)}`;
    late.add(socket);
    return 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n';
  });
  const fetch = startFetcher(t);
  assert.equal(await fetch(`${origin}/204`), '204 ');
  assert.equal(await fetch(`${origin}/next`), '200 /next');
  assert.deepEqual(requested, ['/204 1', '/next 2', '/next 1']);
});

test('a request is sent again when the server sends 408 on an idle connection', async (t) => {
  const requested: string[] = [];
  const timeout = 'HTTP/1.0 408 Request Time-out\r\nConnection: close\r\nContent-Length: 5\r\n\r\nslow!';
  const origin = await startServer(t, (path, count) => {
    requested.push(`${path} ${count}`);
    return count === 2 || path === '/always' ? timeout : page(path);
  });
  const fetch = startFetcher(t);
  assert.equal(await fetch(`${origin}/1`), '200 /1');
  assert.equal(await fetch(`${origin}/2`), '200 /2');
  assert.equal(await fetch(`${origin}/always`), '408 slow!');
  assert.deepEqual(requested, ['/1 1', '/2 2', '/2 1', '/always 2', '/always 1']);
});

test('HTTP/2 fields keep their octets, even when there are many fields', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, number) => [`x-${number}`, 'v']));
  // The platform sends one octet for each character.
  const location = Buffer.from('/caf\u00e9', 'utf8').toString('latin1');
  web.put('secure.test', '/moved', '', { location }, 302);
  web.put('secure.test', '/many', 'many', many);
  const fetcher = new HttpFetcher({ ...SETTINGS, resolve: web.resolve });
  t.after(() => fetcher.close());
  const moved = await fetcher.fetch({ url: web.url('secure.test', '/moved') });
  assert.ok(moved.kind === 'exchange');
  assert.ok(Buffer.from(moved.head.bytes).includes('location: /caf\u00e9\r\n', 0, 'utf8'));
  assert.equal(await told(moved), '302 ');
  assert.equal(await startFetcher(t, web)(web.url('secure.test', '/many')), '200 many');
});

test('unverified certificates and old TLS are accepted with anyCertificate, and otherwise refused with a clear message', async (t) => {
  const start = async (options: TlsOptions) => {
    const server = createSecureServer({ key: TEST_KEY, cert: TEST_CERTIFICATE, ...options }, (socket) => {
      socket.on('error', () => {});
      socket.on('data', () => socket.write(page('hello')));
      t.after(() => socket.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    return `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  };
  const unverified = await start({});
  const old = await start({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' });
  const asking = await start({ requestCert: true, rejectUnauthorized: true });
  const fetchAny = startFetcher(t);
  assert.equal(await fetchAny(unverified), '200 hello');
  assert.equal(await fetchAny(old), '200 hello');
  const alert = 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED tlsv13 alert certificate required';
  assert.equal(await fetchAny(asking), `no-response: ${alert}`);
  const strict = new HttpFetcher({ ...SETTINGS, anyCertificate: false });
  t.after(() => strict.close());
  assert.equal(
    await told(await strict.fetch({ url: unverified })),
    'certificate: DEPTH_ZERO_SELF_SIGNED_CERT self-signed certificate',
  );
  assert.match(await told(await strict.fetch({ url: old })), /^tls: ERR_SSL_\S+ tlsv1 alert protocol version$/);
});

test('a 408 over HTTP/2 belongs to the request, which is not sent twice', async (t) => {
  let requested = 0;
  const server = createHttp2Server({ key: TEST_KEY, cert: TEST_CERTIFICATE });
  server.on('session', (session) => t.after(() => session.destroy()));
  server.on('stream', (stream) => {
    requested++;
    stream.respond({ ':status': 408 });
    stream.end('slow!');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const fetch = startFetcher(t);
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  for (const count of [1, 2]) {
    assert.equal(await fetch(url), '408 slow!');
    assert.equal(requested, count);
  }
});

test('a request that an HTTP/2 server did not process is sent again on another connection, a few times', async (t) => {
  let refusals = 0;
  let sessions = 0;
  const server = createHttp2Server({ key: TEST_KEY, cert: TEST_CERTIFICATE });
  server.on('session', (session) => {
    sessions++;
    t.after(() => session.destroy());
  });
  server.on('stream', (stream) => {
    stream.on('error', () => {});
    if (refusals-- > 0) {
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
      stream.session!.close();
    } else {
      stream.respond({ ':status': 200 });
      stream.end('hello');
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const fetch = startFetcher(t);
  refusals = 3;
  assert.equal(await fetch(url), '200 hello');
  assert.equal(sessions, 4);
  refusals = 1000;
  assert.match(await fetch(url), /^no-response: .*REFUSED_STREAM/);
});

test('HTTP/1.1 is used for a server that requires it', async (t) => {
  let streams = 0;
  const server = createHttp2Server({ key: TEST_KEY, cert: TEST_CERTIFICATE, allowHTTP1: true }, (request, response) => {
    if (request.httpVersion === '1.1') response.end(request.url);
  });
  server.on('stream', (stream) => {
    streams++;
    stream.on('error', () => {});
    stream.close(constants.NGHTTP2_HTTP_1_1_REQUIRED);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const fetch = startFetcher(t);
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const path of ['/1', '/2']) assert.match(await fetch(origin + path), new RegExp(`^200 .*${path}`, 's'));
  assert.equal(streams, 1);
});

/** A frame of HTTP/2 for the first stream, or for the connection. */
function frame(type: number, flags: number, stream: 0 | 1, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.from([0, 0, 0, type, flags, 0, 0, 0, stream]);
  head.writeUIntBE(payload.length, 0, 3);
  return Buffer.concat([head, payload]);
}

test('an HTTP/2 body is whole when it has its declared length, or without one when the server ends it', async (t) => {
  const [data, headers, reset, settings, goaway] = [0, 1, 3, 4, 7];
  const plain = frame(headers, 4, 1, Buffer.from([0x88]));
  const announced = frame(headers, 4, 1, Buffer.from('\x88\x0f\x0d\x041000', 'latin1'));
  const unmodified = frame(headers, 5, 1, Buffer.from('\x8b\x0f\x0d\x041000', 'latin1'));
  const [part, rest] = [frame(data, 0, 1, Buffer.alloc(900)), frame(data, 1, 1, Buffer.alloc(100))];
  const last = frame(data, 0, 1, Buffer.alloc(100));
  const trailer = frame(headers, 5, 1, Buffer.from('\x00\x01x\x01y', 'latin1'));
  const noError = frame(reset, 0, 1, Buffer.alloc(4));
  for (const [what, answer, expected] of [
    ['announced, cut', [announced, part, noError], 'disconnect'],
    ['announced, whole', [announced, part, rest], undefined],
    ['announced, all there, and then reset', [announced, part, last, noError], undefined],
    ['announced, all there, and then closed', [announced, part, last, 'close'], undefined],
    ['without a body', [unmodified], undefined],
    ['cut', [plain, part, noError], 'disconnect'],
    ['cut behind the head', [plain, noError], 'disconnect'],
    ['whole', [plain, part, rest], undefined],
    ['whole, then reset', [plain, part, rest, noError], undefined],
    ['ended by trailer fields', [plain, part, trailer], undefined],
    ['connection given up', [plain, part, frame(goaway, 0, 0, Buffer.alloc(8)), 'close'], 'disconnect'],
    ['connection closed', [plain, part, 'close'], 'disconnect'],
  ] as const) {
    const server = createSecureServer({ key: TEST_KEY, cert: TEST_CERTIFICATE, ALPNProtocols: ['h2'] }, (socket) => {
      socket.on('error', () => {});
      socket.write(frame(settings, 0, 0));
      // The preface and the settings come first, then the request.
      let received = 0;
      socket.on('data', (bytes: Buffer) => {
        if (received > 100 || (received += bytes.length) <= 100) return;
        for (const part of answer) {
          if (part === 'close') socket.end();
          else socket.write(part);
        }
      });
      t.after(() => socket.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const fetcher = new HttpFetcher(SETTINGS);
    t.after(() => fetcher.close());
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const exchange = (await fetcher.fetch({ url })) as Exchange;
    for await (const _ of exchange.body);
    assert.equal(exchange.truncated(), expected, what);
  }
});

test('a fetch that is aborted while it connects throws the reason of its signal', async (t) => {
  // Sends nothing, so that TLS never begins.
  const server = createServer((socket) => socket.on('error', () => {}));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const fetcher = new HttpFetcher(SETTINGS);
  t.after(async () => {
    await fetcher.close();
    server.close();
  });
  const reason = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
  const stop = new AbortController();
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const fetched = fetcher.fetch({ url }, { signal: stop.signal });
  const [socket] = (await once(server, 'connection')) as [Socket];
  t.after(() => socket.destroy());
  stop.abort(reason);
  await assert.rejects(fetched, reason);
});

/** Writes pieces for as long as the other side takes them. */
function writeForEver(socket: Socket, piece: Buffer): void {
  const more = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', more);
  more();
}

test('endless trailer fields end the body, and the body is marked as cut', async (t) => {
  const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n';
  const origin = await startServer(t, (_, __, socket) => {
    setImmediate(() => writeForEver(socket, Buffer.from('X-Trailer: more\r\n'.repeat(1000))));
    return head;
  });
  const fetcher = new HttpFetcher(SETTINGS);
  t.after(() => fetcher.close());
  const exchange = await fetcher.fetch({ url: `${origin}/` });
  assert.ok(exchange.kind === 'exchange');
  let bytes = 0;
  for await (const piece of exchange.body) {
    bytes += piece.length;
    assert.ok(bytes < 16 * 1024 * 1024, 'the body goes on');
  }
  assert.equal(exchange.truncated(), 'length');
});

test('a fetch can be aborted even if the server sends faster than its bytes are taken', async (t) => {
  const origin = await startServer(t, (_, __, socket) => {
    setImmediate(() => writeForEver(socket, Buffer.alloc(64 * 1024, 'x')));
    return 'HTTP/1.1 200 OK\r\n\r\n';
  });
  const fetcher = new HttpFetcher(SETTINGS);
  t.after(() => fetcher.close());
  const stop = new AbortController();
  const exchange = await fetcher.fetch({ url: `${origin}/` }, { signal: stop.signal });
  assert.ok(exchange.kind === 'exchange');
  const body = exchange.body[Symbol.asyncIterator]();
  await body.next();
  // The next bytes arrive during this wait.
  await new Promise((resolve) => setTimeout(resolve, 50));
  stop.abort(new Error('stopped'));
  await assert.rejects(body.next(), /stopped/);
});
