/** Crawls a site with a browser until it is done or killed. Arguments: directory, seed URL, settings as JSON. */
import { flushCompileCache } from 'node:module';
import { openArchive } from '../../src/archive/index.ts';
import { seededIds, seededRandom } from '../../src/base/index.ts';
import { type CrawlSettings, crawl } from '../../src/crawl/index.ts';

// A process that is killed cannot write its compile cache at its end.
flushCompileCache();
const [directory = '', seed = '', settings = '{}'] = process.argv.slice(2);
const archive = await openArchive(directory, { clock: Date.now, newId: seededIds(seededRandom(77)) });
await crawl(archive, [seed], JSON.parse(settings) as CrawlSettings);
await archive.close();
