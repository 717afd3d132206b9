/**
 * Stores pages and a content that will be taken down, and is killed: its segment stays open, and may end in the middle
 * of a record. Arguments: the directory of the archive, and how many pages.
 */
import { writeSync } from 'node:fs';
import { openArchive } from '../../src/archive/index.ts';
import { contentOf, NOON, page, trialOptions } from './trial-archive.ts';

const [directory, pages] = process.argv.slice(2) as [string, string];
const archive = await openArchive(directory, trialOptions({ seed: 11 }));
for (let n = 0; n < Number(pages); n++) {
  const body = contentOf(n % 5 === 0 ? 'secret' : `child ${n}`);
  await archive.store(page(`http://child.example/${n}`, NOON + n, body), { collection: 'child' });
}
writeSync(1, 'stored\n');
// Killed in the middle of these.
for (let n = 0; ; n++) await archive.store(page(`http://child.example/secret-${n}`, NOON, contentOf('secret')));
