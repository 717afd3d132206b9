/**
 * Compares the crawler with its limits in the same run. One limit is the bare client, which fetches the same pages at
 * the same concurrency and discards them. The other is `wget --recursive --warc-file` on the same site, if wget is
 * installed. Also measures the memory of a crawl that knows a million URLs.
 *
 * The conditions are not equal. Wget sends one request at a time, as the other ways do in half of their runs. It does
 * not sync to disk, while the crawler syncs everything that it acknowledges. Wget runs twice. With its usual options it
 * leaves a file for every page beside the WARC file and prints its progress. The second run has the options with the
 * least work. Each way has a separate process, which the ways on Node keep between runs. All ways share the machine
 * with the site, which makes its pages on request and uses part of a core. The bare client is the client of the
 * crawler, which is the fastest one. The `fetch` of Node and its older HTTP client are measured for comparison.
 */
import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { CONCURRENCIES, type Concurrency, type FetchCost, type KnownUrlsCost, type WayName } from './crawl-settings.ts';
import { median, print, ratio } from './measure.ts';

const RUNS = 5;

/** The options with which wget reaches every page, and the options that stop its files and its output. */
const WGET_TYPED = ['--recursive', '--level=inf', '--warc-file=site'];
const WGET_LEAN = [...WGET_TYPED, '--quiet', '--delete-after', '--no-directories'];

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

/** A crawl of pages that link to a million other pages, in a separate process; see `crawl-many.ts`. */
async function measureMemory(site: string, directory: string): Promise<void> {
  const child = fork(join(import.meta.dirname, 'crawl-many.ts'), [site, directory]);
  const { known, rss } = (await answerOf(child)) as KnownUrlsCost;
  print(`memory of a crawl that knows ${known} URLs: ${(rss / 1e6).toFixed(0)} MB in a process of its own   (bar 400)`);
}

type Measure = { readonly runs: number; readonly wget: boolean };

async function measure(site: string, pages: number, directory: string, { runs, wget }: Measure): Promise<void> {
  const names: readonly WayName[] = ['own', 'packed', 'fetch', 'agent', 'crawl'];
  const ways = names.map((name) => ({ name, process: startWay(name, site, pages, directory) }));
  const taken = new Map(
    CONCURRENCIES.map((concurrency) => [concurrency, new Map(names.map((name) => [name, [] as FetchCost[]]))]),
  );
  const typed: number[] = [];
  const lean: number[] = [];
  try {
    for (let run = 0; run < runs; run++) {
      for (const [concurrency, byWay] of taken)
        for (const way of ways) byWay.get(way.name)!.push(await runWay(way.process, concurrency));
      if (!wget) continue;
      typed.push(wgetAll(site, join(directory, 'wget'), WGET_TYPED));
      lean.push(wgetAll(site, join(directory, 'wget'), WGET_LEAN));
    }
  } finally {
    for (const way of ways) way.process.kill();
  }
  print(`crawl: a loopback site of ${pages} pages, no delay, ${runs} alternating runs, medians`);
  for (const [concurrency, byWay] of taken) {
    const [own, packed, platform, agent, ours] = names.map((name) => byWay.get(name)!.map(({ seconds }) => seconds));
    const processor = median(byWay.get('crawl')!.map((one) => one.processor));
    const speed = (times: readonly number[]) => (pages / median(times)).toFixed(0);
    print(`${concurrency === 1 ? '1 request' : `${concurrency} requests`} at a time`);
    print(`  crawl ${speed(ours!)} pages/s, storing, reading links and all`);
    print(`  processor time ${((1000 * processor) / pages).toFixed(2)} ms a page, of all threads`);
    print(`  to the crawler's own bare client, ${speed(own!)} pages/s   ${ratio(own!, ours!)}   (bar 0.5)`);
    print(`  to the same client and compressing, ${speed(packed!)} pages/s   ${ratio(packed!, ours!)}`);
    print(`  to fetch of the platform, ${speed(platform!)} pages/s       ${ratio(platform!, ours!)}`);
    print(`  to node:http with an agent, ${speed(agent!)} pages/s    ${ratio(agent!, ours!)}`);
    if (!wget) continue;
    print(`  to wget --recursive --warc-file, ${speed(typed)} pages/s    ${ratio(typed, ours!)}   (bar 3)`);
    print(
      `  to wget ${WGET_LEAN.slice(-3).join(' ')} as well, ${speed(lean)} pages/s    ${ratio(lean, ours!)}   (bar 3)`,
    );
  }
}

function startWay(name: WayName, site: string, pages: number, directory: string): ChildProcess {
  return fork(join(import.meta.dirname, 'crawl-way.ts'), [name, site, String(pages), directory]);
}

async function runWay(way: ChildProcess, concurrency: Concurrency): Promise<FetchCost> {
  way.send(concurrency);
  return (await answerOf(way)) as FetchCost;
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const [answer] = await Promise.race([once(child, 'message'), once(child, 'exit').then(() => [undefined])]);
  if (!answer) throw new Error('a process of the bench ended early');
  return answer;
}

/** The seconds that wget took. */
function wgetAll(site: string, at: string, options: readonly string[]): number {
  mkdirSync(at, { recursive: true });
  const start = performance.now();
  const { status, error } = spawnSync('wget', [...options, `${site}/page/0`], { cwd: at, stdio: 'ignore' });
  const seconds = (performance.now() - start) / 1000;
  rmSync(at, { recursive: true, force: true });
  if (error || status !== 0) throw new Error(`wget ended with ${status ?? error?.message}`);
  return seconds;
}
