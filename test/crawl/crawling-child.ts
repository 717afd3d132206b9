/** Crawls a site into an archive until it is done or killed. Arguments: directory, seed URL, number of the round. */
import { flushCompileCache } from 'node:module';
import { openArchive } from '../../src/archive/index.ts';
import { seededIds, seededRandom } from '../../src/base/index.ts';
import { crawl } from '../../src/crawl/index.ts';

// A process that is killed cannot write its compile cache at its end.
flushCompileCache();
const [directory = '', seed = '', round = '0'] = process.argv.slice(2);
const archive = await openArchive(directory, { clock: Date.now, newId: seededIds(seededRandom(1000 + Number(round))) });
const report = await crawl(archive, [seed], {
  collection: 'killed',
  allowPrivate: true,
  delayMs: 0,
  concurrency: 4,
  hostConcurrency: 4,
  retryDelayMs: 10,
});
await archive.close();
process.stdout.write(`${JSON.stringify(report)}\n`);
