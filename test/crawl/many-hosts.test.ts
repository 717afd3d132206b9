/** Crawls of more hosts than fit in memory at a time. Each host asks for a long pause. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type CrawlOptions, type CrawlSettings, crawl } from '../../src/crawl/index.ts';
import { makeArchive } from '../archive/trial-archive.ts';
import { html, TestWeb } from './test-web.ts';

const SETTINGS: Partial<CrawlSettings> = { scope: 'list', delayMs: 0, retries: 1, retryDelayMs: 0, allowPrivate: true };
/** The pause that every host asks for. A crawl that waits for it is stopped by TIME_LIMIT_MS before. */
const PAUSE_SECONDS = 600;
const TIME_LIMIT_MS = 30_000;

/** A web of many hosts, and an archive whose clock the test can advance. */
async function manyHosts(t: TestContext, count: number) {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  let aheadMs = 0;
  const archive = await makeArchive(t, { clock: () => Date.now() + aheadMs });
  const hosts = Array.from({ length: count }, (_, number) => `h${number}.test`);
  return {
    web,
    hosts,
    letHoursPass: () => (aheadMs += 2 * PAUSE_SECONDS * 1000),
    crawl: (settings: Partial<CrawlSettings> = {}, options: CrawlOptions = {}) =>
      crawl(
        archive,
        hosts.map((host) => web.url(host)),
        { ...SETTINGS, ...settings },
        { resolve: web.resolve, signal: AbortSignal.timeout(TIME_LIMIT_MS), ...options },
      ),
  };
}

for (const path of ['/', '/robots.txt'])
  test(`hosts whose ${path} answers 503 do not delay others, and are tried again after their pause`, async (t) => {
    const { web, hosts, letHoursPass, crawl } = await manyHosts(t, 300);
    const early: string[] = [];
    const requested = new Set<string>();
    for (const host of hosts) {
      web.put(host, '/', html(host, ''));
      web.at(host, path, (_, response, end) => {
        const isAgain = requested.has(host);
        if (isAgain && requested.size < hosts.length) early.push(host);
        requested.add(host);
        response.writeHead(isAgain ? 200 : 503, { 'retry-after': String(PAUSE_SECONDS), 'content-type': 'text/html' });
        end();
        response.end(isAgain ? 'User-agent: *' : '');
      });
    }
    let refused = 0;
    const onSeedTrouble = () => {
      // The pause of a host begins before the failure of its seed is reported.
      if (++refused === hosts.length) setImmediate(letHoursPass);
    };
    const { outcome, counts } = await crawl({}, { onSeedTrouble });
    assert.equal(requested.size, hosts.length);
    assert.deepEqual(early, []);
    assert.deepEqual([outcome, counts.pages, counts.retried, counts.failed], ['done', 300, 300, 0]);
  });

test('a crawl does not wait for the Retry-After of its last response', async (t) => {
  const { web, hosts, crawl } = await manyHosts(t, 1);
  web.put(hosts[0]!, '/', 'later', { 'retry-after': String(PAUSE_SECONDS) }, 503);
  const { outcome, counts } = await crawl({ retries: 0 });
  assert.deepEqual([outcome, counts.statuses], ['done', { 503: 1 }]);
});
