/**
 * A full verification beside a running add, and beside a running crawl:
 *
 *     npm run bench -- verify-beside [MB] [PAGES] [RUNS]
 *
 * - how often a change of the archive waited for the verification in one of the queues of the program: never
 * - the rate of the add or crawl beside the verification, to its rate alone in the same run: at least 0.7
 *
 * Runs alone and beside alternate, each on a new copy of the same archive. Each kind of writing has a process of its
 * own, in which the archive is verified too, as in a server.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createArchive, openArchive } from '../src/archive/index.ts';
import { seededIds, seededRandom } from '../src/base/index.ts';
import { median, print, ratio } from './measure.ts';
import { writeSampleWarc } from './sample-warc.ts';

const RUNS = 5;

export type BesideWay = 'add' | 'crawl';
export type Order = { readonly isBeside: boolean };

/** The cost of one run. */
export type BesideCost = {
  readonly seconds: number;
  readonly processor: number;
  /** Changes and other pieces of work of the writing, and how many waited, for the writing or the verification. */
  readonly pieces: number;
  readonly behindWriting: number;
  readonly behindVerifying: number;
  /** Pieces of work of the verification in the same queues. */
  readonly ofVerifying: number;
  readonly longestMs: number;
  /** What the verification read, and the problems that it found. */
  readonly bytes: number;
  readonly problems: number;
};

export async function benchVerifyBeside(argv: readonly string[]): Promise<void> {
  const [megabytes = 100, pages = 5000, runs = RUNS] = argv.map(Number);
  const directory = join(tmpdir(), 'pinakes-bench-verify-beside');
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  try {
    await prepare(directory, megabytes);
    const file = join(directory, 'added.warc.gz');
    await writeSampleWarc(file, { bytes: megabytes * 1e6, duplicates: 0.3, seed: 2 });
    await measure('add', start('add', directory, file), runs);
    const site = spawn(process.execPath, [join(import.meta.dirname, 'crawl-site.ts'), String(pages)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const [port] = (await once(createInterface(site.stdout), 'line')) as [string];
      await measure('crawl', start('crawl', directory, `http://127.0.0.1:${port}`, String(pages)), runs);
    } finally {
      site.kill();
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The archive that is verified. The writing adds other captures to it. */
async function prepare(directory: string, megabytes: number): Promise<void> {
  const file = join(directory, 'held.warc.gz');
  await writeSampleWarc(file, { bytes: megabytes * 1e6, duplicates: 0.3, seed: 1 });
  const at = join(directory, 'prepared');
  await createArchive(at);
  const archive = await openArchive(at, { clock: Date.now, newId: seededIds(seededRandom(4)) });
  await archive.add([file], { workers: 2 });
  await archive.close();
}

function start(...argv: readonly [BesideWay, ...string[]]): ChildProcess {
  return fork(join(import.meta.dirname, 'verify-beside-way.ts'), argv);
}

async function measure(way: BesideWay, child: ChildProcess, runs: number): Promise<void> {
  const alone: BesideCost[] = [];
  const beside: BesideCost[] = [];
  try {
    // The first two compile the code.
    for (let run = -1; run < runs; run++)
      for (const isBeside of [false, true]) {
        const cost = await runOnce(child, { isBeside });
        if (run >= 0) (isBeside ? beside : alone).push(cost);
      }
  } finally {
    child.kill();
  }
  const seconds = (costs: readonly BesideCost[]) => costs.map((cost) => cost.seconds);
  const sum = (pick: (cost: BesideCost) => number) => beside.reduce((total, cost) => total + pick(cost), 0);
  const longest = (costs: readonly BesideCost[]) => median(costs.map(({ longestMs }) => longestMs)).toFixed(0);
  const verified = sum(({ bytes }) => bytes) / 1e6;
  print(`${way} beside verify --full: ${runs} alternating runs, medians`);
  print(
    `  alone ${median(seconds(alone)).toFixed(2)} s, beside ${median(seconds(beside)).toFixed(2)} s, ` +
      `in which ${(verified / sum((cost) => cost.seconds)).toFixed(1)} MB/s were verified, ${sum(({ problems }) => problems)} problems`,
  );
  print(`  rate beside / alone           ${ratio(seconds(alone), seconds(beside))}   (bar 0.7)`);
  print(`  changes that waited for it    ${sum((cost) => cost.behindVerifying)}   (bar 0)`);
  print(
    `    of ${sum((cost) => cost.pieces)} changes, ${sum((cost) => cost.behindWriting)} waited for other changes; ` +
      `the verification made ${sum((cost) => cost.ofVerifying)}`,
  );
  print(`  longest wait of a change      ${longest(beside)} ms, alone ${longest(alone)} ms`);
}

async function runOnce(child: ChildProcess, order: Order): Promise<BesideCost> {
  const ended = new AbortController();
  const endEarly = () => ended.abort(new Error('a process of the bench ended early'));
  child.once('exit', endEarly);
  try {
    child.send(order);
    const [cost] = await once(child, 'message', { signal: ended.signal });
    return cost as BesideCost;
  } finally {
    child.off('exit', endEarly);
  }
}
