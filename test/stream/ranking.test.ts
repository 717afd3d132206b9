/**
 * Streams in the order of citations and of rank have each capture once and in the right order, even while archive and
 * index change.
 */
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { type Archive, createArchive, type StreamQuery } from '../../src/archive/index.ts';
import { type Random, seededRandom, utf8 } from '../../src/base/index.ts';
import { Indexer, openSearch, type RankingName, RankingStore } from '../../src/search/index.ts';
import { urlKey } from '../../src/url/index.ts';
import { newPlace, openAt, START } from './stream-sample.ts';
import { serve } from './stream-server.ts';

const PAGES = 40;
const pageUrl = (at: number) => `http://host${at % 3}.test/page/${at}`;
const pictureUrl = (at: number) => `http://host${at % 3}.test/picture/${at}.png`;

type Made = { readonly archive: Archive; readonly links: ReadonlyMap<string, readonly string[]> };

/**
 * Pages with random links, and pictures, which are not in the index. Some pages are captured twice, one in two
 * collections.
 */
async function storeSite(archive: Archive, random: Random): Promise<Made['links']> {
  const links = new Map<string, string[]>();
  const inputs: { url: string; time: number; collection: string }[] = [];
  for (let at = 0; at < PAGES; at++) {
    const cited = Array.from({ length: Math.floor(random() * 5) }, () => pageUrl(Math.floor(random() ** 2 * PAGES)));
    links.set(pageUrl(at), [...new Set(cited)]);
    inputs.push({ url: pageUrl(at), time: START + at * 1000, collection: 'one' });
    if (at % 4 === 0) inputs.push({ url: pageUrl(at), time: START + (at - 100) * 1000, collection: 'two' });
    if (at % 9 === 0) inputs.push({ url: pageUrl(at), time: START + at * 1000, collection: 'two' });
    if (at % 2 === 0) inputs.push({ url: pictureUrl(at), time: START + at * 1000, collection: 'one' });
  }
  const shuffled = inputs.map((input) => ({ input, at: random() })).sort((a, b) => a.at - b.at);
  await Promise.all(shuffled.map(({ input }) => store(archive, input, links.get(input.url))));
  return links;
}

async function store(
  archive: Archive,
  { url, time, collection }: { url: string; time: number; collection: string },
  cited: readonly string[] | undefined,
): Promise<void> {
  const anchors = cited?.map((to) => `<a href="${to}">go</a>`).join('');
  const filling = url.repeat(60);
  const body = utf8(cited ? `<!doctype html><title>${url}</title>${anchors}<p>${filling}` : `picture ${filling}`);
  const responseHead = utf8(`HTTP/1.1 200 OK\r\nContent-Type: ${cited ? 'text/html' : 'image/png'}\r\n\r\n`);
  await archive.store({ kind: 'http', url, time, responseHead, body }, { collection });
}

async function rank(archive: Archive): Promise<void> {
  // With a stopwatch the indexer works on this thread, because starting another thread takes longer than the whole
  // test.
  const indexer = await Indexer.open(archive, { stopwatch: () => 0 });
  try {
    await indexer.catchUp();
    await indexer.rank();
  } finally {
    await indexer.close();
  }
}

async function site(t: TestContext, seed: number): Promise<Made & { directory: string }> {
  t.diagnostic(`seed ${seed}`);
  const directory = newPlace(t);
  await createArchive(directory, { policies: { segmentBytesMax: 30_000, dedupBytesMin: 64 } });
  const archive = await openAt(directory);
  t.after(() => archive.close().catch(() => {}));
  const links = await storeSite(archive, seededRandom(seed));
  await rank(archive);
  return { archive, directory, links };
}

type Taken = { readonly names: string[]; readonly cursor: string };

/** The first `count` captures of a stream, as `url time collection`. */
async function take(archive: Archive, query: StreamQuery, count = Number.POSITIVE_INFINITY): Promise<Taken> {
  const stream = await archive.stream(query);
  const names: string[] = [];
  if (count > 0) {
    for await (const { head, collection } of stream) {
      names.push(`${head.targetUri} ${head.date} ${collection}`);
      if (names.length >= count) break;
    }
  }
  return { names, cursor: stream.cursor() };
}

const urlOf = (name: string) => name.split(' ')[0]!;

/** The defined order: greatest value first, then by URL key, then by time. */
function expectedOrder(names: readonly string[], value: (url: string) => number): string[] {
  const compared = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return names
    .map((name) => ({ name, value: value(urlOf(name)), key: urlKey(urlOf(name)), time: name.split(' ')[1]! }))
    .sort((a, b) => b.value - a.value || compared(a.key, b.key) || compared(a.time, b.time))
    .map(({ name }) => name);
}

async function ranksOf(archive: Archive): Promise<Map<string, number>> {
  const search = openSearch(archive.directory);
  try {
    const { items } = await search.search('type:html', { limit: 500 });
    return new Map(items.map(({ url, rank: value }) => [url, value]));
  } finally {
    search.close();
  }
}

describe('a stream in the order of citations or rank', () => {
  test('has every capture once, the most cited pages first, and other contents last', async (t) => {
    const { archive, links } = await site(t, 21);
    const all = (await take(archive, { order: 'url' })).names;
    const citations = (url: string) => [...links].filter(([from, to]) => from !== url && to.includes(url)).length;
    const { names } = await take(archive, { order: new RankingStore(archive).ranking('inlinks') });
    assert.deepEqual(names, expectedOrder(all, citations));
    assert.ok(citations(urlOf(names[0]!)) > 3, 'the sample has pages that are cited often');
    assert.ok(names.at(-1)!.includes('/picture/') || citations(urlOf(names.at(-1)!)) === 0);
    const ranks = await ranksOf(archive);
    const byRank = await take(archive, { order: new RankingStore(archive).ranking('rank') });
    assert.deepEqual(
      byRank.names,
      expectedOrder(all, (url) => ranks.get(url) ?? 0),
    );
  });

  test('has the captures of a selection, in the same order', async (t) => {
    const { archive } = await site(t, 22);
    const order = new RankingStore(archive).ranking('rank');
    const all = (await take(archive, { order })).names;
    const selection = { prefix: 'http://host1.test/', to: START + 20_000 };
    const { names } = await take(archive, { order, selection });
    const wanted = all.filter((name) => {
      const [url = '', date = ''] = name.split(' ');
      return url.startsWith('http://host1.test/') && Date.parse(date) <= START + 20_000;
    });
    assert.deepEqual(names, wanted);
    assert.ok(names.length > 5);
  });

  test('continues with the ranking of its start, or fails when this ranking is gone', async (t) => {
    const { archive } = await site(t, 23);
    const order = new RankingStore(archive).ranking('rank');
    const whole = (await take(archive, { order })).names;
    const first = await take(archive, { order }, 11);
    // A page without citations is now cited by all pages.
    for (let at = 0; at < 30; at++) {
      const url = `http://late.test/${at}`;
      await store(archive, { url, time: START + at, collection: 'late' }, [pageUrl(39)]);
    }
    await rank(archive);
    const rest = await take(archive, { order, cursor: first.cursor });
    assert.deepEqual([...first.names, ...rest.names], whole);
    const now = await take(archive, { order });
    assert.equal(urlOf(now.names[0]!), pageUrl(39));
    await rm(join(archive.directory, 'rankings'), { recursive: true });
    await assert.rejects(archive.stream({ order, cursor: first.cursor }), (error) => {
      const { code, message } = error as { code?: string; message: string };
      return code === 'CURSOR_EXPIRED' && message.includes('its ranking by rank');
    });
    // Files that a killed process left do not matter.
    await mkdir(join(archive.directory, 'rankings'));
    await writeFile(join(archive.directory, 'rankings', 'rank.tmp'), 'half a file');
    assert.deepEqual((await take(archive, { order })).names, now.names, 'a new stream has a new ranking');
    assert.equal((await readdir(join(archive.directory, 'rankings'))).length, 1);
    const other = new RankingStore(archive).ranking('inlinks');
    const { cursor } = await take(archive, { order }, 1);
    await assert.rejects(archive.stream({ order: other, cursor }), { code: 'BAD_ARGUMENT' });
    await assert.rejects(archive.stream({ order: 'url', cursor }), { code: 'BAD_ARGUMENT' });
  });

  test('returns advice without an index or ranks', async (t) => {
    const directory = newPlace(t);
    await createArchive(directory);
    const archive = await openAt(directory);
    t.after(() => archive.close());
    const order = new RankingStore(archive).ranking('rank');
    await assert.rejects(archive.stream({ order }), { code: 'INDEX_MISSING' });
    const index = async () => {
      const indexer = await Indexer.open(archive, { stopwatch: () => 0 });
      await indexer.catchUp();
      await indexer.close();
    };
    await index();
    assert.deepEqual((await take(archive, { order })).names, [], 'an archive without pages needs no ranks');
    await store(archive, { url: pageUrl(0), time: START, collection: 'one' }, []);
    await index();
    await assert.rejects(archive.stream({ order }), /pinakes rank/);
    await rank(archive);
    assert.equal((await take(archive, { order })).names.length, 1);
  });

  test('I6: rankings do not contain a deleted URL, and a stream that stopped at this URL continues', async (t) => {
    const { archive } = await site(t, 24);
    const order = new RankingStore(archive).ranking('inlinks');
    const whole = (await take(archive, { order })).names;
    const first = await take(archive, { order }, 1);
    const gone = urlOf(first.names[0]!);
    await archive.delete({ url: gone });
    await archive.compact();
    await rank(archive);
    const rest = await take(archive, { order, cursor: first.cursor });
    assert.deepEqual(
      rest.names,
      whole.filter((name) => urlOf(name) !== gone),
    );
    const key = urlKey(gone);
    const files = await readdir(join(archive.directory, 'rankings'));
    assert.equal(files.length, 1);
    const bytes = await readFile(join(archive.directory, 'rankings', files[0]!));
    // Other keys may begin with this key.
    const holds = [...bytes.toString('latin1').matchAll(new RegExp(`${RegExp.escape(key)}(?!\\d)`, 'g'))];
    assert.equal(holds.length, 0);
    await store(archive, { url: gone, time: START, collection: 'one' }, []);
    await rank(archive);
    const again = await take(archive, { order });
    assert.equal(again.names.filter((name) => urlOf(name) === gone).length, 1, 'a URL stored again is streamed again');
  });
});

/**
 * Streams in steps during changes. The result must be the captures of the start in their order, without deleted ones.
 */
async function interrupted(t: TestContext, seed: number, name: RankingName): Promise<void> {
  const made = await site(t, seed);
  let { archive } = made;
  const random = seededRandom(seed + 1000);
  const order = () => new RankingStore(archive).ranking(name);
  const atStart = (await take(archive, { order: order() })).names;
  const deleted = new Set<string>();
  const found: string[] = [];
  let cursor: string | undefined;
  let next = PAGES;
  for (let isOver = false; !isOver; ) {
    const step = Math.floor(random() * 12);
    const part = await take(archive, { order: order(), cursor }, step);
    isOver = step > 0 && part.names.length === 0;
    found.push(...part.names);
    cursor = part.cursor;
    const choice = random();
    if (choice < 0.25) {
      const at = next++;
      await store(archive, { url: pageUrl(at), time: START + at * 1000, collection: 'one' }, [pageUrl(at % PAGES)]);
    } else if (choice < 0.55) {
      // In some rounds this is the URL at which the stream stopped.
      const last = found.at(-1);
      const url = last !== undefined && random() < 0.4 ? urlOf(last) : pageUrl(Math.floor(random() * PAGES));
      await archive.delete({ url });
      deleted.add(url);
    } else if (choice < 0.7) await archive.compact();
    else if (choice < 0.85) await rank(archive);
    else if (choice < 0.95) {
      await archive.close();
      archive = await openAt(made.directory);
      t.after(() => archive.close().catch(() => {}));
    }
  }
  const tally = new Map<string, number>();
  for (const one of found) tally.set(one, (tally.get(one) ?? 0) + 1);
  for (const [one, count] of tally) assert.equal(count, 1, `${one} came ${count} times`);
  assert.deepEqual(
    found,
    atStart.filter((one) => tally.has(one)),
    'in the order of the start',
  );
  for (const one of atStart)
    assert.ok(tally.has(one) || deleted.has(urlOf(one)), `${one} is missing and was not deleted`);
  assert.ok(found.length > 30, `${found.length} came`);
}

describe('I8: a ranked stream has each capture once, across pauses, restarts, stores, deletions, compactions and new ranks', () => {
  for (const [name, seeds] of [
    ['inlinks', [31, 32]],
    ['rank', [41, 42]],
  ] as const) {
    for (const seed of seeds) test(`${name}, seed ${seed}`, (t) => interrupted(t, seed, name));
  }
});

describe('GET /api/stream?order=rank', () => {
  const serving = async (t: TestContext, directory: string) => {
    const { archive, server, stop } = await serve(t, directory);
    const get = (search: string) => fetch(`${server.uiAddress}/api/stream${search}`);
    return { archive, get, stop };
  };

  const linesOf = async (response: Response) => {
    const lines = (await response.text()).trimEnd().split('\n');
    return lines.map((line) => JSON.parse(line) as { type: string; url: string; date: string; collection: string });
  };

  test('continues from its cursor after a restart of the server and after compaction', async (t) => {
    const { archive, directory } = await site(t, 51);
    const order = new RankingStore(archive).ranking('rank');
    const wanted = (await take(archive, { order })).names;
    const { cursor, names: begun } = await take(archive, { order }, 17);
    await archive.close();
    const one = await serving(t, directory);
    const captures = async (search: string) => {
      const lines = await linesOf(await one.get(search));
      return lines.flatMap(({ type, url, date, collection }) =>
        type === 'cursor' ? [] : [`${url} ${date} ${collection}`],
      );
    };
    assert.deepEqual(await captures('?format=jsonl&order=rank'), wanted);
    assert.deepEqual([...begun, ...(await captures(`?format=jsonl&order=rank&cursor=${cursor}`))], wanted);
    await one.stop();
    const later = await serving(t, directory);
    await later.archive.delete({ url: pageUrl(1) });
    await later.archive.compact();
    const rest = await linesOf(await later.get(`?format=jsonl&order=rank&cursor=${cursor}`));
    assert.deepEqual(
      rest.flatMap(({ type, url }) => (type === 'cursor' ? [] : [url])),
      wanted
        .slice(17)
        .map(urlOf)
        .filter((url) => url !== pageUrl(1)),
    );
    await rm(join(directory, 'rankings'), { recursive: true });
    const expired = await later.get(`?order=rank&cursor=${cursor}`);
    assert.equal(expired.status, 410);
    assert.match(await expired.text(), /CURSOR_EXPIRED.*ranking/);
  });

  test('returns 503 with advice without an index', async (t) => {
    const directory = newPlace(t);
    await createArchive(directory);
    const one = await serving(t, directory);
    for (const format of ['warc', 'jsonl', 'parquet']) {
      const response = await one.get(`?order=inlinks&format=${format}`);
      assert.equal(response.status, 503);
      assert.match(await response.text(), /INDEX_MISSING/);
    }
  });
});
