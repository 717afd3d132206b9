/**
 * One kind of writing, with or without a verification of the same archive, in a separate process as in a server. For
 * each order it copies the prepared archive, writes to the copy, and posts what it cost. A verification that ends
 * before the writing begins again.
 */
import { randomUUID } from 'node:crypto';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Archive, openArchive } from '../src/archive/index.ts';
import { Exclusive, limitYoungSpace } from '../src/base/index.ts';
import { crawl } from '../src/crawl/index.ts';
import { settingsOf } from './crawl-settings.ts';
import { QueueWaits } from './queue-waits.ts';
import type { BesideCost, BesideWay, Order } from './verify-beside.ts';

const [way, directory, input, pages] = process.argv.slice(2) as [BesideWay, string, string, string];
const CRAWLED_AT_A_TIME = 16;
const waits = new QueueWaits();

// Like `pinakes serve`.
limitYoungSpace();
await assertCounted();

process.on('message', async ({ isBeside }: Order) => {
  const at = join(directory, `${way}-written`);
  cpSync(join(directory, 'prepared'), at, { recursive: true });
  const newId = () => `<urn:uuid:${randomUUID()}>`;
  const archive = await openArchive(at, { clock: Date.now, newId, stopwatch: () => performance.now() });
  waits.reset();
  const ended = new AbortController();
  const verifying = isBeside ? waits.as('verifying', () => verifyUntil(archive, ended.signal)) : undefined;
  const before = process.cpuUsage();
  const start = performance.now();
  await waits.as('writing', () => write(archive));
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(before);
  ended.abort();
  const verified = (await verifying) ?? { bytes: 0, problems: 0 };
  const { pieces, behindWriting, behindVerifying, ofVerifying, longestMs } = waits;
  const counted = { pieces, behindWriting, behindVerifying, ofVerifying, longestMs };
  await archive.close();
  rmSync(at, { recursive: true, force: true });
  process.send!({ seconds, processor: (user + system) / 1e6, ...counted, ...verified } satisfies BesideCost);
});

async function write(archive: Archive): Promise<void> {
  if (way === 'add') {
    const { captures } = await archive.add([input], { workers: 2 });
    if (captures === 0) throw new Error('nothing was added');
    return;
  }
  const { counts } = await crawl(archive, [`${input}/page/0`], settingsOf(CRAWLED_AT_A_TIME));
  if (counts.pages !== Number(pages)) throw new Error(`${counts.pages} pages instead of ${pages}`);
}

/** Verifies again and again until the signal. */
async function verifyUntil(archive: Archive, signal: AbortSignal): Promise<{ bytes: number; problems: number }> {
  let bytes = 0;
  let problems = 0;
  while (!signal.aborted) {
    let last = 0;
    try {
      await archive.verify({
        depth: 'full',
        signal,
        onProblem: (problem) => {
          problems++;
          process.stderr.write(`${problem.message}\n`);
        },
        onProgress: (progress) => {
          last = progress.bytes;
        },
      });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    bytes += last;
  }
  return { bytes, problems };
}

/** The count would be 0 too if it saw nothing. */
async function assertCounted(): Promise<void> {
  const queue = new Exclusive();
  const first = waits.as('verifying', () => queue.run(async () => {}));
  await Promise.all([first, waits.as('writing', () => queue.run(async () => {}))]);
  if (waits.behindVerifying !== 1) throw new Error('a wait for the verification is not counted');
}
