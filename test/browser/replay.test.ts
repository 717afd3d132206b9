import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import test from 'node:test';
import type { Frame, Page } from 'playwright-core';
import { screenshot, until } from './chromium.ts';
import { EVERYTHING, PIXEL, type SiteFile, SPRING, SUMMER } from './sample-site.ts';
import { openSite, replayFrame, setStage } from './served-archive.ts';

const stage = setStage();

function opened(t: test.TestContext, files: readonly SiteFile[], path: string) {
  return openSite(t, stage, files, path);
}

const DONE = {
  href: 'https://site.example/',
  host: 'site.example',
  top: true,
  cookie: 'visits=1',
  let: 'seen too',
  async: 'ok',
  module: 'site.example library!',
  meta: 'dynamic',
  fetch: 'from fetch',
  xhr: 'from xhr',
  missing: 404,
  dynamic: 'dynamic',
  worker: 'worker from xhr',
  serviceWorker: 'refused',
  image: 'https://cdn.example/made.png',
  self: true,
  message: 'hello from https://site.example',
};

test('a page with every kind of content works in the archive and sends no request outside', async (t) => {
  const { page, record, frame, replayOrigin } = await opened(
    t,
    EVERYTHING,
    '/web/20200401100000/https://site.example/',
  );
  const names = JSON.stringify(Object.keys(DONE));
  const isDone = `typeof done !== 'undefined' && ${names}.every((name) => name in done)`;
  await frame.waitForFunction(isDone, undefined, { timeout: 60_000 }).catch(async (cause: unknown) => {
    const done = await frame.evaluate(`typeof done === 'undefined' ? 'nothing' : done`);
    throw new Error(`the page got no further than ${JSON.stringify(done)}`, { cause });
  });
  assert.deepEqual(await frame.evaluate('done'), DONE);
  const images = ['set', 'relative', 'written', 'inserted'];
  await frame.waitForFunction(`${JSON.stringify(images)}.every((id) => document.getElementById(id)?.complete)`);
  const widths = await frame.evaluate(
    `${JSON.stringify(images)}.map((id) => document.getElementById(id).naturalWidth)`,
  );
  assert.deepEqual(widths, [1, 1, 1, 1], 'all images are there');
  assert.equal(await frame.evaluate(`getComputedStyle(document.getElementById('imported')).color`), 'rgb(1, 2, 3)');
  assert.equal(await frame.title(), 'A page with everything');
  const wanted = [
    'oe_/https://site.example/fonts/test.woff2',
    'oe_/https://cdn.example/background.png',
    'im_/https://cdn.example/srcdoc.png',
    'im_/https://cdn.example/vector.png',
    'wkrf_/https://site.example/js/worker-part.js',
  ];
  for (const place of wanted) {
    assert.ok(record.requests.includes(`${replayOrigin}/web/20200401100000${place}`), `${place} was not requested`);
  }
  await screenshot(page, 'replay-everything');
  assert.deepEqual(record.outsideRequests, []);
});

const IMPORTS: readonly SiteFile[] = [
  {
    url: 'https://site.example/',
    body: `<!doctype html><script>
      var done = {};
      var worker = new Worker('/jobs/main.js', { type: 'module' });
      worker.onmessage = function (event) { done.worker = event.data; };
      worker.onerror = function (event) { done.worker = event.message; };
      </script><script type="module">import sheet from './page.css' with { type: 'css' }; done.sheet = sheet.cssRules.length;</script>`,
  },
  {
    url: 'https://site.example/jobs/main.js',
    type: 'text/javascript',
    body: `import { part } from './part.js';
      import('./later.js').then((later) => postMessage(part + ' and ' + later.default), (error) => postMessage(String(error)));`,
  },
  {
    url: 'https://site.example/jobs/part.js',
    type: 'text/javascript',
    body: `import { inner } from './inner.js'; export const part = 'part of ' + inner;`,
  },
  { url: 'https://site.example/jobs/inner.js', type: 'text/javascript', body: `export const inner = 'inner';` },
  { url: 'https://site.example/jobs/later.js', type: 'text/javascript', body: `export default 'later';` },
  { url: 'https://site.example/page.css', type: 'text/css', body: 'p { color: red }' },
];

test('modules of workers import others, and modules import style sheets', async (t) => {
  const { frame, record } = await opened(t, IMPORTS, '/web/20200401100000/https://site.example/');
  await frame.waitForFunction(`self.done?.worker !== undefined && self.done.sheet !== undefined`);
  assert.deepEqual(await frame.evaluate('done'), { worker: 'part of inner and later', sheet: 1 });
  assert.deepEqual(record.outsideRequests, []);
});

test('every kind of link leads to the newest capture that is not newer than the page, in the same frame', async (t) => {
  const path = '/web/20200401100000/https://site.example/';
  const { page, record, uiOrigin } = await opened(t, EVERYTHING, path);
  for (const id of ['next', 'blank', 'handler']) {
    await page.goto(`${uiOrigin}${path}`);
    const frame = await replayFrame(page);
    await frame.click(`#${id}`);
    await frame.waitForURL('**/next.html');
    assert.equal(await frame.textContent('#version'), 'spring', `by ${id}`);
    assert.equal(page.context().pages().length, 1, 'no window was opened');
  }
  assert.deepEqual(record.outsideRequests, []);
});

test('an address with a time shows the nearest capture, and then the time of this capture', async (t) => {
  const { frame, replayOrigin } = await opened(t, EVERYTHING, '/web/20200625000000/https://site.example/next.html');
  await frame.waitForURL(`${replayOrigin}/web/20200701100000mp_/https://site.example/next.html`);
  assert.equal(await frame.textContent('#version'), 'summer');
});

const WAYS: readonly SiteFile[] = [
  {
    url: 'http://ways.example/start',
    status: '302 Found',
    type: 'text/html',
    fields: ['Location: https://www.ways.example/home?a=1', 'Set-Cookie: a=b', 'Strict-Transport-Security: max-age=99'],
    body: 'moved',
  },
  {
    url: 'https://www.ways.example/home?a=1',
    body: `<base href="https://static.ways.example/deep/"><title>home</title><img id="based" src="pixel.png"><meta http-equiv="refresh" content="0; url=https://www.ways.example/refreshed">`,
  },
  { url: 'https://www.ways.example/refreshed', fields: ['Refresh: 0; url=/again'], body: '<title>refreshed</title>' },
  {
    url: 'https://www.ways.example/again',
    body: `<title>again</title><script>location.replace('//www.ways.example/replaced')</script>`,
  },
  {
    url: 'https://www.ways.example/replaced',
    body: `<title>replaced</title><form id="form" action="https://www.ways.example/search"><input name="q" value="x"></form><script>document.getElementById('form').submit()</script>`,
  },
  {
    url: 'https://www.ways.example/search?q=x',
    body: `<title>searched</title><script>history.pushState(null, '', '/pushed')</script>`,
  },
  { url: 'https://static.ways.example/deep/pixel.png', type: 'image/png', body: PIXEL },
];

test('redirections, base, refresh, location, forms and history stay in the archive', async (t) => {
  const { page, record, frame, replayOrigin } = await opened(t, WAYS, '/web/20200401100000/http://ways.example/start');
  await frame.waitForURL(`${replayOrigin}/web/20200401100000mp_/https://www.ways.example/pushed`);
  assert.equal(await frame.title(), 'searched');
  assert.equal(await frame.evaluate('document.URL'), 'https://www.ways.example/pushed');
  assert.ok(
    record.requests.includes(`${replayOrigin}/web/20200401100000im_/https://static.ways.example/deep/pixel.png`),
  );
  assert.deepEqual(record.outsideRequests, []);
  assert.deepEqual(await page.context().cookies(), []);
});

test('old charsets, frames, framesets and SVG documents are shown', async (t) => {
  const files: SiteFile[] = [
    {
      url: 'http://old.example/',
      type: 'text/html',
      body: Buffer.from(
        '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251"><frameset cols="50%,*"><frame name="left" src="left.htm"><frame src="drawing.svg"></frameset>',
        'latin1',
      ),
    },
    {
      url: 'http://old.example/left.htm',
      type: 'text/html',
      body: Buffer.concat([
        Buffer.from('<meta charset="windows-1251"><title>'),
        Buffer.from([0xcf, 0xf0, 0xe8]),
        Buffer.from('</title><a id="found" href="/?q='),
        Buffer.from([0xcf]),
        Buffer.from('">x</a><script src="old.js"></script>'),
      ]),
    },
    {
      url: 'http://old.example/old.js',
      type: 'application/x-javascript',
      body: Buffer.concat([
        Buffer.from('document.found = "'),
        Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2, 0x20, 0xec, 0xe8, 0xf0]),
        Buffer.from('";'),
      ]),
    },
    {
      url: 'http://old.example/drawing.svg',
      type: 'image/svg+xml',
      body: '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"><image xlink:href="http://out.example/in.png" width="9" height="9"/></svg>',
    },
    { url: 'http://out.example/in.png', type: 'image/png', body: PIXEL },
  ];
  const { page, record, replayOrigin } = await opened(t, files, '/web/20200401100000/http://old.example/');
  await page.waitForFunction(() => true);
  const left = await waitForFrame(page, 'left.htm');
  await left.waitForLoadState();
  assert.equal(await left.title(), '\u041f\u0440\u0438');
  assert.match((await left.getAttribute('#found', 'href')) ?? '', /\?q=%CF$/);
  await waitForFrame(page, 'drawing.svg');
  await page.waitForLoadState('networkidle');
  assert.ok(record.requests.includes(`${replayOrigin}/web/20200401100000im_/http://out.example/in.png`));
  assert.deepEqual(record.outsideRequests, []);
});

async function waitForFrame(page: Page, ending: string): Promise<Frame> {
  for (;;) {
    const found = page.frames().find((frame) => frame.url().endsWith(ending));
    if (found) return found;
    await page.waitForEvent('framenavigated');
  }
}

test('a link that is opened in a new window shows the screen with the frame', async (t) => {
  const { page, uiOrigin, replayOrigin } = await opened(t, EVERYTHING, '/web/20200401100000/https://site.example/');
  const other = await page.context().newPage();
  await other.goto(`${replayOrigin}/web/20200401100000mp_/https://site.example/next.html`);
  assert.equal(other.url(), `${uiOrigin}/web/20200401100000/https://site.example/next.html`);
  assert.equal(await (await replayFrame(other)).textContent('#version'), 'spring');
});

test('a page shows the captures of embedded files that are nearest to its time', async (t) => {
  const files: SiteFile[] = [
    { url: 'http://mixed.example/', body: '<title>mixed</title><link rel="stylesheet" href="a.css"><p>x</p>' },
    { url: 'http://mixed.example/a.css', type: 'text/css', body: 'p { color: rgb(9, 9, 9) }', time: SUMMER },
    {
      url: 'http://mixed.example/a.css',
      type: 'text/css',
      body: 'p { color: rgb(8, 8, 8) }',
      time: SPRING - 365 * 86_400_000,
    },
  ];
  const { frame } = await opened(t, files, '/web/20200401100000/http://mixed.example/');
  await frame.waitForSelector('p');
  await frame.waitForLoadState();
  assert.equal(await frame.evaluate(`getComputedStyle(document.querySelector('p')).color`), 'rgb(9, 9, 9)');
});

test('the banner names the page when a link leads to a missing page or to one that cannot be shown', async (t) => {
  const files: SiteFile[] = [
    {
      url: 'http://gaps.example/',
      body: '<a id="missing" href="/missing?a=%3C&b">missing</a><a id="circle" href="/in">circle</a><iframe src="/framed"></iframe>',
    },
    { url: 'http://gaps.example/in', status: '302 Found', fields: ['Location: /out'], body: '' },
    { url: 'http://gaps.example/out', status: '302 Found', fields: ['Location: /in'], body: '' },
  ];
  const { page, frame, uiOrigin, record } = await opened(t, files, '/web/20200401100000/http://gaps.example/');
  const address = page.getByLabel(/^Address of the archived page/);
  await frame.waitForSelector('#missing');
  await page.frameLocator('iframe').frameLocator('iframe').getByText('The archive has no capture').waitFor();
  await frame.click('#missing');
  await page.waitForURL(`${uiOrigin}/web/20200401100000/http://gaps.example/missing?a=%3C&b`);
  await until(() => address.inputValue(), /^http:\/\/gaps\.example\/missing\?a=%3C&b$/);
  await page.frameLocator('iframe').getByRole('heading', { name: 'The archive has no capture of this page' }).waitFor();
  await page.goto(`${uiOrigin}/web/20200401100000/http://gaps.example/`);
  await (await replayFrame(page)).click('#circle');
  await page.waitForURL(`${uiOrigin}/web/20200401100000/http://gaps.example/in`);
  await until(() => address.inputValue(), /^http:\/\/gaps\.example\/in$/);
  await page
    .frameLocator('iframe')
    .getByText('The page redirects to http://gaps.example/out, which redirects back')
    .waitFor();
  assert.deepEqual(record.outsideRequests, []);
});

test('a PDF document can be downloaded, since the browser does not show it in a sandbox', async (t) => {
  const url = 'https://site.example/papers/r%C3%A9sum%C3%A9.pdf?v=1&w=2';
  const bytes = Buffer.from('%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF');
  const { page, frame, record } = await opened(
    t,
    [
      {
        url: 'https://site.example/',
        body: '<title>home</title><a href="/papers/r\u00e9sum\u00e9.pdf?v=1&amp;w=2">r</a>',
      },
      { url, type: 'application/pdf', body: bytes },
    ],
    '/web/20200401100000/https://site.example/',
  );
  await frame.click('a');
  const link = frame.locator('a[download]');
  assert.equal(await link.textContent(), 'r\u00e9sum\u00e9.pdf');
  assert.match(await frame.locator('object').innerText(), /does not show PDF/);
  const downloading = page.waitForEvent('download');
  await link.click();
  const download = await downloading;
  assert.equal(download.suggestedFilename(), 'r\u00e9sum\u00e9.pdf');
  assert.deepEqual(await buffer(await download.createReadStream()), bytes);
  await until(async () => page.url(), /r%C3%A9sum%C3%A9\.pdf\?v=1&w=2$/);
  assert.deepEqual(record.outsideRequests, []);
});
