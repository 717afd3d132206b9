/** Scripts that read the URL of their page or navigate it see original URLs and stay in the archive. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { until } from './chromium.ts';
import type { SiteFile } from './sample-site.ts';
import { openSite, setStage } from './served-archive.ts';

const stage = setStage();
const SITE = 'http://site.example';

function opened(t: test.TestContext, files: readonly SiteFile[]) {
  return openSite(t, stage, files, `/web/20200401100000/${SITE}/`);
}

/**
 * Runs each code in a separate frame. The code must lead to the page `there` in its folder. THERE in the code is
 * replaced by the whole URL of that page.
 */
async function assertAllLead(t: test.TestContext, codes: readonly string[]): Promise<void> {
  const body = `<!doctype html><title>page</title>${codes.map((_, at) => `<iframe src="/${at}/"></iframe>`).join('')}`;
  const files = codes.flatMap((code, at): SiteFile[] => [
    {
      url: `${SITE}/${at}/`,
      body: `<!doctype html><title>frame</title><body><script>${code.replaceAll('THERE', `${SITE}/${at}/there`)}</script>`,
    },
    { url: `${SITE}/${at}/there`, body: `<title>there</title><script>document.title += location.pathname</script>` },
  ]);
  const { frame, record } = await opened(t, [{ url: `${SITE}/`, body }, ...files]);
  for (const [at, code] of codes.entries()) {
    const shown = async () => `${code}: ${await frame.evaluate(`frames[${at}]?.document.title`)}`;
    await until(shown, new RegExp(`: there/${at}/there$`));
  }
  assert.deepEqual(record.outsideRequests, []);
}

/** The values of expressions in a page, by expression. */
async function valuesOf(t: test.TestContext, expressions: readonly string[]): Promise<unknown> {
  const scripts = expressions.map((each) => `<script>done.push(${each})</script>`).join('\n');
  const body = `<!doctype html><title>page</title><body><script>var done = []</script>${scripts}`;
  const { frame, record } = await opened(t, [{ url: `${SITE}/`, body }]);
  await frame.waitForLoadState();
  const values = (await frame.evaluate('Promise.all(done)')) as unknown[];
  assert.equal(values.length, expressions.length, record.consoleErrors.join('\n'));
  return Object.fromEntries(expressions.map((each, at) => [each, values[at]]));
}

/** Checks that the value of each expression is the URL of the page. */
async function assertAllSeePage(t: test.TestContext, expressions: readonly string[]): Promise<void> {
  const expected = Object.fromEntries(expressions.map((each) => [each, `${SITE}/`]));
  assert.deepEqual(await valuesOf(t, expressions), expected);
}

test('a script that adds text to the location leads to the original URL with the addition', async (t) => {
  await assertAllLead(t, [
    `location += 'there'`,
    `window.location += 'there'`,
    `document.location += 'there'`,
    `this['location'] += 'there'`,
    `var a = 1\nlocation /* here */ += true ? 'there' : 'nowhere'`,
    `(function () { 'use strict'; return location += 'there' })()`,
    `location &&= 'there'`,
    `location ||= 'nowhere'; location ??= 'nowhere'; location += 'there'`,
    `eval("location += 'there'")`,
    `setTimeout("location += 'there'", 0)`,
    `Function("location += 'there'")()`,
    `document.write('<scr' + 'ipt>location += "there"</scr' + 'ipt>')`,
    `document.write('<b id=b onclick="location += \\'there\\'"></b>'); document.getElementById('b').click()`,
  ]);
});

test('a variable with the name location can be changed like any other', async (t) => {
  const expressions = [
    `(function (location) { location += 1; return location })('own')`,
    `(function () { var location; location ||= 'own'; location &&= location + 2; return location })()`,
    `eval('(function () { var location = "own"; location += 3; return location })()')`,
    `(function ({ location = 'own' }) { location = location + 4; return location })({})`,
  ];
  const values = await valuesOf(t, expressions);
  assert.deepEqual(Object.values(values as object), ['own1', 'own2', 'own3', 'own4']);
});

test('a page that a script navigates to a fragment still has its location', async (t) => {
  const values = await valuesOf(t, [`(function () { location = '#part'; return [location.hash, location.href] })()`]);
  assert.deepEqual(Object.values(values as object), [['#part', `${SITE}/#part`]]);
});

test('an eval that is called by another name sees the original URL', async (t) => {
  await assertAllSeePage(t, [
    `(0, eval)('location.href')`,
    `(function () { var run = eval; return run('location.href') })()`,
    `(function (run) { return run('document.URL') })(eval)`,
    `({ run: eval }).run('top.location.href')`,
    `eval.call(null, 'location.href')`,
    `eval.apply(window, ['this.location.href'])`,
    `eval?.('location.href')`,
    `['location.href'].map(eval)[0]`,
    `(null, eval)('this').location.href`,
    `(function () { var run = eval; run('function handed() { return location.href }'); return handed() })()`,
  ]);
});

test('an eval that is called by another name evaluates in the global scope, and a direct eval in the local scope', async (t) => {
  const expressions = [
    `(function () { var local = 1, run = eval; return run('typeof local') })()`,
    `(function () { var run = eval; run('var handedOn = 2'); return window.handedOn + handedOn })()`,
    `(function () { var local = 3; return eval('local') + (eval)('local') })()`,
    `(function (eval) { var run = eval; return run('own') })(function (text) { return text })`,
    `(function () { var eval = function () { return 'var' }; return [(0, eval)('x'), { eval }.eval()].join() })()`,
    `[(() => eval === window.eval)(), window.eval === window.eval, (0, eval) === eval, typeof eval, eval.name, /native/.test(eval)].join()`,
    `[(0, eval)(5), (0, eval)('1;2'), typeof (0, eval)()].join()`,
  ];
  const values = Object.values((await valuesOf(t, expressions)) as object);
  assert.deepEqual(values, ['undefined', 4, 6, 'own', 'var,var', 'true,true,true,function,eval,true', '5,2,undefined']);
});

test('functions that other constructors make from text see the original URL', async (t) => {
  await assertAllSeePage(t, [
    `(async function () {}).constructor('return location.href')()`,
    `(function* () {}).constructor('yield location.href')().next().value`,
    `(async function* () {}).constructor('yield location.href')().next().then(({ value }) => value)`,
    `new (class Made extends Function {})('return location.href')()`,
    `(function () { return this['location'].href })()`,
  ]);
});

test('every constructor of functions makes functions of its kind', async (t) => {
  const values = await valuesOf(t, [
    `(async function () {}).constructor('a', 'return await a')(1)`,
    `(function () { class Made extends Function { own() { return 2 } } var made = new Made('return top'); return [made instanceof Made, made.own()].join() })()`,
    `(function () { var Waiting = (async () => {}).constructor; return [Waiting.name, new Waiting('top') instanceof Waiting].join() })()`,
  ]);
  assert.deepEqual(Object.values(values as object), [1, 'true,2', 'AsyncFunction,true']);
});

test('`this` in evaluated code is the window that scripts see', async (t) => {
  await assertAllSeePage(t, [
    `new Function('return this.location.href')()`,
    `new Function('text', 'return eval(text)')('location.href')`,
    `new Function('var own = this; return own.location.href')()`,
    `new Function('return (function (own) { return own.document })(this).URL')()`,
    `new Function('return (this === window) && location.href')()`,
    `window.eval('var w = this; w.location.href')`,
  ]);
});

test('`new this` constructs an object, in scripts and in evaluated code', async (t) => {
  const made = `class Made { constructor(own) { this.own = own } static of(own) { return new this(own) } static empty() { return new this; } }`;
  const values = await valuesOf(t, [
    `(() => { ${made}; return [Made.of(1).own, Made.empty() instanceof Made].join() })()`,
    `new Function('${made}; return [window && Made.of(2).own, Made.empty() instanceof Made].join()')()`,
  ]);
  assert.deepEqual(Object.values(values as object), ['1,true', '2,true']);
});

test('evaluated code may declare any name, anywhere in a list of variables', async (t) => {
  const list = `var left = Math.max(1, 0), top = 2, parent;`;
  const values = await valuesOf(t, [
    `(document.body.setAttribute('onclick', '${list} window.clicked = left + top'), document.body.click(), clicked)`,
    `(function () { var run = eval; return run('(function () { ${list} return left + top })() === 3 && top.location.href') })()`,
    `new Function('${list} return eval("(function () { ${list} return left + top + window.length })()")')()`,
    `(function () { var run = eval; return run('var a = [1, top, 2], b = [a, document, location].length && document.URL; b') })()`,
  ]);
  assert.deepEqual(Object.values(values as object), [3, `${SITE}/`, 3, `${SITE}/`]);
});

test('regular expressions in evaluated code stay as they are', async (t) => {
  const patterns = ['/&location=/', '/\\\\?location=(.*)/', '/a|location=/', '/>location=/', '/&?location=/'];
  const values = await valuesOf(
    t,
    patterns.map((pattern) => `(function () { var run = eval; return String(run('window; ${pattern}')) })()`),
  );
  const expected = patterns.map((pattern) => pattern.replaceAll('\\\\', '\\'));
  assert.deepEqual(Object.values(values as object), expected);
});

test('the text of a function is rewritten once, however many functions are made from it', async (t) => {
  const measure = `(text) => { const start = performance.now(); for (let count = 0; count < 1000; count++) new Function('a', text); return performance.now() - start; }`;
  const values = await valuesOf(t, [
    `[0, 1].map((at) => { const made = new Function('a', 'return typeof window + a'); made.at = at; return made }).map((made) => [made.at, made(1)].join()).join()`,
    `[new Function('a', 'b', 'return [top === window, a, b].join()')(1, 2), new Function('a,b', 'return [top === window, a, b].join()')(1, 2)].join()`,
    `(() => { const run = ${measure}; const times = (text) => Math.min(...[1, 2, 3, 4, 5].map(() => run(text))); return times('return window.a') / times('return other.a') })()`,
    `(() => { try { new Function('}, window, {') } catch (error) { return error.name } })()`,
  ]);
  const [own, parameters, ratio, wrong] = Object.values(values as object);
  assert.deepEqual([own, parameters, wrong], ['0,object1,1,object1', 'true,1,2,true,1,2', 'SyntaxError']);
  assert.ok(ratio < 5, `${ratio} times as long as a text that is not rewritten`);
});

test('handlers and javascript: links that scripts write stay in the archive', async (t) => {
  await assertAllLead(t, [
    `document.body.setAttribute('onclick', "location.href = 'THERE'"); document.body.click()`,
    `document.body.innerHTML = '<b onclick="location = \`THERE\`; return false">go</b>'; document.body.firstChild.click()`,
    `document.write('<b id=go onclick="window.location.href = \`THERE\`">go</b>'); document.getElementById('go').click()`,
    `document.body.innerHTML = '<a href="javascript:void(location.href = \`THERE\`) // go">go</a>'; document.links[0].click()`,
    `document.body.append(Object.assign(document.createElement('a'), { href: "javascript:void(location = 'THERE')" })); document.links[0].click()`,
    `location.href = "javascript:void(location.href = 'THERE')"`,
    `window.open("javascript:location.replace('THERE')", '_self')`,
  ]);
});

test('refreshes, buttons and navigation.navigate() stay in the archive', async (t) => {
  const made = `var made = document.createElement('meta');`;
  await assertAllLead(t, [
    `document.write('<meta http-equiv=refresh content="0;url=THERE">')`,
    `document.write('<META HTTP-EQUIV="Refresh" CONTENT="0; URL=\\'THERE\\'">')`,
    `${made} made.httpEquiv = 'refresh'; made.content = '0;url=THERE'; document.head.append(made)`,
    `${made} made.setAttribute('content', '0, THERE'); made.setAttribute('http-equiv', 'refresh'); document.head.appendChild(made)`,
    `document.body.innerHTML = '<form><button formaction="THERE" formmethod=post>go</button></form>'; document.querySelector('button').click()`,
    `document.body.innerHTML = '<form method=post><input type=submit></form>'; document.querySelector('input').formAction = 'THERE'; document.querySelector('input').click()`,
    `document.body.innerHTML = '<form method=post><button>go</button></form>'; document.querySelector('button').setAttribute('formaction', 'there'); document.querySelector('button').click()`,
    `navigation.navigate('THERE')`,
    `navigation.navigate(location.pathname + 'there')`,
  ]);
});

test('handlers that scripts write, and properties of the browser, have the original URL', async (t) => {
  await assertAllSeePage(t, [
    `(document.body.setAttribute('onclick', 'window.seen = location.href'), document.body.click(), seen)`,
    `(document.body.insertAdjacentHTML('beforeend', '<b id=written onclick="window.other = document.URL">x</b>'), written.click(), other)`,
    `new Promise((resolve) => { location.href = 'javascript:void(window.told = top.location.href)'; setTimeout(() => resolve(told.split("#")[0]), 100) })`,
    `(document.body.insertAdjacentHTML('beforeend', '<meta http-equiv=refresh content="3600">'), document.querySelector('meta[content="3600"]') ? location.href : 'a time without an address is changed')`,
    `navigation.currentEntry.url`,
    `performance.getEntriesByType('navigation')[0].name`,
    `new Promise((resolve) => { navigation.onnavigate = (event) => resolve(event.destination.url.split('#')[0]); location.hash = 'part' })`,
    `new Promise((resolve) => { addEventListener('error', (event) => resolve(event.filename)); setTimeout(() => { throw new Error('told') }) })`,
  ]);
});

test('a script reads the handlers and buttons that it wrote, and can list all names of the window', async (t) => {
  const values = await valuesOf(t, [
    `(document.body.setAttribute('onclick', 'location = 1'), document.body.getAttribute('onclick'))`,
    `(document.body.insertAdjacentHTML('beforeend', '<a href="javascript:f(top)">x</a>'), document.links[0].getAttribute('href'))`,
    `(() => { const made = document.createElement('button'); made.setAttribute('formaction', '/x'); return [made.formAction, made.getAttribute('formaction')].join() })()`,
    `(() => { for (const name in window) void (window[name] && window[name].x); for (const name of Object.getOwnPropertyNames(window)) void window[name]; return 'all' })()`,
  ]);
  const expected = ['location = 1', 'javascript:f(top)', `${SITE}/x,/x`, 'all'];
  assert.deepEqual(Object.values(values as object), expected);
});

test('a script reads refreshes, javascript: links and custom attributes as it wrote them', async (t) => {
  const values = await valuesOf(t, [
    `(() => { const made = document.createElement('meta'); made.httpEquiv = 'refresh'; made.setAttribute('content', '999; url=/x'); return [made.content, made.getAttribute('content')].join() })()`,
    `Object.assign(document.createElement('a'), { href: 'javascript:f(top)' }).href`,
    `(document.body.insertAdjacentHTML('beforeend', '<i id=own on-place="top" onward="stop" onclick="0"></i>'), [own.attributes[1].value, own.attributes[2].value].join())`,
    `(own.setAttribute('on-place', 'parent'), own.setAttribute('onward', 'window'), [own.attributes[1].value, own.attributes[2].value].join())`,
  ]);
  const expected = ['999; url=/x,999; url=/x', 'javascript:f(top)', 'top,stop', 'parent,window'];
  assert.deepEqual(Object.values(values as object), expected);
});

test('a script reads HTML with the handlers that it wrote', async (t) => {
  const markup = `<b onclick="if (1 &amp;&amp; top) f(&quot;x&quot;)">x</b><a href="javascript:f(top)">y</a>`;
  const values = await valuesOf(t, [
    `(() => { const made = document.createElement('p'); made.innerHTML = '${markup}'; return [made.innerHTML, made.firstChild.outerHTML].join() })()`,
  ]);
  assert.deepEqual(Object.values(values as object), [`${markup},${markup.replace(/<a.*/, '')}`]);
});
