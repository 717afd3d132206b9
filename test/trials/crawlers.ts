/**
 * `npm run trial -- crawlers [--kills 10]`: crawlers of a cluster, as processes of their own, on one crawl.
 *
 * 1. A site of 200 hosts by one crawler, by two, and by three of which one is killed and one is stopped for longer than
 *    its lease, again and again while new ones join: the same URLs, no host sooner than its delay allows.
 * 2. The site of `../shared/sites`, if it is there, by one crawler and by two: the same URLs.
 *
 * Prints the shortest pauses that the site has seen, and its seed.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { seededRandom } from '../../src/base/index.ts';
import { TestCluster } from '../cluster/cluster-sample.ts';
import { CrawledSite } from '../cluster/crawled-site.ts';
import { type Crawler, capturedUrls, startCrawler } from '../cluster/crawlers.ts';

const HOSTS = 200;
const PAGES_PER_HOST = 6;
const DELAY_MS = 1000;
const TOLERANCE_MS = 250;
/** Longer than the lease of a crawler, which is 15 s. */
const STOPPED_MS = 20_000;
const SETTINGS = {
  collection: 'shared',
  scope: 'domain',
  allowPrivate: true,
  delayMs: DELAY_MS,
  delayFactor: 0,
  retryDelayMs: 100,
  concurrency: 64,
} as const;

const shared = (path: string) => fileURLToPath(new URL(`../../../shared/${path}`, import.meta.url));
const BUNDLE = shared('sites/git-htmldocs.bundle');
const SERVER = shared('tools/site-server.mjs');

const print = (line: string) => process.stdout.write(`${line}\n`);
const address = (number: number) => `127.0.0.${number}`;

export async function tryCrawlers(argv: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...argv],
    options: { kills: { type: 'string', default: '4' }, seed: { type: 'string', default: '20261120' } },
  });
  print(`seed ${values.seed}`);
  await using cluster = await TestCluster.start();
  const urls = [await together(cluster, 1), await together(cluster, 2)];
  assert.deepEqual(urls[0], urls[1]);
  await disturbed(cluster, Number(values.kills), seededRandom(Number(values.seed)));
  if (existsSync(BUNDLE) && existsSync(SERVER)) await realSite(cluster);
  else print('the bundle of the real site is not there');
}

/** Crawls the generated site with so many crawlers. Returns the URLs, without the port. */
async function together(cluster: TestCluster, count: number): Promise<string[]> {
  const site = await CrawledSite.start({ hosts: HOSTS, pagesPerHost: PAGES_PER_HOST });
  const { catalog, archive } = await cluster.archive();
  await archive.close();
  const startedMs = performance.now();
  const crawlers = [await startCrawler(cluster, catalog, address(1), SETTINGS, [site.seed])];
  await crawlers[0]!.working;
  for (let number = 2; number <= count; number++)
    crawlers.push(await startCrawler(cluster, catalog, address(number), { collection: 'shared' }));
  const [report] = await Promise.all(crawlers.map(({ ended }) => ended));
  const seconds = (performance.now() - startedMs) / 1000;
  assert.equal(report!.outcome, 'done');
  assert.deepEqual(site.requests.map(({ host, path }) => `http://${host}:${site.port}${path}`).sort(), site.urls);
  const captured = await capturedUrls(cluster, catalog);
  assert.deepEqual(captured, site.urls);
  const by = Array.from({ length: count }, (_, index) => site.of(address(index + 1)).length);
  checkPauses(
    site,
    `${count} crawlers: ${by.join(' + ')} requests of ${site.urls.length} URLs in ${seconds.toFixed(0)} s`,
  );
  await site.stop();
  return captured.map((url) => url.replace(/:\d+/, ''));
}

function checkPauses(site: CrawledSite, what: string): void {
  const { byOneMs, byTwoMs, changes } = site.pauses;
  const shortest = `shortest pause of one crawler ${byOneMs.toFixed(0)} ms, between two ${byTwoMs.toFixed(0)} ms`;
  print(`${what}; ${changes} changes of hands, ${shortest} (delay ${DELAY_MS} ms)`);
  assert.ok(byTwoMs >= DELAY_MS - TOLERANCE_MS, 'a host was asked by two within its delay');
  // A request waits for its connection, and the next one to the host does not.
  assert.ok(byOneMs >= DELAY_MS / 2, 'a host was asked within its delay');
}

/** Kills and stops crawlers while they crawl. */
async function disturbed(cluster: TestCluster, kills: number, random: () => number): Promise<void> {
  const site = await CrawledSite.start({ hosts: HOSTS, pagesPerHost: PAGES_PER_HOST * 3 });
  const { catalog, archive } = await cluster.archive();
  await archive.close();
  let next = 1;
  const living: Crawler[] = [await startCrawler(cluster, catalog, address(next++), SETTINGS, [site.seed])];
  await living[0]!.working;
  const joinOne = async () =>
    living.push(await startCrawler(cluster, catalog, address(next++), { collection: 'shared' }));
  for (let count = 0; count < 2; count++) await joinOne();
  let isOver = false;
  void Promise.race(living.map(({ ended }) => ended)).then(() => (isOver = true));
  for (let kill = 0; kill < kills; kill++) {
    await setTimeout(3000 + random() * 3000);
    if (isOver && kill === 0) throw new Error('the crawl ended before anything was killed');
    const [victim] = living.splice(Math.floor(random() * living.length), 1);
    if (kill % 2 === 0) {
      victim!.child.kill('SIGKILL');
      print(`killed a crawler after ${site.requests.length} requests`);
    } else {
      victim!.child.kill('SIGSTOP');
      print(`stopped a crawler after ${site.requests.length} requests`);
      void setTimeout(STOPPED_MS).then(() => victim!.child.kill('SIGCONT'));
      living.push(victim!);
    }
    await joinOne();
  }
  const reports = await Promise.all(living.map(({ ended }) => ended));
  const report = reports.find((one) => one?.outcome === 'done');
  assert.ok(report, 'the run ended');
  const captured = await capturedUrls(cluster, catalog);
  assert.deepEqual([...new Set(captured)], site.urls);
  const repeated = site.requests.length - site.urls.length;
  checkPauses(
    site,
    `${kills} kills and stops: ${site.requests.length} requests of ${site.urls.length} URLs, ${repeated} repeated`,
  );
  print(`  counted ${report.counts.pages} pages, ${report.counts.recovered} recovered from the archive`);
  await site.stop();
}

async function realSite(cluster: TestCluster): Promise<void> {
  const child = spawn(process.execPath, [SERVER, BUNDLE, '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const seed = line.split(' ', 1)[0]!;
  const settings = {
    collection: 'shared',
    allowPrivate: true,
    delayMs: 0,
    hostConcurrency: 8,
    exclude: ['\\.(adoc|txt)$', '^https?://(?!127\\.0\\.0\\.1[:/])'],
  };
  const sets: string[][] = [];
  for (const count of [1, 2]) {
    const { catalog, archive } = await cluster.archive();
    await archive.close();
    const crawlers = [await startCrawler(cluster, catalog, address(1), settings, [seed])];
    await crawlers[0]!.working;
    if (count > 1) crawlers.push(await startCrawler(cluster, catalog, address(1), { collection: 'shared' }));
    const [report] = await Promise.all(crawlers.map(({ ended }) => ended));
    assert.deepEqual([report!.outcome, report!.counts.failed], ['done', 0]);
    sets.push(await capturedUrls(cluster, catalog));
  }
  child.kill();
  assert.deepEqual(sets[1], sets[0]);
  print(`the real site: ${sets[0]!.length} URLs by one crawler, the same by two`);
}
