/**
 * Copies under a rank law: 10,000 contents, of which the most popular has 10,000 references, and the one of rank k
 * 10,000 / k^1.2. Prints what the suggested policy costs in bytes, and which part of the captures it protects.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createArchive, openArchive } from '../../src/archive/index.ts';
import { contentOf, NOON, page, trialOptions } from '../archive/trial-archive.ts';

const CONTENTS = 10_000;
const LARGEST = 10_000;
const EXPONENT = 1.2;
const AT_ONCE = 500;

export async function tryCopies([
  contents = String(CONTENTS),
  largest = String(LARGEST),
]: readonly string[]): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-trial-copies-'));
  try {
    await createArchive(directory, { policies: { distribution: 'hash', copies: { 2: 10, 3: 1000 } } });
    const archive = await openArchive(directory, trialOptions());
    await archive.addVolume({ name: 'second', path: join(directory, 'volumes/second') });
    let captures = 0;
    let safe = 0;
    let waiting: Promise<unknown>[] = [];
    for (let rank = 1; rank <= Number(contents); rank++) {
      const references = Math.max(1, Math.round(Number(largest) / rank ** EXPONENT));
      captures += references;
      if (references >= 10) safe += references;
      const body = contentOf(`content ${rank}`, 2000 + ((rank * 7919) % 20_000));
      for (let reference = 0; reference < references; reference++) {
        waiting.push(archive.store(page(`http://site.example/${rank}/${reference}`, NOON, body), { mayWait: true }));
        if (waiting.length < AT_ONCE) continue;
        await Promise.all(waiting);
        waiting = [];
      }
    }
    await Promise.all(waiting);
    const bytes = (await archive.segments()).reduce((sum, segment) => sum + segment.bytes, 0);
    const made = await archive.makeCopies();
    const share = (part: number, whole: number) => `${((100 * part) / whole).toFixed(1)} %`;
    process.stdout.write(`${contents} contents, ${captures} captures, ${bytes} bytes in segments\n`);
    process.stdout.write(`${made.copies} copies of ${made.bytes} bytes: ${share(made.bytes, bytes)} more\n`);
    process.stdout.write(
      `${safe} captures protected: ${share(safe, captures)}; ${made.lacking} contents lack a third volume\n`,
    );
    await archive.close();
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
