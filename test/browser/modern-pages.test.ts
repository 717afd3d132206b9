/**
 * Modern pages in the archive: messages, modules, workers and the URLs that they see. Each script puts its results into
 * `done`.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import { PIXEL, type SiteFile, SPRING, SUMMER } from './sample-site.ts';
import { openSite, setStage } from './served-archive.ts';

const stage = setStage();

const SITE = 'https://modern.example';

function html(body: string): SiteFile {
  return { url: `${SITE}/`, body: `<!doctype html><title>modern</title><script>var done = {};</script>${body}` };
}

function script(path: string, body: string): SiteFile {
  return { url: `${SITE}${path}`, type: 'text/javascript', body };
}

/** Waits for all results of the scripts of the page, and returns them. */
async function found(t: test.TestContext, files: readonly SiteFile[], names: readonly string[]) {
  const opened = await openSite(t, stage, files, `/web/20200401100000/${SITE}/`);
  const { frame, record } = opened;
  const isDone = `typeof done !== 'undefined' && ${JSON.stringify(names)}.every((name) => name in done)`;
  await frame.waitForFunction(isDone, undefined, { timeout: 30_000 }).catch(async (cause: unknown) => {
    const done = await frame.evaluate(`typeof done === 'undefined' ? 'nothing' : done`);
    throw new Error(`no more than ${JSON.stringify(done)}; ${record.consoleErrors.join('\n')}`, { cause });
  });
  assert.deepEqual(record.outsideRequests, []);
  return { ...opened, done: (await frame.evaluate('done')) as Record<string, unknown> };
}

test('messages reach listeners that were added without naming the window, also from a sandboxed frame', async (t) => {
  const page = html(`
    <script>addEventListener('message', (event) => { done[event.data.name] = [event.origin, event.data.path]; });</script>
    <iframe src="/inner.html"></iframe><iframe sandbox="allow-scripts" src="/boxed.html"></iframe>
    <script>
      function boxed(name, box) {
        const frame = document.createElement('iframe');
        box(frame);
        frame.src = '/boxed.html?' + name;
        document.body.append(frame);
      }
      boxed('set', (frame) => { frame.sandbox = 'allow-scripts'; });
      boxed('attribute', (frame) => { frame.setAttribute('sandbox', 'allow-scripts'); });
      boxed('added', (frame) => { frame.sandbox.add('allow-forms', 'allow-scripts'); });
    </script>`);
  const inner = (path: string, name: string): SiteFile => ({
    url: `${SITE}${path}`,
    body: `<script>parent.postMessage({ name: '${name}', path: location.pathname }, '*')</script>`,
  });
  const ways = ['set', 'attribute', 'added'];
  const { done } = await found(
    t,
    [
      page,
      inner('/inner.html', 'inner'),
      inner('/boxed.html', 'boxed'),
      ...ways.map((way) => inner(`/boxed.html?${way}`, way)),
    ],
    ['inner', 'boxed', ...ways],
  );
  const expected = { inner: [SITE, '/inner.html'], boxed: [SITE, '/boxed.html'] };
  assert.deepEqual(done, { ...expected, ...Object.fromEntries(ways.map((way) => [way, [SITE, '/boxed.html']])) });
});

test('a module that is imported in several ways runs once, though each file was captured in another second', async (t) => {
  const page = html(`
    <link rel="modulepreload" href="/shared.js">
    <script type="module" src="/entry.js"></script>
    <script type="module">import { count } from '/shared.js'; done.page = count;</script>
    <script src="/classic.js"></script>`);
  const files = [
    script('/entry.js', `import { count } from './shared.js'; import './part.js'; done.entry = count;`),
    script('/part.js', `import './entry.js'; const { count } = await import('/shared.js'); done.part = count;`),
    script('/classic.js', `import('./shared.js').then(({ count }) => { done.classic = count; });`),
    script('/shared.js', `window.sharedRuns = (window.sharedRuns ?? 0) + 1; export const count = window.sharedRuns;`),
  ];
  const captured = files.map((file, index) => ({ ...file, time: SPRING + (index + 1) * 1000 }));
  const { done, frame } = await found(t, [page, ...captured], ['page', 'entry', 'part', 'classic']);
  assert.deepEqual(done, { page: 1, entry: 1, part: 1, classic: 1 });
  assert.equal(await frame.evaluate('window.sharedRuns'), 1);
});

test('messages arrive as they were sent, even empty ones, ones without an origin, and ones from frames without a URL', async (t) => {
  const page = html(`<script>
    done.got = [];
    addEventListener('message', (event) => { done.got.push([event.data, event.origin]); if (event.data === 'end') done.end = 1; });
    [0, '', false, null].forEach((nothing) => postMessage(nothing, '*'));
    postMessage('one');
    postMessage('slash', '/');
    postMessage('options', { targetOrigin: '/' });
    postMessage('elsewhere', 'https://other.example');
    </script><iframe srcdoc="<script>onmessage = (event) => parent.postMessage(event.data, event.origin)</script>" onload="this.contentWindow.postMessage('end', '${SITE}')"></iframe>`);
  const { done } = await found(t, [page], ['end']);
  const data = [0, '', false, null, 'one', 'slash', 'options', 'end'];
  assert.deepEqual(
    done.got,
    data.map((each) => [each, SITE]),
  );
});

test('modules know their own URL, import data, and can be made by scripts', async (t) => {
  const page = html(`
    <script type="importmap">{ "imports": { "bare": "/js/bare.js", "folder/": "/js/" } }</script>
    <script type="module" src="/js/main.js?v=1"></script>
    <script type="module">
      done.inline = import.meta.url;
      done.data = (await import('./js/data.json', { with: { type: 'json' } })).default.value;
      done.bare = (await import('bare')).name + (await import('folder/bare.js')).name;
      const made = document.createElement('script');
      made.type = 'module';
      made.textContent = "import { name } from './js/bare.js'; done.made = [name, location.href, globalThis.loads];";
      document.head.append(made);
    </script>`);
  const files = [
    page,
    script('/js/main.js?v=1', `done.main = [import.meta.url, new URL('/logo.png', import.meta.url).href];`),
    script('/js/bare.js', `globalThis.loads = (globalThis.loads ?? 0) + 1; export const name = 'bare';`),
    { url: `${SITE}/js/data.json`, type: 'application/json', body: '{"value":"from data"}' },
  ];
  const { done } = await found(t, files, ['inline', 'data', 'bare', 'made', 'main']);
  assert.deepEqual(done, {
    inline: `${SITE}/`,
    data: 'from data',
    bare: 'barebare',
    made: ['bare', `${SITE}/`, 1],
    main: [`${SITE}/js/main.js?v=1`, `${SITE}/logo.png`],
  });
});

test('evaluated code sees what other scripts see', async (t) => {
  const page = html(`<script>var host = 'location.host', isTop = 'top === window';
    Object.assign(done, {
      inPlace: eval(host), local: (function () { var self, x = 1; return eval('x + 1'); })(), everywhere: (0, eval)(host + ' + (' + isTop + ')'),
      window: (0, eval)('this') === window && Function('return this')() === window, made: new Function('a', 'return a + ' + host)('at '),
      own: [Function('top', 'return top')(1), Function('var parent = 2; return parent')(), Function('return this').call('x') + ''].join(),
      kind: Function instanceof Function && (function () {}).constructor === Function && Function('a', 'return a') instanceof Function,
      text: String(Function('a', 'return a')), strict: Function('"use strict"; return this')() === undefined
    });</script><script>eval('done.alone = ' + host)</script><iframe src=/0></iframe><iframe src=/1></iframe>`);
  const frames = ['eval("location = `/there`")', 'Function("location = `/there`")()'].map((code, at) => ({
    url: `${SITE}/${at}`,
    body: `<title>frame</title><script>${code}</script>`,
  }));
  const there = { url: `${SITE}/there`, body: '<title>there</title>' };
  const { done, frame } = await found(t, [page, ...frames, there], ['alone']);
  const host = 'modern.example';
  assert.deepEqual(done, {
    inPlace: host,
    local: 2,
    everywhere: `${host}true`,
    window: true,
    made: `at ${host}`,
    own: '1,2,x',
    kind: true,
    text: 'function anonymous(a\n) {\nreturn a\n}',
    strict: true,
    alone: host,
  });
  await frame.waitForFunction('Array.from(frames, (one) => one.document.title).join() === "there,there"');
});

test('evaluated code may declare its own names', async (t) => {
  const page = html(`<script>eval(atob('${btoa('var a, parent = 8; done.packed = parent')}'));</script><script>
    setTimeout('var opener = 3; done.later = opener', 0);
    Object.assign(done, {
      inner: (function () { var globalThis = (0, eval)('this'); return typeof globalThis.document; })(),
      given: (function (eval) { return eval('a', 'b'); })(function (a, b) { return a + b; }),
      name: new Function('this$', 'return this$')(1), quoted: Function('return "return this"')(),
      declared: Function('var location = 5; var self = this; return location')()
    });</script>`);
  const { done } = await found(t, [page], ['later', 'declared']);
  assert.deepEqual(done, {
    packed: 8,
    later: 3,
    inner: 'object',
    given: 'ab',
    name: 1,
    quoted: 'return this',
    declared: 5,
  });
});

test('globalThis is the window that scripts see', async (t) => {
  const seen = `[globalThis.location.href, globalThis.document.URL, globalThis === window, globalThis.top === top, typeof globalThis.fetch]`;
  const page = html(`
    <script>done.classic = ${seen}; globalThis.set = 1; async function handed() { return globalThis.set + set }</script>
    <script>handed().then((sum) => { done.handed = sum; });</script>
    <script>(function (globalThis) { done.own = globalThis })('own')</script>
    <script type="module">done.inline = ${seen};</script>
    <script type="module" src="/main.js"></script>`);
  const main = script('/main.js', `export class Function {} done.main = ${seen};`);
  const { done } = await found(t, [page, main], ['handed', 'inline', 'main']);
  const expected = [`${SITE}/`, `${SITE}/`, true, true, 'function'];
  assert.deepEqual(done, { classic: expected, handed: 2, own: 'own', inline: expected, main: expected });
});

test('storage holds text, and EventSource has its constants', async (t) => {
  const page = html(`<script>
    localStorage.setItem('seen', true);
    localStorage.setItem('count', 1);
    sessionStorage.none = null;
    done.storage = [localStorage.getItem('seen') === 'true', localStorage.count + 1, sessionStorage.getItem('none'), localStorage.getItem('absent'), localStorage.length];
    const source = new EventSource('/events');
    source.onmessage = (event) => { source.close(); done.source = [event.data, source.readyState === EventSource.CLOSED, source instanceof EventSource]; };
    </script>`);
  const events: SiteFile = { url: `${SITE}/events`, type: 'text/event-stream', body: 'data: hello\n\n' };
  const { done } = await found(t, [page, events], ['storage', 'source']);
  assert.deepEqual(done, { storage: [true, '11', 'null', null, 2], source: ['hello', true, true] });
});

test('a capture does not see the databases of captures of another time', async (t) => {
  const page = html(`<script>
    const opening = indexedDB.open('notes');
    opening.onupgradeneeded = () => opening.result.createObjectStore('notes');
    opening.onsuccess = () => {
      const notes = opening.result.transaction('notes', 'readwrite').objectStore('notes');
      const reading = notes.get('note');
      reading.onsuccess = () => {
        notes.put(new Date().toISOString().slice(0, 7), 'note').onsuccess = () => { done.note = reading.result ?? 'none'; };
      };
    };
    function remove() {
      opening.result.close();
      return new Promise((resolve) => { indexedDB.deleteDatabase('notes').onsuccess = () => indexedDB.databases().then((all) => resolve(all.length)); });
    }</script>`);
  const { frame, replayOrigin } = await found(t, [page, { ...page, time: SUMMER }], ['note']);
  // All captures are shown in one window, because data of pages are gone when a window closes.
  const note = async (stamp: string) => {
    await frame.goto(`${replayOrigin}/web/${stamp}mp_/${SITE}/`);
    await frame.waitForFunction(`typeof done !== 'undefined' && 'note' in done`);
    return frame.evaluate('done.note');
  };
  assert.equal(await note('20200701100000'), 'none');
  assert.equal(await note('20200401100000'), '2020-04');
  assert.equal(await frame.evaluate('remove()'), 0);
  assert.equal(await note('20200401100000'), 'none');
});

test('caches are empty, and captures of other times share neither channels nor locks', async (t) => {
  const look = `(async () => {
    const before = [await caches.has('v1'), (await caches.keys()).length];
    const cache = await caches.open('v1');
    await cache.addAll(['/data']);
    await cache.put('/other', new Response('x'));
    return [...before, await caches.has('v1'), await cache.match('/data'), (await cache.keys()).length, await caches.match('/other')].join();
  })()`;
  const seen = 'false,0,true,,0,';
  const page = html(`<script>const channel = new BroadcastChannel('talk'), heard = [];
    channel.onmessage = (event) => heard.push(event.data);
    navigator.locks.request('leader', () => new Promise(() => {}));
    navigator.locks.request('leader', { ifAvailable: true }, (lock) => { done.second = lock === null; });
    ${look}.then((all) => { done.caches = all; });
    done.name = channel.name;
    new Worker('/worker.js').onmessage = (event) => { done.worker = event.data; };</script>`);
  const worker = script(
    '/worker.js',
    `${look}.then((all) => { new BroadcastChannel('talk').postMessage('worker'); postMessage(all); });`,
  );
  const files = [page, { ...page, time: SUMMER }, worker];
  const names = ['second', 'caches', 'worker', 'name'];
  const { frame, replayOrigin, done, page: window } = await found(t, files, names);
  const expected = { second: true, caches: seen, worker: seen, name: 'talk' };
  assert.deepEqual(done, expected);
  await frame.waitForFunction(`heard.join() === 'worker'`);
  // In the same window, because windows may not share data.
  await window.evaluate(`const second = document.querySelector('iframe').cloneNode();
    second.id = 'second';
    second.src = '${replayOrigin}/web/20200701100000mp_/${SITE}/';
    document.body.append(second);`);
  const second = (await (await window.waitForSelector('#second', { state: 'attached' })).contentFrame())!;
  // The check runs when a frame is drawn, and a frame out of sight is not drawn.
  const isDone = `typeof heard !== 'undefined' && ${JSON.stringify(names)}.every((name) => name in done)`;
  await second.waitForFunction(isDone, undefined, { polling: 100 });
  assert.deepEqual(await second.evaluate('done'), expected);
  const holders = `navigator.locks.query().then(({ held, pending }) => [held.length, pending.length])`;
  assert.deepEqual(await second.evaluate(holders), [2, 0], 'each has its own');
  // Messages arrive in the order in which they were sent.
  await second.evaluate(`channel.postMessage('from summer')`);
  await frame.evaluate(`new BroadcastChannel('talk').postMessage('last')`);
  await frame.waitForFunction(`heard.includes('last')`);
  assert.deepEqual(await frame.evaluate('heard'), ['worker', 'last']);
});

test('workers share the databases of their page', async (t) => {
  const code = `
    const opening = indexedDB.open('shared');
    opening.onsuccess = () => {
      const reading = opening.result.transaction('notes').objectStore('notes').get('note');
      reading.onsuccess = async () => postMessage([reading.result, (await indexedDB.databases()).map(({ name }) => name)]);
    };
    opening.onupgradeneeded = () => postMessage('another database');`;
  const page = html(`<script>
    const opening = indexedDB.open('shared', 3);
    opening.onupgradeneeded = () => opening.result.createObjectStore('notes').put('kept', 'note');
    opening.onsuccess = () => {
      const ways = { script: '/worker.js', blob: URL.createObjectURL(new Blob([${JSON.stringify(code)}], { type: 'text/javascript' })) };
      for (const name in ways) new Worker(ways[name]).onmessage = (event) => { done[name] = event.data; };
    };</script>`);
  const worker = { ...script('/worker.js', code), time: SPRING + 60_000 };
  const { done } = await found(t, [page, worker], ['script', 'blob']);
  assert.deepEqual(done, { script: ['kept', ['shared']], blob: ['kept', ['shared']] });
});

test('Date can be called and extended, and events have the window and the document that scripts see', async (t) => {
  const page = html(`<script>
    class Day extends Date { get year() { return this.getUTCFullYear() } }
    done.date = [typeof Date(), new Date(Date()).getUTCFullYear(), new Date().getUTCFullYear(), new Date(2019, 0).getFullYear(), new Day().year, new Day(0).year,
      String(new Date(undefined)), new Date().constructor === Date, new Day() instanceof Date, Date.UTC(2000, 0)];
    Date.now = () => new Date().getTime();
    done.now = new Date(Date.now()).getUTCFullYear();
    addEventListener('zap', function (event) { done.event = [event.target === window, event.currentTarget === window, this === window] });
    dispatchEvent(new Event('zap'));
    document.addEventListener('zap', (event) => { done.document = [event.target === document, event.currentTarget === document] });
    document.dispatchEvent(new Event('zap'));
    </script>`);
  const { done } = await found(t, [page], ['date', 'now', 'event', 'document']);
  const date = ['string', 2020, 2020, 2019, 2020, 1970, 'Invalid Date', true, true, Date.UTC(2000, 0)];
  assert.deepEqual(done, { date, now: 2020, event: [true, true, true], document: [true, true] });
});

const PLACE = `[location.href, location.origin, location.pathname, String(self.location), self.origin, location instanceof WorkerLocation, new URL('/x', location).href]`;

test('workers see original URLs', async (t) => {
  const page = html(`<script>
    const run = (name, worker) => {
      (worker.port ?? worker).onmessage = (event) => { done[name] = event.data; };
      worker.onerror = (event) => { done[name] = 'error: ' + event.message; };
    };
    run('classic', new Worker('/jobs/classic.js?q=1'));
    run('module', new Worker('/jobs/module.js', { type: 'module' }));
    run('shared', new SharedWorker('/jobs/shared.js'));
    run('nested', new Worker('/jobs/outer.js'));
    const code = "fetch('${SITE}/data.json').then((reply) => postMessage([location.origin, location.protocol, reply.url]))";
    run('blob', new Worker(URL.createObjectURL(new Blob([code], { type: 'text/javascript' }))));
    </script>`);
  const files = [
    page,
    script('/jobs/classic.js?q=1', `fetch('../data.json').then((reply) => postMessage([...${PLACE}, reply.url]))`),
    script(
      '/jobs/module.js',
      `import { part } from './part.js';
       import(new URL('./later.js', import.meta.url)).then((later) => postMessage([...${PLACE}, part, later.default, import.meta.url]), (error) => postMessage(String(error)));`,
    ),
    script('/jobs/part.js', `export const part = location.pathname;`),
    script('/jobs/later.js', `export default 'later';`),
    script('/jobs/shared.js', `onconnect = (event) => event.ports[0].postMessage(location.href);`),
    script('/jobs/outer.js', `new Worker('${SITE}/jobs/inner.js').onmessage = (event) => postMessage(event.data);`),
    script('/jobs/inner.js', `postMessage(location.href);`),
    { url: `${SITE}/data.json`, type: 'application/json', body: '{}' },
  ];
  const { done } = await found(t, files, ['classic', 'module', 'shared', 'nested', 'blob']);
  const place = (path: string, query = '') => {
    const href = `${SITE}${path}${query}`;
    return [href, SITE, path, href, SITE, true, `${SITE}/x`];
  };
  assert.deepEqual(done, {
    classic: [...place('/jobs/classic.js', '?q=1'), `${SITE}/data.json`],
    module: [...place('/jobs/module.js'), '/jobs/module.js', 'later', `${SITE}/jobs/module.js`],
    shared: `${SITE}/jobs/shared.js`,
    nested: `${SITE}/jobs/inner.js`,
    blob: [SITE, 'blob:', `${SITE}/data.json`],
  });
});

test('frames and workers that scripts make from text load from the archive, at the time of the page', async (t) => {
  const asking = (told: string) =>
    `fetch('https://cdn.example/data.json').then((reply) => reply.json()).then((data) => ${told}, (error) => ${told.replace('data.value', 'String(error)')})`;
  const framed = (name: string) =>
    `<!doctype html><p><img src="https://cdn.example/pixel.png"><script>${asking(
      `parent.postMessage({ ${name}: [data.value, document.compatMode, document.images[0].src, document.scripts.length] }, '*')`,
    )}</script>`;
  const page = html(`<p><script>
    addEventListener('message', (event) => Object.assign(done, event.data));
    const blobOf = (text, type) => URL.createObjectURL(new Blob([text], { type }));
    const frame = (prepare) => { const made = document.createElement('iframe'); prepare(made); document.body.append(made); };
    const run = (name, worker) => {
      worker.onmessage = (event) => { done[name] = event.data; };
      worker.onerror = (event) => { done[name] = 'error: ' + event.message; };
    };
    const texts = ${JSON.stringify(Object.fromEntries(['set', 'attribute', 'markup', 'blob'].map((name) => [name, framed(name)]))).replaceAll('<', '\\u003c')};
    frame((made) => { made.srcdoc = texts.set; });
    frame((made) => { made.setAttribute('srcdoc', texts.attribute); });
    document.body.insertAdjacentHTML('beforeend', '<iframe srcdoc="' + texts.markup.replaceAll('"', '&quot;') + '"></iframe>');
    frame((made) => { made.src = blobOf(texts.blob, 'text/html'); });
    run('classic', new Worker(blobOf(${JSON.stringify(asking('postMessage(data.value)'))}, 'text/javascript')));
    const code = "import { part } from '${SITE}/part.js'; const { later } = await import('${SITE}/later.js'); postMessage([part, later, location.origin])";
    run('module', new Worker(blobOf(code, 'text/javascript'), { type: 'module' }));
    </script>`);
  const data = (value: string): SiteFile => {
    return { url: 'https://cdn.example/data.json', type: 'application/json', body: JSON.stringify({ value }) };
  };
  const files: SiteFile[] = [
    page,
    data('spring'),
    { ...data('summer'), time: SUMMER },
    { url: 'https://cdn.example/pixel.png', type: 'image/png', body: PIXEL },
    script('/part.js', `export const part = location.origin + ' part';`),
    script('/later.js', `export const later = 'later';`),
    { ...script('/later.js', `export const later = 'later in summer';`), time: SUMMER },
  ];
  const ways = ['set', 'attribute', 'markup', 'blob'];
  const { done } = await found(t, files, [...ways, 'classic', 'module']);
  const seen = ['spring', 'CSS1Compat', 'https://cdn.example/pixel.png', 1];
  assert.deepEqual(done, {
    ...Object.fromEntries(ways.map((way) => [way, seen])),
    classic: 'spring',
    module: [`${SITE} part`, 'later', SITE],
  });
});

test('a replaced frame has no document, and workers belong to the site of the page even if its base is on another site', async (t) => {
  const page = html(`<base href="https://cdn.example/"><p><iframe></iframe></p><script>
    const frame = document.querySelector('iframe');
    frame.innerHTML = 'none';
    done.inner = frame.innerHTML;
    frame.outerHTML = '<b>shown</b>';
    done.outer = document.querySelector('p').innerHTML;
    const opening = indexedDB.open('shared', 3);
    opening.onsuccess = () => {
      const code = "indexedDB.databases().then((all) => postMessage([location.origin, all.length]))";
      new Worker(URL.createObjectURL(new Blob([code]))).onmessage = (event) => { done.worker = event.data; };
    };</script>`);
  const { done } = await found(t, [page], ['worker']);
  assert.deepEqual(done, { inner: 'none', outer: '<b>shown</b>', worker: [SITE, 1] });
});

test('a WebSocket fails as it does without a network', async (t) => {
  const watch = `(tell) => {
    const events = [];
    const socket = new WebSocket('ws://live.example/feed', ['chat']);
    events.push(socket instanceof WebSocket, WebSocket.CLOSED);
    socket.addEventListener('open', () => events.push('open'));
    socket.onerror = () => events.push('error');
    socket.onclose = (event) => tell([...events, 'close', event.code, event.wasClean, socket.readyState]);
  }`;
  const page = html(`<script>
    (${watch})((events) => { done.page = events; });
    new Worker('/worker.js').onmessage = (event) => { done.worker = event.data; };
    </script>`);
  const { done } = await found(t, [page, script('/worker.js', `(${watch})(postMessage)`)], ['page', 'worker']);
  const failure = [true, 3, 'error', 'close', 1006, false, 3];
  assert.deepEqual(done, { page: failure, worker: failure });
});

test('scripts read the response fields of the original, except for cookies', async (t) => {
  const page = html(`<script>
    fetch('/list.json').then((reply) => { done.fetch = [reply.headers.get('X-Total'), reply.headers.get('content-type'), reply.headers.get('link'), [...reply.headers.keys()]]; });
    const request = new XMLHttpRequest();
    request.open('GET', '/list.json');
    request.onload = () => { done.xhr = [request.getResponseHeader('x-total'), request.getResponseHeader('set-cookie'), request.getAllResponseHeaders()]; };
    request.send();
    done.own = new Response('x', { headers: { 'x-archive-orig-a': '1' } }).headers.get('x-archive-orig-a');
    fetch('/more.json', { headers: { Range: 'bytes=1-' } }).then(({ headers }) => { done.part = [headers.get('content-range'), headers.get('content-length')]; });
    </script>`);
  const list: SiteFile = {
    url: `${SITE}/list.json`,
    type: 'application/json',
    fields: [
      'Content-Length: 2',
      'X-Total: 42',
      'Link: </list.json?page=2>; rel="next"',
      'Set-Cookie: a=b',
      'Content-Security-Policy: x',
    ],
    body: '[]',
  };
  const { done } = await found(t, [page, list, { ...list, url: `${SITE}/more.json` }], ['fetch', 'xhr', 'part']);
  const link = '</list.json?page=2>; rel="next"';
  const names = ['content-length', 'content-security-policy', 'content-type', 'link', 'x-total'];
  assert.deepEqual(done.fetch, ['42', 'application/json', link, names]);
  const lines = ['content-length: 2', 'content-security-policy: x', 'content-type: application/json', `link: ${link}`];
  assert.deepEqual(done.xhr, ['42', null, [...lines, 'x-total: 42', ''].join('\r\n')]);
  assert.equal(done.own, '1');
  assert.deepEqual(done.part, ['bytes 1-1/2', '1']);
});

test('style sheets and HTML that scripts make from text load from the archive', async (t) => {
  const page = html(`<div id="styled">x</div><div id="filled"></div><script>
    const sheet = new CSSStyleSheet();
    sheet.replaceSync('#styled { background: url(https://cdn.example/made.png) }');
    document.adoptedStyleSheets = [sheet];
    const filled = document.getElementById('filled');
    filled.setHTMLUnsafe('<img src="https://cdn.example/filled.png">');
    filled.firstChild.onload = () => { done.filled = filled.firstChild.src; };
    </script>`);
  const pixel = (name: string): SiteFile => ({
    url: `https://cdn.example/${name}.png`,
    type: 'image/png',
    body: PIXEL,
  });
  const { done, page: shown, record } = await found(t, [page, pixel('made'), pixel('filled')], ['filled']);
  assert.equal(done.filled, 'https://cdn.example/filled.png');
  await shown.waitForLoadState('networkidle');
  assert.ok(record.requests.some((url) => url.endsWith('/https://cdn.example/made.png')));
});

test('paths of a site that begin with the name of the replay path are found in the site', async (t) => {
  const page = html(`<script>
    fetch('/web/guest/data.json').then((reply) => reply.text()).then((text) => { done.fetch = text; });
    const image = new Image();
    image.onload = () => { done.image = image.naturalWidth; };
    image.src = '/web/logo.png';
    const inner = document.createElement('iframe');
    inner.src = '/web/guest/home';
    document.documentElement.append(inner);
    </script>`);
  const files: SiteFile[] = [
    page,
    { url: `${SITE}/web/guest/data.json`, type: 'application/json', body: '"data"' },
    { url: `${SITE}/web/logo.png`, type: 'image/png', body: PIXEL },
    { url: `${SITE}/web/guest/home`, body: `<script>parent.done.home = location.href</script>` },
  ];
  const { done } = await found(t, files, ['fetch', 'image', 'home']);
  assert.deepEqual(done, { fetch: '"data"', image: 1, home: `${SITE}/web/guest/home` });
});
