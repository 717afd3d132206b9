/**
 * The boundaries of a rendered page. Whatever its scripts do, it must not reach URLs that the crawl may not reach, or
 * send requests faster than the crawl.
 */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { utf8 } from '../../src/base/index.ts';
import { crawl, openCrawlState } from '../../src/crawl/index.ts';
import { allCaptures, makeArchive } from '../archive/trial-archive.ts';
import { browserSettings, GIF, JSON_TYPE, picture, shell } from './browser-site.ts';
import { TestWeb } from './test-web.ts';

test('a page reaches no private address by any means, and only the crawl looks up names', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const connections: Socket[] = [];
  const datagrams: Buffer[] = [];
  const tcp = createServer((socket) => connections.push(socket));
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
  t.after(() => tcp.close());
  const udp = createSocket('udp4').on('message', (message) => datagrams.push(message));
  await new Promise<void>((resolve) => udp.bind(0, '127.0.0.1', resolve));
  t.after(() => udp.close());
  const { port } = tcp.address() as { port: number };
  const lookedUp = new Set<string>();
  const resolve: typeof web.resolve = (host, options, done) => {
    lookedUp.add(host);
    web.resolve(host, options, done);
  };
  const archive = await makeArchive(t, { clock: Date.now });
  const url = `http://site.test:${port}/`;
  const body = utf8(
    shell(
      `
      new WebSocket('ws://127.0.0.1:${port}/socket');
      fetch('http://localhost:${port}/fetched', { mode: 'no-cors' });
      fetch('http://[::1]:${port}/fetched', { mode: 'no-cors' });
      navigator.sendBeacon('http://127.0.0.1:${port}/beacon', 'x');
      fetch('http://127.0.0.1:${port}/kept', { method: 'POST', mode: 'no-cors', keepalive: true, body: 'x' });
      new Worker(URL.createObjectURL(new Blob(['fetch("http://127.0.0.1:${port}/worker", { mode: "no-cors" })'])));
      const frame = document.createElement('iframe');
      document.body.append(frame);
      const { RTCPeerConnection } = frame.contentWindow;
      for (const Peer of [self.RTCPeerConnection, RTCPeerConnection].filter(Boolean)) {
        const peer = new Peer({ iceServers: [{ urls: 'stun:127.0.0.1:${udp.address().port}' }] });
        peer.createDataChannel('x');
        peer.setLocalDescription(await peer.createOffer());
      }
      `,
      `<img src="/relative.gif"><img src="http://2130706433:${port}/decimal.gif"><link rel="preconnect" href="http://127.0.0.1:${port}">
       <link rel="dns-prefetch" href="http://leaked.test"><iframe src="http://127.0.0.1:${port}/frame"></iframe>
       <img src="file:///etc/passwd"><object data="ftp://127.0.0.1:${port}/"></object>`,
    ),
  );
  // The page is in the archive, as if this crawl had fetched it from a public address.
  const responseHead = utf8('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n');
  await archive.store({ kind: 'http', url, time: Date.now() + 3600_000, responseHead, body });
  const settings = { ...(await browserSettings()), allowPrivate: false, robots: 'ignore' as const };
  const { counts } = await crawl(archive, [url], settings, { resolve });
  assert.deepEqual([counts.pages, counts.rendered, counts.captures], [1, 1, 0]);
  assert.ok((counts.failures['address-refused'] ?? 0) >= 3, JSON.stringify(counts.failures));
  assert.deepEqual([connections.length, datagrams.length, web.requestLog.length], [0, 0, 0]);
  assert.ok(!lookedUp.has('leaked.test'));
  const urls = (await allCaptures(archive)).map((capture) => capture.url);
  assert.deepEqual(urls.sort(), [url, `urn:view:${url}`].sort());
});

test('a page respects robots.txt, exclusions, and the delay of each host', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const rules = { 'content-type': 'text/plain' };
  web.put('site.test', '/robots.txt', 'User-agent: *\nDisallow: /private/\n', rules);
  web.put('far.test', '/robots.txt', 'User-agent: *\nDisallow: /\n', rules);
  const pictures = Array.from({ length: 6 }, (_, index) => `/${index}.gif`);
  for (const path of pictures) web.put('site.test', path, picture(path), GIF);
  const wanted = [...pictures, '/private/x.gif', '/left-out.gif', web.url('far.test', '/y.gif')];
  const script = `for (const url of ${JSON.stringify(wanted)}) document.body.append(Object.assign(new Image(), { src: url }));
    await fetch('/private/data').catch(() => {});`;
  web.put('site.test', '/', shell(script));
  const settings = { ...(await browserSettings()), delayMs: 100, hostConcurrency: 1, exclude: ['left-out'] };
  const { counts } = await crawl(archive, [web.url('site.test')], settings, { resolve: web.resolve });
  assert.equal(counts.rendered, 1);
  assert.deepEqual(
    web.requestLog.map(({ host, path }) => host + path).sort(),
    ['far.test/robots.txt', ...['/', '/robots.txt', ...pictures].map((path) => `site.test${path}`)].sort(),
  );
  assert.equal(web.concurrency.get('site.test'), 1);
  const times = (await allCaptures(archive)).filter(({ url }) => url.startsWith(web.url('site.test')));
  const sorted = times.map(({ time }) => time).sort((a, b) => a - b);
  for (let at = 1; at < sorted.length; at++) assert.ok(sorted[at]! - sorted[at - 1]! >= 95, sorted.join(' '));
  assert.equal(counts.forbidden, 3);
});

test('the crawl fetches resources that a page had no time to load', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const pictures = Array.from({ length: 8 }, (_, index) => `/${index}.gif`);
  for (const path of pictures) web.put('site.test', path, picture(path), GIF);
  const requested = Array.from({ length: 10 }, (_, index) => `/${index}.json`);
  for (const path of requested) web.put('site.test', path, JSON.stringify({ path }), JSON_TYPE);
  const script = `
    self.all = ${JSON.stringify(pictures)}.map((src) => Object.assign(new Image(), { src }));
    for (const path of ${JSON.stringify(requested)}) fetch(path);
    for (let part = 0; part < 4; part++) fetch('/sent', { method: 'POST', body: part });
    setTimeout(() => { for (const path of ${JSON.stringify(requested)}) fetch(path); }, 50);
  `;
  web.put('site.test', '/', shell(script));
  const settings = { ...(await browserSettings()), delayMs: 500, hostConcurrency: 1, renderMsMax: 2500 };
  const report = await crawl(archive, [web.url('site.test')], settings, { resolve: web.resolve });
  assert.deepEqual([report.outcome, report.counts.rendered, report.counts.failed], ['done', 1, 0]);
  for (const path of pictures) assert.equal(web.requests('site.test', path).length, 1, path);
  for (const path of requested) assert.ok(web.requests('site.test', path).length > 0, path);
  assert.equal(report.counts.captures, web.requestLog.length);
  assert.match(report.partlyReadUrls[0]?.reason ?? '', /its time for rendering ended/);
});

test('refused requests of a page are counted, and failed ones reported with the reason', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  web.put(
    'site.test',
    '/',
    shell(
      `
      await Promise.allSettled([
        fetch('/changed', { method: 'DELETE' }),
        fetch('/long', { method: 'POST', body: new Uint8Array(2_000_000) }),
        fetch('/reset'),
        fetch('/long?' + 'x'.repeat(5000)),
        fetch('http://nowhere.invalid/', { mode: 'no-cors' }),
      ]);
      document.forms[0].submit();
      `,
      `<img src="${web.url('broken.test', '/x.gif')}"><iframe name="inner"></iframe><form method="post" action="/form" target="inner"></form>`,
    ),
  );
  web.raw('site.test', '/reset', '', 'reset');
  web.put('broken.test', '/robots.txt', 'broken', {}, 500);
  const long = `/long?${'x'.repeat(5000)}`;
  web.put('site.test', long, 'a long question');
  const { counts, failedUrls } = await crawl(archive, [web.url('site.test')], await browserSettings(), {
    resolve: web.resolve,
  });
  // A request on a connection that was closed while idle is sent again, so one URL may be requested twice.
  assert.deepEqual(
    [...new Set(web.requestLog.map(({ path }) => path))].sort(),
    ['/', long, '/reset', '/robots.txt'].sort(),
  );
  assert.deepEqual([counts.rendered, counts.refused, counts.failed], [1, 3, 3]);
  assert.equal(counts.failures['robots-unreachable'], 1);
  assert.deepEqual(failedUrls.map(({ url }) => url).sort(), [
    web.url('broken.test', '/x.gif'),
    'http://nowhere.invalid/',
    web.url('site.test', '/reset'),
  ]);
});

test('a crawl with both a browser and htmlOnly is refused before it begins', async (t) => {
  const archive = await makeArchive(t, { clock: Date.now });
  const settings = { ...(await browserSettings()), htmlOnly: true };
  await assert.rejects(crawl(archive, ['http://site.test/'], settings), { code: 'BAD_ARGUMENT' });
  const nowhere = { ...(await browserSettings()), browserPath: '/nowhere/chromium' };
  await assert.rejects(crawl(archive, ['http://site.test/'], nowhere), { code: 'BROWSER_MISSING' });
  const state = openCrawlState(archive);
  t.after(() => state.close());
  assert.deepEqual(await state.runs(undefined, 1), []);
});
