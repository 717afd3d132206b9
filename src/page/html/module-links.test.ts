import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPageOnThisThread } from '../page.ts';
import { linksOfScript } from './module-links.ts';

const SCRIPT = 'http://a.test/base/assets/index.js';

function named(text: string): string[] {
  return linksOfScript(Buffer.from(text), SCRIPT).map(({ url, kind, isEmbed }) => {
    assert.ok(isEmbed);
    return `${kind} ${url.slice('http://a.test'.length)}`;
  });
}

async function ofPage(html: string): Promise<string[]> {
  const page = await readPageOnThisThread({ bytes: Buffer.from(html), mime: 'text/html', url: 'http://a.test/dir/' });
  return page!.links.map(({ url, kind }) => `${kind} ${url.slice('http://a.test'.length)}`);
}

test('imports and re-exports are found in modules written by hand and by bundlers', () => {
  assert.deepEqual(named(`import{a as b,c}from"./one.js";import d from'../two.js';import*as e from"/three.js"`), [
    'script /base/assets/one.js',
    'script /base/two.js',
    'script /three.js',
  ]);
  assert.deepEqual(named('import "./one.js";\nexport * from "./two.js";\nexport {\n  x,\n} from\n  "./three.js";'), [
    'script /base/assets/one.js',
    'script /base/assets/two.js',
    'script /base/assets/three.js',
  ]);
  assert.deepEqual(named('/*! (c) */import"./one.js";'), ['script /base/assets/one.js']);
});

test('dynamic imports of literal names are found', () => {
  const text = 'e(()=>import("./one.js"));import( /* lazy */ `./two.js` );import(x);import("./"+x);a.import("./no.js")';
  assert.deepEqual(named(text), ['script /base/assets/one.js', 'script /base/assets/two.js']);
});

test('bare names and imports in comments are ignored in script files', () => {
  assert.deepEqual(
    named(
      "import a from 'react';\n// import b from './b.js';\n/**\n * import c from './c.js'\n */\nlet from = './d.js'",
    ),
    [],
  );
});

test('assets of a module, and the files that Vite lists for its imports, are found', () => {
  assert.deepEqual(named('const a=new URL("logo.svg",import.meta.url).href'), ['data /base/assets/logo.svg']);
  const lists = 'd=(m.f||(m.f=["assets/a.js","assets/a.css"]));b(()=>import("./a.js"),["./b.css"]);x=["other/c.js"]';
  assert.deepEqual(named(lists), [
    'script /base/assets/a.js',
    'script /base/assets/a.js',
    'style /base/assets/a.css',
    'style /base/assets/b.css',
  ]);
});

test('a list of very many files is read; a list with other values is ignored', () => {
  const files = Array.from({ length: 400_000 }, (_, number) => `"assets/${number % 50_000}.js"`).join();
  assert.equal(named(`import("./a.js");f=[${files}]`).length, 100_000);
  assert.equal(named(`import("./a.js");f=[${files}`).length, 1);
  assert.deepEqual(named('import("./a.js");f=["./b.js","no list of files"];g=["./c.js",]'), [
    'script /base/assets/a.js',
    'script /base/assets/c.js',
  ]);
});

test('files of a list are relative to the root of the site, even if the path has a double slash', () => {
  const text = Buffer.from('import("./a.js");f=["assets/b.js"]');
  assert.deepEqual(
    linksOfScript(text, 'http://a.test//assets/a.js').map(({ url }) => url),
    ['http://a.test//assets/a.js', 'http://a.test//assets/b.js'],
  );
});

test('in a long line, a comment sign far before an import does not hide the import', () => {
  for (const sign of ['*', '//', '/*', ' *'])
    assert.deepEqual(named(`a=b${sign.padEnd(200, ';')}import("./one.js")`), ['script /base/assets/one.js'], sign);
});

test('inline modules of a page are read with its import maps', async () => {
  const html = `<script type="importmap">{"imports": {"three": "./three.js", "three/addons/": "/jsm/", "no": "bare"},
    "scopes": {"/x/": {"three": "./old.js"}}}</script>
    <script type="module">import * as T from 'three'; import { O } from 'three/addons/orbit.js'; import './own.js'; import 'no';</script>
    <script>text = " from './no.js'"</script>
    <script type="text/x-template">import './no.js'</script>
    <link rel="modulepreload" href="/pre.js">`;
  assert.deepEqual(await ofPage(html), [
    'script /dir/three.js',
    'script /dir/old.js',
    'script /dir/three.js',
    'script /jsm/orbit.js',
    'script /dir/own.js',
    'script /pre.js',
  ]);
  const maps = ['{"imports": {"a/": "/a/"}}', '{"imports": {"b/": "/b/", "a/": "/no/"}}'];
  const twice = `${maps.map((map) => `<script type=importmap>${map}</script>`).join('')}<script type=module>import "a/x.js"; import "b/y.js"</script>`;
  assert.deepEqual(await ofPage(twice), ['script /a/x.js', 'script /b/y.js'], 'one map adds to another');
  assert.deepEqual(await ofPage('<script type=importmap>{broken</script><script type=module>import "a"</script>'), []);
});
