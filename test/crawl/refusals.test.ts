/** Hosts that ask for pauses, and hosts whose rules cannot be fetched. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Archive } from '../../src/archive/index.ts';
import {
  type CrawlOptions,
  type CrawlProgress,
  type CrawlReport,
  type CrawlSettings,
  crawl,
} from '../../src/crawl/index.ts';
import { allCaptures, makeArchive } from '../archive/trial-archive.ts';
import { html, TestWeb } from './test-web.ts';

const HOST = 'site.test';
const MINUTE_MS = 60_000;
const FOREVER_MS = 1e9;

/** A site, and an archive with a clock so fast that minutes take no time. */
class HastySite {
  readonly web: TestWeb;
  readonly archive: Archive;
  /** The times of the requests for each path, by the clock of the archive. */
  readonly requested = new Map<string, number[]>();

  private constructor(web: TestWeb, archive: Archive) {
    this.web = web;
    this.archive = archive;
  }

  static async start(t: TestContext): Promise<HastySite> {
    const web = await TestWeb.start();
    t.after(() => web.stop());
    const start = Date.now();
    return new HastySite(web, await makeArchive(t, { clock: () => start + (Date.now() - start) * 1000 }));
  }

  /** The answers at a path, one after the other; the last one is repeated. */
  put(path: string, ...answers: { status?: number; body?: string; fields?: Record<string, string> }[]): void {
    const times: number[] = [];
    this.requested.set(path, times);
    this.web.at(HOST, path, (_, response, end) => {
      const { status = 200, body = '', fields = {} } = answers[Math.min(times.length, answers.length - 1)]!;
      times.push(this.archive.clock());
      response.writeHead(status, { 'content-type': 'text/html', ...fields });
      end();
      response.end(body);
    });
  }

  crawl(settings: Partial<CrawlSettings>, options: CrawlOptions = {}): Promise<CrawlReport> {
    const fetch = { headTimeoutMs: FOREVER_MS, exchangeTimeoutMs: FOREVER_MS, slowAfterMs: FOREVER_MS };
    const whole = { allowPrivate: true, delayMs: 0, retries: 0, retryDelayMs: 5, fetch, ...settings };
    return crawl(this.archive, [this.web.url(HOST)], whole, { resolve: this.web.resolve, ...options });
  }
}

test('the crawl makes the pause that the answer to the last try asks for', async (t) => {
  const site = await HastySite.start(t);
  site.put('/', { body: html('home', '<a href="/busy">x</a><a href="/next">x</a>') });
  site.put('/busy', { status: 429, fields: { 'retry-after': '600' } });
  site.put('/next', { body: html('next', '') });
  const { counts } = await site.crawl({ robots: 'ignore' });
  assert.deepEqual(counts.statuses, { 200: 2, 429: 1 });
  assert.ok(site.requested.get('/next')![0]! - site.requested.get('/busy')![0]! >= 10 * MINUTE_MS);
});

test('the crawl makes the pause that a refused robots.txt asks for', async (t) => {
  const site = await HastySite.start(t);
  const fields = { 'retry-after': '600', 'content-type': 'text/plain' };
  site.put('/robots.txt', { status: 503, fields }, { body: 'User-agent: *\nAllow: /\n' });
  site.put('/', { body: html('home', '') });
  const { counts } = await site.crawl({ retries: 1 });
  assert.deepEqual([counts.pages, counts.retried], [1, 1]);
  const [first, second] = site.requested.get('/robots.txt')!;
  assert.ok(second! - first! >= 10 * MINUTE_MS);
});

test('a request that got 408 is sent again, for a page and for robots.txt', async (t) => {
  const site = await HastySite.start(t);
  site.put('/robots.txt', { status: 408 }, { body: 'User-agent: *\nDisallow: /secret\n' });
  site.put('/', { status: 408 }, { body: html('home', '<a href="/secret">x</a><a href="/never">x</a>') });
  site.put('/never', { status: 408 });
  const first = await site.crawl({ retries: 1 });
  assert.deepEqual([first.counts.statuses, first.counts.forbidden], [{ 200: 1, 408: 1 }, 1]);
  site.put('/never', { body: html('at last', '') });
  const { counts } = await site.crawl({ retries: 1 });
  assert.deepEqual(counts.statuses, { 200: 2 });
});

test('a robots.txt of a busy host is tried again, and forbids everything if the host stays busy', async (t) => {
  const site = await HastySite.start(t);
  site.put('/', { body: html('home', '<a href="/secret">x</a>') });
  site.put('/secret', { body: html('secret', '') });
  site.put('/robots.txt', { status: 429, fields: { 'retry-after': '600' } });
  const first = await site.crawl({ retries: 1 });
  assert.deepEqual(first.counts.failures, { 'robots-unreachable': 1 });
  const [once, twice] = site.requested.get('/robots.txt')!;
  assert.ok(twice! - once! >= 10 * MINUTE_MS);
  site.put('/robots.txt', { status: 429 }, { body: 'User-agent: *\nDisallow: /secret\n' });
  const second = await site.crawl({ retries: 1 });
  assert.deepEqual([second.counts.pages, second.counts.forbidden], [1, 1]);
});

test('a resumed crawl fetches robots.txt again if it failed before the interruption', async (t) => {
  const site = await HastySite.start(t);
  const stop = new AbortController();
  site.put('/', { body: html('home', '') });
  site.put('/robots.txt', { status: 503 });
  // Stops the crawl when the answer is stored and the page waits for the pause.
  const onProgress: CrawlOptions['onProgress'] = ({ fetched }) => {
    if (fetched > 0) stop.abort();
  };
  const stopped = await site.crawl({ delayMs: 10 * MINUTE_MS }, { signal: stop.signal, onProgress });
  assert.deepEqual([stopped.outcome, stopped.counts.failed], ['interrupted', 0]);
  site.put('/robots.txt', { body: 'User-agent: *\nAllow: /\n' });
  const { counts } = await site.crawl({});
  assert.deepEqual([counts.pages, counts.failed], [1, 0]);
});

test('a host that refuses every request is given up after a while, and the next crawl visits the queue of the host', async (t) => {
  const site = await HastySite.start(t);
  const paths = Array.from({ length: 60 }, (_, number) => `/${number}`);
  const links = paths.map((path) => `<a href="${path}">x</a>`).join('');
  for (const [collection, fields, requestsMax] of [
    ['without', {}, 2 * 20],
    ['nothing', { 'retry-after': '0' }, 2 * 20],
    ['past', { 'retry-after': 'Thu, 01 Jan 2015 00:00:00 GMT' }, 2 * 20],
    ['long', { 'retry-after': '1500' }, 3],
    ['forever', { 'retry-after': '999999999' }, 1],
  ] as const) {
    site.put('/', { body: html('home', links) });
    for (const path of paths) site.put(path, { status: 429, fields });
    const first = await site.crawl({ robots: 'ignore', retries: 1, collection });
    const requested = paths.reduce((sum, path) => sum + site.requested.get(path)!.length, 0);
    assert.equal(requested, requestsMax, collection);
    const { busy = 0 } = first.counts.failures;
    assert.deepEqual([first.outcome, first.counts.pages + busy], ['done', 61], collection);
    for (const path of paths) site.put(path, { body: html(path, '') });
    const second = await site.crawl({ robots: 'ignore', retries: 1, collection });
    assert.deepEqual(second.counts.statuses, { 200: 61 }, collection);
  }
});

test('every page of a host that always fails is requested once', async (t) => {
  const site = await HastySite.start(t);
  const paths = Array.from({ length: 60 }, (_, number) => `/${number}`);
  site.put('/', {
    body: html('home', [...paths, '/sound', '/last'].map((path) => `<a href="${path}">x</a>`).join('')),
  });
  for (const path of [...paths, '/last']) site.put(path, { status: 503 });
  site.put('/sound', { body: html('sound', '') });
  const { counts } = await site.crawl({ robots: 'ignore', retries: 1 });
  assert.deepEqual(counts.statuses, { 200: 2, 503: 61 });
  const requested = (some: readonly string[]) => some.reduce((sum, path) => sum + site.requested.get(path)!.length, 0);
  assert.deepEqual([requested(paths), requested(['/sound']), requested(['/last'])], [2 * 20 + 40, 1, 2]);
});

test('a host whose robots.txt asks for days is given up at once', async (t) => {
  const site = await HastySite.start(t);
  site.put('/', { body: html('home', '') });
  site.put('/robots.txt', { status: 503, fields: { 'retry-after': '864000' } });
  const { counts } = await site.crawl({ retries: 3 });
  assert.deepEqual(counts.failures, { busy: 1 });
  assert.equal(site.requested.get('/robots.txt')!.length, 1);
});

test('a cut robots.txt is fetched again, and forbids everything if it stays cut', async (t) => {
  const site = await HastySite.start(t);
  site.put('/', { body: html('home', '<a href="/secret">x</a>') });
  site.put('/secret', { body: html('secret', '') });
  site.web.raw(HOST, '/robots.txt', 'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nUser-agent: *\n');
  const first = await site.crawl({ retries: 1 });
  assert.deepEqual(first.counts.failures, { 'robots-unreachable': 1 });
  assert.deepEqual(
    site.web.requestLog.map(({ path }) => path),
    ['/robots.txt', '/robots.txt'],
  );
  assert.equal((await allCaptures(site.archive)).length, 1, 'only the last answer is stored');
  site.put('/robots.txt', { body: 'User-agent: *\nDisallow: /secret\n' });
  const second = await site.crawl({ retries: 1 });
  assert.deepEqual([second.counts.pages, second.counts.forbidden], [1, 1]);
});

test('a seed that fails is reported at its first try, once', async (t) => {
  const site = await HastySite.start(t);
  const told: string[] = [];
  const onSeedTrouble = (url: string, why: string) => told.push(`${url} ${why}`);
  const seeds = ['http://nowhere.invalid/', site.web.url(HOST, '/broken')];
  site.web.raw(HOST, '/broken', '', 'reset');
  const settings = { allowPrivate: true, delayMs: 0, retries: 2, retryDelayMs: 5 };
  const report = await crawl(site.archive, seeds, settings, { resolve: site.web.resolve, onSeedTrouble });
  assert.equal(report.counts.failed, 2);
  assert.equal(told.length, 2, told.join('\n'));
  assert.match(told.sort()[0]!, /^http:\/\/nowhere\.invalid\/ dns: .*ENOTFOUND/);
});

test('a crawl can be interrupted while it settles the many URLs of a host that it gave up', async (t) => {
  const site = await HastySite.start(t);
  const urls = Array.from({ length: 5000 }, (_, number) => `<a href="/${number}">x</a>`);
  site.put('/', { body: html('home', urls.join('')) });
  site.put('/0', { status: 429, fields: { 'retry-after': '86400' } });
  const stop = new AbortController();
  const onProgress = ({ failed }: CrawlProgress) => {
    if (failed > 0) stop.abort();
  };
  const first = await site.crawl({ robots: 'ignore' }, { signal: stop.signal, onProgress });
  assert.equal(first.outcome, 'interrupted');
  const { busy = 0 } = first.counts.failures;
  assert.ok(busy < 4999, 'not all were settled');
  assert.equal(first.queued, 4999 - busy);
});

/** A site whose first page links to all others. After the first page its name does not resolve for `awayMs`. */
async function vanishing(t: TestContext, awayMs: number) {
  const site = await HastySite.start(t);
  const paths = Array.from({ length: 100 }, (_, number) => `/${number}`);
  site.put('/', {
    body: html('home', paths.map((path) => `<a href="${path}">x</a>`).join('')),
    fields: { connection: 'close' },
  });
  for (const path of paths) site.put(path, { body: html(path, '') });
  let requested = 0;
  const resolve: CrawlOptions['resolve'] = (host, options, done) => {
    const [goneAt] = site.requested.get('/')!;
    if (goneAt === undefined || site.archive.clock() > goneAt + awayMs) return site.web.resolve(host, options, done);
    requested++;
    done(Object.assign(new Error('away'), { code: 'EAI_AGAIN' }), [], 0);
  };
  const waits: number[] = [];
  const onProgress: CrawlOptions['onProgress'] = ({ waitMs }) => waits.push(waitMs);
  const report = await site.crawl({ robots: 'ignore', retries: 1, retryDelayMs: 10_000 }, { resolve, onProgress });
  return { report, requested, longestWaitMs: Math.max(...waits) };
}

test('a host that is no longer reachable is tried with growing pauses, and then given up for the run', async (t) => {
  const { report, requested, longestWaitMs } = await vanishing(t, FOREVER_MS);
  const { outcome, counts } = report;
  const { dns = 0, busy = 0 } = counts.failures;
  assert.deepEqual([outcome, counts.failed, dns + busy], ['done', 100, 100]);
  assert.ok(requested < 20, `it was looked up ${requested} times`);
  // The reported rest of a wait is random, because the clock runs a thousand times too fast.
  assert.ok(longestWaitMs > 0, 'a wait is reported while it lasts');
});

test('a host that is unreachable for a while is tried again', async (t) => {
  const { report } = await vanishing(t, 5 * MINUTE_MS);
  assert.ok(report.counts.failed < 10, JSON.stringify(report.counts.failures));
  assert.equal(report.counts.pages + report.counts.failed, 101);
});

test('hosts whose robots.txt is unknown are tried again too while no host is reachable', async (t) => {
  const site = await HastySite.start(t);
  const others = ['one.test', 'two.test', 'three.test'];
  const images = others.map((host) => `<img src="${site.web.url(host, '/x.gif')}">`).join('');
  for (const host of others) site.web.put(host, '/x.gif', 'a picture', { 'content-type': 'image/gif' });
  site.put('/', { body: html('home', `<a href="/next">x</a>${images}`), fields: { connection: 'close' } });
  site.put('/next', { body: html('next', '') });
  // The network is down after the first page. It is up again when each other host was tried more often than a host that
  // is down.
  const looks = new Map(others.map((host) => [host, 0]));
  const missed = Promise.withResolvers<void>();
  const resolve: CrawlOptions['resolve'] = async (host, options, done) => {
    const isBack = [...looks.values()].every((count) => count > 4);
    if (isBack || (host === HOST && site.requested.get('/')!.length === 0))
      return site.web.resolve(host, options, done);
    if (host === HOST) setImmediate(missed.resolve);
    else looks.set(host, looks.get(host)! + 1);
    if (host !== HOST) await missed.promise;
    done(Object.assign(new Error('away'), { code: 'EAI_AGAIN' }), [], 0);
  };
  const { counts } = await site.crawl({ retries: 3, retryDelayMs: 10_000 }, { resolve });
  assert.deepEqual([counts.pages, counts.failures], [2, {}]);
  for (const host of others) assert.equal(site.web.requests(host, '/x.gif').length, 1);
});

test('a host that was never reached is soon given up if other hosts answer', async (t) => {
  const site = await HastySite.start(t);
  site.put('/', { body: html('home', '<img src="http://nowhere.invalid/x.gif">') });
  let requested = 0;
  const resolve: CrawlOptions['resolve'] = (host, options, done) => {
    if (host !== 'site.test') requested++;
    site.web.resolve(host, options, done);
  };
  const { counts } = await site.crawl({ retries: 3, retryDelayMs: 10_000 }, { resolve });
  assert.deepEqual([counts.pages, counts.failures, requested], [1, { dns: 1 }, 2]);
});

test('names that do not resolve delay no other host, and are looked up again at the end', async (t) => {
  const site = await HastySite.start(t);
  const paths = Array.from({ length: 50 }, (_, number) => `/${number}`);
  const links = [...paths, 'http://page.invalid/'].map((path) => `<a href="${path}">x</a>`).join('');
  site.put('/', { body: html('home', `<link rel="stylesheet" href="/style.css">${links}`) });
  site.web.put(HOST, '/style.css', 'p { background: url(http://embed.invalid/x.gif) }', { 'content-type': 'text/css' });
  for (const path of paths) site.put(path, { body: html(path, '') });
  for (const robots of ['obey', 'ignore'] as const) {
    const before = site.web.requestLog.length;
    const requested: [name: string, requests: number][] = [];
    const resolve: CrawlOptions['resolve'] = (host, options, done) => {
      if (host.endsWith('.invalid')) requested.push([host, site.web.requestLog.length - before]);
      site.web.resolve(host, options, done);
    };
    const settings = { robots, collection: robots, scope: 'host', retries: 3, retryDelayMs: 10_000 } as const;
    const seeds = [site.web.url(HOST), 'http://page.invalid/'];
    const { counts } = await crawl(site.archive, seeds, { allowPrivate: true, delayMs: 0, ...settings }, { resolve });
    assert.deepEqual([counts.pages, counts.failures], [51, { dns: 2 }], robots);
    assert.deepEqual(requested.map(([name]) => name).sort(), [
      'embed.invalid',
      'embed.invalid',
      'page.invalid',
      'page.invalid',
    ]);
    const all = site.web.requestLog.length - before;
    for (const [name, requests] of requested.slice(2)) assert.equal(requests, all, `${name} is looked up last`);
  }
});

test('a host that supports one of the two schemes is not given up when the other scheme fails', async (t) => {
  const site = await HastySite.start(t);
  const paths = Array.from({ length: 20 }, (_, number) => `/${number}`);
  const links = paths.map((path) => `<a href="${path}">x</a>`).join('');
  const pictures = paths
    .map((path) => `<img src="${site.web.url(HOST, path).replace('http:', 'https:')}.gif">`)
    .join('');
  site.put('/', { body: html('home', links + pictures) });
  for (const path of paths) site.put(path, { body: html(path, '') });
  const { counts } = await site.crawl({ robots: 'ignore', retries: 1, retryDelayMs: 10_000 });
  assert.deepEqual([counts.pages, counts.failed, counts.failures.busy], [21, 20, undefined]);
});

test('a resumed crawl respects the Crawl-delay after the last request of the earlier process', async (t) => {
  const site = await HastySite.start(t);
  site.put('/robots.txt', { body: 'User-agent: *\nCrawl-delay: 110' });
  site.put('/', { body: html('home', '<a href="/next">x</a>') });
  site.put('/next', { body: html('next', '') });
  const stop = new AbortController();
  const onProgress: CrawlOptions['onProgress'] = ({ fetched }) => {
    if (fetched >= 2) stop.abort();
  };
  const first = await site.crawl({}, { signal: stop.signal, onProgress });
  assert.deepEqual([first.outcome, first.counts.pages], ['interrupted', 1]);
  assert.equal((await site.crawl({})).outcome, 'done');
  const times = new Map((await allCaptures(site.archive)).map(({ url, time }) => [new URL(url).pathname, time]));
  assert.ok(times.get('/next')! - times.get('/')! >= 110_000);
});

test('a host that many robots.txt redirect to gets its usual delay, and one request for each file', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const rules = { 'content-type': 'text/plain' };
  web.put('rules.test', '/robots.txt', 'User-agent: *\nDisallow: /no', rules);
  const hosts = Array.from({ length: 30 }, (_, number) => `h${number}.test`);
  for (const [number, host] of hosts.entries()) {
    const own = number < 5 ? `/of/${host}` : '/robots.txt';
    web.redirect(host, '/robots.txt', web.url('rules.test', own));
    if (number < 5) web.put('rules.test', own, 'User-agent: *\nDisallow: /no', rules);
    web.put(host, '/', html(host, '<a href="/no">x</a>'));
  }
  const seeds = hosts.map((host) => web.url(host));
  const settings = { allowPrivate: true, delayMs: 5, concurrency: 32 };
  const { outcome, counts } = await crawl(archive, seeds, settings, { resolve: web.resolve });
  assert.deepEqual([outcome, counts.pages, counts.forbidden, counts.captures], ['done', 30, 30, 30 + 30 + 6]);
  assert.equal(web.requests('rules.test', '/robots.txt').length, 1);
  assert.equal(web.concurrency.get('rules.test'), 1);
});

test('a crawl that was stopped between a robots.txt and the target of its redirect can be resumed', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const stop = new AbortController();
  web.redirect('site.test', '/robots.txt', web.url('site.test', '/rules'));
  web.put('site.test', '/', html('home', '<a href="/no">x</a>'));
  web.at('site.test', '/rules', () => stop.abort());
  const crawlOnce = (signal: AbortSignal) =>
    crawl(archive, [web.url('site.test')], { allowPrivate: true, delayMs: 0 }, { resolve: web.resolve, signal });
  assert.equal((await crawlOnce(stop.signal)).outcome, 'interrupted');
  web.put('site.test', '/rules', 'User-agent: *\nDisallow: /no', { 'content-type': 'text/plain' });
  const { outcome, counts } = await crawlOnce(AbortSignal.timeout(10_000));
  assert.deepEqual([outcome, counts.pages, counts.forbidden], ['done', 1, 1]);
  assert.equal(web.requests('site.test', '/robots.txt').length, 1);
});

test('a host that asks for a pause gets it, even if the robots.txt of other hosts redirect to this host', async (t) => {
  const site = await HastySite.start(t);
  const others = ['one.test', 'two.test'];
  const images = others.map((host) => `<img src="${site.web.url(host, '/x.gif')}">`).join('');
  site.put('/', { body: html('home', images) });
  for (const host of others) {
    site.put(`/of/${host}`, { status: 503, fields: { 'retry-after': '600' } }, { body: '' });
    site.web.redirect(host, '/robots.txt', site.web.url(HOST, `/of/${host}`));
    site.web.put(host, '/x.gif', 'a picture', { 'content-type': 'image/gif' });
  }
  const { counts } = await site.crawl({ retries: 1 });
  assert.deepEqual([counts.pages, counts.failures], [1, {}]);
  const [first, second] = others.map((host) => site.requested.get(`/of/${host}`)![0]!).sort((a, b) => a - b);
  assert.ok(second! - first! >= 10 * MINUTE_MS);
});
