/** Crawls of a generated site by crawlers of a cluster, each a process of its own with an address of its own. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import type { CrawlReport, CrawlSettings } from '../../src/crawl/index.ts';
import { allCaptures } from '../archive/trial-archive.ts';
import type { TestCluster } from './cluster-sample.ts';

export type Crawler = {
  readonly child: ChildProcess;
  /** Fulfilled when the crawler works on its run. */
  readonly working: Promise<void>;
  /** The report; undefined if the process was killed. */
  readonly ended: Promise<CrawlReport | undefined>;
};

/** Starts a crawler. Without seeds it joins the crawl of the collection. */
export async function startCrawler(
  cluster: TestCluster,
  catalog: string,
  address: string,
  settings: Partial<CrawlSettings> & { readonly collection: string },
  seeds: readonly string[] = [],
): Promise<Crawler> {
  const directory = await cluster.machine(catalog);
  const args = [join(import.meta.dirname, 'crawling-child.ts'), directory, address, JSON.stringify(settings), ...seeds];
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), 'pinakes-compile-cache'),
    },
  });
  const failed = text(child.stderr);
  const lines = createInterface(child.stdout);
  const working = Promise.withResolvers<void>();
  let report: CrawlReport | undefined;
  lines.on('line', (line) => {
    if (line === 'working') working.resolve();
    else report = JSON.parse(line) as CrawlReport;
  });
  const ended = once(child, 'exit').then(async ([code, signal]) => {
    working.resolve();
    if (signal !== null) return undefined;
    assert.equal(code, 0, await failed);
    return report;
  });
  return { child, working: working.promise, ended };
}

/** The URLs of all captures of an archive, each as often as it was captured, in order. */
export async function capturedUrls(cluster: TestCluster, catalog: string): Promise<string[]> {
  const archive = await cluster.open(await cluster.machine(catalog));
  try {
    const captures = await allCaptures(archive);
    return captures
      .map(({ url }) => url)
      .filter((url) => url.startsWith('http'))
      .sort();
  } finally {
    await archive.close();
  }
}
