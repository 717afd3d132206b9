/**
 * One job of the comparison of two trees, in a separate process: `compare-job.ts TREE JOB DIRECTORY SOURCES SITE`. It
 * loads the sources of TREE, prepares and warms up, runs the job once, and sends the processor seconds of all its
 * threads. The functions that it calls must have the same interface in both trees.
 */
import { randomUUID } from 'node:crypto';
import { createReadStream, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { seededRandom } from '../src/base/index.ts';
import { ARCHIVE_SOURCE, type JobName, type JobOrder, PAGES, SITE_PAGES, WARC_SOURCE } from './compare-settings.ts';

const [tree, job, directory, sources, site] = process.argv.slice(2) as [string, JobName, string, string, string];
const load = <T>(path: string): Promise<T> => import(pathToFileURL(join(tree, path)).href) as Promise<T>;
const newId = () => `<urn:uuid:${randomUUID()}>`;
const stopwatch = () => performance.now();
const RETRIEVALS = 20_000;
/** The number of captures that clients request from a server repeatedly. */
const SERVED = 500;

const { createArchive, openArchive } = await load<typeof import('../src/archive/index.ts')>('src/archive/index.ts');

async function measured(work: () => Promise<void>): Promise<number> {
  globalThis.gc?.();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

async function scan(): Promise<number> {
  const { scanFiles } = await load<typeof import('../src/warc/index.ts')>('src/warc/index.ts');
  const once = async () => {
    for await (const _ of scanFiles([join(sources, WARC_SOURCE)], { workers: 0 }));
  };
  await once();
  return measured(once);
}

async function add(): Promise<number> {
  const once = async () => {
    const at = join(directory, `added-${process.pid}`);
    await createArchive(at);
    const archive = await openArchive(at, { clock: Date.now, newId });
    await archive.add([join(sources, ARCHIVE_SOURCE)], { workers: 2 });
    await archive.close();
    rmSync(at, { recursive: true });
  };
  await once();
  return measured(once);
}

/** An archive that this tree made. It is kept between runs. */
async function filled(): Promise<string> {
  const at = join(directory, 'archive');
  if (existsSync(at)) return at;
  await createArchive(at);
  const archive = await openArchive(at, { clock: Date.now, newId });
  await archive.add([join(sources, ARCHIVE_SOURCE)], { workers: 2 });
  await archive.close();
  return at;
}

/** Some captures of the source file: URL and time. */
async function chosen(): Promise<(readonly [url: string, time: number])[]> {
  const all: [string, number][] = [];
  const lines = createInterface(createReadStream(join(sources, PAGES)));
  for await (const line of lines) all.push(JSON.parse(line) as [string, number]);
  const random = seededRandom(3);
  return Array.from({ length: RETRIEVALS }, () => all[Math.floor(random() * all.length)]!);
}

async function retrieve(): Promise<number> {
  const archive = await openArchive(await filled(), { clock: Date.now, newId, stopwatch });
  const captures = await chosen();
  const once = async () => {
    for (const [url, time] of captures) for await (const _ of (await archive.get(url, time)).payload);
  };
  await once();
  const seconds = await measured(once);
  await archive.close();
  return seconds;
}

async function crawlSite(): Promise<number> {
  const { crawl } = await load<typeof import('../src/crawl/index.ts')>('src/crawl/index.ts');
  const once = async (pagesMax: number) => {
    const at = join(directory, `crawled-${process.pid}`);
    await createArchive(at);
    const archive = await openArchive(at, { clock: Date.now, newId });
    await crawl(archive, [`${site}/page/0`], {
      allowPrivate: true,
      delayMs: 0,
      concurrency: 16,
      hostConcurrency: 16,
      pagesMax,
    });
    await archive.close();
    rmSync(at, { recursive: true });
  };
  await once(SITE_PAGES / 4);
  return measured(() => once(SITE_PAGES));
}

/**
 * Serves while the parent warms the server up. After a message, serves while the parent runs the job, until the next
 * message.
 */
async function serve(): Promise<number> {
  const { startServer } = await load<typeof import('../src/server/index.ts')>('src/server/index.ts');
  const archive = await openArchive(await filled(), { clock: Date.now, newId, stopwatch });
  const server = await startServer({
    archive,
    host: '127.0.0.1',
    port: 0,
    replayPort: 0,
    token: 'bench-token',
    clock: Date.now,
    newId,
    version: 'bench',
    jobKinds: [],
    stopwatch,
    onFailure: (error) => process.stderr.write(`${String(error)}\n`),
  });
  const answered = () => new Promise<void>((resolve) => process.once('message', () => resolve()));
  const captures = (await chosen()).slice(0, SERVED);
  const stamp = (time: number) => new Date(time).toISOString().replace(/\D/g, '').slice(0, 14);
  const order: JobOrder =
    job === 'cdx'
      ? { address: server.uiAddress, paths: captures.map(([url]) => `/cdx?url=${encodeURIComponent(url)}`) }
      : { address: server.replayAddress, paths: captures.map(([url, time]) => `/web/${stamp(time)}id_/${url}`) };
  process.send!(order);
  await answered();
  return measured(async () => {
    process.send!({});
    await answered();
  });
}

const JOBS: Record<JobName, () => Promise<number>> = {
  scan,
  add,
  retrieve,
  replay: serve,
  cdx: serve,
  crawl: crawlSite,
};
process.send!({ seconds: await JOBS[job]() });
// Servers and open connections end with the process.
process.exit(0);
