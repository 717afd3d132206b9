import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { type Archive, openArchive } from '../../src/archive/index.ts';
import { seededRandom, toHex } from '../../src/base/index.ts';
import { ContentsClient } from '../../src/client/index.ts';
import { contentOf, scratch, served, TOKEN, writeWarc } from '../api/served-archive.ts';
import { LAUNCHER, type Outcome, pinakes } from '../journeys/pinakes-process.ts';
import { newToken, runWith } from './content-client.ts';
import { LossyProxy } from './lossy-proxy.ts';

const SEED = 7;
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n';

async function proxied(t: TestContext, target: () => string, losses: ConstructorParameters<typeof LossyProxy>[1]) {
  const proxy = new LossyProxy(target, losses);
  t.after(() => proxy.close());
  return { proxy, address: await proxy.listen() };
}

test('every capture is counted once when answers are lost and requests break off', async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const random = seededRandom(SEED);
  const one = await served(t);
  const { proxy, address } = await proxied(
    t,
    () => one.server.uiAddress,
    () => {
      const number = random();
      return number < 0.25 ? 'answer' : number < 0.4 ? 'request' : 'none';
    },
  );
  const client = new ContentsClient(address, { token: TOKEN, waitMs: 1, attemptsMax: 50 });
  for (let batch = 0; batch < 6; batch++) {
    const captures = Array.from({ length: 10 }, (_, index) => ({
      content: Buffer.from(contentOf((batch * 5 + index) % 40)),
      ...(index % 2 === 0 && { url: `http://a.test/${index}`, head: HEAD }),
    }));
    const { stored, known, keys } = await client.store(captures, {
      id: `batch ${batch}`,
      time: new Date(1e12 + batch),
    });
    assert.equal(stored + known, captures.length);
    assert.ok(keys.every((key) => key !== ''));
  }
  assert.ok(proxy.lost > 10, `${proxy.lost} lost`);
  const { captures, blocks } = await one.archive.totals();
  assert.deepEqual([captures, blocks], [60, 35]);
  assert.equal((await one.archive.verify()).errors, 0);
});

type Server = { readonly child: ChildProcess; readonly address: string };

async function serve(cwd: string, port: string): Promise<Server> {
  const args = ['serve', '--init', '--no-index', '--json', '--port', port, '--replay-port', '0', '--token', TOKEN];
  const child = spawn(LAUNCHER, args, { cwd, stdio: ['ignore', 'pipe', 'ignore'], detached: true });
  const [line] = await once(createInterface({ input: child.stdout! }), 'line');
  return { child, address: (JSON.parse(String(line)) as { uiAddress: string }).uiAddress };
}

async function kill({ child }: Server): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  // The launcher may run the program as its child. The group is this server alone.
  process.kill(-child.pid!, 'SIGKILL');
  await ended;
}

test('a server that is killed at any time loses nothing acknowledged, and its batches are stored exactly once', async (t) => {
  const cwd = scratch(t);
  let server = await serve(cwd, '0');
  t.after(() => kill(server).catch(() => {}));
  const { port } = new URL(server.address);
  const client = new ContentsClient(server.address, { token: TOKEN, waitMs: 20, attemptsMax: 100 });
  const acknowledged: string[] = [];
  let isDone = false;
  const storing = (async () => {
    for (let batch = 0; batch < 40; batch++) {
      const captures = Array.from({ length: 5 }, (_, index) => ({
        content: Buffer.from(contentOf((batch * 3 + index) % 60)),
        url: `http://a.test/${batch}/${index}`,
        head: HEAD,
      }));
      await client.store(captures, { id: `batch ${batch}`, time: new Date(1e12) });
      acknowledged.push(...captures.map(({ url }) => url));
    }
  })().finally(() => {
    isDone = true;
  });
  for (let killed = 0; killed < 3 && !isDone; killed++) {
    const before = acknowledged.length;
    while (acknowledged.length === before && !isDone) await new Promise((resolve) => setTimeout(resolve, 3));
    await kill(server);
    server = await serve(cwd, port);
  }
  await storing;
  await kill(server);
  await inArchive(join(cwd, 'archive'), async (archive) => {
    assert.equal((await archive.totals()).captures, 200);
    for (const url of acknowledged) assert.ok(await archive.findCapture(url), url);
    assert.equal((await archive.verify()).errors, 0);
  });
});

async function inArchive<T>(directory: string, work: (archive: Archive) => Promise<T>): Promise<T> {
  let number = 0;
  const newId = () => `<urn:uuid:99999999-0000-4000-8000-${String(number++).padStart(12, '0')}>`;
  const archive = await openArchive(directory, { clock: () => 2e12, newId });
  try {
    return await work(archive);
  } finally {
    await archive.close();
  }
}

/** What identifies each capture, and whether its content is stored again. */
function capturesIn(directory: string): Promise<string[]> {
  return inArchive(directory, async (archive) => {
    const lines: string[] = [];
    for await (const page of archive.captures({}))
      for (const { urlKey, time, hash, kind, status, block } of page)
        lines.push([urlKey, time, hash, kind, status, block && toHex(block.digest)].join(' '));
    return lines.sort();
  });
}

function run(cwd: string, token: string, args: readonly string[]): Promise<Outcome> {
  return runWith(cwd, { PINAKES_TOKEN: token }, args);
}

test('files that are added over HTTP give the captures of a local add, also when answers are lost', async (t) => {
  const cwd = scratch(t);
  mkdirSync(join(cwd, 'files'));
  await writeWarc(join(cwd, 'files/a.warc.gz'), 'a', 40);
  await writeWarc(join(cwd, 'files/b.warc.gz'), 'a', 60);
  const plain = Buffer.concat([
    record('http://c.test/1', 1, contentOf(1000)),
    record('http://c.test/2', 2, contentOf(5000)),
    record('http://c.test/2', 2, contentOf(5000)),
  ]);
  writeFileSync(join(cwd, 'files/c.warc'), plain);
  writeFileSync(join(cwd, 'files/d.warc.gz'), readFileSync(join(cwd, 'files/a.warc.gz')).subarray(0, -200));
  assert.equal(pinakes(cwd, 'init', 'near').code, 0);
  const near = pinakes(cwd, 'add', 'files', '--archive', 'near', '--collection', 'c');
  const one = await served(t);
  let count = 0;
  const { proxy, address } = await proxied(
    t,
    () => one.server.uiAddress,
    () => (++count % 3 === 0 ? 'answer' : 'none'),
  );
  const token = await newToken(one.directory, 'adder', ['add', 'read']);
  const add = ['add', 'files', '--archive', address, '--collection', 'c'];
  const far = await run(cwd, token, add);
  assert.equal(far.code, near.code, far.err);
  const { captures } = await one.archive.totals();
  const sent = proxy.bytes;
  const again = await run(cwd, token, [...add, '--json']);
  assert.equal(again.code, near.code);
  assert.equal((JSON.parse(again.out) as { captures: number }).captures, 0);
  assert.equal((await one.archive.totals()).captures, captures);
  assert.ok(proxy.bytes - sent < sent, 'the contents are not sent again');
  assert.equal((await one.archive.verify()).errors, 0);
  await one.server.close();
  await one.archive.close();
  assert.deepEqual(await capturesIn(one.directory), await capturesIn(join(cwd, 'near')));
});

function record(url: string, number: number, body: string): Buffer {
  const block = `${HEAD}${body}`;
  const id = `<urn:uuid:00000000-0000-4000-8000-${String(number).padStart(12, '0')}>`;
  return Buffer.from(
    `WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: ${id}\r\nWARC-Date: 2024-05-01T10:00:00Z\r\nWARC-Target-URI: ${url}\r\n` +
      `Content-Type: application/http; msgtype=response\r\nContent-Length: ${Buffer.byteLength(block)}\r\n\r\n${block}\r\n\r\n`,
  );
}

test('put and cat work on the address of a server, with the token from a file or the environment', async (t) => {
  const cwd = scratch(t);
  const one = await served(t);
  const token = await newToken(one.directory, 'bob', ['add', 'read']);
  writeFileSync(join(cwd, 'token'), `${token}\n`, { mode: 0o600 });
  writeFileSync(join(cwd, 'page.html'), contentOf(7));
  const at = ['--archive', one.server.uiAddress];
  const put = await run(cwd, '', ['put', 'page.html', '--mime', 'text/html', '--token-file', 'token', ...at]);
  assert.equal(put.code, 0, put.err);
  const key = put.out.trim();
  const again = await run(cwd, token, ['put', 'page.html', ...at, '--json']);
  assert.deepEqual(JSON.parse(again.out), { key });
  assert.equal((await one.archive.totals()).captures, 2);
  assert.equal((await run(cwd, token, ['cat', key, ...at])).out, contentOf(7));
  assert.match((await run(cwd, token, ['cat', `sha256:${'0'.repeat(64)}`, ...at])).err, /CONTENT_MISSING/);
  assert.match((await run(cwd, 'wrong', ['put', 'page.html', ...at])).err, /token is wrong.*REMOTE_REFUSED/s);
  assert.match((await run(cwd, token, ['stats', ...at])).err, /BAD_ARGUMENT/);
});
