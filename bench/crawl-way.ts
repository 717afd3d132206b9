/**
 * One way of fetching all pages of the bench site. It runs in a separate process, so that no other way influences its
 * compiled code or its heap. `crawl` is the crawler. `own`, `fetch` and `agent` are bare clients that discard the
 * pages. `packed` also makes gzip members of the pages, which every crawler that writes WARC files has to do.
 *
 * The process fetches the site each time it receives a number of requests at a time, and posts the cost. Before that it
 * fetches a part of the site, untimed. While other ways run, Node discards the compiled code of this process, which
 * would not happen in a long crawl.
 */
import { rmSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { createArchive, openArchive } from '../src/archive/index.ts';
import { digestOf, formatW3cDate } from '../src/base/index.ts';
import { crawl, type Exchange, FETCH_DEFAULTS, HttpFetcher } from '../src/crawl/index.ts';
import { MemberThreads, openHead, type UnencodedRecord } from '../src/warc/index.ts';
import { type Concurrency, type FetchCost, newId, settingsOf, type WayName } from './crawl-settings.ts';

const [name, site, pagesText, directory] = process.argv.slice(2) as [WayName, string, string, string];
const allPages = Number(pagesText);
const WARM_UP_PAGES = 4000;

type Way = (pages: number, concurrency: Concurrency) => Promise<void>;

const ways: Record<WayName, Way> = {
  crawl: crawlAll,
  own: (pages, concurrency) =>
    fetchAll(
      pages,
      concurrency,
      ownFetch(async ({ body }) => {
        for await (const _ of body);
      }),
    ),
  packed: packAll,
  fetch: (pages, concurrency) => fetchAll(pages, concurrency, platformFetch),
  agent: withAgent,
};

process.on('message', async (concurrency: Concurrency) => {
  await ways[name](Math.min(WARM_UP_PAGES, allPages), concurrency);
  const at = performance.now();
  const before = process.cpuUsage();
  await ways[name](allPages, concurrency);
  const seconds = (performance.now() - at) / 1000;
  const { user, system } = process.cpuUsage(before);
  process.send!({ seconds, processor: (user + system) / 1e6 } satisfies FetchCost);
});

async function crawlAll(pages: number, concurrency: Concurrency): Promise<void> {
  const at = join(directory, 'archive');
  await createArchive(at);
  const archive = await openArchive(at, { clock: Date.now, newId });
  try {
    const limit = pages < allPages ? { pagesMax: pages } : {};
    const report = await crawl(archive, [`${site}/page/0`], { ...settingsOf(concurrency), ...limit });
    if (report.counts.pages !== pages) throw new Error(`${report.counts.pages} pages instead of ${pages}`);
  } finally {
    await archive.close();
  }
  rmSync(at, { recursive: true, force: true });
}

async function fetchAll(
  pages: number,
  concurrency: Concurrency,
  fetchOne: (url: string) => Promise<void>,
): Promise<void> {
  let next = 0;
  const work = async () => {
    while (next < pages) await fetchOne(`${site}/page/${next++}`);
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}

function ownFetch(take: (exchange: Exchange) => Promise<void>): (url: string) => Promise<void> {
  const fetcher = new HttpFetcher({ ...FETCH_DEFAULTS, clock: Date.now, allowPrivate: true });
  return async (url) => {
    const fetched = await fetcher.fetch({ url });
    if (fetched.kind === 'failure') throw new Error(fetched.detail);
    await take(fetched);
  };
}

/** The number of pages that are compressed at a time, and the number of batches that may wait for compression. */
const PACKED_TOGETHER = 64;
const PACKINGS_MAX = 8;

async function packAll(pages: number, concurrency: Concurrency): Promise<void> {
  const threads = new MemberThreads();
  const packings = new Set<Promise<unknown>>();
  let loose: UnencodedRecord[] = [];
  const pack = () => {
    const packing = threads.encode(loose).finally(() => packings.delete(packing));
    packings.add(packing);
    loose = [];
  };
  await fetchAll(
    pages,
    concurrency,
    ownFetch(async (exchange) => {
      const parts: Uint8Array[] = [exchange.head.bytes];
      for await (const piece of exchange.body) parts.push(piece);
      loose.push(...recordsOf(exchange, Buffer.concat(parts)));
      if (loose.length >= 2 * PACKED_TOGETHER) pack();
      while (packings.size >= PACKINGS_MAX) await Promise.race(packings);
    }),
  );
  pack();
  await Promise.all(packings);
  await threads.close();
}

/** The two records of an exchange, as the archive writes them. */
function recordsOf(exchange: Exchange, block: Uint8Array): UnencodedRecord[] {
  const { url, time, request, head } = exchange;
  const common = { date: formatW3cDate(time), targetUri: url } as const;
  const response = {
    ...common,
    type: 'response',
    recordId: newId(),
    payloadDigest: digestOf('sha256', block.subarray(head.bytes.length)),
    contentType: 'application/http; msgtype=response',
    fields: exchange.fields(),
  } as const;
  const asked = {
    ...common,
    type: 'request',
    recordId: newId(),
    contentType: 'application/http; msgtype=request',
    fields: [{ name: 'WARC-Concurrent-To', value: response.recordId }],
  } as const;
  return [
    { head: openHead(response, block.length), block, level: 6 },
    { head: openHead(asked, request.length), block: request, level: 6 },
  ];
}

async function platformFetch(url: string): Promise<void> {
  const response = await fetch(url);
  await response.arrayBuffer();
}

async function withAgent(pages: number, concurrency: Concurrency): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  try {
    await fetchAll(pages, concurrency, (url) => agentFetch(url, agent));
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
