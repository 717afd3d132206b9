/** Two crawlers of a cluster on one crawl, as processes of their own: together they do exactly what one would do. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { crawl, joinCrawl } from '../../src/crawl/index.ts';
import { startPinakes } from '../journeys/pinakes-process.ts';
import { noPostgres, TestCluster } from './cluster-sample.ts';
import { CrawledSite } from './crawled-site.ts';
import { capturedUrls, startCrawler } from './crawlers.ts';

const [ONE, OTHER] = ['127.0.0.1', '127.0.0.2'];
const DELAY_MS = 400;
/** Requests may be on their way for different times. */
const TOLERANCE_MS = 150;
const SETTINGS = {
  collection: 'shared',
  scope: 'domain',
  allowPrivate: true,
  delayMs: DELAY_MS,
  delayFactor: 0,
  retryDelayMs: 100,
} as const;

describe('crawlers of a cluster', { skip: noPostgres }, () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await TestCluster.start();
  });
  after(() => cluster[Symbol.asyncDispose]());

  test('two crawlers ask for every URL once, and no host sooner than its delay allows', async (t) => {
    const site = await CrawledSite.start({ hosts: 40, pagesPerHost: 5 });
    t.after(() => site.stop());
    const { catalog, archive } = await cluster.archive();
    await archive.close();
    const one = await startCrawler(cluster, catalog, ONE, SETTINGS, [site.seed]);
    await one.working;
    const other = await startCrawler(cluster, catalog, OTHER, { collection: 'shared' });
    const [report, same] = await Promise.all([one.ended, other.ended]);
    assert.deepEqual(report, same, 'both have the report of the whole run');
    assert.equal(report!.outcome, 'done');
    assert.deepEqual(
      site.requests.map(({ host, path }) => `http://${host}:${site.port}${path}`).sort(),
      site.urls,
      'each URL is asked for once',
    );
    assert.deepEqual([report!.counts.captures, report!.counts.pages, report!.queued], [site.urls.length, 200, 0]);
    assert.deepEqual(await capturedUrls(cluster, catalog), site.urls);
    const { byOneMs, byTwoMs, changes } = site.pauses;
    t.diagnostic(
      `${site.of(ONE).length} and ${site.of(OTHER).length} requests, ${changes} changes of hands, pauses ${byOneMs} and ${byTwoMs}`,
    );
    assert.ok(site.of(OTHER).length > 20, 'both have work');
    assert.ok(byTwoMs > DELAY_MS - TOLERANCE_MS, `${byTwoMs} ms between two crawlers`);
    assert.ok(byOneMs > DELAY_MS / 2, `${byOneMs} ms between two requests of one crawler`);
  });

  test('when one crawler is killed, the other finishes, and asks again only for what was in its hands', async (t) => {
    const site = await CrawledSite.start({ hosts: 24, pagesPerHost: 5 });
    t.after(() => site.stop());
    const { catalog, archive } = await cluster.archive();
    await archive.close();
    const one = await startCrawler(cluster, catalog, ONE, SETTINGS, [site.seed]);
    await one.working;
    const other = await startCrawler(cluster, catalog, OTHER, { collection: 'shared' });
    await Promise.race([site.asked(OTHER, 12), other.ended]);
    one.child.kill('SIGKILL');
    assert.equal(await one.ended, undefined);
    const killedAt = site.requests.length;
    const report = await other.ended;
    assert.equal(report!.outcome, 'done');
    assert.deepEqual([...new Set(await capturedUrls(cluster, catalog))], site.urls);
    const repeated = site.requests.length - new Set(site.requests.map(({ host, path }) => `${host}${path}`)).size;
    const { byOneMs, byTwoMs, changes } = site.pauses;
    t.diagnostic(
      `killed after ${killedAt} requests, ${repeated} repeated, ${changes} changes of hands, pauses ${byOneMs} and ${byTwoMs}`,
    );
    assert.ok(repeated <= 16, `no more than --concurrency at a time were in its hands: ${repeated}`);
    assert.ok(byTwoMs > DELAY_MS - TOLERANCE_MS, `${byTwoMs} ms between two crawlers`);
    assert.ok(byOneMs > DELAY_MS / 2, `${byOneMs} ms between two requests of one crawler`);
    assert.equal(report!.counts.pages, 120, 'the counts of both are added up');
  });

  test('a limit of pages holds over all crawlers together', async (t) => {
    const site = await CrawledSite.start({ hosts: 12, pagesPerHost: 6 });
    t.after(() => site.stop());
    const { catalog, archive } = await cluster.archive();
    await archive.close();
    const settings = { ...SETTINGS, pagesMax: 31, delayMs: 200 };
    const one = await startCrawler(cluster, catalog, ONE, settings, [site.seed]);
    await one.working;
    const other = await startCrawler(cluster, catalog, OTHER, { collection: 'shared' });
    const [report] = await Promise.all([one.ended, other.ended]);
    assert.deepEqual([report!.outcome, report!.limit, report!.counts.pages], ['limited', 'pages', 31]);
    assert.equal(site.requests.filter(({ path }) => path !== '/robots.txt').length, 31);
    t.diagnostic(`${site.of(ONE).length} and ${site.of(OTHER).length} requests`);
  });

  test('crawl --join helps a run by its number, and refuses one that does not run', async (t) => {
    const site = await CrawledSite.start({ hosts: 3, pagesPerHost: 4, nameOf: (host) => `127.0.0.${host + 1}` });
    t.after(() => site.stop());
    const { catalog, archive } = await cluster.archive();
    t.after(() => archive.close());
    const directory = await cluster.machine(catalog);
    const join = (job: string) =>
      new Promise<{ code: number | null; out: string; err: string }>((done) => {
        const child = startPinakes(directory, 'crawl', '--join', job, '--json', '--archive', '.');
        const said = { out: '', err: '' };
        child.stdout!.on('data', (data: Buffer) => (said.out += String(data)));
        child.stderr!.on('data', (data: Buffer) => (said.err += String(data)));
        child.on('close', (code) => done({ code, ...said }));
      });
    let joining: ReturnType<typeof join> | undefined;
    const settings = { ...SETTINGS, scope: 'host', delayMs: 2000 } as const;
    const report = await crawl(archive, site.firstPages, settings, {
      onRun: (run, canBeJoined) => {
        assert.ok(canBeJoined);
        joining = join(String(run));
      },
    });
    const { code, out, err } = await joining!;
    assert.equal(code, 0, err);
    assert.deepEqual(JSON.parse(out), report);
    await assert.rejects(joinCrawl(archive, String(report.run)), { code: 'CRAWL_NOT_RUNNING' });
    await assert.rejects(joinCrawl(archive, 'unknown'), { code: 'CRAWL_UNKNOWN' });
  });
});
