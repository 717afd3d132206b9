/** Crawls that a server runs: by request over HTTP, and by schedule. */
import assert from 'node:assert/strict';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createArchive, openArchive } from '../../src/archive/index.ts';
import { seededIds, seededRandom } from '../../src/base/index.ts';
import { crawl, putSchedule, schedules } from '../../src/crawl/index.ts';
import { browserSettings, GIF, picture, shell } from '../crawl/browser-site.ts';
import { html, TestWeb } from '../crawl/test-web.ts';
import { type JobReply, openServed, type Served, scratch, served, servedAt } from './served-archive.ts';

const HOUR_MS = 3600_000;
const HOST = '127.0.0.1';
const SETTINGS = { collection: 'site', allowPrivate: true, delayMs: 0, retries: 0 };

async function crawlJob({ call, overJob }: Served, input: object): Promise<JobReply> {
  const reply = await call('/api/jobs', { json: { kind: 'crawl', input } });
  assert.equal(reply.status, 202, reply.bytes.toString());
  return overJob((reply.json as unknown as JobReply).id);
}

function countsOf({ report }: JobReply): Record<string, number> {
  return report!.counts as Record<string, number>;
}

async function urlsOf({ call }: Served, prefix: string): Promise<string[]> {
  const { json } = await call(`/api/urls?${new URLSearchParams({ prefix })}`);
  return (json.items as { url: string }[]).map(({ url }) => url).sort();
}

test('a crawl job continues a crawl of the command line, and renders pages when its input says so', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const seed = `http://${HOST}:${web.port}/`;
  web.put(HOST, '/', html('home', '<a href="/app">app</a>'));
  web.put(HOST, '/app', shell(`document.body.innerHTML += '<img src="/made.gif">'`));
  web.put(HOST, '/made.gif', picture('made'), GIF);
  const one = await served(t, { clock: Date.now });
  const { browserPath = '' } = await browserSettings();
  const begun = { ...SETTINGS, browserPath, browserSandbox: false, pagesMax: 1 };
  assert.equal((await crawl(one.archive, [seed], begun)).outcome, 'limited');

  const input = { mode: 'resume', collection: 'site', pagesMax: 100, browser: 'all' };
  const job = await crawlJob(one, input);
  assert.equal(job.state, 'done', JSON.stringify(job.error));
  const { pages, rendered, screenshots } = countsOf(job);
  assert.deepEqual([job.report!.outcome, pages, rendered, screenshots], ['done', 2, 1, 1]);
  assert.deepEqual(await urlsOf(one, seed), [seed, `${seed}app`, `${seed}made.gif`, `${seed}robots.txt`].sort());
});

test('crawl jobs cannot reach the private network, and an invalid input is refused with the allowed values', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const one = await served(t, { clock: Date.now });
  const job = await crawlJob(one, { seeds: [`http://${HOST}:${web.port}/`], delayMs: 0 });
  assert.equal(job.state, 'done');
  assert.deepEqual([countsOf(job).failed, countsOf(job).captures, web.requestLog.length], [1, 0, 0]);
  for (const wrong of [{ browser: 'sometimes' }, { browserPath: '/bin/sh' }, { allowPrivate: true }]) {
    const input = { seeds: ['http://a.test/'], ...wrong };
    const { status } = await one.call('/api/jobs', { json: { kind: 'crawl', input } });
    assert.equal(status, 400, JSON.stringify(wrong));
  }
});

test('crawl jobs can reach the networks that archive.yaml names, also after a change of volumes', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  web.put(HOST, '/', html('intranet', ''));
  const directory = scratch(t);
  await createArchive(directory);
  const connector = join(directory, 'archive.yaml');
  const parts = { clock: Date.now, newId: seededIds(seededRandom(5)), software: 'test/1' };
  for (const wrong of ['10.0.0.0', '10.0.0.0/33', "'fe80::%eth0/10'", 'intranet.test/8', '[10.0.0.0/8, 5]'])
    await withSetting(connector, `crawl:\n  privateNetworks: ${wrong.startsWith('[') ? wrong : `[${wrong}]`}\n`, () =>
      assert.rejects(openArchive(directory, parts), { code: 'CONNECTOR_INVALID' }),
    );
  await appendFile(connector, `crawl:\n  privateNetworks: [${HOST}/32]\n`);
  const one = await servedAt(t, directory, { clock: Date.now });
  await one.archive.addVolume({ name: 'second', path: join(directory, 'second') });
  assert.match(await readFile(connector, 'utf8'), /privateNetworks:\n {4}- 127\.0\.0\.1\/32/);
  const job = await crawlJob(one, { seeds: [`http://${HOST}:${web.port}/`], delayMs: 0 });
  assert.equal(countsOf(job).pages, 1);
});

async function withSetting(connector: string, setting: string, work: () => Promise<void>): Promise<void> {
  const before = await readFile(connector, 'utf8');
  await writeFile(connector, before + setting);
  await work();
  await writeFile(connector, before);
}

test('the server runs a scheduled crawl each time it is due', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const seed = `http://${HOST}:${web.port}/`;
  web.put(HOST, '/', html('home', '<a href="/more">more</a>'));
  web.put(HOST, '/more', html('more', ''));
  const directory = scratch(t);
  await createArchive(directory, { name: 'trial' });
  const before = await openArchive(directory, {
    clock: () => Date.now() - 7 * HOUR_MS,
    newId: seededIds(seededRandom(5)),
  });
  const first = await putSchedule(before, { collection: 'site', every: '6h', seeds: [seed], settings: SETTINGS });
  await before.close();

  const one = await openServed(directory, { clock: Date.now });
  t.after(async () => {
    await one.server.close();
    await one.archive.close();
  });
  const { items } = (await one.call('/api/jobs')).json as unknown as { items: JobReply[] };
  assert.deepEqual(
    items.map(({ kind, input }) => [kind, input]),
    [['crawl', { collection: 'site', mode: 'scheduled' }]],
  );
  const job = await one.overJob(items[0]!.id);
  assert.deepEqual([job.state, job.report!.outcome, countsOf(job).pages], ['done', 'done', 2], JSON.stringify(job));
  assert.deepEqual(await urlsOf(one, seed), [seed, `${seed}more`, `${seed}robots.txt`].sort());
  const [next] = await schedules(one.archive);
  assert.ok(next!.due > Date.now() && next!.due > first.due);
  assert.ok(next!.last! > first.due);
});
