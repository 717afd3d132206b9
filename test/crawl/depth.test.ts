/** The depth of a page does not depend on which path to it was found first. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CrawlSettings, crawl } from '../../src/crawl/index.ts';
import { allCaptures, makeArchive } from '../archive/trial-archive.ts';
import { html, TestWeb } from './test-web.ts';

const SETTINGS: Partial<CrawlSettings> = {
  delayMs: 0,
  hostConcurrency: 4,
  retries: 0,
  robots: 'ignore',
  allowPrivate: true,
  depthMax: 3,
};

type Order = { readonly slowAfter: string; readonly crossingAfter?: string };

/**
 * Two paths lead to a crossing: a long one, and a short one that is slow. From the crossing a path leads to a goal,
 * which is within the depth limit by the short path only. Answers wait for other requests. The picture of a page is
 * requested after the page was read.
 */
async function walk(t: Parameters<typeof makeArchive>[0], { slowAfter, crossingAfter }: Order) {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const gate = (path: string) => {
    if (!gates.has(path)) gates.set(path, Promise.withResolvers());
    return gates.get(path)!;
  };
  const put = (path: string, links: readonly string[], after?: string) =>
    web.at('site.test', path, (_, response, end) => {
      gate(path).resolve();
      void (after === undefined ? Promise.resolve() : gate(after).promise).then(() => {
        const anchors = links.map((link) => `<a href="${link}">x</a>`);
        response.writeHead(200, { 'content-type': 'text/html' });
        end();
        response.end(html(path, `${anchors.join('')}<img src="${path}.gif">`));
      });
    });
  const picture = (path: string) =>
    web.at('site.test', `${path}.gif`, (_, response, end) => {
      gate(`${path}.gif`).resolve();
      end();
      response.end('GIF89a');
    });
  put('/', ['/slow', '/long']);
  put('/slow', ['/crossing'], slowAfter);
  put('/long', ['/longer']);
  put('/longer', ['/crossing']);
  put('/crossing', ['/goal'], crossingAfter);
  put('/goal', ['/beyond']);
  for (const path of ['/', '/slow', '/long', '/longer', '/crossing', '/goal']) picture(path);
  const archive = await makeArchive(t, { clock: Date.now });
  const report = await crawl(archive, [web.url('site.test')], SETTINGS, { resolve: web.resolve });
  return { web, archive, report };
}

const PAGES = ['/', '/slow', '/long', '/longer', '/crossing', '/goal'];

for (const [when, order] of Object.entries({
  'before it was requested': { slowAfter: '/longer.gif' },
  'during its visit': { slowAfter: '/crossing', crossingAfter: '/slow.gif' },
  'after it was visited': { slowAfter: '/crossing.gif' },
} satisfies Record<string, Order>)) {
  test(`a page has the depth of the shortest path to it, even if this path is found ${when}`, async (t) => {
    const { web, archive, report } = await walk(t, order);
    for (const path of PAGES) assert.equal(web.requests('site.test', path).length, 1, path);
    assert.equal(web.requests('site.test', '/beyond').length, 0);
    const { counts, queued } = report;
    assert.deepEqual([counts.pages, counts.captures, queued], [PAGES.length, 2 * PAGES.length, 0]);
    assert.equal((await allCaptures(archive)).length, counts.captures);
  });
}

test('a captured page is read again for its links even if its host is given up', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const gates = { crossing: Promise.withResolvers<void>(), pictures: Promise.withResolvers<void>() };
  const put = (path: string, body: string, after?: Promise<void>, status = 200, fields = {}) =>
    web.at('site.test', path, async (_, response, end) => {
      if (path === '/crossing.gif') gates.crossing.resolve();
      if (path === '/2.gif') gates.pictures.resolve();
      await after;
      response.writeHead(status, { 'content-type': 'text/html', ...fields });
      end();
      response.end(body);
    });
  const links = (...paths: string[]) => paths.map((path) => `<a href="${path}">x</a>`).join('');
  // While the pictures of the slow page are fetched, the crossing waits to be read again. Then the host asks for a
  // pause of two hours.
  put('/', html('home', links('/busy', '/slow', '/long')));
  put('/busy', '', gates.pictures.promise, 429, { 'retry-after': '7200' });
  put('/slow', html('slow', `${links('/crossing')}<img src="/1.gif"><img src="/2.gif">`), gates.crossing.promise);
  put('/long', html('long', links('/longer')));
  put('/longer', html('longer', links('/crossing')));
  put('/crossing', html('crossing', `${links('/goal')}<img src="/crossing.gif">`));
  put('/crossing.gif', 'GIF89a');
  const later = gates.pictures.promise.then(() => new Promise<void>((resolve) => setTimeout(resolve, 200)));
  for (const path of ['/1.gif', '/2.gif']) put(path, '', later, 503);
  const archive = await makeArchive(t, { clock: Date.now });
  const settings = { ...SETTINGS, hostConcurrency: 3, retryDelayMs: 1 };
  const { failedUrls } = await crawl(archive, [web.url('site.test')], settings, { resolve: web.resolve });
  assert.deepEqual(
    failedUrls.map(({ url }) => new URL(url).pathname),
    ['/goal'],
  );
});
