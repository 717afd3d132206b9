/**
 * A site that is empty without scripts, and a site with everything that pages do in a browser. It records the requests
 * of the browser.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { CrawlSettings } from '../../src/crawl/index.ts';
import { chromiumProgram } from '../browser/chromium.ts';
import { html, type TestWeb } from './test-web.ts';

/** One pixel, as GIF; padded, so that every picture differs. */
export function picture(name: string): Buffer {
  return Buffer.concat([
    Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'),
    Buffer.from(name.padEnd(1500, `.${name}`)),
  ]);
}

export const GIF = { 'content-type': 'image/gif' };
export const SCRIPT = { 'content-type': 'text/javascript' };
export const JSON_TYPE = { 'content-type': 'application/json' };

export function shell(script: string, body = ''): string {
  return `<!doctype html><html><head><title>shell</title></head><body><div id="app"></div>${body}<script type="module">${script}</script></body></html>`;
}

/**
 * Settings for crawls of a loopback web with the browser of the tests. The sandbox of the browser is not available
 * everywhere.
 */
export async function browserSettings(): Promise<Partial<CrawlSettings>> {
  return {
    browser: 'all',
    browserPath: await chromiumProgram(),
    browserSandbox: false,
    browsers: 1,
    allowPrivate: true,
    anyCertificate: true,
    delayMs: 0,
    hostConcurrency: 4,
    retries: 0,
    retryDelayMs: 5,
    renderMsMax: 20_000,
  };
}

/** Actions of pages that a crawl does not allow. */
const RUDENESS = `
  alert('hello');
  window.open('/popup');
  new WebSocket('ws://' + location.host + '/socket');
  new EventSource('/events');
`;

/** Sets up the site, and returns the decoded content of each URL that the browser requests. */
export function setUpApplication(web: TestWeb, isRude = true): { seed: string; contents: Map<string, Buffer> } {
  const site = 'site.test';
  const contents = new Map<string, Buffer>();
  const put = (host: string, path: string, body: string | Buffer, fields: Record<string, string> = {}) => {
    web.put(host, path, body, fields);
    contents.set(web.url(host, path), Buffer.from(body));
  };
  put(
    site,
    '/',
    shell(
      `
      ${isRude ? RUDENESS : ''}
      setInterval(() => fetch('/poll'), 50);
      import('/dynamic.js');
      new Worker('/worker.js');
      const items = await (await fetch('/api/items')).json();
      const answer = await (await fetch('/api/query', { method: 'POST', body: JSON.stringify({ ask: 'all' }), headers: { 'content-type': 'application/json' } })).text();
      const far = await (await fetch('${web.url('api.test', '/far')}', { headers: { 'x-key': '1' } })).text();
      const size = (await fetch('/sized', { method: 'HEAD' })).headers.get('x-size');
      document.getElementById('app').innerHTML =
        items.map((item) => '<p>' + item + '</p>').join('') + '<p>' + answer + far + size + '</p>' +
        '<a href="/found">found</a><img src="/moved.gif"><iframe src="/frame"></iframe><link rel="stylesheet" href="/style.css">' +
        '<div style="height:6000px"></div><img src="/far-down.gif" loading="lazy" width="10" height="10">';
      `,
    ),
  );
  put(site, '/dynamic.js', `import '/static.js'; ${'// dynamic\n'.repeat(200)}`, SCRIPT);
  put(site, '/static.js', `document.body.dataset.static = 1; ${'// static\n'.repeat(200)}`, SCRIPT);
  put(site, '/worker.js', `fetch('/from-worker'); ${'// worker\n'.repeat(200)}`, SCRIPT);
  put(site, '/from-worker', 'asked by a worker '.repeat(100));
  put(site, '/api/items', JSON.stringify(Array.from({ length: 100 }, (_, index) => `item ${index}`)), JSON_TYPE);
  put(site, '/poll', 'nothing new '.repeat(100));
  put(site, '/frame', html('frame', '<img src="/in-frame.gif">'));
  for (const name of ['/real.gif', '/far-down.gif', '/in-frame.gif', '/styled.gif', '/unseen.gif'])
    put(site, name, picture(name), GIF);
  web.redirect(site, '/moved.gif', '/real.gif', 301);
  const style = `body { background: url(/styled.gif) } .none { background: url(/unseen.gif) } ${'/* */'.repeat(300)}`;
  contents.set(web.url(site, '/style.css'), Buffer.from(style));
  web.put(site, '/style.css', gzipSync(style), { 'content-type': 'text/css', 'content-encoding': 'gzip' });
  put(site, '/found', html('found', ''));
  put(site, '/popup', html('popup', ''));
  web.at(site, '/api/query', (request, response, end) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      end();
      response.end(`answer to ${request.method} ${Buffer.concat(pieces).toString()} `.repeat(50));
    });
  });
  contents.set(web.url(site, '/api/query'), Buffer.from('answer to POST {"ask":"all"} '.repeat(50)));
  put(site, '/sized', 'sized '.repeat(300), { 'x-size': '42' });
  web.at('api.test', '/far', (request, response, end) => {
    const cors = { 'access-control-allow-origin': '*', 'access-control-allow-headers': 'x-key' };
    response.writeHead(request.method === 'OPTIONS' ? 204 : 200, { 'content-type': 'text/plain', ...cors });
    end();
    response.end(request.method === 'OPTIONS' ? undefined : 'from afar '.repeat(150));
  });
  contents.set(web.url('api.test', '/far'), Buffer.from('from afar '.repeat(150)));
  return { seed: web.url(site), contents };
}

/** Waits until a condition is true. */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await wait(20);
}
