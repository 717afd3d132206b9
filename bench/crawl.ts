/**
 * The crawler against its limits, in the same run: the same pages fetched by the bare client at the same concurrency and thrown away, and `wget
 * --recursive --warc-file` on the same site, where wget is there. And the memory of a crawl that knows a million URLs.
 *
 * What is not the same on all sides: wget asks for one page at a time, which on loopback costs it little, and syncs nothing to disk; the crawler syncs whatever it
 * acknowledges. All share the machine with the site, which makes its pages when asked and takes part of a core. The bare client is the crawler's own, the fastest there is
 * here; the platform's fetch and its older HTTP client stand beside it for scale.
 */
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createArchive, openArchive } from '../src/archive/index.ts';
import { crawl, FETCH_DEFAULTS, HttpFetcher } from '../src/crawl/index.ts';
import { median, print, ratio } from './measure.ts';

const RUNS = 5;
const MANY_PAGES = 50;
const LINKS_OF_MANY = 20_000;
const CONCURRENCY = 16;
const SETTINGS = { allowPrivate: true, delayMs: 0, concurrency: CONCURRENCY, hostConcurrency: CONCURRENCY };
const newId = () => `<urn:uuid:${randomUUID()}>`;

export async function benchCrawl(argv: readonly string[]): Promise<void> {
  const pages = Number(argv[0] ?? 20_000);
  const directory = join(tmpdir(), 'pinakes-bench-crawl');
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const site = spawn(process.execPath, [join(import.meta.dirname, 'crawl-site.ts'), String(pages)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [port] = (await once(createInterface(site.stdout), 'line')) as [string];
    const address = `http://127.0.0.1:${port}`;
    if (!argv.includes('--no-memory')) await measureMemory(address, join(directory, 'many'));
    await measure(address, pages, directory, { runs: Number(argv[1] ?? RUNS), wget: !argv.includes('--no-wget') });
  } finally {
    site.kill();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Pages that name a million others, which the crawl then knows. */
async function measureMemory(site: string, at: string): Promise<void> {
  let rssMax = 0;
  let known = 0;
  const watch = setInterval(() => {
    rssMax = Math.max(rssMax, process.memoryUsage().rss);
  }, 20);
  await createArchive(at);
  const archive = await openArchive(at, { clock: Date.now, newId });
  try {
    const seeds = Array.from({ length: MANY_PAGES }, (_, page) => `${site}/many/${page}`);
    const report = await crawl(archive, seeds, { ...SETTINGS, pagesMax: MANY_PAGES });
    known = report.known;
    const { partlyRead, failed } = report.counts;
    if (known !== MANY_PAGES * (LINKS_OF_MANY + 1) || partlyRead + failed > 0)
      throw new Error(`${known} URLs are known, ${partlyRead} pages were read in part, ${failed} failed`);
  } finally {
    clearInterval(watch);
    await archive.close();
  }
  print(`memory of a crawl that knows ${known} URLs: ${(rssMax / 1e6).toFixed(0)} MB   (bar 400)`);
}

type Measure = { readonly runs: number; readonly wget: boolean };

async function measure(site: string, pages: number, directory: string, { runs, wget }: Measure): Promise<void> {
  const bare: number[] = [];
  const platform: number[] = [];
  const older: number[] = [];
  const ours: number[] = [];
  const processor: number[] = [];
  const peer: number[] = [];
  for (let run = 0; run < runs; run++) {
    bare.push(await elapsed(() => fetchAll(site, pages, ownFetch())));
    platform.push(await elapsed(() => fetchAll(site, pages, platformFetch)));
    older.push(await elapsed(() => withAgent((agent) => fetchAll(site, pages, (url) => agentFetch(url, agent)))));
    const at = join(directory, `archive-${run}`);
    const before = process.cpuUsage();
    ours.push(await elapsed(() => crawlAll(site, pages, at)));
    const { user, system } = process.cpuUsage(before);
    processor.push((user + system) / 1e6);
    rmSync(at, { recursive: true, force: true });
    if (wget) peer.push(await elapsed(async () => wgetAll(site, join(directory, 'wget'))));
  }
  const speed = (times: readonly number[]) => (pages / median(times)).toFixed(0);
  print(
    `crawl: a loopback site of ${pages} pages, ${CONCURRENCY} requests at a time, no delay, ${runs} alternating runs, medians`,
  );
  print(`  crawl ${speed(ours)} pages/s, storing, reading links and all`);
  print(`  processor time ${((1000 * median(processor)) / pages).toFixed(2)} ms a page, of all threads`);
  print(`  to the crawler's own bare client, ${speed(bare)} pages/s   ${ratio(bare, ours)}   (bar 0.5)`);
  print(`  to fetch of the platform, ${speed(platform)} pages/s       ${ratio(platform, ours)}`);
  print(`  to node:http with an agent, ${speed(older)} pages/s    ${ratio(older, ours)}`);
  if (wget) print(`  to wget --recursive --warc-file, ${speed(peer)} pages/s    ${ratio(peer, ours)}   (bar 3)`);
}

async function platformFetch(url: string): Promise<void> {
  const response = await fetch(url);
  await response.arrayBuffer();
}

async function withAgent(work: (agent: Agent) => Promise<void>): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });
  try {
    await work(agent);
  } finally {
    agent.destroy();
  }
}

function agentFetch(url: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      response.on('error', reject).on('end', resolve).resume();
    }).on('error', reject);
  });
}

function ownFetch(): (url: string) => Promise<void> {
  const fetcher = new HttpFetcher({ ...FETCH_DEFAULTS, clock: Date.now, allowPrivate: true });
  return async (url) => {
    const fetched = await fetcher.fetch({ url });
    if (fetched.kind === 'failure') throw new Error(fetched.detail);
    for await (const _ of fetched.body);
  };
}

async function fetchAll(site: string, pages: number, get: (url: string) => Promise<void>): Promise<void> {
  let next = 0;
  const work = async () => {
    while (next < pages) await get(`${site}/page/${next++}`);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
}

async function crawlAll(site: string, pages: number, at: string): Promise<void> {
  await createArchive(at);
  const archive = await openArchive(at, { clock: Date.now, newId });
  try {
    const report = await crawl(archive, [`${site}/page/0`], SETTINGS);
    if (report.counts.pages !== pages) throw new Error(`${report.counts.pages} pages instead of ${pages}`);
  } finally {
    await archive.close();
  }
}

function wgetAll(site: string, at: string): void {
  mkdirSync(at, { recursive: true });
  const options = ['--recursive', '--level=inf', '--quiet', '--delete-after', '--no-directories', '--warc-file=site'];
  const { status, error } = spawnSync('wget', [...options, `${site}/page/0`], { cwd: at });
  rmSync(at, { recursive: true, force: true });
  if (error || status !== 0) throw new Error(`wget ended with ${status ?? error?.message}`);
}

async function elapsed(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}
