/** The crawls that read the sitemaps of a site, and the limits that apply to sitemaps. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { type CrawlSettings, crawl, recrawl } from '../../src/crawl/index.ts';
import { makeArchive } from '../archive/trial-archive.ts';
import { html, TestWeb } from './test-web.ts';

const HOST = 'site.test';

/** A site with a page that only its sitemap names. */
async function startSite(): Promise<TestWeb> {
  const web = await TestWeb.start();
  const plain = { 'content-type': 'text/plain' };
  web.put(
    HOST,
    '/robots.txt',
    `User-agent: *\nSitemap: /sitemap.xml\nSitemap: ${web.url(HOST, '/second.xml')}\n`,
    plain,
  );
  const listOf = (path: string) => `<urlset><url><loc>${web.url(HOST, path)}</loc></url></urlset>`;
  web.put(HOST, '/sitemap.xml', listOf('/listed'), { 'content-type': 'application/xml' });
  web.put(HOST, '/second.xml', listOf('/listed-second'), { 'content-type': 'application/xml' });
  web.put(HOST, '/', html('home', ''));
  for (const path of ['/listed', '/listed-second']) web.put(HOST, path, html(path, ''));
  return web;
}

test('sitemaps are read by every crawl from seeds, even if another crawl fetched robots.txt', async (t) => {
  const web = await startSite();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  for (const collection of ['one', 'two', 'one']) {
    const settings = { collection, allowPrivate: true, delayMs: 0, retries: 0 };
    const { counts } = await crawl(archive, [web.url(HOST)], settings, { resolve: web.resolve });
    assert.equal(counts.pages, 3, collection);
  }
  assert.equal(web.requests(HOST, '/robots.txt').length, 1);
  assert.equal(web.requests(HOST, '/sitemap.xml').length, 3);
});

test('sitemaps respect the depth limit and exclusions', async (t) => {
  const web = await startSite();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const requested = async (collection: string, settings: Partial<CrawlSettings>) => {
    const before = web.requestLog.length;
    const whole = { ...settings, collection, allowPrivate: true, delayMs: 0, retries: 0 };
    await crawl(archive, [web.url(HOST)], whole, { resolve: web.resolve });
    const paths = web.requestLog.slice(before).map(({ path }) => path);
    return paths.filter((path) => path !== '/robots.txt').sort();
  };
  assert.deepEqual(await requested('seeds', { depthMax: 0 }), ['/']);
  assert.deepEqual(await requested('excluded', { exclude: ['/sitemap\\.xml'] }), [
    '/',
    '/listed-second',
    '/second.xml',
  ]);
});

const QUICK = { allowPrivate: true, delayMs: 0, retries: 0, hostConcurrency: 1 };

/** A sitemap entry of a page. */
type Entry = { readonly path: string; readonly pictures?: readonly string[]; readonly video?: string };

class IllustratedSite {
  readonly web: TestWeb;

  constructor(web: TestWeb) {
    this.web = web;
    web.put(HOST, '/robots.txt', 'Sitemap: /sitemap.xml', { 'content-type': 'text/plain' });
    web.put(HOST, '/', html('home', ''));
  }

  /** Sets up a sitemap, and everything that it names. */
  put(entries: readonly Entry[]): void {
    const { web } = this;
    const xml = entries.map(({ path, pictures = [], video = '' }) => {
      const images = pictures.map((url) => `<image:image><image:loc>${url}</image:loc></image:image>`).join('');
      return `<url><loc>${web.url(HOST, path)}</loc>${images}${video && `<video:video>${video}</video:video>`}</url>`;
    });
    web.put(HOST, '/sitemap.xml', `<urlset>${xml.join('')}</urlset>`, { 'content-type': 'application/xml' });
    for (const { path, pictures = [] } of entries) {
      web.put(HOST, path, html(path, ''));
      for (const url of pictures) this.putPicture(url);
    }
  }

  putPicture(url: string): void {
    const { hostname, pathname } = new URL(url);
    this.web.put(hostname, pathname, Buffer.from(`picture at ${url}`), { 'content-type': 'image/png' });
  }

  /** The requests since the last call, except robots.txt and the sitemap. */
  requested(): string[] {
    const paths = this.web.requestLog.splice(0).map(({ host, path }) => (host.startsWith(HOST) ? path : `far ${path}`));
    return paths.filter((path) => !/robots\.txt|sitemap\.xml/.test(path));
  }
}

async function startIllustrated(t: TestContext): Promise<IllustratedSite> {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  return new IllustratedSite(web);
}

test('pictures, films and players that a sitemap lists for a page are captured from any host', async (t) => {
  const site = await startIllustrated(t);
  const { web } = site;
  const archive = await makeArchive(t, { clock: Date.now });
  const far = (path: string) => web.url('far.test', path);
  const video = `<video:thumbnail_loc>${far('/film.jpg')}</video:thumbnail_loc><video:content_loc>${far('/film.mp4')}</video:content_loc>
    <video:player_loc>${far('/player')}</video:player_loc><video:player_loc>${web.url(HOST, '/player')}</video:player_loc>`;
  site.put([{ path: '/a', pictures: [far('/one.png'), web.url(HOST, '/two.png')], video }]);
  for (const path of ['/film.jpg', '/film.mp4']) site.putPicture(far(path));
  web.put('far.test', '/player', html('player', '<a href="/elsewhere">x</a><img src="/play.png">'));
  site.putPicture(far('/play.png'));
  web.put(HOST, '/player', html('player', ''));
  const { counts, outcome } = await crawl(archive, [web.url(HOST)], QUICK, { resolve: web.resolve });
  assert.deepEqual([outcome, counts.pages, counts.failed, counts.gone], ['done', 3, 0, 0]);
  assert.deepEqual(site.requested().sort(), [
    '/',
    '/a',
    '/player',
    '/two.png',
    'far /film.jpg',
    'far /film.mp4',
    'far /one.png',
    'far /play.png',
    'far /player',
  ]);
});

test('at a limit of pages the crawl captures the embeds that a sitemap lists for captured pages, and the rest when it is resumed', async (t) => {
  const site = await startIllustrated(t);
  const { web } = site;
  const archive = await makeArchive(t, { clock: Date.now });
  const paths = Array.from({ length: 5 }, (_, page) => `/${page}`);
  site.put(paths.map((path) => ({ path, pictures: [web.url('far.test', `${path}.png`)] })));
  const options = { resolve: web.resolve };
  const first = await crawl(archive, [web.url(HOST)], { ...QUICK, pagesMax: 3 }, options);
  assert.deepEqual([first.limit, first.counts.pages, first.queued], ['pages', 3, 3]);
  assert.deepEqual(site.requested().sort(), ['/', '/0', '/1', 'far /0.png', 'far /1.png']);
  const rest = await crawl(archive, [web.url(HOST)], { ...QUICK, pagesMax: 100 }, options);
  assert.deepEqual([rest.outcome, rest.counts.pages, rest.queued], ['done', 6, 0]);
  assert.deepEqual(site.requested().sort(), ['/2', '/3', '/4', 'far /2.png', 'far /3.png', 'far /4.png']);
});

test('embeds of a sitemap respect exclusions and htmlOnly, and are captured only for pages that exist and are in scope', async (t) => {
  const site = await startIllustrated(t);
  const { web } = site;
  const archive = await makeArchive(t, { clock: Date.now });
  const far = (path: string) => web.url('far.test', path);
  site.put([
    { path: '/a', pictures: [far('/wanted.png'), far('/unwanted.png')] },
    { path: '/out/b', pictures: [far('/of-excluded.png')] },
    { path: '/gone', pictures: [far('/of-gone.png')] },
  ]);
  web.put(HOST, '/gone', html('gone', ''), {}, 404);
  const crawled = async (collection: string, settings: Partial<CrawlSettings>) => {
    await crawl(archive, [web.url(HOST)], { ...QUICK, ...settings, collection }, { resolve: web.resolve });
    return site.requested().sort();
  };
  const exclude = ['/unwanted', '/out/'];
  assert.deepEqual(await crawled('excluding', { exclude }), ['/', '/a', '/gone', 'far /wanted.png']);
  assert.deepEqual(await crawled('html', { exclude, htmlOnly: true }), ['/', '/a', '/gone']);
});

test('a picture that a sitemap lists for a visited page is captured by the crawl, or by a recrawl if the picture is new', async (t) => {
  const site = await startIllustrated(t);
  const { web } = site;
  const archive = await makeArchive(t, { clock: Date.now });
  const picture = (name: string) => web.url('far.test', `/${name}.png`);
  web.put(HOST, '/robots.txt', '', { 'content-type': 'text/plain' });
  const put = (names: readonly string[]) => site.put([{ path: '/a', pictures: names.map(picture) }]);
  put(['one']);
  web.put(HOST, '/', html('home', '<a href="/a">x</a>'));
  web.put(HOST, '/a', html('a', '', '<link rel="sitemap" href="/sitemap.xml">'));
  const options = { resolve: web.resolve };
  await crawl(archive, [web.url(HOST)], { ...QUICK, collection: 'again' }, options);
  assert.deepEqual(site.requested(), ['/', '/a', 'far /one.png']);
  put(['one', 'two']);
  await recrawl(archive, 'again', { fixed: true }, options);
  assert.deepEqual(site.requested().sort(), ['/', '/a', 'far /one.png', 'far /two.png']);
});

test('a crawl from seeds ignores embeds that a sitemap lists for pages of an earlier crawl only', async (t) => {
  const site = await startIllustrated(t);
  const { web } = site;
  const archive = await makeArchive(t, { clock: Date.now });
  const picture = (name: string) => web.url('far.test', `/${name}.png`);
  site.put([
    { path: '/in/a', pictures: [picture('a')] },
    { path: '/out/b', pictures: [picture('b')] },
  ]);
  const options = { resolve: web.resolve };
  await crawl(archive, [web.url(HOST)], { ...QUICK, collection: 'twice' }, options);
  assert.deepEqual(site.requested().sort(), ['/', '/in/a', '/out/b', 'far /a.png', 'far /b.png']);
  await crawl(archive, [web.url(HOST)], { ...QUICK, collection: 'twice', exclude: ['/out/'] }, options);
  assert.deepEqual(site.requested().sort(), ['/', '/in/a', 'far /a.png']);
});

test('embeds of pages that are gone are dropped, and a limited number of embeds waits for one page', async (t) => {
  const site = await startIllustrated(t);
  const { web } = site;
  const archive = await makeArchive(t, { clock: Date.now });
  const picture = (name: string | number) => web.url('far.test', `/${name}.png`);
  const put = (day: number) => {
    site.put([
      { path: '/gone', pictures: [picture(`gone-${day}`)] },
      { path: '/broken', pictures: Array.from({ length: 6000 }, (_, number) => picture(day * 6000 + number)) },
    ]);
    web.put(HOST, '/gone', html('gone', ''), {}, 404);
    web.put(HOST, '/broken', html('broken', ''), {}, 500);
  };
  const waiting = () => {
    const database = new DatabaseSync(join(archive.directory, 'crawl.sqlite'), { readOnly: true });
    const rows = database
      .prepare('SELECT url.url, count(*) AS count FROM need JOIN url USING (host, key, page) GROUP BY url.url')
      .all();
    database.close();
    return Object.fromEntries(rows.map(({ url, count }) => [new URL(String(url)).pathname, count]));
  };
  const options = { resolve: web.resolve };
  put(0);
  const first = await crawl(archive, [web.url(HOST)], { ...QUICK, collection: 'waiting' }, options);
  assert.deepEqual([waiting(), first.counts.trapped], [{ '/broken': 6000 }, 0]);
  put(1);
  const again = await recrawl(archive, 'waiting', { fixed: true }, options);
  assert.deepEqual([waiting(), again.counts.traps], [{ '/broken': 10_000 }, { embeds: 2000 }]);
});

test('endless chains of sitemaps are ended and counted, and all pages are still crawled', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  web.put(HOST, '/robots.txt', 'Sitemap: /map/0', { 'content-type': 'text/plain' });
  web.put(HOST, '/', html('home', '<a href="/page">page</a>'));
  web.put(HOST, '/page', html('page', ''));
  let named = 0;
  const index = () => {
    const more = Array.from({ length: 5 }, () => `<sitemap><loc>${web.url(HOST, `/map/${++named}`)}</loc></sitemap>`);
    return `<sitemapindex>${more.join('')}</sitemapindex>`;
  };
  for (let at = 0; at < 5_000; at++)
    web.at(HOST, `/map/${at}`, (_, response, end) => {
      response.writeHead(200, { 'content-type': 'application/xml' });
      end();
      response.end(index());
    });
  const archive = await makeArchive(t, { clock: Date.now });
  const settings = { allowPrivate: true, delayMs: 0, retries: 0, hostConcurrency: 8 };
  // Without a limit the crawl would request all sitemaps.
  const { counts, outcome } = await crawl(archive, [web.url(HOST)], settings, { resolve: web.resolve });
  assert.equal(outcome, 'done');
  assert.equal(counts.pages, 2);
  const requested = web.requestLog.filter(({ path }) => path.startsWith('/map/')).length;
  assert.ok(requested >= 500 && requested < 1500, `${requested} sitemaps were requested`);
  assert.ok((counts.traps.sitemaps ?? 0) > 1000, `${counts.traps.sitemaps} are counted`);
});
