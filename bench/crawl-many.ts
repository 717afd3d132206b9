/**
 * Crawls pages of the bench site that link to a million other pages. Posts the number of URLs that the crawl then
 * knows, and the peak memory of the process.
 */
import { createArchive, openArchive } from '../src/archive/index.ts';
import { crawl } from '../src/crawl/index.ts';
import { type KnownUrlsCost, newId, settingsOf } from './crawl-settings.ts';

const MANY_PAGES = 50;
const LINKS_OF_MANY = 20_000;

const [site, directory] = process.argv.slice(2) as [string, string];
await createArchive(directory);
const archive = await openArchive(directory, { clock: Date.now, newId });
const seeds = Array.from({ length: MANY_PAGES }, (_, page) => `${site}/many/${page}`);
const { known, counts } = await crawl(archive, seeds, { ...settingsOf(16), pagesMax: MANY_PAGES });
await archive.close();
if (known !== MANY_PAGES * (LINKS_OF_MANY + 1) || counts.partlyRead + counts.failed > 0)
  throw new Error(`${known} URLs are known, ${counts.partlyRead} pages were read in part, ${counts.failed} failed`);
process.send!({ known, rss: process.resourceUsage().maxRSS * 1024 } satisfies KnownUrlsCost);
process.disconnect();
