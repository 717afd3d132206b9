import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { Archive } from '../../src/archive/index.ts';
import { type CrawlReport, type CrawlSettings, crawl, recrawl, resumeCrawl } from '../../src/crawl/index.ts';
import { allCaptures, audit, makeArchive, payloadAt } from '../archive/trial-archive.ts';
import { html, TestWeb } from './test-web.ts';

const DAY_MS = 24 * 3600_000;
const HOST = 'site.test';
const SETTINGS: Partial<CrawlSettings> = {
  collection: 'site',
  allowPrivate: true,
  delayMs: 0,
  hostConcurrency: 4,
  retries: 0,
  retryDelayMs: 5,
};

/** A site that sends validators and whose pages can be changed, and an archive whose clock can be advanced. */
class ChangingSite {
  readonly web: TestWeb;
  readonly archive: Archive;
  readonly #shift: { ms: number };
  readonly pages = new Map<string, string>();

  private constructor(web: TestWeb, archive: Archive, shift: { ms: number }) {
    this.web = web;
    this.archive = archive;
    this.#shift = shift;
  }

  static async start(t: TestContext): Promise<ChangingSite> {
    const web = await TestWeb.start();
    t.after(() => web.stop());
    const shift = { ms: 0 };
    const archive = await makeArchive(t, { clock: () => Date.now() + shift.ms });
    return new ChangingSite(web, archive, shift);
  }

  put(path: string, body: string, validator: 'etag' | 'last-modified' | 'none' = 'etag'): void {
    this.pages.set(path, body);
    const tag = `"${createHash('sha256').update(body).digest('hex').slice(0, 16)}"`;
    const date = new Date(Date.UTC(2026, 0, 1) + body.length * 1000).toUTCString();
    const fields =
      validator === 'etag' ? { etag: tag } : validator === 'last-modified' ? { 'last-modified': date } : {};
    this.web.at(HOST, path, ({ headers }, response, end) => {
      const isSame =
        (validator === 'etag' && headers['if-none-match'] === tag) ||
        (validator === 'last-modified' && headers['if-modified-since'] === date);
      response.writeHead(isSame ? 304 : 200, { ...(!isSame && { 'content-type': 'text/html' }), ...fields });
      end();
      response.end(isSame ? undefined : body);
    });
  }

  remove(path: string): void {
    this.pages.delete(path);
    this.web.put(HOST, path, 'gone', {}, 410);
  }

  url(path = '/'): string {
    return this.web.url(HOST, path);
  }

  later(days: number): void {
    this.#shift.ms += days * DAY_MS;
  }

  crawl(settings: Partial<CrawlSettings> = {}): Promise<CrawlReport> {
    return crawl(this.archive, [this.url()], { ...SETTINGS, ...settings }, { resolve: this.web.resolve });
  }

  async again(settings: Partial<CrawlSettings> = {}): Promise<{ report: CrawlReport; requested: string[] }> {
    const before = this.web.requestLog.length;
    const report = await recrawl(this.archive, 'site', settings, { resolve: this.web.resolve });
    const requested = this.web.requestLog.slice(before).map(({ path }) => path);
    return { report, requested: requested.filter((path) => path !== '/robots.txt').sort() };
  }
}

function front(paths: readonly string[], title = 'front'): string {
  return html(title, paths.map((path) => `<a href="${path}">x</a>`).join(''));
}

test('an unchanged page costs a conditional request and a small revisit, by ETag or by Last-Modified', async (t) => {
  const site = await ChangingSite.start(t);
  site.put('/', front(['/a', '/b', '/c']));
  site.put('/a', html('a', ''));
  site.put('/b', html('b', ''), 'last-modified');
  site.put('/c', html('c', ''), 'none');
  await site.crawl();
  site.later(1);
  const { report, requested } = await site.again();
  assert.deepEqual(requested, ['/', '/a', '/b', '/c']);
  assert.equal(report.counts.unchanged, 4);
  assert.equal(report.counts.notModified, 3);
  assert.equal(report.counts.new, 0);
  for (const path of site.pages.keys()) {
    const latest = (await site.archive.findCapture(site.url(path)))!;
    assert.equal(latest.kind, 'revisit', path);
    assert.ok(latest.place.length < 700, `${path} took ${latest.place.length} bytes`);
    const { head } = await site.archive.open(latest);
    const profile = path === '/c' ? 'identical-payload-digest' : 'server-not-modified';
    assert.ok(head.get('warc-profile')?.endsWith(profile), path);
    assert.equal(head.get('warc-refers-to-target-uri'), site.url(path));
    assert.equal((await payloadAt(site.archive, site.url(path))).toString(), site.pages.get(path));
  }
  assert.deepEqual(await audit(site.archive), []);
  assert.equal((await site.archive.verify()).errors, 0);
});

test('a 304 keeps its content after a rebuild', async (t) => {
  const site = await ChangingSite.start(t);
  site.put('/', front([]));
  await site.crawl();
  site.later(1);
  await site.again();
  await site.archive.rebuild();
  assert.equal((await payloadAt(site.archive, site.url())).toString(), site.pages.get('/'));
  assert.equal((await allCaptures(site.archive)).filter(({ status }) => status === 304).length, 1);
  assert.deepEqual(await audit(site.archive), []);
});

test('validators are not sent for a content that the archive no longer has', async (t) => {
  const site = await ChangingSite.start(t);
  site.put('/', front(['/a']));
  site.put('/a', html('a', ''));
  await site.crawl();
  await site.archive.delete({ url: site.url('/a') });
  site.later(1);
  const { report } = await site.again();
  assert.equal(report.counts.new, 1);
  const [request] = site.web.requests(HOST, '/a').slice(-1);
  assert.equal(request!.fields['if-none-match'], undefined);
  assert.equal((await payloadAt(site.archive, site.url('/a'))).toString(), site.pages.get('/a'));
});

test('a recrawl follows the new links of a changed page', async (t) => {
  const site = await ChangingSite.start(t);
  site.put('/', front(['/a', '/old']));
  site.put('/a', html('a', '<a href="/old">x</a>'));
  site.put('/old', html('old', ''));
  await site.crawl();
  site.put('/a', html('a', '<a href="/old">x</a><a href="/new">x</a>'));
  site.put('/new', html('new', '<a href="/newer">x</a>'));
  site.put('/newer', html('newer', ''));
  site.later(1);
  const { report, requested } = await site.again();
  assert.deepEqual(requested, ['/', '/a', '/new', '/newer', '/old']);
  assert.equal(report.counts.new, 3);
  assert.equal(report.counts.notModified, 2);
});

test('a budget is spent on the pages that change, and --fixed visits all pages', async (t) => {
  const site = await ChangingSite.start(t);
  const paths = Array.from({ length: 10 }, (_, index) => `/${index}`);
  site.put('/', front(paths));
  for (const path of paths) site.put(path, html(path, 'round 0'));
  await site.crawl();
  for (let round = 1; round <= 4; round++) {
    for (const path of ['/3', '/7']) site.put(path, html(path, `round ${round}`));
    site.later(1);
    await site.again();
  }
  site.later(1);
  const { requested } = await site.again({ budget: 2 });
  assert.deepEqual(requested, ['/3', '/7']);
  site.later(1);
  assert.equal((await site.again({ budget: 2, fixed: true })).requested.length, paths.length + 1);
});

test('pages at the end of their lifetime are visited in addition to the budget', async (t) => {
  const site = await ChangingSite.start(t);
  const paths = ['/1', '/2', '/3'];
  site.put('/', front(paths));
  for (const path of paths) site.put(path, html(path, ''));
  await site.crawl({ lifetimeMs: 30 * DAY_MS });
  site.later(10);
  assert.deepEqual((await site.again({ budget: 0 })).requested, []);
  site.later(18);
  assert.deepEqual((await site.again({ budget: 0 })).requested, ['/', ...paths]);
});

test('a new lifetime applies to pages that were seen before', async (t) => {
  const site = await ChangingSite.start(t);
  site.put('/', front(['/a']));
  site.put('/a', html('a', ''));
  await site.crawl();
  site.later(40);
  assert.deepEqual((await site.again({ budget: 0 })).requested, []);
  assert.deepEqual((await site.again({ budget: 0, lifetimeMs: 30 * DAY_MS })).requested, ['/', '/a']);
});

test('a page that is gone keeps its history, or is expunged if the settings say so', async (t) => {
  const site = await ChangingSite.start(t);
  site.put('/', front(['/a', '/b']));
  site.put('/a', html('a', ''));
  site.put('/b', html('b', ''));
  await site.crawl();
  site.remove('/a');
  site.later(1);
  assert.equal((await site.again()).report.counts.gone, 1);
  const first = (await allCaptures(site.archive)).find(({ url }) => url === site.url('/a'))!;
  assert.match((await payloadAt(site.archive, site.url('/a'), first.time)).toString(), /<title>a</);
  site.later(1);
  assert.deepEqual((await site.again()).requested, ['/', '/b'], 'a page that is gone is not requested again');
  site.remove('/b');
  site.later(1);
  assert.equal((await site.again({ gone: 'expunge' })).report.counts.expunged, 4);
  const left = new Set((await allCaptures(site.archive)).map(({ url }) => new URL(url).pathname));
  assert.deepEqual([...left].sort(), ['/', '/a', '/robots.txt']);
});

test('pages that are gone are expunged also when a limit ends the crawl', async (t) => {
  const site = await ChangingSite.start(t);
  const paths = ['/a', '/b', '/c'];
  site.put('/', front(paths));
  for (const path of paths) site.put(path, html(path, ''));
  await site.crawl();
  for (const path of paths) site.remove(path);
  for (let day = 0; day < 4; day++) {
    site.later(1);
    await site.again({ gone: 'expunge', pagesMax: 1 });
  }
  const left = new Set((await allCaptures(site.archive)).map(({ url }) => new URL(url).pathname));
  assert.deepEqual([...left].sort(), ['/', '/robots.txt']);
});

test('a page whose request failed is kept, and visited first by the next recrawl', async (t) => {
  const site = await ChangingSite.start(t);
  site.put('/', front(['/a', '/b', '/c']));
  for (const path of ['/a', '/b', '/c']) site.put(path, html(path, ''));
  await site.crawl({ hostConcurrency: 1 });
  site.web.raw(HOST, '/b', '', 'reset');
  site.later(1);
  const { report } = await site.again({ gone: 'expunge' });
  assert.equal(report.counts.failed, 1);
  assert.equal((await payloadAt(site.archive, site.url('/b'))).toString(), site.pages.get('/b'));
  site.put('/b', site.pages.get('/b')!);
  site.later(1);
  const before = site.web.requestLog.length;
  await site.again({ budget: 0 });
  const requested = site.web.requestLog.slice(before).map(({ path }) => path);
  assert.deepEqual(requested, ['/robots.txt', '/b']);
});

test('crawling the same seeds again follows links through pages that did not change', async (t) => {
  const site = await ChangingSite.start(t);
  site.put('/', front(['/a']));
  site.put('/a', html('a', '<a href="/b">x</a>'));
  site.put('/b', html('b', ''));
  await site.crawl();
  site.put('/b', html('b', 'other'));
  site.later(1);
  const report = await site.crawl();
  assert.equal(report.counts.pages, 3);
  assert.equal(report.counts.notModified, 2);
  assert.equal((await payloadAt(site.archive, site.url('/b'))).toString(), site.pages.get('/b'));
});

test('a crawl with the same limit visits the rest first when it is run again', async (t) => {
  const site = await ChangingSite.start(t);
  const paths = ['/a', '/b', '/c', '/d'];
  site.put('/', front(paths));
  for (const path of paths) site.put(path, html(path, ''));
  const first = await site.crawl({ pagesMax: 3, hostConcurrency: 1 });
  assert.equal(first.outcome, 'limited');
  const left = paths.filter((path) => site.web.requests(HOST, path).length === 0);
  site.later(1);
  const second = await site.again();
  assert.deepEqual([second.report.kind, second.report.counts.pages], ['again', 3]);
  assert.ok(
    left.every((path) => second.requested.includes(path)),
    `${second.requested} without ${left}`,
  );
  site.later(1);
  assert.equal((await site.again()).requested.length, 3, 'and again');
  assert.equal((await site.again({ pagesMax: 100 })).report.outcome, 'done');
});

test('a site that was gone for a day is visited again, from its seed and its sitemap', async (t) => {
  const site = await ChangingSite.start(t);
  const setUp = () => {
    site.put('/', front(['/a']));
    site.put('/a', front(['/deep']));
    site.put('/deep', html('deep', '<img src="/picture.png">'));
    site.put('/picture.png', 'picture '.repeat(200));
    site.put('/only-in-sitemap', html('only there', ''));
    site.web.put(HOST, '/sitemap.xml', `<urlset><url><loc>${site.url('/only-in-sitemap')}</loc></url></urlset>`);
  };
  const paths = ['/', '/a', '/deep', '/only-in-sitemap', '/picture.png', '/sitemap.xml'];
  setUp();
  site.web.put(HOST, '/robots.txt', `Sitemap: ${site.url('/sitemap.xml')}`, { 'content-type': 'text/plain' });
  await site.crawl();
  for (const path of paths) site.remove(path);
  site.later(1);
  assert.equal((await site.again()).report.counts.gone, paths.length);
  site.later(1);
  assert.deepEqual((await site.again()).requested, ['/', '/sitemap.xml'], 'the rest is not requested while it is gone');
  setUp();
  site.later(1);
  assert.deepEqual((await site.again()).requested, paths);
});

test('a page that is gone is not requested again, even if a changing page links to it', async (t) => {
  const site = await ChangingSite.start(t);
  site.put('/', front(['/a']));
  site.put('/a', html('a', ''));
  await site.crawl();
  site.remove('/a');
  site.later(1);
  await site.again();
  site.put('/', front(['/a', '/b']));
  site.put('/b', html('b', ''));
  site.later(1);
  assert.deepEqual((await site.again()).requested, ['/', '/b']);
});

test('a scope that grew during a recrawl stays larger', async (t) => {
  const site = await ChangingSite.start(t);
  site.put('/', html('home', ''));
  await site.crawl();
  const moved = site.web.url('new.test');
  site.web.redirect(HOST, '/', moved);
  site.web.put('new.test', '/', html('new', ''));
  site.later(1);
  await site.again();
  // The seed no longer redirects.
  site.put('/', html('home', 'other'));
  for (const generation of [1, 2]) {
    site.web.put('new.test', '/', html('new', `<a href="/${generation}">x</a>`));
    site.web.put('new.test', `/${generation}`, html(`page ${generation}`, ''));
    site.later(1);
    await site.again();
    assert.equal(site.web.requests('new.test', `/${generation}`).length, 1);
  }
});

test('a server error does not replace the content of a page or its validators', async (t) => {
  const site = await ChangingSite.start(t);
  const body = html('home', '');
  site.put('/', body);
  await site.crawl();
  site.web.put(HOST, '/', 'something went wrong', { etag: '"wrong"' }, 500);
  site.later(1);
  await site.again();
  site.put('/', body);
  site.later(1);
  const { counts } = (await site.again()).report;
  assert.deepEqual([counts.unchanged, counts.notModified], [1, 1]);
  assert.equal((await payloadAt(site.archive, site.url())).toString(), body);
});

test('a 304 to a request without validators does not confirm the content', async (t) => {
  const site = await ChangingSite.start(t);
  const fields = { etag: '"one"' };
  site.web.put(HOST, '/', '', fields, 304);
  assert.deepEqual((await site.crawl()).counts.statuses, { 304: 1 });
  site.web.at(HOST, '/', ({ headers }, response, end) => {
    const isSame = headers['if-none-match'] === '"one"';
    response.writeHead(isSame ? 304 : 200, { 'content-type': 'text/html', ...fields });
    end();
    response.end(isSame ? '' : html('home', ''));
  });
  site.later(1);
  await site.again();
  assert.equal((await payloadAt(site.archive, site.url())).toString(), html('home', ''));
  site.later(1);
  assert.equal((await site.again()).report.counts.notModified, 1);
  assert.deepEqual(await audit(site.archive), []);
});

test('URLs that a recrawl excludes are left to the next recrawl, whether they were known or not', async (t) => {
  const site = await ChangingSite.start(t);
  site.put('/', front(['/a', '/dir/b', '/dir/c']));
  site.put('/a', html('a', '<img src="/picture.png">'));
  site.put('/picture.png', 'picture');
  site.put('/dir/b', html('b', '<a href="/deep">x</a>'));
  site.put('/dir/c', html('c', ''));
  site.put('/deep', html('deep', ''));
  await site.crawl();
  const known = ['/', '/a', '/deep', '/dir/b', '/dir/c', '/picture.png'];
  const again = async (settings: Partial<CrawlSettings>) => {
    site.later(1);
    return site.again(settings);
  };
  const without = await again({ exclude: ['/dir/'] });
  assert.deepEqual(without.requested, ['/', '/a', '/deep', '/picture.png']);
  assert.equal(without.report.counts.outOfScope, 2);
  assert.deepEqual((await again({ include: ['/dir/'] })).requested, ['/', '/dir/b', '/dir/c', '/picture.png']);
  assert.deepEqual((await again({ scope: 'list', htmlOnly: true })).requested, ['/']);
  assert.deepEqual((await again({ depthMax: 1 })).requested, ['/', '/a', '/dir/b', '/dir/c', '/picture.png']);
  assert.deepEqual((await again({})).requested, known);
});

test('a resumed crawl excludes queued and new URLs by its new settings', async (t) => {
  const site = await ChangingSite.start(t);
  site.put('/', front(['/a', '/dir/b', '/dir/c']));
  for (const path of ['/a', '/dir/b', '/dir/c']) site.put(path, html(path, ''));
  await site.crawl({ pagesMax: 1 });
  const before = site.web.requestLog.length;
  const settings = { exclude: ['/dir/'], pagesMax: 10 };
  const report = await resumeCrawl(site.archive, 'site', settings, { resolve: site.web.resolve });
  assert.deepEqual(
    site.web.requestLog.slice(before).map(({ path }) => path),
    ['/a'],
  );
  assert.equal(report.counts.outOfScope, 2);
  site.later(1);
  assert.deepEqual((await site.again({ exclude: [] })).requested, ['/', '/a', '/dir/b', '/dir/c']);
});

test('a recrawl visits the pages of all crawls of the collection, also when resumed, unless its own settings limit them', async (t) => {
  const site = await ChangingSite.start(t);
  const pages = ['/', '/a', '/deep'];
  site.put('/', front(['/a']));
  site.put('/a', html('a', '<a href="/deep">x</a>'));
  site.put('/deep', html('deep', ''));
  await site.crawl();
  site.web.put('other.test', '/other', html('other', '<a href="/left">x</a>'));
  site.web.put('other.test', '/left', html('left', ''));
  const single: Partial<CrawlSettings> = { ...SETTINGS, scope: 'list', depthMax: 0 };
  await crawl(site.archive, [site.web.url('other.test', '/other')], single, { resolve: site.web.resolve });
  const again = async (settings: Partial<CrawlSettings> = {}) => {
    site.later(1);
    return (await site.again(settings)).requested;
  };
  assert.deepEqual(await again(), [...pages, '/other']);
  assert.deepEqual(await again({ scope: 'host', depthMax: 1 }), ['/', '/a', '/other']);
  assert.equal((await again({ pagesMax: 1 })).length, 1);
  const before = site.web.requestLog.length;
  await resumeCrawl(site.archive, 'site', { pagesMax: 10 }, { resolve: site.web.resolve });
  assert.equal(site.web.requestLog.slice(before).filter(({ path }) => path !== '/robots.txt').length, 3);
});
