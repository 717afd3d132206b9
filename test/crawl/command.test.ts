import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { truncate, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { json } from 'node:stream/consumers';
import { test } from 'node:test';
import { openArchive } from '../../src/archive/index.ts';
import { seededIds, seededRandom } from '../../src/base/index.ts';
import { type CrawlReport, crawl } from '../../src/crawl/index.ts';
import { temporaryDirectory } from '../archive/trial-archive.ts';
import { LAUNCHER, linesOf, startPinakes } from '../journeys/pinakes-process.ts';
import { html, TestWeb } from './test-web.ts';

type Outcome = { code: number | null; out: string; err: string };

/** Asynchronous, because the crawled web is in this process. */
function run(cwd: string, ...args: string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = startPinakes(cwd, ...args);
    const output = { out: '', err: '' };
    child.stdout!.on('data', (data: Buffer) => {
      output.out += data.toString();
    });
    child.stderr!.on('data', (data: Buffer) => {
      output.err += data.toString();
    });
    child.on('close', (code) => resolve({ code, ...output }));
  });
}

test('a site is crawled from the command line, stopped, resumed, crawled again and scheduled', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const cwd = await temporaryDirectory(t);
  const host = '127.0.0.1';
  web.put(host, '/', html('home', Array.from({ length: 5 }, (_, page) => `<a href="/${page}">x</a>`).join('')));
  for (let page = 0; page < 5; page++) web.put(host, `/${page}`, html(`page ${page}`, ''), { etag: `"${page}"` });
  await run(cwd, 'init', 'archive');
  const seed = `http://${host}:${web.port}/`;

  const limited = await run(
    cwd,
    'crawl',
    seed,
    '--collection',
    'site',
    '--allow-private',
    '--delay',
    '0',
    '--pages',
    '3',
  );
  assert.equal(limited.code, 0, limited.err);
  assert.match(limited.out, /stopped at the limit of pages, 3 left: continue with `pinakes crawl --resume site`/);

  const resumed = await run(cwd, 'crawl', '--resume', 'site', '--pages', '100', '--json');
  const report = JSON.parse(resumed.out) as CrawlReport;
  assert.deepEqual([resumed.code, report.outcome, report.counts.pages, report.queued], [0, 'done', 6, 0]);

  const again = await run(cwd, 'crawl', '--again', 'site', '--every', '0 3 * * *');
  assert.match(again.out, /^6 captures of 6 pages/m);
  assert.match(again.out, /0 new, 6 unchanged/);
  assert.match(again.err, /site: next crawl at \d{4}-\d\d-\d\dT03:00:00Z/);
  assert.equal(linesOf((await run(cwd, 'crawl', '--schedules')).out).length, 1);

  const nameless = await run(cwd, 'crawl', '--collection', 'site', '--every', 'month');
  assert.deepEqual([nameless.code, nameless.out], [2, '']);
  assert.match(nameless.err, /^pinakes: crawl: .*name a URL to start from, or a collection with --again/);
  assert.match((await run(cwd, 'crawl', '--schedules')).out, /^site {2}0 3 \* \* \* {2}next/, 'as it was');
  const ended = await run(cwd, 'crawl', '--every', 'never', '--collection', 'site', '--json');
  assert.deepEqual(JSON.parse(ended.out), { collection: 'site', isRemoved: true });
  const none = await run(cwd, 'crawl', '--schedules');
  assert.deepEqual([none.code, none.out], [0, '']);
  assert.match(none.err, /^No crawl is scheduled/);

  const refused = await run(cwd, 'crawl', seed, '--collection', 'other');
  assert.equal(refused.code, 1);
  assert.match(refused.out, /1 failed \(1 address-refused\)/);
  assert.match(refused.out, /are refused; add --allow-private/);
  assert.deepEqual((await run(cwd, 'crawl', '--again', 'nothing')).code, 2);
  assert.equal((await run(cwd, 'crawl', 'ftp://a.test/')).code, 2);
  assert.match((await run(cwd, 'verify')).out, /0 errors/);
});

test('the advice suggests an option only if it was not given', async (t) => {
  // A TLS alert: the server does not support this version.
  const alert = Buffer.from([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46]);
  const server = createServer((socket) => socket.on('error', () => {}).end(alert));
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const seed = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const cwd = await temporaryDirectory(t);
  await run(cwd, 'init', 'archive');
  const archive = await openArchive(join(cwd, 'archive'), { clock: Date.now, newId: seededIds(seededRandom(1)) });
  for (const anyCertificate of [false, true]) {
    const settings = { collection: String(anyCertificate), allowPrivate: true, retries: 0, anyCertificate };
    await crawl(archive, [seed], settings);
  }
  await archive.close();
  assert.match((await run(cwd, 'crawl', '--again', 'false')).out, /1 tls\).*--any-certificate to accept them/s);
  const { out } = await run(cwd, 'crawl', '--again', 'true');
  assert.match(out, /1 failed \(1 tls\)/);
  assert.doesNotMatch(out, /any-certificate/);
});

test('a seed with https on a server without TLS is reported as such, not as a certificate error', async (t) => {
  const server = createServer((socket) => socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const seed = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const cwd = await temporaryDirectory(t);
  await run(cwd, 'init', 'archive');
  const archive = await openArchive(join(cwd, 'archive'), { clock: Date.now, newId: seededIds(seededRandom(1)) });
  await crawl(archive, [seed], { collection: 'plain', allowPrivate: true, retries: 0 });
  await archive.close();
  const { out } = await run(cwd, 'crawl', '--again', 'plain');
  assert.match(out, /1 tls\).*does not speak TLS; use a URL that starts with http:\/\//s);
  assert.doesNotMatch(out, /any-certificate/);
});

test('the first failure of a seed is printed at once, though it is tried again', async (t) => {
  const cwd = await temporaryDirectory(t);
  await run(cwd, 'init', 'archive');
  const child = startPinakes(cwd, 'crawl', 'http://127.0.0.1:1/', '--allow-private');
  const ended = new Promise((resolve) => child.on('close', resolve));
  let output = '';
  for await (const data of child.stderr!) {
    output += String(data);
    if (output.includes('\n')) break;
  }
  child.kill('SIGINT');
  await ended;
  assert.match(output, /^http:\/\/127\.0\.0\.1:1\/: connection: .*; it will be tried again$/m);
});

test('a due crawl that fails does not stop the other due crawls, and is reported at the end', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const cwd = await temporaryDirectory(t);
  await run(cwd, 'init', 'archive');
  const host = '127.0.0.1';
  web.put(host, '/', html('home', ''));
  const seed = `http://${host}:${web.port}/`;
  const options = ['--allow-private', '--delay', '0', '--every', '1m'];
  for (const collection of ['broken', 'sound'])
    assert.equal((await run(cwd, 'crawl', seed, '--collection', collection, ...options)).code, 0);
  const database = new DatabaseSync(join(cwd, 'archive', 'crawl.sqlite'));
  database.exec(`UPDATE schedule SET due = CASE collection WHEN 'broken' THEN 0 ELSE 1 END`);
  // Settings as a later version may have written them.
  database.exec(
    `UPDATE schedule SET settings = json_set(settings, '$.include', json('["("]')) WHERE collection = 'broken'`,
  );
  database.close();
  web.requestLog.length = 0;
  const due = await run(cwd, 'crawl', '--due');
  assert.equal(due.code, 2, due.err);
  assert.match(due.out, /^1 capture of 1 page/m);
  assert.match(due.err, /broken was due and could not be crawled:\npinakes: .*\[BAD_ARGUMENT\]/);
  assert.equal(web.requests(host, '/').length, 1);
});

test('seeds can be read from a list, and an invalid one is reported before any request', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const cwd = await temporaryDirectory(t);
  const origin = `http://127.0.0.1:${web.port}`;
  for (const page of ['/a', '/b', '/c']) web.put('127.0.0.1', page, html(page, ''));
  await run(cwd, 'init', 'archive');
  const crawling = ['crawl', `${origin}/a`, '--seeds', 'seeds.txt', '--allow-private', '--delay', '0', '--json'];
  const missing = await run(cwd, ...crawling);
  assert.deepEqual([missing.code, /FILE_MISSING/.test(missing.err)], [2, true], missing.err);
  await writeFile(join(cwd, 'seeds.txt'), `\ufeff# the list\r\n\r\n  ${origin}/b\r\n${origin}/c`);
  const { code, out, err } = await run(cwd, ...crawling);
  assert.equal(code, 0, err);
  assert.deepEqual((JSON.parse(out) as CrawlReport).seeds, [`${origin}/a`, `${origin}/b`, `${origin}/c`]);
  const piped = spawn(LAUNCHER, crawling.with(3, '-'), { cwd, stdio: ['pipe', 'pipe', 'inherit'] });
  piped.stdin.end(`# of another program\n${origin}/c\n`);
  assert.deepEqual(((await json(piped.stdout)) as CrawlReport).seeds, [`${origin}/a`, `${origin}/c`]);
  const requested = web.requestLog.length;
  await writeFile(join(cwd, 'seeds.txt'), `${origin}/b\nmailto://somebody\n`);
  const wrong = await run(cwd, ...crawling);
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /BAD_ARGUMENT.*mailto:\/\/somebody/);
  await truncate(join(cwd, 'seeds.txt'), 600 * 1024 * 1024);
  const large = await run(cwd, ...crawling);
  assert.equal(large.code, 2);
  assert.match(large.err, /BAD_ARGUMENT.*seeds\.txt.*too large for a list/);
  assert.equal(web.requestLog.length, requested);
});

test('joining a crawl needs a cluster', async (t) => {
  const cwd = await temporaryDirectory(t);
  await run(cwd, 'init', 'archive');
  const { code, out, err } = await run(cwd, 'crawl', '--join', '1', '--archive', 'archive');
  assert.deepEqual([code === 0, out], [false, '']);
  assert.match(err, /joining a crawl needs a cluster/);
});
