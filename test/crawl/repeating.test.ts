/** Schedules, and archives that are replayed as if they were crawled. */
import assert from 'node:assert/strict';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Archive } from '../../src/archive/index.ts';
import {
  type CrawlOptions,
  type CrawlReport,
  crawl,
  dueCrawls,
  type EmulateOptions,
  emulate,
  putSchedule,
  removeSchedule,
  runScheduled,
  schedules,
} from '../../src/crawl/index.ts';
import { response, revisitOf, writeForeign } from '../archive/foreign-file.ts';
import { allCaptures, audit, contentOf, makeArchive, NOON, page, payloadAt, walk } from '../archive/trial-archive.ts';
import { html, TestWeb } from './test-web.ts';

const HOUR_MS = 3600_000;
const SETTINGS = { allowPrivate: true, delayMs: 0, retries: 0 };

/** Runs the scheduled crawl of the collection. */
async function runSite(archive: Archive, options: CrawlOptions): Promise<CrawlReport> {
  const report = await runScheduled(archive, 'site', options);
  assert.ok(report, 'nobody else runs it');
  return report;
}

test('a scheduled crawl is due at its time, runs from its seeds, and then as a recrawl', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  let shiftMs = 0;
  const archive = await makeArchive(t, { clock: () => Date.now() + shiftMs });
  assert.deepEqual(await schedules(archive), []);
  web.put('site.test', '/', html('home', '<a href="/a">a</a>'));
  web.put('site.test', '/a', html('a', ''));
  const seeds = [web.url('site.test')];
  await putSchedule(archive, { collection: 'site', every: '6h', seeds, settings: SETTINGS });
  assert.deepEqual(await dueCrawls(archive), []);
  shiftMs += 7 * HOUR_MS;
  const [due] = await dueCrawls(archive);
  assert.deepEqual([due?.collection, due?.every, due?.seeds], ['site', '6h', seeds]);
  const first = await runSite(archive, { resolve: web.resolve });
  assert.deepEqual([first.kind, first.counts.pages], ['first', 2]);
  assert.deepEqual(await dueCrawls(archive), []);
  shiftMs += 7 * HOUR_MS;
  const second = await runSite(archive, { resolve: web.resolve });
  assert.deepEqual([second.kind, second.counts.pages, second.counts.unchanged], ['again', 2, 2]);
  shiftMs += 7 * HOUR_MS;
  const stopped = await runSite(archive, {
    resolve: web.resolve,
    signal: AbortSignal.abort(),
  });
  assert.equal(stopped.outcome, 'interrupted');
  assert.equal((await dueCrawls(archive)).length, 1, 'an interrupted crawl is still due');
  assert.equal(await removeSchedule(archive, 'site'), true);
  assert.deepEqual(await schedules(archive), []);
});

test('a scheduled crawl that reached no host, as on an offline laptop, is tried again within the hour', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  let shiftMs = 0;
  const archive = await makeArchive(t, { clock: () => Date.now() + shiftMs });
  web.put('site.test', '/', html('home', ''));
  await putSchedule(archive, { collection: 'site', every: 'week', seeds: [web.url('site.test')], settings: SETTINGS });
  const offline: typeof web.resolve = (_host, _options, done) =>
    done(Object.assign(new Error('getaddrinfo ENOTFOUND site.test'), { code: 'ENOTFOUND' }), '', 4);
  const run = (resolve: typeof web.resolve) => runSite(archive, { resolve });
  for (const attempt of ['first', 'again']) {
    shiftMs += 8 * 24 * HOUR_MS;
    const { counts } = await run(offline);
    assert.deepEqual([counts.pages, counts.failed], [0, 1], attempt);
    assert.deepEqual(await dueCrawls(archive), [], 'not at once');
    shiftMs += HOUR_MS;
    assert.equal((await run(web.resolve)).counts.pages, 1, attempt);
    shiftMs += HOUR_MS;
    assert.deepEqual(await dueCrawls(archive), [], 'and then as scheduled');
  }
});

test('a schedule that could never run is refused', async (t) => {
  const archive = await makeArchive(t, { clock: Date.now });
  const put = (every: string, seeds: string[], settings = {}) =>
    putSchedule(archive, { collection: 'site', every, seeds, settings });
  const seeds = ['https://site.test/'];
  await assert.rejects(put('day', []), { code: 'CRAWL_UNKNOWN' });
  await assert.rejects(put('day', ['ftp://site.test/']), { code: 'BAD_ARGUMENT' });
  await assert.rejects(put('day', seeds, { include: ['('] }), { code: 'BAD_ARGUMENT' });
  for (const never of ['0m', '00d']) await assert.rejects(put(never, seeds), { code: 'BAD_ARGUMENT' }, never);
  assert.deepEqual(await schedules(archive), []);
});

test('an archive is replayed into another archive with the same pages and times, and each content once', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const source = await makeArchive(t, { clock: Date.now });
  web.put('site.test', '/', html('home', '<a href="/a">a</a><a href="/same">s</a><a href="/chunked">c</a>'));
  web.put('site.test', '/a', html('a', ''));
  web.put('site.test', '/same', html('a', ''));
  web.at('site.test', '/chunked', (_, response, end) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.write(html('chunked', ''));
    end();
    response.end('<p>end');
  });
  await crawl(source, [web.url('site.test')], { ...SETTINGS, robots: 'ignore' }, { resolve: web.resolve });
  const target = await makeArchive(t, { clock: Date.now, seed: 2 });
  const report = await emulate(target, source, { collection: 'played', rate: 1000 });
  assert.deepEqual([report.pages, report.new, report.duplicate], [4, 3, 1]);
  const copied = async (archive: typeof source) =>
    Promise.all(
      (await allCaptures(archive)).map(async ({ url, time }) => `${time} ${url} ${await payloadAt(archive, url)}`),
    );
  assert.deepEqual(await copied(target), await copied(source));
  assert.deepEqual(await audit(target), []);
  assert.equal((await target.verify()).errors, 0);
});

test('replaying an archive ends at a limit of pages, of bytes or of time', async (t) => {
  const source = await makeArchive(t);
  for (let number = 0; number < 40; number++)
    await source.store(page(`http://site.test/${number}`, NOON + number, contentOf(String(number))));
  const play = async (limits: Partial<EmulateOptions>) => {
    const target = await makeArchive(t, { seed: 2 });
    const { pages, limit } = await emulate(target, source, { collection: 'played', ...limits });
    assert.equal((await allCaptures(target)).length, pages);
    return [pages, limit];
  };
  assert.deepEqual(await play({ pagesMax: 25 }), [25, 'pages']);
  assert.deepEqual(await play({ pagesMax: 40 }), [40, undefined]);
  assert.deepEqual(await play({ timeMsMax: 0 }), [0, 'time']);
  const [pages, limit] = await play({ bytesMax: 1 });
  assert.ok(limit === 'bytes' && Number(pages) < 40, `${pages} pages, ${limit}`);
});

test('damaged records, and revisits whose content is missing, are left out of a replay', async (t) => {
  const source = await makeArchive(t);
  const urls = ['a', 'b', 'c'].map((name) => `http://site.test/${name}`);
  for (const [index, url] of urls.entries()) await source.store(page(url, NOON + index, contentOf(url)));
  await source.store(page('http://site.test/same-as-b', NOON + 9, contentOf(urls[1]!)));
  const lost = revisitOf(response('http://lost.test/', NOON, contentOf('lost')), 'http://site.test/lost', NOON);
  await source.add([await writeForeign(join(source.directory, 'foreign.warc.gz'), [lost])]);
  const damaged = (await walk(source)).find(({ head }) => head.targetUri === urls[1] && head.type === 'response')!;
  const segment = await open(join(source.directory, 'volumes/main', `${damaged.segment}.open`), 'r+');
  // Near the end of the record, so that the part before the damage can be read.
  await segment.write(Buffer.from([0xff]), 0, 1, damaged.offset + damaged.length! - 12);
  await segment.close();
  const target = await makeArchive(t, { seed: 2 });
  const copied: string[] = [];
  const report = await emulate(target, source, { collection: 'played', onDamage: (where) => copied.push(where) });
  assert.deepEqual(copied.sort(), [urls[1], 'http://site.test/same-as-b']);
  assert.deepEqual([report.pages, report.damaged, report.unresolved, report.bytes], [2, 2, 1, 6000]);
  assert.deepEqual((await allCaptures(target)).map(({ url }) => url).sort(), [urls[0], urls[2]]);
  assert.deepEqual(await audit(target), []);
});

test('a page with a damaged head is either replayed or reported', async (t) => {
  const source = await makeArchive(t);
  for (const name of ['a', 'b', 'c']) await source.store(page(`http://site.test/${name}`, NOON, contentOf(name)));
  const [, damaged] = (await walk(source)).filter(({ head }) => head.type === 'response');
  const segment = await open(join(source.directory, 'volumes/main', `${damaged!.segment}.open`), 'r+');
  t.after(() => segment.close());
  const target = await makeArchive(t, { seed: 2 });
  for (let at = 0; at < 240; at += 3) {
    const { buffer } = await segment.read(Buffer.alloc(1), 0, 1, damaged!.offset + at);
    await segment.write(Buffer.from([buffer[0]! ^ 0x10]), 0, 1, damaged!.offset + at);
    const report = await emulate(target, source, { collection: `at-${at}` });
    assert.equal(report.pages + report.damaged, 3, `damage at ${at}`);
    await segment.write(buffer, 0, 1, damaged!.offset + at);
  }
});

test('a page is replayed whatever the form and time zone of its date', async (t) => {
  const zone = process.env.TZ;
  process.env.TZ = 'America/New_York';
  t.after(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });
  const source = await makeArchive(t);
  const dates = ['2016', '2016-02', '2016-02-03', '2016-02-03T04:05', '2016-02-03T04:05:06.789012Z'];
  const records = dates.map((date) => {
    const { record, block } = response(`http://site.test/${date}`, NOON, contentOf(date));
    return { record: { ...record, date }, block };
  });
  await source.add([await writeForeign(join(source.directory, 'foreign.warc.gz'), records)]);
  const target = await makeArchive(t, { seed: 2 });
  await emulate(target, source, { collection: 'played' });
  const copied = async (archive: typeof source) =>
    (await allCaptures(archive)).map(({ url, time }) => `${time} ${url}`);
  assert.equal((await copied(target)).length, dates.length);
  assert.deepEqual(await copied(target), await copied(source));
});
