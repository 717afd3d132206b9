/**
 * A process of the bench of a cluster: stores captures, or reads them. Prints a line of JSON with wall and processor
 * milliseconds. Arguments: the directory, `store` or `read`, the first capture, and how many.
 */
import { performance } from 'node:perf_hooks';
import { openArchive } from '../src/archive/index.ts';
import { seededIds, seededRandom } from '../src/base/index.ts';
import { bytesOf, contentOf, NOON, page } from '../test/archive/trial-archive.ts';

const [directory, work, firstText, countText] = process.argv.slice(2) as [string, string, string, string];
const first = Number(firstText);
const count = Number(countText);
const AT_ONCE = 1024;

const urlOf = (number: number) => `http://host${number % 100}.example/${number}`;
/** Three in ten have the content of another capture. */
const contentOfNumber = (number: number) =>
  contentOf(number % 10 < 3 ? `shared ${Math.floor(number / 40)}` : `${number}`, 4000);

const archive = await openArchive(directory, {
  clock: Date.now,
  newId: seededIds(seededRandom(first + 1)),
  stopwatch: () => performance.now(),
  purpose: 'bench',
});
const pages = Array.from({ length: count }, (_, index) => {
  const number = first + index;
  return page(urlOf(number), NOON + number * 1000, contentOfNumber(number));
});
const began = performance.now();
const before = process.cpuUsage();
if (work === 'store') {
  let next = 0;
  const one = async () => {
    while (next < count) await archive.store(pages[next++]!, {});
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
} else if (work === 'read') {
  for (let index = 0; index < count; index++) {
    const number = first + ((index * 7919) % count);
    await bytesOf((await archive.get(urlOf(number))).payload);
  }
} else {
  let lines = 0;
  for await (const _ of archive.exportCdxj({})) lines++;
  if (lines === 0) throw new Error('the index is empty');
}
const wallMs = performance.now() - began;
const { user, system } = process.cpuUsage(before);
process.stdout.write(`${JSON.stringify({ wallMs, cpuMs: (user + system) / 1000 })}\n`);
await archive.close();
