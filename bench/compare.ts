/**
 * Compares the processor time of two trees of this project, job by job: scanning, adding, random retrieval, replay of
 * stored bytes, CDX look-ups, crawling.
 *
 *     npm run bench -- compare OTHER_TREE [--runs 7] [--jobs scan,add] [--self]
 *
 * OTHER_TREE is a checkout of the earlier state with its `node_modules`. Each run of a job is a separate process, and
 * the trees take turns. `--self` also compares the other tree with itself in the same run, which shows how much of a
 * difference is noise. Prints medians and the ratio of this tree to the other; below 1 means that this tree takes less.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import autocannon from 'autocannon';
import { readRecords } from '../src/warc/index.ts';
import {
  ARCHIVE_SOURCE,
  JOB_NAMES,
  type JobName,
  type JobOrder,
  PAGES,
  SITE_PAGES,
  WARC_SOURCE,
} from './compare-settings.ts';
import { median, print } from './measure.ts';
import { writeSampleWarc } from './sample-warc.ts';

const WARC_BYTES = 200e6;
const ARCHIVE_BYTES = 100e6;
const CONNECTIONS = 16;
const REQUESTS = 40_000;

type Tree = { readonly name: string; readonly path: string; readonly directory: string };

export async function benchCompare(argv: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: { runs: { type: 'string', default: '7' }, jobs: { type: 'string' }, self: { type: 'boolean' } },
  });
  const other = resolve(positionals[0] ?? '');
  if (positionals.length !== 1 || !existsSync(join(other, 'src/archive/index.ts'))) {
    throw new Error('name the checkout to compare with: npm run bench -- compare OTHER_TREE');
  }
  const jobs = JOB_NAMES.filter((name) => values.jobs === undefined || values.jobs.split(',').includes(name));
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-bench-compare-'));
  const site = fork(join(import.meta.dirname, 'crawl-site.ts'), [String(SITE_PAGES)], { silent: true });
  try {
    const [port] = (await once(site.stdout!, 'data')) as [Buffer];
    await writeSources(directory);
    const trees = [
      { name: 'other', path: other },
      { name: 'this', path: resolve(import.meta.dirname, '..') },
      ...(values.self ? [{ name: 'other again', path: other }] : []),
    ].map((tree, index) => {
      const at = join(directory, String(index));
      mkdirSync(at);
      return { ...tree, directory: at };
    });
    for (const job of jobs) await compareJob(job, trees, Number(values.runs), directory, `http://127.0.0.1:${port}`);
  } finally {
    site.kill();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The files of the jobs, the same for all trees. */
async function writeSources(directory: string): Promise<void> {
  await writeSampleWarc(join(directory, WARC_SOURCE), { bytes: WARC_BYTES });
  const source = join(directory, ARCHIVE_SOURCE);
  await writeSampleWarc(source, { bytes: ARCHIVE_BYTES, duplicates: 0.3 });
  const pages: string[] = [];
  for await (const record of readRecords(source)) {
    for await (const _ of record.body());
    const { head } = record;
    if (head.type === 'response') pages.push(JSON.stringify([head.targetUri, head.time]));
  }
  writeFileSync(join(directory, PAGES), `${pages.join('\n')}\n`);
}

async function compareJob(
  job: JobName,
  trees: readonly Tree[],
  runs: number,
  sources: string,
  site: string,
): Promise<void> {
  const seconds = trees.map(() => [] as number[]);
  for (let run = 0; run < runs; run++) {
    for (const [index, tree] of trees.entries()) seconds[index]!.push(await runJob(job, tree, sources, site));
  }
  const [other, ours, again] = seconds as [number[], number[], number[] | undefined];
  const spread = `${Math.min(...ours).toFixed(2)} to ${Math.max(...ours).toFixed(2)}`;
  print(
    `${job.padEnd(9)} other ${median(other).toFixed(2)} s, this ${median(ours).toFixed(2)} s (${spread}): ${(median(ours) / median(other)).toFixed(3)}${again ? `; other against itself ${(median(again) / median(other)).toFixed(3)}` : ''}`,
  );
}

/** Processor seconds of one run of a job in a separate process. */
async function runJob(job: JobName, tree: Tree, sources: string, site: string): Promise<number> {
  const child = fork(join(import.meta.dirname, 'compare-job.ts'), [tree.path, job, tree.directory, sources, site], {
    execArgv: ['--expose-gc'],
  });
  const message = async () => {
    const [answer] = await Promise.race([once(child, 'message'), once(child, 'exit').then(() => [undefined])]);
    if (!answer) throw new Error(`${job} of ${tree.path} ended early`);
    return answer as unknown;
  };
  try {
    if (job === 'replay' || job === 'cdx') {
      const { address, paths } = (await message()) as JobOrder;
      await load(address, paths);
      child.send({});
      await message();
      await load(address, paths);
      child.send({});
    }
    return ((await message()) as { seconds: number }).seconds;
  } finally {
    child.kill();
  }
}

async function load(url: string, paths: readonly string[]): Promise<void> {
  const requests = paths.map((path) => ({ method: 'GET' as const, path }));
  const result = await autocannon({ url, connections: CONNECTIONS, amount: REQUESTS, requests });
  const failed = result.errors + result.timeouts + result.non2xx;
  if (failed > 0) throw new Error(`${failed} requests failed`);
}
