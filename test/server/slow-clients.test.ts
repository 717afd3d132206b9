/**
 * Clients that send or read slowly need little memory, do not affect other clients, and are disconnected after a while.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { seededRandom } from '../../src/base/index.ts';
import type { AccessLine } from '../../src/server/index.ts';
import { page } from '../archive/trial-archive.ts';
import { ask, makeServer, TOKEN, type TrialServer } from './trial-server.ts';

const TIME = Date.UTC(2024, 2, 1, 10);
const LARGE_BYTES = 16 * 1024 * 1024;
const DRIP_MS = 20;

/** A connection, the bytes it received, and a promise of its end. */
class Client {
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
  received = '';
  #drip: ReturnType<typeof setInterval> | undefined;

  constructor(t: TestContext, address: string) {
    const { hostname, port } = new URL(address);
    this.socket = connect(Number(port), hostname);
    this.socket.on('error', () => {});
    this.socket.on('data', (piece: Buffer) => {
      this.received += piece.toString('latin1');
    });
    this.closed = once(this.socket, 'close').finally(() => clearInterval(this.#drip));
    t.after(() => this.socket.destroy());
  }

  /** Sends a piece repeatedly. */
  drip(piece: string): void {
    this.#drip = setInterval(() => this.socket.write(piece), DRIP_MS);
  }
}

const addresses = ({ server }: TrialServer) => [server.uiAddress, server.replayAddress];

test('a request with an endless head gets 408 and is disconnected, on both ports', async (t) => {
  const trial = await makeServer(t, { timeouts: { headMs: 300 } });
  for (const address of addresses(trial)) {
    const dripping = new Client(t, address);
    dripping.socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ');
    dripping.drip('x');
    const silent = new Client(t, address);
    const halfway = new Client(t, address);
    halfway.socket.write('GET /healthz HT');
    assert.notEqual((await ask(address, '/healthz')).status, 408, 'other clients are served meanwhile');
    await Promise.all([dripping.closed, silent.closed, halfway.closed]);
    assert.match(dripping.received, /^HTTP\/1\.1 408 .*TOO_SLOW/s);
    assert.match(halfway.received, /^HTTP\/1\.1 408 /);
  }
  assert.deepEqual(trial.failures, []);
});

test('a client that sends its body too slowly gets 408 and is disconnected, on both ports, unlike a steady one', async (t) => {
  const trial = await makeServer(t, { timeouts: { body: { windowMs: 400, bytesMin: 4096 } } });
  await trial.archive.store(page('http://site.test/', TIME, Buffer.from('a page')));
  const { uiAddress, replayAddress } = trial.server;
  const token = `Authorization: Bearer ${TOKEN}\r\n`;
  for (const [address, target] of [
    [uiAddress, '/api/jobs'],
    [uiAddress, '/api/uploads?name=a.warc'],
    [replayAddress, '/web/20240301100000mp_/http://site.test/'],
  ] as const) {
    const head = `POST ${target} HTTP/1.1\r\nHost: localhost\r\n${token}Content-Type: application/json\r\n`;
    const slow = new Client(t, address);
    slow.socket.write(`${head}Content-Length: 100000\r\n\r\n{`);
    slow.drip(' ');
    const chunked = new Client(t, address);
    chunked.socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
    chunked.drip('1\r\n \r\n');
    await Promise.all([slow.closed, chunked.closed]);
    assert.match(slow.received, /^HTTP\/1\.1 408 .*TOO_SLOW/s, target);
    assert.match(chunked.received, /^HTTP\/1\.1 408 /, target);
  }
  const steady = new Client(t, uiAddress);
  const body = JSON.stringify({ kind: 'nonsense', input: ' '.repeat(100_000) });
  steady.socket.write(
    `POST /api/jobs HTTP/1.1\r\nHost: localhost\r\n${token}Content-Type: application/json\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  for (let at = 0; at < body.length; at += 1000) {
    steady.socket.write(body.slice(at, at + 1000));
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await steady.closed;
  assert.match(steady.received, /^HTTP\/1\.1 4\d\d /);
  assert.doesNotMatch(steady.received, /^HTTP\/1\.1 408/, 'it took longer than the window, but arrived steadily');
  assert.deepEqual(trial.failures, []);
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Requests something large and reads only the head of the reply. */
async function askAndStop(t: TestContext, address: string, target: string): Promise<IncomingMessage> {
  const { hostname, port } = new URL(address);
  const sent = httpRequest({ hostname, port, path: target, agent: false }).end();
  sent.on('error', () => {});
  t.after(() => sent.destroy());
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.on('error', () => {});
  response.pause();
  return response;
}

async function largeServer(t: TestContext, options: Parameters<typeof makeServer>[1] = {}): Promise<TrialServer> {
  const trial = await makeServer(t, options);
  const body = Buffer.alloc(LARGE_BYTES);
  // gzip cannot compress this body, because it repeats beyond the window of gzip. So the sent size equals the stored
  // size.
  const random = seededRandom(1);
  const block = Buffer.from(Array.from({ length: 256 * 1024 }, () => Math.floor(random() * 256)));
  for (let at = 0; at < body.length; at += block.length) block.copy(body, at);
  await trial.archive.store(page('http://site.test/large', TIME, body));
  return trial;
}

const LARGE_TARGETS = ({ server }: TrialServer) =>
  [
    [server.replayAddress, '/web/20240301100000id_/http://site.test/large'],
    [server.uiAddress, '/api/stream'],
  ] as const;

test('clients that do not read their replies need little memory, and other clients are served', async (t) => {
  const trial = await largeServer(t);
  const CLIENTS = 16;
  const used = () => {
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  for (const [address, target] of LARGE_TARGETS(trial)) {
    assert.ok((await ask(address, target)).body.length >= LARGE_BYTES);
    const before = used();
    const stopped = await Promise.all(Array.from({ length: CLIENTS }, () => askAndStop(t, address, target)));
    // While these replies are read to their end, the server has time to send everything to the other clients.
    for (let round = 0; round < 2; round++) {
      const { body } = await ask(address, target);
      assert.ok(body.length >= LARGE_BYTES);
    }
    const grown = used() - before;
    t.diagnostic(`${target}: ${CLIENTS} clients took ${(grown / 1e6).toFixed(0)} MB`);
    // The limit covers up to 64 MiB of shared chunks or the chunks that each reader read ahead, and the buffers of the
    // sockets. All bodies together are 256 MB.
    assert.ok(grown < 170e6, `${grown} bytes for ${CLIENTS} clients`);
    for (const response of stopped) response.destroy();
  }
  assert.deepEqual(trial.failures, []);
});

test('a client that stops reading is disconnected', async (t) => {
  const lines: AccessLine[] = [];
  const told = new EventTarget();
  const trial = await largeServer(t, {
    timeouts: { silenceMs: 2500 },
    onAccess: (line) => {
      lines.push(line);
      told.dispatchEvent(new Event('line'));
    },
  });
  for (const [address, target] of LARGE_TARGETS(trial)) {
    lines.length = 0;
    await askAndStop(t, address, target);
    while (lines.length === 0) await once(told, 'line');
    assert.ok(lines[0]!.bytes < LARGE_BYTES, 'the reply should be incomplete');
    assert.equal(lines[0]!.target, target);
  }
  assert.deepEqual(trial.failures, []);
});
