/** When the sitemaps of a site are read, and when not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CrawlSettings, crawl } from '../../src/crawl/index.ts';
import { makeArchive } from '../archive/trial-archive.ts';
import { html, TestWeb } from './test-web.ts';

const HOST = 'site.test';

/** A site with a page that stands in its sitemap alone. */
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

test('sitemaps are read by every crawl from seeds, though robots.txt is known from another', async (t) => {
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

test('sitemaps keep to the depth and to what is excluded', async (t) => {
  const web = await startSite();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const asked = async (collection: string, settings: Partial<CrawlSettings>) => {
    const before = web.ledger.length;
    const whole = { ...settings, collection, allowPrivate: true, delayMs: 0, retries: 0 };
    await crawl(archive, [web.url(HOST)], whole, { resolve: web.resolve });
    const paths = web.ledger.slice(before).map(({ path }) => path);
    return paths.filter((path) => path !== '/robots.txt').sort();
  };
  assert.deepEqual(await asked('seeds', { depthMax: 0 }), ['/']);
  assert.deepEqual(await asked('excluded', { exclude: ['/sitemap\\.xml'] }), ['/', '/listed-second', '/second.xml']);
});
