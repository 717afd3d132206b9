/** Crawls that render pages in a real browser: their requests, their results, and the stored records. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { Archive } from '../../src/archive/index.ts';
import { crawl, recrawl } from '../../src/crawl/index.ts';
import { Replayer } from '../../src/replay/index.ts';
import { allCaptures, audit, bytesOf, makeArchive, walk } from '../archive/trial-archive.ts';
import { browserSettings, GIF, picture, SCRIPT, setUpApplication, shell } from './browser-site.ts';
import { html, TestWeb } from './test-web.ts';

async function decodedAt(archive: Archive, url: string): Promise<Buffer[]> {
  const contents: Buffer[] = [];
  for await (const capture of archive.capturesOfUrl(url)) {
    if (capture.url !== url || capture.status !== 200) continue;
    const { payload, holderHttp } = await archive.open(capture);
    const bytes = await bytesOf(payload);
    contents.push(holderHttp?.contentCodings.includes('gzip') ? gunzipSync(bytes) : bytes);
  }
  return contents;
}

test('a page of scripts is rendered, and all its requests are captured as the site answered them', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const { seed, contents } = setUpApplication(web);
  const report = await crawl(archive, [seed], await browserSettings(), { resolve: web.resolve });
  const { counts } = report;
  const captures = await allCaptures(archive);
  const captured = new Set(captures.map(({ url }) => url));
  // No window is opened. Some browsers report the URL of the window, and then the crawl visits this URL as a page.
  const windows = web.requests('site.test', '/popup').length;
  assert.ok(windows <= 1);

  await t.test('every request that reached the site is in the archive, and no refused one reached it', () => {
    for (const { host, path } of web.requestLog) assert.ok(captured.has(web.url(host, path)), `${host}${path}`);
    for (const path of ['/socket', '/events']) assert.deepEqual(web.requests('site.test', path), [], path);
    assert.equal(counts.refused, 2, 'a socket and an event stream were wanted');
  });

  await t.test('the contents are those of the site, byte for byte', async () => {
    for (const [url, content] of contents) {
      if (url.endsWith('/popup')) continue;
      const found = await decodedAt(archive, url);
      assert.ok(found.length > 0, `nothing of ${url}`);
      for (const one of found) assert.ok(one.equals(content), url);
    }
    const moved = captures.find(({ url }) => url === web.url('site.test', '/moved.gif'));
    assert.equal(moved?.status, 301);
  });

  await t.test('a resource is requested once for all pages, and a script that repeats a request is limited', () => {
    for (const path of [
      '/',
      '/style.css',
      '/real.gif',
      '/far-down.gif',
      '/in-frame.gif',
      '/unseen.gif',
      '/frame',
      '/found',
    ])
      assert.equal(web.requests('site.test', path).length, 1, path);
    assert.equal(web.requests('site.test', '/poll').length, 3);
    assert.equal(counts.captures, web.requestLog.length);
  });

  await t.test('requests are recorded with their body, and records name the resource type', async () => {
    const records = await walk(archive);
    for (const [path, type] of [
      ['/style.css', 'stylesheet'],
      ['/dynamic.js', 'script'],
      ['/frame', 'document'],
      ['/far-down.gif', 'image'],
    ] as const) {
      const own = records.filter(
        ({ head }) => head.targetUri === web.url('site.test', path) && head.type === 'response',
      );
      assert.deepEqual([...new Set(own.map(({ head }) => head.get('warc-resource-type')))], [type], path);
      assert.match(own[0]!.head.get('warc-ip-address') ?? '', /^127\.0\.0\.1$/);
      assert.equal(own[0]!.head.get('warc-protocol'), 'http/1.1');
    }
  });

  await t.test('links that exist only in the rendered page are crawled', () => {
    assert.ok(captured.has(web.url('site.test', '/found')));
    assert.deepEqual(
      [counts.pages, counts.rendered, counts.screenshots],
      [3, 3, 3].map((count) => count + windows),
    );
    assert.equal(report.outcome, 'done');
    assert.deepEqual([counts.failed, counts.partlyRead], [0, 0], JSON.stringify(report.failedUrls));
  });

  await t.test('a screenshot of the page is stored as a resource', async () => {
    const [shot] = (await walk(archive)).filter(({ head }) => head.targetUri === `urn:view:${seed}`);
    const page = (await walk(archive)).find(({ head }) => head.targetUri === seed && head.type === 'response');
    assert.equal(shot?.head.type, 'resource');
    assert.equal(shot.head.get('content-type'), 'image/png');
    assert.equal(shot.head.get('warc-concurrent-to'), page!.head.get('warc-record-id'));
    const png = await bytesOf((await archive.get(`urn:view:${seed}`)).payload);
    assert.deepEqual([...png.subarray(0, 8)], [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [1280, 960]);
    assert.ok(png.length > 5000, `${png.length} bytes show next to nothing`);
  });

  await t.test('answers to scripts are replayed, even with a preflight under the same key', async () => {
    const replayer = new Replayer(archive, { replayOrigin: 'http://replay.test', uiOrigin: 'http://ui.test' });
    const respond = async (url: string, method: string, body: string | undefined) => {
      const { status, body: given } = await replayer.respond({
        url,
        at: captures.find((capture) => capture.url === url)!.time,
        isFromPage: true,
        modifier: 'id_',
        method,
        ...(body !== undefined && { requestBody: Buffer.from(body) }),
        fields: (name) => (name === 'content-type' && body !== undefined ? 'application/json' : undefined),
      });
      return { status, text: given instanceof Uint8Array ? Buffer.from(given) : await bytesOf(given!) };
    };
    const query = await respond(web.url('site.test', '/api/query'), 'POST', '{"ask":"all"}');
    assert.deepEqual([query.status, query.text.toString().slice(0, 28)], [200, 'answer to POST {"ask":"all"}']);
    const preflight = captures.find(({ url }) => url === web.url('api.test', '/far'));
    assert.equal(preflight?.status, 204);
    const far = await respond(web.url('api.test', '/far'), 'GET', undefined);
    assert.deepEqual([far.status, far.text.toString().slice(0, 9)], [200, 'from afar']);
    assert.deepEqual(web.requests('api.test', '/far').length, 2);
  });

  await t.test('the archive passes verification', async () => {
    assert.deepEqual(await audit(archive), []);
    assert.equal((await archive.verify()).errors, 0);
  });
});

test('pages rendered at the same time share their resources, and a limit of pages does not stop running pages', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const pages = Array.from({ length: 4 }, (_, page) => `/page-${page}`);
  const links = pages.map((path) => `<a href="${path}">x</a>`).join('');
  const needs = `document.body.append(Object.assign(new Image(), { src: '/shared.gif' }))`;
  web.put('site.test', '/', html('home', links));
  // For a range of a sound, the whole file is requested. A missing picture is requested once for all pages.
  const sound = '<audio src="/sound.mp3" preload="auto"></audio><img src="http://nowhere.invalid/x.gif">';
  for (const path of pages) web.put('site.test', path, shell(needs, `<p>${path}</p>${sound}`));
  web.put('site.test', '/sound.mp3', Buffer.alloc(5000, 1), { 'content-type': 'audio/mpeg' });
  web.at('site.test', '/shared.gif', (_, response, end) => {
    setTimeout(() => {
      response.writeHead(200, GIF);
      end();
      response.end(picture('shared'));
    }, 300);
  });
  const settings = { ...(await browserSettings()), browsers: 2, screenshots: false };
  const seeds = [web.url('site.test')];
  const first = await crawl(archive, seeds, { ...settings, pagesMax: 3 }, { resolve: web.resolve });
  assert.deepEqual([first.outcome, first.counts.pages, first.counts.rendered], ['limited', 3, 3]);
  const second = await crawl(archive, seeds, settings, { resolve: web.resolve });
  assert.deepEqual([second.outcome, second.counts.pages, second.counts.rendered], ['done', 5, 5]);
  for (const path of ['/', ...pages, '/shared.gif', '/sound.mp3'])
    assert.equal(web.requests('site.test', path).length, 1, path);
  assert.equal(web.requests('site.test', '/sound.mp3')[0]!.fields.range, undefined);
  assert.deepEqual(second.counts.failures, { dns: 1 });
});

test('links of a page in an old charset are encoded in this charset, from its HTML and from the rendered page', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const made = `const link = document.createElement('a'); link.setAttribute('href', '/made?\u00e9'); document.body.append(link);`;
  const page = Buffer.from(shell(made, '<a href="/plain?\u00e9">x</a><img src="/picture?\u00e9">'), 'latin1');
  web.put('site.test', '/', page, { 'content-type': 'text/html; charset=iso-8859-1' });
  await crawl(archive, [web.url('site.test')], await browserSettings(), { resolve: web.resolve });
  const requested = web.requestLog.map(({ path }) => path).filter((path) => path.includes('?'));
  assert.deepEqual(requested.sort(), ['/made?%E9', '/picture?%E9', '/plain?%E9']);
});

test('links in nested shadow roots of a page are found', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const site = 'site.test';
  web.put(
    site,
    '/',
    shell(`
      const put = (parent, markup) => {
        const element = document.createElement('x-part');
        element.attachShadow({ mode: 'open' }).innerHTML = markup;
        parent.append(element);
        return element.shadowRoot;
      };
      put(put(document.body, '<a href="/outer">outer</a>'), '<a href="/inner">inner</a>');
      document.querySelector('#app').innerHTML = '<a href="/plain">plain</a>';
    `),
  );
  for (const path of ['/outer', '/inner', '/plain']) web.put(site, path, html(path, ''));
  const report = await crawl(archive, [web.url(site)], await browserSettings(), { resolve: web.resolve });
  for (const path of ['/outer', '/inner', '/plain']) assert.equal(web.requests(site, path).length, 1, path);
  assert.equal(report.counts.pages, 4);
});

test('with `empty`, only pages whose HTML has almost no text are rendered', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const asks = (name: string) => `fetch('/requested-by-${name}'); document.body.append('rendered')`;
  web.put('site.test', '/', html('home', `<a href="/app">a</a><a href="/bare">b</a><script>${asks('home')}</script>`));
  web.put('site.test', '/app', shell(`${asks('app')}; document.body.innerHTML += '<a href="/inner">inner</a>'`));
  web.put('site.test', '/bare', '<!doctype html><title>bare</title><p>few words, no scripts');
  web.put('site.test', '/inner', html('inner', ''));
  for (const name of ['home', 'app']) web.put('site.test', `/requested-by-${name}`, 'requested', SCRIPT);
  const settings = { ...(await browserSettings()), browser: 'empty' as const, screenshots: false };
  const { counts } = await crawl(archive, [web.url('site.test')], settings, { resolve: web.resolve });
  assert.deepEqual([counts.pages, counts.rendered, counts.screenshots], [4, 1, 0]);
  assert.deepEqual(
    [web.requests('site.test', '/requested-by-home').length, web.requests('site.test', '/requested-by-app').length],
    [0, 1],
  );
  assert.equal(web.requests('site.test', '/inner').length, 1);
  assert.ok((await allCaptures(archive)).every(({ url }) => !url.startsWith('urn:')));
});

test('pages cannot navigate away or register service workers, and the URLs of their navigations are crawled', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const secure = 'secure.test';
  web.put(
    secure,
    '/',
    shell(`
      const said = await navigator.serviceWorker.register('/sw.js').then(() => 'registered', (error) => error.name);
      await fetch('/said-' + said);
      location.href = '/elsewhere';
    `),
  );
  web.put(secure, '/sw.js', 'self.addEventListener("fetch", () => {})', SCRIPT);
  web.put(secure, '/said-SecurityError', 'yes');
  web.put(secure, '/elsewhere', html('elsewhere', '<img src="/last.gif"><a href="/early">x</a>'));
  // Before it has loaded.
  web.put(secure, '/early', shell(`location.href = '/late'`));
  web.put(secure, '/late', html('late', ''));
  web.put(secure, '/last.gif', picture('last'), GIF);
  const settings = await browserSettings();
  const { counts, outcome } = await crawl(archive, [web.url(secure)], settings, { resolve: web.resolve });
  for (const path of ['/said-SecurityError', '/elsewhere', '/last.gif', '/late'])
    assert.equal(web.requests(secure, path).length, 1, path);
  assert.equal(web.requests(secure, '/sw.js').length, 0);
  assert.deepEqual([outcome, counts.pages, counts.rendered, counts.partlyRead], ['done', 4, 4, 0]);
  const records = await walk(archive);
  const gif = records.find(({ head }) => head.targetUri === web.url(secure, '/last.gif') && head.type === 'response');
  assert.equal(gif?.head.get('warc-protocol'), 'h2');
});

test('a page that grows without end when scrolled is reported, unlike one that is merely long', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const grow = `
    let number = 0;
    const more = () => document.body.insertAdjacentHTML('beforeend', '<p style="height:3000px"><a href="/' + number++ + '">x</a>');
    more();
    addEventListener('scroll', more);
  `;
  web.put('site.test', '/', html('home', '<a href="/endless">1</a><a href="/long">2</a>'));
  web.put('site.test', '/endless', shell(grow));
  web.put('site.test', '/long', html('long', '<div style="height:200000px">x</div>'));
  const settings = { ...(await browserSettings()), pagesMax: 3, renderMsMax: 120_000 };
  const { partlyReadUrls } = await crawl(archive, [web.url('site.test')], settings, { resolve: web.resolve });
  const reason = 'it grows further than it is scrolled';
  assert.deepEqual(partlyReadUrls, [{ url: web.url('site.test', '/endless'), reason }]);
});

test('HTML that a browser would save as a file is captured and read for links without a browser', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const file = { 'content-disposition': 'attachment; filename="export.html"' };
  web.put('site.test', '/', html('file', '<a href="/next">x</a>'), file);
  web.put('site.test', '/next', html('next', ''));
  const { counts } = await crawl(archive, [web.url('site.test')], await browserSettings(), { resolve: web.resolve });
  assert.deepEqual([counts.pages, counts.rendered, counts.partlyRead], [2, 1, 0]);
});

test('prefetched resources are requested once, and a page among them is rendered like others', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const far = web.url('far.test', '/later.js');
  const hints = `for (const href of ['/next', '${far}']) document.head.append(Object.assign(document.createElement('link'), { rel: 'prefetch', href }));`;
  web.put('site.test', '/', shell(hints, '<a href="/other">x</a>'));
  web.put('site.test', '/other', shell(hints, '<p>other</p>'));
  web.put('site.test', '/next', shell(`document.body.append(Object.assign(new Image(), { src: '/shown.gif' }));`));
  web.put('site.test', '/shown.gif', picture('shown'), GIF);
  web.put('far.test', '/later.js', `later(); ${'// later\n'.repeat(200)}`, SCRIPT);
  const report = await crawl(archive, [web.url('site.test')], await browserSettings(), { resolve: web.resolve });
  for (const path of ['/next', '/shown.gif']) assert.equal(web.requests('site.test', path).length, 1, path);
  assert.equal(web.requests('far.test', '/later.js').length, 1);
  assert.deepEqual([report.counts.rendered, report.counts.partlyRead], [3, 0]);
});

test('ranges of a film are separate requests', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const film = Buffer.from('abcdefghij');
  const parts = Array.from(film, (_, at) => `bytes=${at}-${at}`);
  web.put(
    'site.test',
    '/',
    shell(`
      let film = '';
      for (const range of ${JSON.stringify(parts)}) film += await (await fetch('/film', { headers: { range } })).text();
      await fetch('/seen-' + film);
    `),
  );
  web.at('site.test', '/film', ({ headers }, response, end) => {
    const at = Number(/\d+/.exec(headers.range ?? '')?.[0]);
    response.writeHead(206, { 'content-type': 'video/mp4', 'content-range': `bytes ${at}-${at}/${film.length}` });
    end();
    response.end(film.subarray(at, at + 1));
  });
  await crawl(archive, [web.url('site.test')], await browserSettings(), { resolve: web.resolve });
  assert.deepEqual(
    web.requests('site.test', '/film').map(({ fields }) => fields.range),
    parts,
  );
  assert.equal(web.requests('site.test', `/seen-${film}`).length, 1);
});

test('links of a page that cannot be painted are found, and a page that goes back to an empty window is reported', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const link = `document.getElementById('app').innerHTML = '<a href="/found">found</a>';`;
  // Painting alone keeps the browser busy.
  const layer = '<div style="position:fixed;inset:0;backdrop-filter:blur(90px) hue-rotate(9deg)"></div>';
  web.put('site.test', '/', shell(link, `<a href="/back">x</a>${layer.repeat(400)}`));
  web.put('site.test', '/found', html('found', ''));
  web.put('site.test', '/back', shell('history.back();'));
  const settings = { ...(await browserSettings()), renderMsMax: 4000 };
  const report = await crawl(archive, [web.url('site.test')], settings, { resolve: web.resolve });
  assert.equal(web.requests('site.test', '/found').length, 1);
  const reason = 'not rendered: it navigated back to an empty window';
  const back = web.url('site.test', '/back');
  assert.deepEqual(
    report.partlyReadUrls.filter(({ url }) => url === back),
    [{ url: back, reason }],
  );
});

test('a page whose script never ends is given up with its browser and reported, and its HTML is read for links', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  web.put('site.test', '/', '<!doctype html><title>hung</title><a href="/after">on</a><script>for (;;);</script>');
  web.put('site.test', '/after', html('after', ''));
  const settings = { ...(await browserSettings()), renderMsMax: 1500 };
  const seed = web.url('site.test');
  const { counts, outcome, partlyReadUrls } = await crawl(archive, [seed], settings, { resolve: web.resolve });
  assert.deepEqual([outcome, counts.pages, counts.failed], ['done', 2, 0]);
  assert.deepEqual(partlyReadUrls[0], { url: seed, reason: 'not rendered: it did not answer' });
  assert.equal(web.requests('site.test', '/after').length, 1);
});

test('a recrawl sends the validators of resources, and renders unchanged pages again', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const etag = (value: string, body: string, type: Record<string, string>) => (path: string) =>
    web.at('site.test', path, (request, response, end) => {
      const isHeld = request.headers['if-none-match'] === value;
      response.writeHead(isHeld ? 304 : 200, { etag: value, ...type });
      end();
      response.end(isHeld ? undefined : body);
    });
  const page = shell(`document.body.innerHTML += '<img src="/a.gif">'; await fetch('/news')`);
  etag('"page"', page, { 'content-type': 'text/html' })('/');
  etag('"a"', picture('a').toString('latin1'), GIF)('/a.gif');
  web.put('site.test', '/news', 'old news '.repeat(200));
  const settings = await browserSettings();
  await crawl(archive, [web.url('site.test')], settings, { resolve: web.resolve });
  web.put('site.test', '/news', 'new news '.repeat(200));
  const { counts } = await recrawl(archive, 'default', {}, { resolve: web.resolve });
  assert.deepEqual([counts.rendered, counts.notModified, counts.failed], [1, 2, 0]);
  assert.equal(web.requests('site.test', '/a.gif').at(-1)?.fields['if-none-match'], '"a"');
  const news = await decodedAt(archive, web.url('site.test', '/news'));
  assert.deepEqual(
    news.map((one) => one.toString().slice(0, 8)),
    ['old news', 'new news'],
  );
  assert.deepEqual(await audit(archive), []);
});

test('the screenshot of a page is expunged with the page', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  web.put('site.test', '/', html('home', '<a href="/secret">x</a>'));
  web.put('site.test', '/secret', html('secret', ''));
  await crawl(archive, [web.url('site.test')], await browserSettings(), { resolve: web.resolve });
  web.put('site.test', '/secret', '', {}, 410);
  const { counts } = await recrawl(archive, 'default', { gone: 'expunge' }, { resolve: web.resolve });
  assert.deepEqual([counts.gone, counts.expunged], [1, 3]);
  const left = (await allCaptures(archive)).map(({ url }) => url);
  assert.deepEqual(
    left.filter((url) => url.includes('secret')),
    [],
  );
  assert.ok(left.includes(`urn:view:${web.url('site.test')}`));
});
