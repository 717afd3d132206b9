/** Links, forms and scripts that open windows and frames, and the URLs that scripts read and write. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Frame } from 'playwright-core';
import { until } from './chromium.ts';
import { PIXEL, type SiteFile } from './sample-site.ts';
import { openSite, replayFrame, setStage } from './served-archive.ts';

const stage = setStage();
const SITE = 'http://site.example';

function opened(t: test.TestContext, files: readonly SiteFile[], path = '/') {
  return openSite(t, stage, files, `/web/20200401100000/${SITE}${path}`);
}

const THERE: SiteFile = { url: `${SITE}/there`, body: '<!doctype html><title>there</title>' };

const ASKING: Readonly<Record<string, string>> = {
  'a link to a window by name': '<a id=go target=window href=/there>go</a>',
  'a link of a page whose base names a window': '<base target=window><a id=go href=/there>go</a>',
  'a form to a window by name': '<form action=/there target=window><button id=go>go</button></form>',
  'a button that names a window': '<form action=/there><button id=go formtarget=window>go</button></form>',
  'a form that a script sends':
    '<form action=/there target=window></form><b id=go onclick="document.forms[0].submit()">go</b>',
  'a link that a script follows':
    '<b id=go onclick="var a = document.createElement(`a`); a.href = `/there`; a.target = `_blank`; a.click()">go</b>',
  'a target that a script sets late': '<a id=go href=/there onclick="this.target = `_blank`">go</a>',
  'a link that lets nobody else have the click':
    '<a id=go target=window href=/there onclick="event.stopImmediatePropagation()">go</a>',
  'a window that a script opens by name': '<b id=go onclick="window.open(`/there`, `window`, `width=9`)">go</b>',
  'a window that a script opens empty, and leads later':
    '<b id=go onclick="var w = window.open(`about:blank`); setTimeout(function () { w.location = `/there` }, 50)">go</b>',
  'a link in a closed root':
    '<span id=go></span><script>go.attachShadow({ mode: `closed` }).innerHTML = `<a target=_blank href=/there>go go go</a>`</script>',
  'a link of a page that was written anew':
    '<script>onload = function () { document.open(); document.write(`<a id=go target=_blank href=/there>go</a>`); document.close(); }</script>',
  'a link of a page that took the name of its window':
    '<script>name = `mine`</script><a id=go target=_top href=/there>go</a>',
};

for (const [what, markup] of Object.entries(ASKING)) {
  test(`a link to a new window opens in the frame: ${what}`, async (t) => {
    const page: SiteFile = { url: `${SITE}/`, body: `<!doctype html><title>page</title>${markup}` };
    const { frame, record } = await opened(t, [page, THERE]);
    await frame.click('#go');
    await until(() => frame.title(), /^there$/);
    assert.deepEqual(record.outsideRequests, []);
  });
}

const LEADING = `<a id=link target=main href=/there>go</a><a id=stopped target=main href=/there onclick="event.stopPropagation()">go</a><b id=script onclick="window.open('/there', 'main')">go</b>
  <form action=/there target=main><button id=form name=way value=form>go</button></form>
  <form action=/there method=post target=main><button id=post>go</button></form>
  <form action=/there target=main onsubmit="event.stopPropagation()"><button id=kept name=way value=form>go</button></form>
  <form id=silent action=/there target=main><input name=action type=hidden><input name=method type=hidden></form><b id=sent onclick="document.getElementById('silent').submit()">go</b>`;

test('a link that names a frame of the page opens in that frame', async (t) => {
  const body = `<!doctype html><title>page</title>${LEADING}<iframe name=main src=/blank></iframe>`;
  await leadsIntoFrame(t, body, 'iframe[name=main]', (frame) => Promise.resolve(frame));
});

test('the menu of a frameset navigates the frame beside it in spite of the sandbox', async (t) => {
  const body =
    '<title>page</title><frameset cols="50%,*"><frame name=menu src=/menu><frame name=main src=/blank></frameset>';
  await leadsIntoFrame(t, body, 'frame[name=main]', async (frame) => {
    return (await (await frame.waitForSelector('frame[name=menu]')).contentFrame())!;
  });
});

async function leadsIntoFrame(
  t: test.TestContext,
  body: string,
  selector: string,
  menuOf: (frame: Frame) => Promise<Frame>,
): Promise<void> {
  const { frame, record } = await opened(t, [
    { url: `${SITE}/`, body },
    { url: `${SITE}/menu`, body: `<!doctype html><title>menu</title>${LEADING}` },
    { url: `${SITE}/blank`, body: '<!doctype html><title>blank</title>' },
    THERE,
    { ...THERE, url: `${SITE}/there?way=form` },
    { ...THERE, url: `${SITE}/there?action=&method=` },
  ]);
  const shown = async () => String(await frame.evaluate(`document.querySelector('${selector}').contentDocument.title`));
  await frame.waitForSelector(selector, { state: 'attached' });
  const menu = await menuOf(frame);
  for (const id of ['link', 'stopped', 'script', 'form', 'kept', 'post', 'sent']) {
    await frame.evaluate(`document.querySelector('${selector}').src = '/blank'`);
    await until(shown, /^blank$/);
    await menu.click(`#${id}`);
    await until(async () => `${id}: ${await shown()}`, /: there$/);
    assert.equal(await frame.title(), 'page', id);
  }
  assert.ok(record.requests.some((url) => url.endsWith('/there?way=form')));
  assert.deepEqual(record.outsideRequests, []);
}

const LEADING_UP = `<a id=top target=_top href=/there>go</a><a id=blank target=_blank href=/there>go</a><a id=up target=_parent href=/there>go</a>
  <form action=/there target=_top><button id=form>go</button></form>
  <b id=open onclick="window.open('/there').focus()">go</b><b id=openup onclick="window.open('/there', '_parent').focus()">go</b>`;

const WRITING = 'document.open(), document.write(`<a id=written target=_blank href=/there>go</a>`), document.close()';

const LED_UP: Readonly<Record<string, RegExp>> = {
  top: /^there$/,
  blank: /^there$/,
  up: /^page,there$/,
  form: /^there$/,
  open: /^there$/,
  openup: /^page,there$/,
  written: /^there$/,
};

test('frames navigate the pages around them by any name in spite of the sandbox', async (t) => {
  const { frame, page, record, uiOrigin } = await opened(t, [
    {
      url: `${SITE}/`,
      body: '<!doctype html><title>page</title><script>name = ""</script><iframe src=/middle></iframe>',
    },
    { url: `${SITE}/middle`, body: '<!doctype html><title>middle</title><iframe src=/inner></iframe>' },
    { url: `${SITE}/inner`, body: `<!doctype html><title>inner</title>${LEADING_UP}` },
    THERE,
  ]);
  const titles = `(function of(win) { return [win.document.title].concat(Array.from(win.frames, of)); })(window).join()`;
  let shown = frame;
  const titlesShown = async () => String(await shown.evaluate(titles));
  for (const [id, led] of Object.entries(LED_UP)) {
    await page.goto(`${uiOrigin}/web/20200401100000/${SITE}/`);
    shown = await replayFrame(page);
    const middle = (await (await shown.waitForSelector('iframe')).contentFrame())!;
    const inner = (await (await middle.waitForSelector('iframe')).contentFrame())!;
    if (id === 'written') await inner.evaluate(WRITING);
    await inner.click(`#${id}`);
    await until(titlesShown, led);
  }
  assert.deepEqual(record.outsideRequests, []);
});

test('a window that a page opens without a click does not replace the page', async (t) => {
  const opening = 'done = [window.open(`/there`), window.open(`/there`, `ad`, `width=300`)]; console.error(`opened`)';
  const body = `<!doctype html><title>page</title><script>var done;onload = function () { ${opening} }</script>`;
  const { frame, record } = await opened(t, [{ url: `${SITE}/`, body }, THERE]);
  // An evaluation in the frame would count as a click, so the test waits for a console message instead.
  await until(async () => record.consoleErrors.join(), /opened/);
  assert.deepEqual(await frame.evaluate('done'), [null, null]);
  assert.equal(await frame.title(), 'page');
});

test('submit events that a script makes do not send a form or cause an error', async (t) => {
  const { frame, record } = await opened(t, [
    { url: `${SITE}/`, body: '<!doctype html><title>page</title><form target=_blank action=/there></form>' },
    THERE,
  ]);
  await frame.waitForSelector('form', { state: 'attached' });
  await frame.evaluate(`[document, window, document.forms[0]].forEach((target) => {
    target.dispatchEvent(new Event('submit', { bubbles: true, cancelable: true }));
  })`);
  assert.deepEqual(record.consoleErrors, []);
  assert.equal(await frame.evaluate('document.forms[0].target'), '_blank');
});

const ADDRESSES = `
  var link = document.createElement('a');
  link.href = '/p'; link.search = '?s'; link.hash = 'h'; link.pathname = '/pp';
  done.parts = link.href;
  link.hostname = 'other.example'; link.protocol = 'https:'; link.port = '8080';
  done.whole = link.href;
  link.setAttribute('href', '/q'); link.href = '/p'; link.href = '/p';
  done.again = link.href;
  location.hash = 'one'; history.pushState(null, '', '#two'); location.hash = 'one';
  done.hash = location.hash;
  done.referrer = document.referrer;
  addEventListener('hashchange', function (event) { done.change = [event.oldURL, event.newURL]; });
  onload = function () {
    var image = document.images[0];
    done.srcset = image.srcset;
    done.current = image.currentSrc;
  };`;

test('a script that another script adds can navigate its page', async (t) => {
  const ways = {
    written: `document.write('<scr' + 'ipt>location = "/there"</scr' + 'ipt>')`,
    made: `var made = document.createElement('script'); made.text = 'if (true) location="/there"; var link = "?location=1"'; document.documentElement.append(made)`,
    evaluated: `window.eval('location = "/there"')`,
    quoted: `var made = document.createElement('script'); made.text = 'document.title = [\`<b location="\\\\\`">\`, "a location = b", window.name]; (function (location = 1) {})()'; document.documentElement.append(made)`,
    declared: `var made = document.createElement('script'); made.text = '(function () { let location = "own"; document.title = [location, self.location.pathname] })()'; document.documentElement.append(made)`,
  };
  const names = Object.keys(ways);
  const pages = Object.entries(ways).map(([name, code]) => ({
    url: `${SITE}/${name}`,
    body: `<title>${name}</title><script>${code}</script>`,
  }));
  const body = `<title>page</title>${names.map((name) => `<iframe src=/${name}></iframe>`).join('')}`;
  const { frame } = await opened(t, [{ url: `${SITE}/`, body }, ...pages, THERE]);
  const titles = async () => String(await frame.evaluate('Array.from(frames, (one) => one.document.title).join()'));
  await until(titles, /^there,there,there,<b location="`">,a location = b,,own,\/declared$/);
});

test('scripts can set parts of URLs, and read original URLs', async (t) => {
  const { frame } = await opened(t, [
    { url: `${SITE}/`, body: '<!doctype html><a id=go href="/page?q=1">go</a>' },
    {
      url: `${SITE}/page?q=1`,
      body: `<!doctype html><title>addresses</title><img srcset="/a.png 1x, http://site.example/b.png 2x">
        <script>var done = {};${ADDRESSES}</script>`,
    },
    { url: `${SITE}/a.png`, type: 'image/png', body: PIXEL },
  ]);
  await frame.click('#go');
  await until(() => frame.title(), /^addresses$/);
  await frame.waitForFunction(`done.current && done.change`);
  assert.deepEqual(await frame.evaluate('done'), {
    parts: `${SITE}/pp?s#h`,
    whole: 'https://other.example:8080/pp?s#h',
    again: `${SITE}/p`,
    hash: '#one',
    referrer: `${SITE}/`,
    change: [`${SITE}/page?q=1#two`, `${SITE}/page?q=1#one`],
    srcset: `/a.png 1x, ${SITE}/b.png 2x`,
    current: `${SITE}/a.png`,
  });
});

test('URLs that scripts set are relative to the base of the page, whatever the former URL', async (t) => {
  const ways = ['location = "there"', 'location.href = "there"', 'document.location = "there"'];
  const frames = ways.map((code) => ({
    url: `${SITE}/in/${encodeURIComponent(code)}`,
    body: `<title>frame</title><base href="/base/"><script>${code}</script>`,
  }));
  const body = `<title>page</title><base href="/base/"><a id=link href="http://other.example/folder/page">x</a>
    ${frames.map(({ url }) => `<iframe src="${url}"></iframe>`).join('')}`;
  const { frame } = await opened(
    t,
    [{ url: `${SITE}/in/`, body }, ...frames, { ...THERE, url: `${SITE}/base/there` }],
    '/in/',
  );
  await frame.waitForSelector('#link');
  const read = (values: readonly string[]) =>
    frame.evaluate(`${JSON.stringify(values)}.map((value) => { link.href = value; return link.href })`);
  assert.deepEqual(
    await read(['next', '?q', '#part', 'mailto:a@b.example', 'last', 'http://other.example/x', '../up']),
    [
      `${SITE}/base/next`,
      `${SITE}/base/?q`,
      `${SITE}/base/#part`,
      'mailto:a@b.example',
      `${SITE}/base/last`,
      'http://other.example/x',
      `${SITE}/up`,
    ],
  );
  const titles = async () => String(await frame.evaluate('Array.from(frames, (one) => one.document.title).join()'));
  await until(titles, /^there,there,there$/);
});

const LINKED = `<!doctype html><title>links</title>
  <style>a { color: rgb(0, 0, 0) } a[href^="http"] { color: rgb(1, 1, 1) } a[href^="http://other.example"] { color: rgb(2, 2, 2) }
    a[href^="https://"] { color: rgb(3, 3, 3) } a:not([href^="http://"]):not([href^="https://"]) { color: rgb(4, 4, 4) }
    #menu a[href^="/about/"] { color: rgb(5, 5, 5) } #menu ~ a[href="/caf\u00e9"] { color: rgb(6, 6, 6) } #menu ~ a[href^="/x"] { color: rgb(7, 7, 7) }</style>
  <p id=menu><a id=about href="/about">a</a><a id=us href="/about/us">a</a></p><a href=page2>p</a><a id=other href="http://other.example/x">x</a>
  <a id=own href="http://site.example/x">x</a><a id=safe href="https://other.example/x">x</a><a id=home href="http://site.example">h</a><a id=cafe href="/caf\u00e9">c</a><a href="/d.pdf">pdf</a><a href="#top">t</a><img src="/i.png"><form action="/go"></form>`;

const COUNTS: Readonly<Record<string, number>> = {
  'a[href="/about"]': 1,
  "#menu > a[href^='/about'], form": 3,
  'a[href=page2]': 1,
  'a[href^="http://other.example"]': 1,
  'a[href="http://other.example/x"]': 1,
  'a[href^="http"]': 4,
  'a[href^="http://"]': 3,
  'a[href^="https://"]': 1,
  'a[href^="http://site.example"]': 2,
  'a[href="http://site.example"]': 1,
  'a[href="/caf\u00e9"]': 1,
  'a[href="/ABOUT"i]': 1,
  'a:not([href^="http"])': 6,
  'a[href^="/"]': 5,
  'a[href$=".pdf"]': 1,
  'a[href="#top"]': 1,
  'img[src="/i.png"]': 1,
  'form[action="/go"]': 1,
  'a[href="/none"]': 0,
  'a[title="/about"]': 0,
};

test('selectors of scripts and style sheets find links as the page wrote them', async (t) => {
  const { frame } = await opened(t, [{ url: `${SITE}/`, body: LINKED }]);
  await until(() => frame.title(), /^links$/);
  const selectors = JSON.stringify(Object.keys(COUNTS));
  const counts = `Object.fromEntries(${selectors}.map((text) => [text, document.querySelectorAll(text).length]))`;
  assert.deepEqual(await frame.evaluate(counts), COUNTS);
  const found = `[about.matches('[href="/about"]'), !!about.closest('a[href^="/ab"]'), menu.querySelector('[href="/about/us"]').textContent]`;
  assert.deepEqual(await frame.evaluate(found), [true, true, 'a']);
  const colours = `[about, other, own, safe, us, cafe].map((link) => getComputedStyle(link).color).join()`;
  assert.equal(
    await frame.evaluate(colours),
    'rgb(4, 4, 4),rgb(2, 2, 2),rgb(1, 1, 1),rgb(3, 3, 3),rgb(5, 5, 5),rgb(6, 6, 6)',
  );
  const looks = `[document.querySelectorAll, about.matches].every((own) => /^[^{]+\\{\\s*\\[native \\w/.test(own))`;
  assert.equal(await frame.evaluate(looks), true, 'as old libraries expect');
  for (const wrong of ['a[', 'a[href="/about" x]', ''])
    assert.equal(await frame.evaluate(`try { about.matches('${wrong}') } catch (error) { error.name }`), 'SyntaxError');
  assert.equal(await frame.evaluate('home.href'), `${SITE}/`);
});
