/**
 * Works on an archive until it is killed. It stores, adds, deletes, compacts, recompresses and rebuilds, one after
 * another and at the same time, as a seed decides. It prints a line before every call, and another line directly after
 * the acknowledgement:
 * ```
 *     begin <kind> <number> ...     from now on these captures may be there, or may be gone
 *     done <kind> <number> ...      the call has returned: they are there, or are gone
 * ```
 * Arguments: the directory of the archive, the seed, and the number of the first capture.
 */
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { type Archive, openArchive } from '../../src/archive/index.ts';
import { seededIds, seededRandom } from '../../src/base/index.ts';
import { response, revisitOf, warcinfo, writeForeign } from '../archive/foreign-file.ts';
import { allCaptures, page } from '../archive/trial-archive.ts';
import { bodyOf, numberOf, type Trial, trialOf } from './trial.ts';

const [directory, seedText, firstText] = process.argv.slice(2) as [string, string, string];
const random = seededRandom(Number(seedText));
let next = Number(firstText);

const say = (line: string) => writeSync(1, `${line}\n`);
const below = (limit: number) => Math.floor(random() * limit);

/** Captures that are being stored. */
const storing = new Set<number>();

async function acknowledged<T>(kind: string, numbers: readonly number[], work: () => Promise<T>): Promise<T> {
  say(`begin ${kind} ${numbers.join(' ')}`);
  if (kind === 'put') for (const number of numbers) storing.add(number);
  const result = await work();
  for (const number of numbers) storing.delete(number);
  say(`done ${kind} ${numbers.join(' ')}`);
  return result;
}

const take = (): Trial => trialOf(next++);

async function store(archive: Archive): Promise<void> {
  const trial = take();
  const modes = ['regular', 'regular', 'compare', 'force-new'] as const;
  const options = { collection: `c${trial.number % 3}`, mode: modes[below(modes.length)]! };
  await acknowledged('put', [trial.number], () =>
    archive.store(page(trial.url, trial.time, bodyOf(trial), [`X-Number: ${trial.number}`]), options),
  );
}

async function add(archive: Archive): Promise<void> {
  const trials = Array.from({ length: 1 + below(8) }, take);
  const records = [warcinfo()];
  for (const trial of trials) {
    const one = response(trial.url, trial.time, bodyOf(trial));
    const original = records.findLast(
      ({ record }) => record.type === 'response' && record.payloadDigest === one.record.payloadDigest,
    );
    records.push(original && random() < 0.5 ? revisitOf(original, trial.url, trial.time) : one);
  }
  const file = await writeForeign(join(directory, `foreign-${trials[0]!.number}.warc.gz`), records);
  const numbers = trials.map(({ number }) => number);
  await acknowledged('put', numbers, () => archive.add([file], { collection: `c${below(3)}`, workers: 1 }));
}

async function remove(archive: Archive): Promise<void> {
  const captures = await allCaptures(archive);
  const chosen = captures.filter(() => random() < 0.15).slice(0, 12);
  if (random() < 0.3 && captures.length > 0) {
    const from = captures[below(captures.length)]!.time;
    // A capture that is being stored at the same time must not be selected, so the range ends before it.
    const beforeOpen = Math.min(...[...storing].map((number) => trialOf(number).time - 1));
    const to = Math.min(from + below(5000), beforeOpen, Math.max(...captures.map(({ time }) => time)));
    const numbers = captures.filter(({ time }) => time >= from && time <= to).map(({ url }) => numberOf(url));
    await acknowledged('remove', numbers, () => archive.delete({ from, to }));
    return;
  }
  await Promise.all(chosen.map(({ url }) => acknowledged('remove', [numberOf(url)], () => archive.delete({ url }))));
}

const compact = (archive: Archive) => acknowledged('compact', [], () => archive.compact()).then(() => {});

/**
 * Recompression makes hardly any segment of this size smaller, so the share is set such that all segments are
 * recompressed.
 */
const recompress = (archive: Archive) =>
  acknowledged('recompress', [], () => archive.recompress({ worthwhileShare: 2 })).then(() => {});

async function work(archive: Archive): Promise<void> {
  const choice = random();
  if (choice < 0.5) await Promise.all(Array.from({ length: 1 + below(12) }, () => store(archive)));
  else if (choice < 0.62) await add(archive);
  else if (choice < 0.8) await remove(archive);
  else if (choice < 0.87) await compact(archive);
  else if (choice < 0.92) await recompress(archive);
  else if (choice < 0.95) await Promise.all([recompress(archive), store(archive), remove(archive), store(archive)]);
  else if (choice < 0.98) await Promise.all([compact(archive), store(archive), remove(archive), store(archive)]);
  else await acknowledged('rebuild', [], () => archive.rebuild());
}

const archive = await openArchive(directory, { clock: Date.now, newId: seededIds(random), purpose: 'to be killed' });
say('open');
for (;;) await work(archive);
