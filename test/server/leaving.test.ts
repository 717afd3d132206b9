/** `pinakes serve` as a process that is asked to stop while a stream, a download and a job are under way. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { createArchive, openArchive } from '../../src/archive/index.ts';
import { page, trialOptions } from '../archive/trial-archive.ts';
import { startPinakes } from '../journeys/pinakes-process.ts';
import { ask } from './trial-server.ts';

const TIME = Date.UTC(2024, 2, 1, 10);
const PAGES = 30;
/** All pages are more than the buffers of a connection that is not read. */
const PAGE_BYTES = 1024 * 1024;

type Served = {
  readonly child: ChildProcess;
  readonly uiAddress: string;
  readonly token: string;
  readonly said: () => string;
};

async function makeArchiveOf(pages: number): Promise<string> {
  const directory = join(await mkdtemp(join(tmpdir(), 'pinakes-leaving-')), 'archive');
  await createArchive(directory);
  await appendFile(join(directory, 'archive.yaml'), 'crawl:\n  privateNetworks: [127.0.0.1/32]\n');
  const archive = await openArchive(directory, trialOptions());
  for (let number = 0; number < pages; number++) {
    // Numbers from a generator do not compress.
    const body = Buffer.alloc(PAGE_BYTES);
    let state = number + 1;
    for (let at = 0; at < body.length; at += 4) {
      state = (Math.imul(state, 1664525) + 1013904223) | 0;
      body.writeInt32LE(state, at);
    }
    await archive.store(page(`http://site.test/${number}`, TIME + number, body));
  }
  await archive.close();
  return directory;
}

async function start(t: TestContext, directory: string, ...args: string[]): Promise<Served> {
  const ports = ['--port', '0', '--replay-port', '0'];
  const child = startPinakes(
    join(directory, '..'),
    'serve',
    '-a',
    directory,
    '--json',
    '--no-index',
    ...ports,
    ...args,
  );
  t.after(() => child.kill('SIGKILL'));
  let said = '';
  child.stderr!.on('data', (piece: Buffer) => {
    said += piece;
  });
  const [line] = await Promise.race([
    once(createInterface({ input: child.stdout! }), 'line'),
    once(child, 'exit').then(() => assert.fail(`it ended early: ${said}`)),
  ]);
  return { child, ...(JSON.parse(String(line)) as Pick<Served, 'uiAddress' | 'token'>), said: () => said };
}

/** Begins a request, and reads nothing of its reply. */
async function begin(t: TestContext, address: string, path: string): Promise<IncomingMessage> {
  const { hostname, port } = new URL(address);
  const sent = httpRequest({ hostname, port, path, agent: false }).end();
  sent.on('error', () => {});
  t.after(() => sent.destroy());
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.on('error', () => {});
  return response.pause();
}

async function rest(response: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

/** Begins to download the largest segment. */
async function beginDownload(t: TestContext, address: string): Promise<IncomingMessage> {
  const { items } = JSON.parse((await ask(address, '/api/segments')).text) as {
    items: { volume: string; name: string; bytes: number }[];
  };
  const { volume, name } = items.sort((a, b) => b.bytes - a.bytes)[0]!;
  const download = await begin(t, address, `/api/segments/${volume}/${name}`);
  assert.equal(download.statusCode, 200);
  assert.ok(Number(download.headers['content-length']) > PAGES * PAGE_BYTES);
  return download;
}

/** The URLs of the captures in a stream of WARC records. */
function urlsIn(members: Uint8Array): string[] {
  const records = gunzipSync(members).toString('latin1');
  return Array.from(records.matchAll(/^WARC-Target-URI: (http:\/\/site\.test\/\d+)\r$/gm), ([, url]) => url!);
}

/** A site whose pages link to more pages without end, and whose answers take a while. */
async function startEndlessSite(t: TestContext): Promise<string> {
  let pages = 0;
  const site = createServer((request, response) => {
    if (request.url === '/robots.txt') response.writeHead(404).end();
    else
      setTimeout(() => {
        const links = Array.from({ length: 5 }, () => `<a href="/${pages++}">more</a>`);
        response.writeHead(200, { 'content-type': 'text/html' }).end(`page ${request.url} ${links.join(' ')}`);
      }, 30);
  });
  t.after(() => {
    site.closeAllConnections();
    site.close();
  });
  await once(site.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(site.address() as { port: number }).port}/`;
}

let made: Promise<string> | undefined;

/** The archive of these tests, which is made once. */
function sharedArchive(): Promise<string> {
  made ??= makeArchiveOf(PAGES);
  return made;
}

after(async () => {
  if (made) await rm(join(await made, '..'), { recursive: true, force: true, maxRetries: 10 });
});

test('a server that is asked to stop finishes replies, gives streams a cursor, stops jobs, and refuses new work', async (t) => {
  const directory = await sharedArchive();
  const one = await start(t, directory);
  const headers = { authorization: `Bearer ${one.token}`, 'content-type': 'application/json' };
  assert.deepEqual(JSON.parse((await ask(one.uiAddress, '/readyz')).text), { status: 'ready', reasons: [] });
  const download = await beginDownload(t, one.uiAddress);
  const bytes = Number(download.headers['content-length']);
  const stream = await begin(t, one.uiAddress, '/api/stream');
  const events = rest(await begin(t, one.uiAddress, '/api/jobs/events'));
  const seeds = [await startEndlessSite(t)];
  const crawl = JSON.stringify({ kind: 'crawl', input: { seeds, delayMs: 0, collection: 'crawled' } });
  const submitted = await ask(one.uiAddress, '/api/jobs', { method: 'POST', headers, body: crawl });
  assert.equal(submitted.status, 202, submitted.text);
  const { id } = JSON.parse(submitted.text) as { id: string };
  const jobNow = async ({ uiAddress, token }: Served) =>
    JSON.parse((await ask(uiAddress, `/api/jobs/${id}`, { headers: { authorization: `Bearer ${token}` } })).text);
  while (!((await jobNow(one)).progress?.done > 3)) await wait(20);

  const exited = once(one.child, 'exit');
  one.child.kill('SIGTERM');
  while ((await ask(one.uiAddress, '/readyz')).status === 200) await wait(5);
  const ready = await ask(one.uiAddress, '/readyz');
  assert.deepEqual([ready.status, JSON.parse(ready.text).reasons[0].code], [503, 'SERVER_STOPPING']);
  for (const path of ['/api/jobs', '/api/uploads?name=a.warc', '/api/stream']) {
    const refused = await ask(one.uiAddress, path, {
      method: path === '/api/stream' ? 'GET' : 'POST',
      headers,
      ...(path === '/api/jobs' && { body: crawl }),
    });
    assert.deepEqual([refused.status, JSON.parse(refused.text).error.code], [503, 'SERVER_STOPPING'], path);
    assert.ok(Number(refused.headers['retry-after']) > 0, path);
  }
  const read = await ask(one.uiAddress, '/cdx?url=site.test/1');
  assert.deepEqual([read.status, read.headers.connection], [200, 'close'], 'reading goes on');
  assert.equal((await ask(one.uiAddress, '/healthz')).status, 200);
  await events;

  const begun = await rest(stream);
  assert.equal(stream.trailers['x-pinakes-end'], 'no');
  const cursor = stream.trailers['x-pinakes-cursor']!;
  assert.equal((await rest(download)).length, bytes);
  assert.deepEqual(await exited, [0, null], one.said());
  assert.match(one.said(), /everything is saved/);

  const two = await start(t, directory);
  const job = await jobNow(two);
  assert.deepEqual([job.state, job.error?.code], ['failed', 'JOB_INTERRUPTED']);
  const more = await ask(two.uiAddress, `/api/stream?cursor=${encodeURIComponent(cursor)}`);
  assert.equal(more.status, 200, more.text);
  const [before, after] = [urlsIn(begun), urlsIn(more.body)];
  assert.ok(before.length > 0 && after.length > 0, `${before.length} and ${after.length}`);
  assert.deepEqual(
    [...before, ...after].sort(),
    Array.from({ length: PAGES }, (_, number) => `http://site.test/${number}`).sort(),
  );
  two.child.kill('SIGTERM');
});

test('a reply that takes longer than --leave-seconds is broken off, and a second signal breaks it off at once', async (t) => {
  const directory = await sharedArchive();
  for (const [seconds, signals] of [
    ['1', 1],
    ['600', 2],
  ] as const) {
    const { child, uiAddress, said } = await start(t, directory, '--leave-seconds', seconds);
    const stuck = await beginDownload(t, uiAddress);
    const exited = once(child, 'exit');
    const begun = performance.now();
    for (let signal = 0; signal < signals; signal++) {
      child.kill('SIGTERM');
      while ((await ask(uiAddress, '/readyz').catch(() => undefined))?.status === 200) await wait(5);
    }
    assert.deepEqual(await exited, [0, null], said());
    const lasted = performance.now() - begun;
    assert.ok(lasted < 6000, `${signals} signals: ${lasted} ms`);
    await assert.rejects(rest(stuck), { code: 'ECONNRESET' });
  }
});
