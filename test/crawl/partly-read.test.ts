/**
 * No link is lost silently. Pages that were read in part are reported, and pages that are merely large are read whole.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { crawl } from '../../src/crawl/index.ts';
import { makeArchive } from '../archive/trial-archive.ts';
import { html, TestWeb } from './test-web.ts';

const SITE = 'site.test';

function links(from: number, count: number): string {
  return Array.from({ length: count }, (_, index) => `<a href="/to/${from + index}">x</a>`).join('\n');
}

async function crawlOnly(t: Parameters<typeof makeArchive>[0], web: TestWeb, paths: readonly string[], depthMax = 1) {
  const archive = await makeArchive(t, { clock: Date.now });
  return crawl(
    archive,
    paths.map((path) => web.url(SITE, path)),
    { allowPrivate: true, delayMs: 0, robots: 'ignore', retries: 0, pagesMax: paths.length, depthMax, concurrency: 2 },
    { resolve: web.resolve },
  );
}

test('a cut body, a broken coding and too many links are reported with the reason', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const cut = html('cut', links(0, 3));
  web.raw(
    SITE,
    '/cut',
    `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: ${cut.length + 500}\r\n\r\n${cut}`,
  );
  web.put(SITE, '/endless', `<!doctype html>${links(1000, 100_001)}`);
  const noise = Array.from({ length: 9000 }, (_, index) => ((index * 2_654_435_761) % 2 ** 32).toString(36)).join(' ');
  const coded = gzipSync(html('torn', `${links(400_000, 3)}${noise}${links(400_010, 3)}`));
  web.put(SITE, '/torn', coded.subarray(0, coded.length >> 1), { 'content-encoding': 'gzip' });
  web.put(SITE, '/whole', html('whole', links(500_000, 3)));
  const report = await crawlOnly(t, web, ['/cut', '/endless', '/torn', '/whole']);
  assert.equal(report.counts.partlyRead, 3);
  assert.deepEqual(
    [...report.partlyReadUrls].sort((a, b) => a.url.localeCompare(b.url)),
    [
      { url: web.url(SITE, '/cut'), reason: 'the body was cut: disconnect' },
      { url: web.url(SITE, '/endless'), reason: 'it is larger than the part that is read' },
      { url: web.url(SITE, '/torn'), reason: 'it is larger than the part that is read' },
    ],
  );
  assert.equal(report.known, 4 + 3 + 100_000 + 3 + 3, 'the links that were read are followed');
});

test('pages that are too large for memory are read to their last link, coded or not', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const filler = `<p>${'So much to say about so little. '.repeat(20_000)}</p>`;
  web.put(SITE, '/plain', html('plain', `${links(0, 5)}${filler}${links(10, 5)}`));
  const noise = Array.from({ length: 60_000 }, (_, index) => ((index * 2_654_435_761) % 2 ** 32).toString(36)).join(
    ' ',
  );
  const coded = gzipSync(html('coded', `${links(20, 5)}<p>${noise}</p>${links(30, 5)}`));
  assert.ok(coded.length > 256 * 1024, 'it is large on the wire');
  web.put(SITE, '/coded', coded, { 'content-encoding': 'gzip' });
  const report = await crawlOnly(t, web, ['/plain', '/coded']);
  assert.deepEqual(report.partlyReadUrls, []);
  assert.equal(report.counts.partlyRead, 0);
  assert.equal(report.known, 2 + 20);
});

test('a page beyond the limits is read up to the limits and reported', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  web.put(SITE, '/vast', html('vast', `${links(0, 5)}<p>${'x'.repeat(17 * 1024 * 1024)}</p>${links(10, 5)}`));
  const report = await crawlOnly(t, web, ['/vast']);
  assert.deepEqual(report.partlyReadUrls, [
    { url: web.url(SITE, '/vast'), reason: 'it is larger than the part that is read' },
  ]);
  assert.equal(report.known, 1 + 5);
});

test('a large file of a kind that is never read for links is not reported, whatever its type', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const film = Buffer.concat([Buffer.from('RIFF'), Buffer.alloc(17 * 1024 * 1024, 1)]);
  web.put(SITE, '/film', film, { 'content-type': 'application/octet-stream' });
  const report = await crawlOnly(t, web, ['/film']);
  assert.deepEqual(report.partlyReadUrls, []);
});
