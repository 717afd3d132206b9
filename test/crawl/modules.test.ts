import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crawl } from '../../src/crawl/index.ts';
import { allCaptures, makeArchive } from '../archive/trial-archive.ts';
import { TestWeb } from './test-web.ts';

test('the modules that a bundled site imports are captured', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const script = { 'content-type': 'text/javascript; charset=utf-8' };
  const head = `<script type="module" crossorigin src="/assets/index.js"></script><link rel="modulepreload" href="/assets/vendor.js">`;
  web.put('site.test', '/', `<!doctype html><head>${head}</head><body><div id="app"></div>`);
  const list = 'const d=(i,m=d,f=(m.f||(m.f=["assets/about.js","assets/about.css"])))=>i.map(i=>f[i]);';
  web.put(
    'site.test',
    '/assets/index.js',
    `${list}import{r as e}from"./vendor.js";p(()=>import("./about.js"))`,
    script,
  );
  web.put('site.test', '/assets/vendor.js', 'import"./shared.js";export{r}', {
    'content-type': 'application/javascript',
  });
  web.put('site.test', '/assets/shared.js', 'export const s=new URL("logo.svg",import.meta.url).href', script);
  web.put('site.test', '/assets/about.js', 'export*from"./missing.js";', script);
  web.put('site.test', '/assets/about.css', 'body{background:url(paper.png)}', { 'content-type': 'text/css' });
  for (const path of ['/assets/logo.svg', '/assets/paper.png'])
    web.put('site.test', path, 'a picture', { 'content-type': 'image/png' });
  const archive = await makeArchive(t, { clock: Date.now });
  const report = await crawl(
    archive,
    [web.url('site.test')],
    { allowPrivate: true, delayMs: 0 },
    { resolve: web.resolve },
  );
  assert.deepEqual([report.outcome, report.counts.pages, report.counts.failed], ['done', 1, 0]);
  const found = (await allCaptures(archive)).map(({ url, status }) => `${status} ${new URL(url).pathname}`);
  assert.deepEqual(found.sort(), [
    '200 /',
    '200 /assets/about.css',
    '200 /assets/about.js',
    '200 /assets/index.js',
    '200 /assets/logo.svg',
    '200 /assets/paper.png',
    '200 /assets/shared.js',
    '200 /assets/vendor.js',
    '404 /assets/missing.js',
    '404 /robots.txt',
  ]);
});

test('a long chain of module imports is captured, and an endless one is cut off', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const script = { 'content-type': 'text/javascript' };
  web.put('site.test', '/', '<script type=module src="/m1.js"></script>');
  for (let number = 1; number < 100; number++)
    web.put('site.test', `/m${number}.js`, `import "./m${number + 1}.js"`, script);
  const archive = await makeArchive(t, { clock: Date.now });
  const settings = { allowPrivate: true, delayMs: 0 };
  const { counts } = await crawl(archive, [web.url('site.test')], settings, { resolve: web.resolve });
  assert.deepEqual([counts.pages, counts.captures, counts.traps], [1, 2 + 32, { embeds: 1 }]);
});
