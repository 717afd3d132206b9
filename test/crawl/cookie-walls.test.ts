/** Sites that redirect clients without their cookie. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type CrawlOptions, type CrawlSettings, crawl } from '../../src/crawl/index.ts';
import { allCaptures, makeArchive } from '../archive/trial-archive.ts';
import { html, TestWeb } from './test-web.ts';

const SITE = 'site.test';
const PAGES = ['/', '/one', '/two'];

async function walled(t: TestContext) {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const links = [...PAGES.slice(1), web.url('other.test', '/picture')];
  const body = html('home', `${links.map((path) => `<a href="${path}">x</a>`).join('')}<img src="${links.at(-1)}">`);
  return {
    web,
    /** Puts a page that gives another answer to clients without the cookie of this name. */
    put: (path: string, without: (path: string, name: string) => Record<string, string>, name = 'wall') =>
      web.at(SITE, path, ({ headers }, response, end) => {
        const isIn = headers.cookie?.includes(`${name}=`) ?? false;
        response.writeHead(isIn ? 200 : 302, { 'content-type': 'text/html', ...(isIn ? {} : without(path, name)) });
        end();
        response.end(isIn ? body : '');
      }),
    crawl: (settings: Partial<CrawlSettings> = {}, options: CrawlOptions = {}) =>
      crawl(
        archive,
        [web.url(SITE)],
        { allowPrivate: true, delayMs: 0, retries: 0, ...settings },
        { resolve: web.resolve, ...options },
      ),
    statuses: async () => {
      const captures = (await allCaptures(archive)).filter(({ url }) =>
        PAGES.some((path) => url === web.url(SITE, path)),
      );
      return captures.map(({ url, status }) => `${new URL(url).pathname} ${status}`).sort();
    },
  };
}

test('a site that redirects every page to itself until the client sends its cookie is captured', async (t) => {
  const { web, put, crawl, statuses } = await walled(t);
  for (const path of PAGES) put(path, () => ({ location: path, 'set-cookie': 'wall=up; Path=/; HttpOnly' }));
  const { outcome, counts } = await crawl();
  assert.deepEqual(await statuses(), ['/ 200', '/ 302', '/one 200', '/two 200']);
  assert.deepEqual([outcome, counts.pages], ['done', 4]);
  assert.deepEqual(new Set(web.requests('other.test').map(({ fields }) => fields.cookie)), new Set([undefined]));
});

test('a crawl that was interrupted at a redirect for a cookie passes the redirect when it is resumed', async (t) => {
  const { put, crawl, statuses } = await walled(t);
  for (const path of PAGES) put(path, () => ({ location: path, 'set-cookie': 'wall=up' }));
  const stop = new AbortController();
  const onProgress: CrawlOptions['onProgress'] = ({ fetched }) => {
    if (fetched > 0) stop.abort();
  };
  const robots = 'ignore';
  const first = await crawl({ robots, delayMs: 60_000 }, { signal: stop.signal, onProgress });
  assert.deepEqual([first.outcome, await statuses()], ['interrupted', ['/ 302']]);
  assert.equal((await crawl({ robots })).outcome, 'done');
  assert.deepEqual(await statuses(), ['/ 200', '/ 302', '/one 200', '/two 200']);
});

for (const [who, onPage, onGate] of [
  ['the page', 'wall=up', 'else=1'],
  ['the gate', 'else=1', 'wall=up'],
] as const)
  test(`a site that redirects pages through a gate is captured when ${who} sets the cookie`, async (t) => {
    const { web, put, crawl, statuses } = await walled(t);
    for (const path of PAGES) put(path, () => ({ location: `/gate?to=${path}`, 'set-cookie': onPage }));
    web.at(SITE, '/gate', ({ url }, response, end) => {
      response.writeHead(302, { location: url!.split('=')[1]!, 'set-cookie': onGate });
      end();
      response.end();
    });
    await crawl();
    assert.deepEqual(await statuses(), ['/ 200', '/ 302', '/one 200', '/two 200']);
  });

test('a crawl gives up a site that always wants another cookie', async (t) => {
  const { web, put, crawl } = await walled(t);
  let number = 0;
  put('/', () => ({ location: '/', 'set-cookie': `n${number++}=1` }), 'never');
  const { outcome } = await crawl();
  assert.equal(outcome, 'done');
  assert.ok(web.requests(SITE, '/').length <= 21);
});

test('cookies of ordinary pages, cookies of other domains and expired cookies are not sent', async (t) => {
  const { web, crawl } = await walled(t);
  web.put(SITE, '/', html('home', '<a href="/moved">x</a><a href="/two">x</a>'), { 'set-cookie': 'page=1' });
  web.at(SITE, '/moved', (_, response, end) => {
    const cookies = [
      'a=1; Domain=test',
      'b=1; Domain=other.test',
      'c=1; Max-Age=0',
      'd=1; Secure',
      'e=1; Domain=.SITE.test',
    ];
    response.writeHead(302, { location: '/one', 'set-cookie': cookies });
    end();
    response.end();
  });
  for (const path of ['/one', '/two']) web.put(SITE, path, html(path, ''));
  await crawl({ concurrency: 1 });
  assert.deepEqual(
    ['/', '/moved', '/one'].map((path) => web.requests(SITE, path)[0]!.fields.cookie),
    [undefined, undefined, 'e=1'],
  );
});

test('a redirect that sets a cookie, such as a language, does not change other pages', async (t) => {
  const { web, crawl } = await walled(t);
  web.put(SITE, '/', html('home', '<a href="/german">x</a><a href="/one">x</a>'));
  web.put(SITE, '/german', '', { location: '/', 'set-cookie': 'language=de; Path=/' }, 302);
  web.put(SITE, '/one', html('one', '<a href="/two">x</a>'));
  web.put(SITE, '/two', html('two', ''));
  await crawl({ concurrency: 1 });
  assert.deepEqual(
    web.requests(SITE, '/two').map(({ fields }) => fields.cookie),
    [undefined],
  );
});

test('very long cookies do not hold up the crawl', { timeout: 30_000 }, async (t) => {
  const { put, crawl, statuses } = await walled(t);
  put('/', () => ({ location: '/', 'set-cookie': `odd=${' '.repeat(4000)}\xe9` }), 'never');
  await crawl();
  assert.deepEqual(await statuses(), ['/ 302']);
});
