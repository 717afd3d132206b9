/**
 * One way of fetching all pages of the bench's site, in a process of its own, so that no other has shaped what the platform knows of the code, nor left it a large heap:
 * `crawl`, or a bare client that throws everything away (`own`, `fetch`, `agent`). Goes through the site each time it is sent a message, and answers with what that took.
 */
import { rmSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { createArchive, openArchive } from '../src/archive/index.ts';
import { crawl, FETCH_DEFAULTS, HttpFetcher } from '../src/crawl/index.ts';
import { CONCURRENCY, newId, SETTINGS, type Taken, type WayName } from './crawl-settings.ts';

const [name, site, pagesText, directory] = process.argv.slice(2) as [WayName, string, string, string];
const pages = Number(pagesText);

const ways: Record<WayName, () => Promise<void>> = {
  crawl: crawlAll,
  own: () => fetchAll(ownFetch()),
  fetch: () => fetchAll(platformFetch),
  agent: withAgent,
};

process.on('message', async () => {
  const at = performance.now();
  const before = process.cpuUsage();
  await ways[name]();
  const seconds = (performance.now() - at) / 1000;
  const { user, system } = process.cpuUsage(before);
  process.send!({ seconds, processor: (user + system) / 1e6 } satisfies Taken);
});

async function crawlAll(): Promise<void> {
  const at = join(directory, 'archive');
  await createArchive(at);
  const archive = await openArchive(at, { clock: Date.now, newId });
  try {
    const report = await crawl(archive, [`${site}/page/0`], SETTINGS);
    if (report.counts.pages !== pages) throw new Error(`${report.counts.pages} pages instead of ${pages}`);
  } finally {
    await archive.close();
  }
  rmSync(at, { recursive: true, force: true });
}

async function fetchAll(fetchOne: (url: string) => Promise<void>): Promise<void> {
  let next = 0;
  const work = async () => {
    while (next < pages) await fetchOne(`${site}/page/${next++}`);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
}

function ownFetch(): (url: string) => Promise<void> {
  const fetcher = new HttpFetcher({ ...FETCH_DEFAULTS, clock: Date.now, allowPrivate: true });
  return async (url) => {
    const fetched = await fetcher.fetch({ url });
    if (fetched.kind === 'failure') throw new Error(fetched.detail);
    for await (const _ of fetched.body);
  };
}

async function platformFetch(url: string): Promise<void> {
  const response = await fetch(url);
  await response.arrayBuffer();
}

async function withAgent(): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });
  try {
    await fetchAll((url) => agentFetch(url, agent));
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
