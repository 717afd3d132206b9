/**
 * The boundaries of a crawl. Whatever a site does, the crawl must not reach private networks, leave its scope, or
 * request excluded URLs.
 */
import assert from 'node:assert/strict';
import type { LookupFunction } from 'node:net';
import { test } from 'node:test';
import { crawl, FETCH_DEFAULTS, HttpFetcher, putSchedule, recrawl, schedules } from '../../src/crawl/index.ts';
import { allCaptures, makeArchive } from '../archive/trial-archive.ts';
import { html, TestWeb } from './test-web.ts';

const QUICK = { delayMs: 0, hostConcurrency: 4, retries: 0, retryDelayMs: 5 };

test('private and loopback addresses are refused, however they are written and whatever name resolves to them', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  web.put('127.0.0.1', '/', html('inside', ''));
  const refused = async (url: string, resolve: LookupFunction) => {
    const fetcher = new HttpFetcher({ ...FETCH_DEFAULTS, clock: Date.now, resolve });
    const fetched = await fetcher.fetch({ url });
    await fetcher.close();
    return fetched.kind === 'failure' ? fetched.reason : `status ${fetched.status}`;
  };
  for (const host of ['127.0.0.1', '[::1]', '0x7f000001', '2130706433', '127.1', '[::ffff:127.0.0.1]'])
    assert.equal(await refused(`http://${host}:${web.port}/`, web.resolve), 'address-refused', host);
  assert.equal(await refused(web.url('site.test'), web.resolve), 'address-refused');
  assert.equal(web.requestLog.length, 0, 'nothing was sent');
});

test('a crawl that may not reach private addresses captures nothing there, and reports why', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const report = await crawl(archive, [web.url('site.test')], { ...QUICK, robots: 'ignore' }, { resolve: web.resolve });
  assert.deepEqual(report.counts.failures, { 'address-refused': 1 });
  assert.deepEqual(await allCaptures(archive), []);
});

test('links to a host are followed once a seed redirected there, even if the host was out of scope before', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const numbers = Array.from({ length: 24 }, (_, number) => number);
  const lateAsked = Promise.withResolvers<void>();
  const scopeGrown = Promise.withResolvers<void>();
  const answerAfter = (host: string, path: string, gate: Promise<void>, status: number, body: string, fields = {}) =>
    web.at(host, path, (_, response, end) => {
      if (path.startsWith('/late')) lateAsked.resolve();
      if (host === 'new.test') scopeGrown.resolve();
      void gate.then(() => {
        response.writeHead(status, { 'content-type': 'text/html', ...fields });
        end();
        response.end(body);
      });
    });
  const outside = `<a href="${web.url('new.test', '/only-named')}">x</a>`;
  const late = numbers.map((number) => `<a href="/late${number}">x</a>`).join('');
  web.put('site.test', '/', html('home', numbers.map((number) => `<a href="/early${number}">x</a>`).join('')));
  for (const number of numbers) {
    web.put('site.test', `/early${number}`, html(`early ${number}`, outside + late));
    // Late pages from 12 on link to the new host, and may be read many at a time.
    const named = number < 12 ? '' : outside;
    answerAfter('site.test', `/late${number}`, scopeGrown.promise, 200, html(`late ${number}`, named));
  }
  // This seed answers only after the early pages were read.
  answerAfter('old.test', '/', lateAsked.promise, 302, '', { location: web.url('new.test') });
  answerAfter('new.test', '/', Promise.resolve(), 200, html('new', ''));
  answerAfter('new.test', '/only-named', Promise.resolve(), 200, html('only named', ''));
  const settings = { ...QUICK, hostConcurrency: 24, concurrency: 32, allowPrivate: true, robots: 'ignore' } as const;
  const seeds = [web.url('site.test'), web.url('old.test')];
  const { counts } = await crawl(archive, seeds, settings, { resolve: web.resolve });
  assert.equal(web.requests('new.test', '/only-named').length, 1);
  assert.equal(counts.pages, 1 + 24 + 24 + 1 + 2);
});

test('scopes are limited to the host, the domain, the prefix or the list, and include the targets of seeds', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const links = ['/dir/b', '/other', web.url('sub.site.test'), web.url('far.test')];
  web.put('site.test', '/dir/a', html('a', links.map((url) => `<a href="${url}">x</a>`).join('')));
  for (const [host, path] of [
    ['site.test', '/dir/b'],
    ['site.test', '/other'],
    ['sub.site.test', '/'],
    ['far.test', '/'],
  ] as const)
    web.put(host, path, html(`${host}${path}`, ''));
  web.redirect('old.test', '/', web.url('site.test', '/dir/a'));
  const visited = async (collection: string, settings: object, seed = web.url('site.test', '/dir/a')) => {
    await crawl(
      archive,
      [seed],
      { ...QUICK, ...settings, collection, allowPrivate: true, robots: 'ignore' },
      { resolve: web.resolve },
    );
    const number = await archive.collections.number(collection);
    const captures = (await allCaptures(archive)).filter((capture) => capture.collection === number);
    return captures.map(({ url }) => url.replace(/^http:\/\/|:\d+/g, '')).sort();
  };
  assert.deepEqual(await visited('host', {}), ['site.test/dir/a', 'site.test/dir/b', 'site.test/other']);
  assert.deepEqual(await visited('prefix', { scope: 'prefix' }), ['site.test/dir/a', 'site.test/dir/b']);
  assert.deepEqual(await visited('list', { scope: 'list' }), ['site.test/dir/a']);
  assert.deepEqual(await visited('domain', { scope: 'domain' }), [
    'site.test/dir/a',
    'site.test/dir/b',
    'site.test/other',
    'sub.site.test/',
  ]);
  assert.deepEqual(await visited('depth', { depthMax: 0 }), ['site.test/dir/a']);
  assert.deepEqual(await visited('include', { include: ['/dir/'] }), ['site.test/dir/a', 'site.test/dir/b']);
  assert.deepEqual(await visited('exclude', { exclude: ['other'] }), ['site.test/dir/a', 'site.test/dir/b']);
  const moved = await visited('moved', {}, web.url('old.test'));
  assert.deepEqual(moved, ['old.test/', 'site.test/dir/a', 'site.test/dir/b', 'site.test/other']);
});

test('a pattern that takes too long ends the crawl with an error, and the crawl can be resumed with another pattern', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const path = `/${'a'.repeat(100)}-b`;
  web.put('site.test', '/', html('home', `<a href="${path}">x</a><a href="/files/a/b/c/">x</a>`));
  web.put('site.test', path, html('long', ''));
  const settings = { ...QUICK, allowPrivate: true, robots: 'ignore' } as const;
  const run = (pattern: string) =>
    crawl(archive, [web.url('site.test')], { ...settings, exclude: [pattern] }, { resolve: web.resolve });
  await assert.rejects(run('^http://[^/]+/(\\w+/?)+$'), { code: 'BAD_ARGUMENT', message: /takes too long/ });
  const { counts } = await run('/files/(\\w/)+$');
  assert.deepEqual([counts.pages, counts.failed, web.requests('site.test', '/').length], [2, 0, 1]);
});

test('a frame that redirects elsewhere is captured as an embed, without a change of scope', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  web.put('site.test', '/', html('home', '<iframe src="/frame"></iframe><a href="/deep">x</a>'));
  web.put('site.test', '/deep', html('deep', '<iframe src="/frame2"></iframe><img src="/image"><a href="/out">x</a>'));
  web.redirect('site.test', '/frame', '/moved-frame');
  web.redirect('site.test', '/moved-frame', web.url('far.test', '/player'));
  web.redirect('site.test', '/frame2', web.url('far.test', '/player2'));
  web.redirect('site.test', '/image', web.url('far.test', '/image.png'));
  web.redirect('site.test', '/out', web.url('far.test', '/page'));
  for (const path of ['/player', '/player2']) web.put('far.test', path, html(path, '<a href="/more">x</a>'));
  const settings = { ...QUICK, allowPrivate: true, robots: 'ignore' as const };
  const { counts } = await crawl(archive, [web.url('site.test')], settings, { resolve: web.resolve });
  assert.deepEqual(
    web
      .requests('far.test')
      .map(({ path }) => path)
      .sort(),
    ['/image.png', '/player', '/player2'],
  );
  assert.equal(counts.pages, 6, 'frames on the site count as pages');
});

test('the embeds of a page behind many redirects are captured', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  for (let step = 0; step < 15; step++) web.redirect('site.test', `/${step}`, `/${step + 1}`);
  web.put('site.test', '/15', html('landed', '', '<link rel="stylesheet" href="/style.css">'));
  web.put('site.test', '/style.css', 'p { background: url(/styled.png) }', { 'content-type': 'text/css' });
  web.put('site.test', '/styled.png', Buffer.alloc(2000, 2), { 'content-type': 'image/png' });
  const settings = { ...QUICK, allowPrivate: true, robots: 'ignore' as const };
  const report = await crawl(archive, [web.url('site.test', '/0')], settings, { resolve: web.resolve });
  assert.equal(web.requests('site.test', '/styled.png').length, 1);
  assert.deepEqual([report.counts.pages, report.counts.trapped], [16, 0]);
});

test('an invalid collection name is refused before any request', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const seeds = [web.url('site.test')];
  const refusal = { code: 'BAD_ARGUMENT' } as const;
  await assert.rejects(
    crawl(archive, seeds, { collection: 'a/b', allowPrivate: true }, { resolve: web.resolve }),
    refusal,
  );
  await assert.rejects(putSchedule(archive, { collection: 'a/b', every: 'day', seeds, settings: {} }), refusal);
  assert.deepEqual([web.requestLog.length, await schedules(archive)], [0, []]);
});

test('a crawl that a limit stopped can be continued', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  for (let page = 0; page < 30; page++)
    web.put('site.test', `/${page}`, html(`page ${page}`, `<a href="/${page + 1}">x</a><a href="/${page + 2}">x</a>`));
  web.put('site.test', '/2', html('page 2', '<a href="/broken">x</a><a href="/3">x</a><a href="/4">x</a>'));
  web.raw('site.test', '/broken', 'nothing that anybody would understand\r\n\r\n');
  const settings = { ...QUICK, allowPrivate: true, robots: 'ignore' as const };
  const seeds = [web.url('site.test', '/0')];
  const options = { resolve: web.resolve };
  const first = await crawl(archive, seeds, { ...settings, pagesMax: 7 }, options);
  assert.deepEqual([first.outcome, first.limit, first.counts.pages], ['limited', 'pages', 7]);
  assert.deepEqual([first.counts.failed, first.failedUrls.length], [1, 1]);
  await assert.rejects(crawl(archive, [web.url('site.test', '/5')], settings, options), { code: 'CRAWL_UNFINISHED' });
  const second = await crawl(archive, seeds, { ...settings, bytesMax: 20_000 }, options);
  assert.deepEqual([second.outcome, second.limit], ['limited', 'bytes']);
  const stop = new AbortController();
  const third = await crawl(archive, seeds, settings, {
    ...options,
    signal: AbortSignal.any([stop.signal, AbortSignal.abort()]),
  });
  assert.equal(third.outcome, 'interrupted');
  const last = await crawl(archive, seeds, settings, options);
  assert.equal(last.outcome, 'done');
  assert.deepEqual(last.failedUrls, first.failedUrls, 'failures before the interruption are still reported');
  const requested = web.requestLog.map(({ path }) => path).filter((path) => !['/30', '/31', '/broken'].includes(path));
  assert.equal(requested.length, 30);
  assert.equal(new Set(requested).size, 30, 'nothing was requested twice');
});

test('at a limit of pages the crawl still captures the embeds of captured pages', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const style = '<link rel="stylesheet" href="/style.css">';
  web.put('site.test', '/', html('home', '<a href="/next">x</a><img src="/moved.png"><iframe src="/framed">', style));
  web.redirect('site.test', '/moved.png', web.url('far.test', '/picture.png'));
  web.put('far.test', '/picture.png', Buffer.alloc(2000, 1), { 'content-type': 'image/png' });
  web.put('site.test', '/style.css', 'p { background: url(/styled.png) }', { 'content-type': 'text/css' });
  web.put('site.test', '/next', html('next', '<img src="/of-next.png">'));
  web.put('site.test', '/framed', html('framed', ''));
  let busy = 1;
  web.at('site.test', '/styled.png', (_, response, end) => {
    response.writeHead(busy-- > 0 ? 503 : 200, { 'content-type': 'image/png' });
    end();
    response.end(Buffer.alloc(2000, 2));
  });
  const settings = {
    ...QUICK,
    allowPrivate: true,
    robots: 'ignore' as const,
    pagesMax: 1,
    retries: 1,
    retryDelayMs: 5,
  };
  const options = { resolve: web.resolve };
  const report = await crawl(archive, [web.url('site.test')], settings, options);
  assert.deepEqual([report.outcome, report.limit, report.counts.pages, report.queued], ['limited', 'pages', 1, 2]);
  const requested = new Set(web.requestLog.map(({ path }) => path));
  assert.deepEqual([...requested].sort(), ['/', '/moved.png', '/picture.png', '/style.css', '/styled.png']);
  const rest = await crawl(archive, [web.url('site.test')], { ...settings, pagesMax: 10 }, options);
  assert.deepEqual([rest.outcome, rest.counts.pages, rest.queued], ['done', 3, 0]);
  assert.equal(web.requestLog.length, 9, 'each once, except the busy one');
});

test('a picture that links to itself, as in galleries, is an embed and not a page', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  web.put('site.test', '/', html('home', '<a href="/picture.png"><img src="/picture.png"></a> <a href="/next">x</a>'));
  web.put('site.test', '/picture.png', Buffer.alloc(2000, 1), { 'content-type': 'image/png' });
  const settings = { ...QUICK, allowPrivate: true, robots: 'ignore' as const, pagesMax: 1 };
  const report = await crawl(archive, [web.url('site.test')], settings, { resolve: web.resolve });
  assert.deepEqual([report.limit, report.counts.pages, report.queued], ['pages', 1, 1]);
  assert.deepEqual(
    web.requestLog.map(({ path }) => path),
    ['/', '/picture.png'],
  );
});

test('a picture that is queued as a page becomes an embed when a page shows it, even at the limit of pages', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const gallery = '<a href="/view">x</a> <a href="/1">x</a> <a href="/picture.png">x</a> <a href="/2">x</a>';
  web.put('site.test', '/', html('home', gallery));
  web.put('site.test', '/view', html('view', '<img src="/picture.png">'));
  for (const path of ['/1', '/2']) web.put('site.test', path, html(path, ''));
  web.put('site.test', '/picture.png', Buffer.alloc(2000, 1), { 'content-type': 'image/png' });
  const settings = { ...QUICK, allowPrivate: true, robots: 'ignore' as const, pagesMax: 2, hostConcurrency: 1 };
  const options = { resolve: web.resolve };
  const report = await crawl(archive, [web.url('site.test')], settings, options);
  assert.deepEqual([report.limit, report.counts.pages, report.queued], ['pages', 2, 2]);
  const requested = () => web.requestLog.map(({ path }) => path);
  assert.deepEqual(requested(), ['/', '/view', '/picture.png']);
  const rest = await crawl(archive, [web.url('site.test')], { ...settings, pagesMax: 10 }, options);
  assert.deepEqual([rest.outcome, rest.counts.pages, rest.queued], ['done', 4, 0]);
  assert.deepEqual(requested(), ['/', '/view', '/picture.png', '/1', '/2']);
});

test('a picture that is being visited as a page, or waits for a retry, is not fetched again when a page shows it', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  web.put('site.test', '/', html('home', '<a href="/slow.png">x</a> <a href="/busy.png">x</a> <a href="/view">x</a>'));
  web.put('site.test', '/view', html('view', '<img src="/slow.png"> <img src="/busy.png">'));
  const picture = { 'content-type': 'image/png' };
  web.at('site.test', '/slow.png', (_, response, end) => {
    setTimeout(() => {
      response.writeHead(200, picture);
      end();
      response.end(Buffer.alloc(2000, 1));
    }, 1500);
  });
  let tries = 0;
  web.at('site.test', '/busy.png', (_, response, end) => {
    response.writeHead(tries++ === 0 ? 500 : 200, picture);
    end();
    if (tries === 1) response.destroy();
    else response.end(Buffer.alloc(2000, 2));
  });
  const settings = {
    ...QUICK,
    allowPrivate: true,
    robots: 'ignore' as const,
    hostConcurrency: 4,
    retries: 2,
    retryDelayMs: 1500,
  };
  const report = await crawl(archive, [web.url('site.test')], settings, { resolve: web.resolve });
  assert.deepEqual([report.outcome, report.queued, report.counts.captures], ['done', 0, 4]);
  assert.deepEqual(web.requestLog.map(({ path }) => path).sort(), [
    '/',
    '/busy.png',
    '/busy.png',
    '/slow.png',
    '/view',
  ]);
});

test('a preview picture for other sites is captured as an embed if it is in the scope of pages', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const named = (url: string) => `<meta property="og:image" content="${url}">`;
  const head = named('/picture.png') + named(web.url('far.test', '/far.png'));
  web.put('site.test', '/', html('home', '<a href="/next">x</a>', head));
  web.put('site.test', '/picture.png', Buffer.alloc(2000, 1), { 'content-type': 'image/png' });
  web.put('site.test', '/next', html('next', ''));
  const settings = { ...QUICK, allowPrivate: true, robots: 'ignore' as const, pagesMax: 2 };
  const report = await crawl(archive, [web.url('site.test')], settings, { resolve: web.resolve });
  assert.deepEqual([report.counts.pages, report.counts.outOfScope, report.queued], [2, 1, 0]);
  assert.deepEqual(
    web.requestLog.map(({ path }) => path),
    ['/', '/picture.png', '/next'],
  );
});

test('with htmlOnly, a preview link for other sites is kept if it leads to HTML', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const named = (property: string, url: string) => `<meta property="${property}" content="${url}">`;
  const head = named('og:image', '/both') + named('og:video', '/player') + named('og:image', '/picture.png');
  web.put('site.test', '/', html('home', '<a href="/both">x</a>', head));
  web.put('site.test', '/both', html('both', ''));
  web.put('site.test', '/player', html('player', ''));
  web.put('site.test', '/picture.png', Buffer.alloc(2000, 1), { 'content-type': 'image/png' });
  const settings = { ...QUICK, allowPrivate: true, robots: 'ignore' as const, htmlOnly: true };
  const report = await crawl(archive, [web.url('site.test')], settings, { resolve: web.resolve });
  assert.deepEqual([report.counts.pages, report.counts.skipped], [3, 1]);
});

test('pages that name each other as preview pictures do not escape a limit of pages', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  for (let number = 0; number < 9; number++)
    web.put('site.test', `/${number}`, html('x', '', `<meta property="og:image" content="/${number + 1}">`));
  const settings = { ...QUICK, allowPrivate: true, robots: 'ignore' as const, pagesMax: 1 };
  const report = await crawl(archive, [web.url('site.test', '/0')], settings, { resolve: web.resolve });
  assert.deepEqual([web.requestLog.length, report.counts.pages, report.queued], [2, 1, 1]);
});

test('a limit of time ends an endless body, even on the last allowed page, and this page stays queued', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const start = Date.now();
  const archive = await makeArchive(t, { clock: () => start + (Date.now() - start) * 20 });
  web.put('site.test', '/', html('home', '<a href="/endless">x</a>'));
  web.at('site.test', '/endless', (_, response, end) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    end();
    const trickle = setInterval(() => response.write('<p>and on, and on, and on, and on'), 5);
    response.on('close', () => clearInterval(trickle));
  });
  const settings = { ...QUICK, allowPrivate: true, robots: 'ignore' as const, timeMsMax: 3000, pagesMax: 2 };
  const report = await crawl(archive, [web.url('site.test')], settings, { resolve: web.resolve });
  assert.deepEqual([report.outcome, report.limit, report.counts.pages, report.queued], ['limited', 'time', 1, 1]);
  web.put('site.test', '/endless', html('not so endless', ''));
  const later = await crawl(archive, [web.url('site.test')], settings, { resolve: web.resolve });
  assert.deepEqual([later.counts.pages, later.queued], [2, 0]);
});

test('a crawl keeps its speed when the clock of the machine is set back', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  let shiftMs = 0;
  const archive = await makeArchive(t, { clock: () => Date.now() + shiftMs });
  const paths = ['/a', '/b', '/c'];
  web.put('site.test', '/', html('home', paths.map((path) => `<a href="${path}">x</a>`).join('')));
  for (const path of paths)
    web.at('site.test', path, (_, response, end) => {
      shiftMs -= 3600_000;
      response.writeHead(200, { 'content-type': 'text/html' });
      end();
      response.end(html(path, ''));
    });
  const settings = { ...QUICK, delayMs: 20, allowPrivate: true, robots: 'ignore' } as const;
  const signal = AbortSignal.timeout(30_000);
  const { outcome, counts } = await crawl(archive, [web.url('site.test')], settings, { resolve: web.resolve, signal });
  assert.deepEqual([outcome, counts.pages], ['done', 4]);
});

test('robots.txt is fetched again when the clock was set back by days, since a file from the future is not fresh', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  let shiftMs = 0;
  const archive = await makeArchive(t, { clock: () => Date.now() + shiftMs });
  web.at('site.test', '/', (_, response, end) => {
    shiftMs -= 48 * 3600_000;
    response.writeHead(200, { 'content-type': 'text/html' });
    end();
    response.end(html('home', `<a href="/a">x</a><img src="${web.url('other.test', '/x.gif')}">`));
  });
  web.put('site.test', '/a', html('a', ''));
  web.put('other.test', '/x.gif', 'a picture', { 'content-type': 'image/gif' });
  const settings = { ...QUICK, allowPrivate: true };
  const signal = AbortSignal.timeout(10_000);
  const { outcome, counts } = await crawl(archive, [web.url('site.test')], settings, { resolve: web.resolve, signal });
  assert.deepEqual([outcome, counts.pages], ['done', 2]);
  assert.equal(web.requests('other.test', '/x.gif').length, 1);
  assert.equal(web.requests('other.test', '/robots.txt').length, 1);
  assert.equal(web.requests('site.test', '/robots.txt').length, 2);
});

test('a crawl that is resumed after days fetches robots.txt again', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  let shiftMs = 0;
  const archive = await makeArchive(t, { clock: () => Date.now() + shiftMs });
  web.put('site.test', '/robots.txt', 'User-agent: *\nAllow: /\n', { 'content-type': 'text/plain' });
  web.put('site.test', '/', html('home', '<a href="/a">a</a><a href="/b">b</a>'));
  for (const path of ['/a', '/b']) web.put('site.test', path, html(path, ''));
  const settings = { ...QUICK, allowPrivate: true };
  const first = await crawl(archive, [web.url('site.test')], { ...settings, pagesMax: 1 }, { resolve: web.resolve });
  assert.equal(first.outcome, 'limited');
  shiftMs += 48 * 3600_000;
  web.put('site.test', '/robots.txt', 'User-agent: *\nDisallow: /b\n', { 'content-type': 'text/plain' });
  const second = await crawl(archive, [web.url('site.test')], settings, { resolve: web.resolve });
  assert.deepEqual([second.outcome, second.counts.pages, second.counts.forbidden], ['done', 2, 1]);
  assert.equal(web.requests('site.test', '/robots.txt').length, 2);
});

test('a crawl with htmlOnly keeps only HTML', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  web.put('site.test', '/', html('home', '<img src="/a.png"><a href="/b.zip">x</a><a href="/c">x</a>'));
  web.put('site.test', '/a.png', 'png', { 'content-type': 'image/png' });
  web.put('site.test', '/b.zip', 'zip', { 'content-type': 'application/zip' });
  web.put('site.test', '/c', html('c', ''));
  const report = await crawl(
    archive,
    [web.url('site.test')],
    { ...QUICK, htmlOnly: true, allowPrivate: true, robots: 'ignore' },
    { resolve: web.resolve },
  );
  assert.deepEqual((await allCaptures(archive)).map(({ url }) => new URL(url).pathname).sort(), ['/', '/c']);
  assert.equal(report.counts.skipped, 1);
});

test('a page that embeds itself, or is embedded during its visit, stays a page', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  web.put('site.test', '/', html('home', '<a href="/self">x</a> <a href="/other">x</a>'));
  web.put('site.test', '/self', html('self', '<img src="/self"> <img src="/other">'));
  web.put('site.test', '/other', html('other', ''));
  const settings = { ...QUICK, collection: 'pages', allowPrivate: true, robots: 'ignore' as const, hostConcurrency: 2 };
  const options = { resolve: web.resolve };
  const first = await crawl(archive, [web.url('site.test')], settings, options);
  assert.deepEqual([first.counts.pages, first.queued], [3, 0]);
  const again = await recrawl(archive, settings.collection, { fixed: true }, options);
  assert.deepEqual([again.counts.pages, again.queued], [3, 0]);
});

test('a prefetched picture that is queued as a page is fetched for the next page that shows it', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const links = '<a href="/hint">x</a> <a href="/view">x</a> <a href="/picture.png">x</a> <a href="/1">x</a>';
  web.put('site.test', '/', html('home', links));
  web.put('site.test', '/hint', html('hint', '', '<link rel="preload" as="fetch" href="/picture.png">'));
  web.put('site.test', '/view', html('view', '<img src="/picture.png">'));
  web.put('site.test', '/1', html('1', ''));
  web.put('site.test', '/picture.png', Buffer.alloc(2000, 1), { 'content-type': 'image/png' });
  const settings = { ...QUICK, allowPrivate: true, robots: 'ignore' as const, pagesMax: 3, hostConcurrency: 1 };
  const report = await crawl(archive, [web.url('site.test')], settings, { resolve: web.resolve });
  assert.deepEqual([report.limit, report.counts.pages, report.queued], ['pages', 3, 1]);
  assert.deepEqual(
    web.requestLog.map(({ path }) => path),
    ['/', '/hint', '/view', '/picture.png'],
  );
});
