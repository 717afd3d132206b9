/** Schedules, and an archive played as if it were crawled. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  crawl,
  dueCrawls,
  emulate,
  putSchedule,
  removeSchedule,
  runScheduled,
  schedules,
} from '../../src/crawl/index.ts';
import { allCaptures, audit, makeArchive, payloadAt } from '../archive/trial-archive.ts';
import { html, TestWeb } from './test-web.ts';

const HOUR_MS = 3600_000;
const SETTINGS = { allowPrivate: true, delayMs: 0, retries: 0 };

test('a scheduled crawl is due when its time has come, runs from its seeds, and then over what is known', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  let shiftMs = 0;
  const archive = await makeArchive(t, { clock: () => Date.now() + shiftMs });
  assert.deepEqual(schedules(archive), []);
  web.put('site.test', '/', html('home', '<a href="/a">a</a>'));
  web.put('site.test', '/a', html('a', ''));
  const seeds = [web.url('site.test')];
  putSchedule(archive, { collection: 'site', every: '6h', seeds, settings: SETTINGS });
  assert.deepEqual(dueCrawls(archive), []);
  shiftMs += 7 * HOUR_MS;
  const [due] = dueCrawls(archive);
  assert.deepEqual([due?.collection, due?.every, due?.seeds], ['site', '6h', seeds]);
  const first = await runScheduled(archive, due!, { resolve: web.resolve });
  assert.deepEqual([first.kind, first.counts.pages], ['first', 2]);
  assert.deepEqual(dueCrawls(archive), []);
  shiftMs += 7 * HOUR_MS;
  const second = await runScheduled(archive, dueCrawls(archive)[0]!, { resolve: web.resolve });
  assert.deepEqual([second.kind, second.counts.pages, second.counts.unchanged], ['again', 2, 2]);
  shiftMs += 7 * HOUR_MS;
  const stopped = await runScheduled(archive, dueCrawls(archive)[0]!, {
    resolve: web.resolve,
    signal: AbortSignal.abort(),
  });
  assert.equal(stopped.outcome, 'interrupted');
  assert.equal(dueCrawls(archive).length, 1, 'what was interrupted is due still');
  assert.equal(removeSchedule(archive, 'site'), true);
  assert.deepEqual(schedules(archive), []);
});

test('a schedule that could never run is refused', async (t) => {
  const archive = await makeArchive(t, { clock: Date.now });
  const put = (every: string, seeds: string[], settings = {}) =>
    putSchedule(archive, { collection: 'site', every, seeds, settings });
  const seeds = ['https://site.test/'];
  assert.throws(() => put('day', []), { code: 'CRAWL_UNKNOWN' });
  assert.throws(() => put('day', ['ftp://site.test/']), { code: 'BAD_ARGUMENT' });
  assert.throws(() => put('day', seeds, { include: ['('] }), { code: 'BAD_ARGUMENT' });
  for (const never of ['0m', '00d']) assert.throws(() => put(never, seeds), { code: 'BAD_ARGUMENT' }, never);
  assert.deepEqual(schedules(archive), []);
});

test('an archive is played into another: same pages, same times, each content once', async (t) => {
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
  const told = async (archive: typeof source) =>
    Promise.all(
      (await allCaptures(archive)).map(async ({ url, time }) => `${time} ${url} ${await payloadAt(archive, url)}`),
    );
  assert.deepEqual(await told(target), await told(source));
  assert.deepEqual(await audit(target), []);
  assert.equal((await target.verify()).errors, 0);
});
