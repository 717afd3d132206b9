/**
 * Pages through very many captures: `/cdx` and `/api/urls` from the first page to the last by their keys. The time of a
 * page must not depend on its position, and every capture must be returned once.
 *
 * The catalog is filled directly, without records, because index lines do not need them.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createArchive, openArchive } from '../src/archive/index.ts';
import { seededIds, seededRandom } from '../src/base/index.ts';
import { type Capture, openLevelCatalog } from '../src/catalog/index.ts';
import { startServer } from '../src/server/index.ts';
import { urlKey } from '../src/url/index.ts';
import { median, print } from './measure.ts';

const START = Date.UTC(2020, 0, 1);
const CAPTURES_OF_URL = 5;
const BATCH = 10_000;
const PAGE = 1000;
/** The number of pages at each end that are compared. */
const ENDS = 50;

export async function benchPaging(argv: readonly string[]): Promise<void> {
  const count = Number(argv[0] ?? 1_000_000);
  const directory = join(tmpdir(), 'pinakes-bench', 'paging-archive');
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  await createArchive(directory);
  const newId = seededIds(seededRandom(1));
  await fill(join(directory, 'catalog'), count);
  const archive = await openArchive(directory, { clock: () => START, newId });
  const server = await startServer({
    archive,
    host: '127.0.0.1',
    port: 0,
    replayPort: 0,
    token: 'token-of-the-bench',
    clock: () => START,
    newId,
    version: '0.0.0',
    jobKinds: [],
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    const get = (target: string) => fetched(server.uiAddress + target, agent);
    print(
      `paging: ${count} captures of ${count / CAPTURES_OF_URL} URLs, pages of ${PAGE}, processor time of client and server`,
    );
    await walk('/cdx by resume key', count, async (key) => {
      const next = key === undefined ? '' : `&resumeKey=${key}`;
      const text = await get(`/cdx?url=*.million.test&fl=urlkey,timestamp&limit=${PAGE}&showResumeKey=true${next}`);
      const [lines = '', resumeKey] = text.split('\n\n');
      return { keys: lines.trimEnd().split('\n'), next: resumeKey?.trim() };
    });
    await walk('/api/urls', count / CAPTURES_OF_URL, async (after) => {
      const next = after === undefined ? '' : `&after=${after}`;
      const page = JSON.parse(await get(`/api/urls?prefix=*.million.test&limit=${PAGE}${next}`)) as {
        items: { urlKey: string }[];
        next?: string;
      };
      return { keys: page.items.map((item) => item.urlKey), next: page.next };
    });
  } finally {
    agent.destroy();
    await server.close({ force: AbortSignal.abort() });
    await archive.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function fill(directory: string, count: number): Promise<void> {
  const catalog = await openLevelCatalog(directory);
  for (let at = 0; at < count; at += BATCH) {
    const captures = Array.from({ length: Math.min(BATCH, count - at) }, (_, i) => ({ capture: captureOf(at + i) }));
    await catalog.commit({ captures });
  }
  await catalog.close();
}

function captureOf(at: number): Capture {
  const page = Math.floor(at / CAPTURES_OF_URL);
  const url = `http://host${page % 997}.million.test/section/${page % 31}/page-${page}.html`;
  return {
    urlKey: urlKey(url),
    time: START + (at % CAPTURES_OF_URL) * 86_400_000 + page,
    place: { segment: 1, offset: at * 3000, length: 2900 },
    url,
    kind: 'response',
    collection: 0,
    status: 200,
    mime: 'text/html',
    block: { digest: createHash('sha256').update(String(page)).digest(), overflow: 0 },
    hash: at % 2 ** 32,
  };
}

type Page = { readonly keys: readonly string[]; readonly next: string | undefined };

/** Reads from the first page to the last, and checks that all lines are in order and occur once. */
async function walk(name: string, expected: number, ask: (key: string | undefined) => Promise<Page>): Promise<void> {
  const costs: number[] = [];
  let seen = 0;
  let last = '';
  for (let key: string | undefined; ; ) {
    const before = process.cpuUsage();
    const page = await ask(key);
    const { user, system } = process.cpuUsage(before);
    costs.push((user + system) / 1000);
    for (const one of page.keys) {
      if (Buffer.compare(Buffer.from(one), Buffer.from(last)) <= 0) throw new Error(`${one} does not follow ${last}`);
      last = one;
      seen++;
    }
    if (page.next === undefined || page.next === '') break;
    key = page.next;
  }
  if (seen !== expected) throw new Error(`${seen} came of ${expected}`);
  // The last page is shorter than the others, and the first includes compilation.
  const [first, end] = [median(costs.slice(1, 1 + ENDS)), median(costs.slice(-1 - ENDS, -1))];
  print(
    `  ${name.padEnd(22)} ${costs.length} pages, ${seen} in order, none twice; a page at the end ${(end / first).toFixed(2)} of one at the start (bar 1.25; ${end.toFixed(1)} ms)`,
  );
}

function fetched(address: string, agent: Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(address, { agent }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(pieces).toString('utf8');
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`${response.statusCode} ${text}`));
      });
    });
    sent.on('error', reject);
    sent.end();
  });
}
