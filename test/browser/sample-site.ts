/** Sites for the browser tests, put into an archive as captures. */

import type { Archive } from '../../src/archive/index.ts';
import { utf8 } from '../../src/base/index.ts';

export const SPRING = Date.UTC(2020, 3, 1, 10);
export const SUMMER = Date.UTC(2020, 6, 1, 10);

export type SiteFile = {
  readonly url: string;
  readonly type?: string;
  readonly body: string | Uint8Array;
  readonly status?: string;
  readonly fields?: readonly string[];
  readonly time?: number;
  readonly request?: string;
};

export async function storeSite(archive: Archive, files: readonly SiteFile[], time = SPRING): Promise<void> {
  for (const file of files) {
    const { url, type = 'text/html; charset=utf-8', body, status = '200 OK', fields = [] } = file;
    const head = [`HTTP/1.1 ${status}`, ...(type === '' ? [] : [`Content-Type: ${type}`]), ...fields, '', ''].join(
      '\r\n',
    );
    await archive.store({
      kind: 'http',
      url,
      time: file.time ?? time,
      responseHead: utf8(head),
      body: typeof body === 'string' ? utf8(body) : body,
    });
  }
}

/** An image of one pixel. */
export const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const INDEX = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="script-src 'none'">
<title>A page with everything</title>
<link rel="stylesheet" href="/css/main.css" integrity="sha256-AAAA" crossorigin="anonymous">
<link rel="dns-prefetch" href="//dns.example">
<link rel="preconnect" href="https://preconnect.example">
<style>#styled { background: url(https://cdn.example/background.png) }</style>
</head>
<body>
<h1 id="imported">Everything</h1>
<p id="styled" style="border-image: url('/img/border.png') 1">styled</p>
<img id="set" srcset="/img/small.png 1x, https://cdn.example/large.png 2x" src="/img/small.png">
<img id="relative" src="../img/small.png">
<svg width="10" height="10"><image id="vector" href="https://cdn.example/vector.png" width="10" height="10"/></svg>
<iframe id="doc" srcdoc="<img src='https://cdn.example/srcdoc.png'>"></iframe>
<video poster="https://cdn.example/poster.png"></video>
<a id="next" href="/next.html">next</a>
<a id="blank" href="https://site.example/next.html" target="_blank">in a new window</a>
<button id="handler" onclick="location = '/next.html'">go</button>
<script>
  var done = {};
  document.write('<img id="written" src="https://cdn.example/written.png">');
  done.href = location.href;
  done.host = document.location.host;
  done.top = top === window && window.parent === window.self;
  document.cookie = 'visits=1';
  done.cookie = document.cookie;
  let topLevel = 'seen';
  const other = 'too';
  async function laterDeclared() { return 'ok' }
  window.addEventListener('message', function (event) { if (event.data.hello) done.message = event.data.hello + ' from ' + event.origin; });
</script>
<iframe id="inner" src="/frame.html"></iframe>
<script>done.let = topLevel + ' ' + other; laterDeclared().then(function (value) { done.async = value; });</script>
<script src="/js/app.js"></script>
<script type="module">
  import { value } from './js/static.js';
  import library from 'https://cdn.example/library.js';
  done.module = value + ' ' + library;
  done.meta = (await import('./js/dynamic.js')).value;
</script>
<script type="importmap">{ "imports": { "mapped": "https://cdn.example/mapped.js" } }</script>
</body>
</html>`;

const APP = `
(function () {
  fetch('https://api.example/data.json?x=1').then(function (reply) { return reply.json(); }).then(function (data) { done.fetch = data.value; });
  var request = new XMLHttpRequest();
  request.open('GET', '/data.json');
  request.onload = function () { done.xhr = JSON.parse(request.responseText).value; };
  request.send();
  fetch('/missing.json').then(function (reply) { done.missing = reply.status; });
  import('/js/dynamic.js').then(function (module) { done.dynamic = module.value; });
  var worker = new Worker('/js/worker.js');
  worker.onmessage = function (event) { done.worker = event.data; };
  navigator.serviceWorker.register('/sw.js').then(function () { done.serviceWorker = 'registered'; }, function () { done.serviceWorker = 'refused'; });
  var image = new Image();
  image.onload = function () { done.image = image.src; };
  image.src = 'https://cdn.example/made.png';
  var box = document.createElement('div');
  box.innerHTML = '<img id="inserted" src="//cdn.example/inserted.png">';
  document.body.appendChild(box);
  done.self = this === window;
})();
`;

export const EVERYTHING: readonly SiteFile[] = [
  { url: 'https://site.example/', body: INDEX },
  {
    url: 'https://site.example/css/main.css',
    type: 'text/css',
    body: `@import "more.css";\n@font-face { font-family: Test; src: url(/fonts/test.woff2) }\nbody { font-family: Test, serif }`,
  },
  { url: 'https://site.example/css/more.css', type: 'text/css', body: '#imported { color: rgb(1, 2, 3) }' },
  { url: 'https://site.example/fonts/test.woff2', type: 'font/woff2', body: 'wOF2 but not really' },
  { url: 'https://site.example/js/app.js', type: 'application/javascript', body: APP },
  {
    url: 'https://site.example/js/static.js',
    type: 'text/javascript',
    body: `export const value = location.hostname;`,
  },
  { url: 'https://site.example/js/dynamic.js', type: 'text/javascript', body: `export const value = 'dynamic';` },
  {
    url: 'https://cdn.example/library.js',
    type: 'text/javascript',
    body: `import './part.js'; export default 'library' + globalThis.part;`,
  },
  { url: 'https://cdn.example/part.js', type: 'text/javascript', body: `globalThis.part = '!';` },
  {
    url: 'https://site.example/js/worker.js',
    type: 'text/javascript',
    body: `importScripts('/js/worker-part.js'); fetch('/data.json').then((reply) => reply.json()).then((data) => postMessage(part + data.value));`,
  },
  { url: 'https://site.example/js/worker-part.js', type: 'text/javascript', body: `var part = 'worker ';` },
  { url: 'https://site.example/sw.js', type: 'text/javascript', body: `self.addEventListener('fetch', () => {});` },
  { url: 'https://site.example/data.json', type: 'application/json', body: '{"value":"from xhr"}' },
  { url: 'https://api.example/data.json?x=1', type: 'application/json', body: '{"value":"from fetch"}' },
  {
    url: 'https://site.example/frame.html',
    body: `<title>frame</title><p id="framed">framed</p><script>parent.postMessage({ hello: 'hello' }, '*')</script>`,
  },
  { url: 'https://site.example/next.html', body: '<title>next, spring</title><p id="version">spring</p>' },
  {
    url: 'https://site.example/next.html',
    body: '<title>next, summer</title><p id="version">summer</p>',
    time: SUMMER,
  },
  ...[
    'site.example/img/small.png',
    'site.example/img/border.png',
    'cdn.example/background.png',
    'cdn.example/large.png',
  ].map(pixel),
  ...['vector', 'written', 'inserted', 'made', 'srcdoc', 'poster'].map((name) => pixel(`cdn.example/${name}.png`)),
];

function pixel(place: string): SiteFile {
  return { url: `https://${place}`, type: 'image/png', body: PIXEL };
}
