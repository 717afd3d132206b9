/**
 * A crawler of a cluster, as a process of its own. Arguments: the directory of its machine, the address that it sends
 * requests from, settings as JSON, and the seeds; without seeds it joins the crawl of the collection. Prints `working`
 * when it begins, and its report at the end.
 */
import type { LookupFunction } from 'node:net';
import { openArchive } from '../../src/archive/index.ts';
import { seededIds, seededRandom } from '../../src/base/index.ts';
import { type CrawlSettings, crawl, joinCrawl } from '../../src/crawl/index.ts';

const [directory = '', address = '', settings = '{}', ...seeds] = process.argv.slice(2);
const resolve: LookupFunction = (_host, options, done) => {
  if (options.all) done(null, [{ address, family: 4 }]);
  else done(null, address, 4);
};
/** Segments of a crawler that was killed are healed soon. */
const clusterTimes = { leaseLifeMs: 5000, graceMs: 0, tickMs: 500 };
const newId = seededIds(seededRandom(process.pid * 1000 + (Date.now() % 1000)));
const archive = await openArchive(directory, { clock: Date.now, newId, clusterTimes, purpose: 'crawl' });
const whole = JSON.parse(settings) as CrawlSettings;
const stopping = new AbortController();
process.on('SIGTERM', () => stopping.abort());
const options = { resolve, signal: stopping.signal, onRun: () => process.stdout.write('working\n') };
const report =
  seeds.length > 0 ? await crawl(archive, seeds, whole, options) : await joinCrawl(archive, whole.collection, options);
await archive.close();
process.stdout.write(`${JSON.stringify(report)}\n`);
