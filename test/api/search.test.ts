/** The search index that a server keeps up to date, and searches through the API. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createArchive } from '../../src/archive/index.ts';
import { utf8 } from '../../src/base/index.ts';
import { Indexer, SEARCH_FILE } from '../../src/search/index.ts';
import { openServed, type Served, START_MS, scratch, served, storeDays, untilFound } from './served-archive.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const DAY_MS = 86_400_000;

type Item = Record<string, unknown> & { url: string; snippet: string; marks: [number, number][] };

async function storePage(one: Served, url: string, day: number, html: string, collection = 'default'): Promise<void> {
  const responseHead = utf8('HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n');
  await one.archive.store(
    { kind: 'http', url, time: START_MS + day * DAY_MS, responseHead, body: utf8(html) },
    { collection },
  );
}

async function ask(one: Served, route: string, query: Record<string, string>) {
  return one.call(`/api/${route}?${new URLSearchParams(query)}`);
}

/** Waits until indexing has a state. */
async function untilIndexing(one: Served, state: string): Promise<Record<string, unknown>> {
  for (;;) {
    const indexing = (await one.call('/api/info')).json.indexing as Record<string, unknown>;
    if (indexing.state === state) return indexing;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('captures stored while the server runs are found, and deleted ones are not', async (t) => {
  const one = await served(t, { isIndexing: true });
  await storePage(one, 'http://a.test/', 0, '<title>Harbour</title><p>The lighthouse keeper reads.</p>', 'first');
  await storePage(one, 'http://a.test/', 3, '<title>Harbour</title><p>The keeper has left.</p>', 'second');
  await storePage(
    one,
    'http://b.test/',
    1,
    '<title>Inland</title><a href="http://a.test/">to the harbour</a>',
    'first',
  );
  const { items } = (await untilFound(one, 'lighthouse keeper', 1)) as { items: Item[] };
  const [{ snippet, marks, ...item }] = items as [Item];
  assert.equal(item.url, 'http://a.test/');
  assert.equal(item.timestamp, '20240301100000');
  assert.deepEqual(
    marks.map(([start, end]) => snippet.slice(start, end)),
    ['lighthouse', 'keeper'],
  );
  assert.deepEqual((await one.call('/api/info')).json.capabilities, { crawl: true, search: true });

  const links = (await ask(one, 'links', { url: 'http://a.test/' })).json as { items: Item[]; total: number };
  assert.deepEqual([links.total, links.items[0]?.url, links.items[0]?.text], [1, 'http://b.test/', 'to the harbour']);
  const appeared = (await ask(one, 'appearances', { url: 'http://a.test/', q: 'lighthouse' })).json;
  assert.deepEqual(appeared, {
    captures: 2,
    found: 1,
    first: '2024-03-01T10:00:00Z',
    last: '2024-03-01T10:00:00Z',
    spans: [{ from: '2024-03-01T10:00:00Z', to: '2024-03-01T10:00:00Z', captures: 1 }],
    spansAreAll: true,
  });
  const divided = (await ask(one, 'search', { q: 'harbour', facets: '1' })).json as {
    facets: Record<string, { value: string; count: number }[]>;
  };
  assert.deepEqual(divided.facets.site, [
    { value: 'a.test', count: 1 },
    { value: 'b.test', count: 1 },
  ]);

  const selection = { collection: (await one.archive.collections.find('first'))! };
  await one.archive.delete(selection, {});
  await untilFound(one, 'lighthouse', 0);
});

test('a query with an error is refused with the position of the error', async (t) => {
  const one = await served(t);
  const { status, json } = await ask(one, 'search', { q: 'flood (size>big' });
  assert.equal(status, 400);
  const { code, at, length } = json.error as Record<string, unknown>;
  assert.deepEqual([code, at, length], ['BAD_QUERY', 12, 3]);
  const other = await ask(one, 'appearances', { url: 'http://a.test/', q: 'a "b' });
  assert.deepEqual([other.status, (other.json.error as { at: number }).at], [400, 2]);
});

test('a cursor leads to the next page of its search, and is refused by another search', async (t) => {
  const one = await served(t, { isIndexing: true });
  for (let page = 0; page < 5; page++) await storeDays(one.archive, `http://a.test/${page}`, [page]);
  await untilFound(one, 'scroll', 5);
  const seen: string[] = [];
  let after: string | undefined;
  do {
    const { json } = await ask(one, 'search', { q: 'scroll', limit: '2', ...(after !== undefined && { after }) });
    for (const { url } of json.items as Item[]) seen.push(url);
    const next = json.next as string | undefined;
    if (next !== undefined) assert.equal((await ask(one, 'search', { q: 'shelf', after: next })).status, 400);
    after = next;
  } while (after !== undefined);
  assert.deepEqual(
    seen.sort(),
    [0, 1, 2, 3, 4].map((page) => `http://a.test/${page}`),
  );
});

test('without an index, search returns advice and all other routes work', async (t) => {
  const one = await served(t);
  await storeDays(one.archive, 'http://a.test/', [1]);
  for (const [route, query] of [
    ['search', { q: 'scroll' }],
    ['links', { url: 'http://a.test/' }],
    ['appearances', { url: 'http://a.test/', q: 'scroll' }],
  ] as const) {
    const { status, json } = await ask(one, route, query);
    const { code, advice } = json.error as { code: string; advice: string };
    assert.deepEqual([status, code], [503, 'INDEX_MISSING']);
    assert.match(advice, /pinakes index/);
  }
  const info = (await one.call('/api/info')).json;
  assert.deepEqual(
    [info.capabilities, (info.indexing as { state: string }).state],
    [{ crawl: true, search: false }, 'off'],
  );
  assert.equal((await ask(one, 'captures', { url: 'http://a.test/' })).status, 200);
});

test('a damaged index is reported once, and the server uses a rebuilt index at once', async (t) => {
  const told: string[] = [];
  let milliseconds = 0;
  const one = await served(t, {
    isIndexing: true,
    onIndexFailure: (sentence) => told.push(sentence),
    stopwatch: () => (milliseconds += 30_000),
  });
  await storeDays(one.archive, 'http://a.test/', [1]);
  await untilFound(one, 'scroll', 1);
  await untilIndexing(one, 'waiting');
  const path = join(one.directory, SEARCH_FILE);
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
  writeFileSync(path, 'this is not a database, but it is long enough for one. '.repeat(100));
  const { status, json } = await ask(one, 'search', { q: 'scroll' });
  const { code, advice } = json.error as { code: string; advice: string };
  assert.deepEqual([status, code], [503, 'INDEX_DAMAGED']);
  assert.match(advice, /pinakes index --rebuild/);

  await storeDays(one.archive, 'http://b.test/', [2, 3]);
  const failed = await untilIndexing(one, 'failed');
  const problem = failed.problem as { code: string; message: string };
  // Only the operator gets the path of the index.
  assert.deepEqual([problem.code, problem.message], ['INDEX_DAMAGED', 'the search index is damaged']);
  await storeDays(one.archive, 'http://c.test/', [4]);
  assert.equal((await ask(one, 'captures', { url: 'http://b.test/' })).status, 200);

  const indexer = await Indexer.open(one.archive, { isRebuild: true });
  await indexer.catchUp();
  await indexer.close();
  await untilFound(one, 'scroll', 3);
  const damaged = told.filter((sentence) => /damaged.*pinakes index --rebuild/s.test(sentence));
  assert.equal(damaged.length, 1, told.join('\n'));
});

test('the command line can search while a server indexes', async (t) => {
  const one = await served(t, { isIndexing: true });
  await storePage(one, 'http://a.test/', 0, '<title>Pinakes</title><a href="http://b.test/">tables</a>');
  await untilFound(one, 'tables', 1);
  const adding = (async () => {
    for (let page = 0; page < 20; page++) await storeDays(one.archive, `http://c.test/${page}`, [page]);
  })();
  const found = spawnSync(process.execPath, [MAIN, 'search', 'tables', '--archive', one.directory, '--json']);
  assert.equal(found.status, 0, found.stderr.toString());
  assert.equal((JSON.parse(found.stdout.toString()) as { url: string }).url, 'http://a.test/');
  const args = [MAIN, 'links', 'http://b.test/', '--archive', one.directory, '--json'];
  const links = spawnSync(process.execPath, args);
  assert.equal(links.status, 0, links.stderr.toString());
  assert.equal((JSON.parse(links.stdout.toString()) as { url: string }).url, 'http://a.test/');
  await adding;
  await untilFound(one, 'scroll', 20);
});

test('after a server stops in the middle of indexing, the next server continues with the same index', async (t) => {
  const directory = scratch(t);
  await createArchive(directory);
  const before = await openServed(directory);
  for (let page = 0; page < 12; page++) await storeDays(before.archive, `http://a.test/${page}`, [page]);
  await before.server.close();
  await before.archive.close();

  const broken = await openServed(directory, { isIndexing: true });
  await broken.server.close({ force: AbortSignal.abort() });
  await broken.archive.close();

  const one = await openServed(directory, { isIndexing: true });
  await untilFound(one, 'scroll', 12);
  await one.server.close();
  await one.archive.close();
});
