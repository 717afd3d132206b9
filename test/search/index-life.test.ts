import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import type { StreamQuery } from '../../src/archive/index.ts';
import { PinakesError, utf8 } from '../../src/base/index.ts';
import { Indexer, openSearch, type Search, SearchThread } from '../../src/search/index.ts';
import { urlKey } from '../../src/url/index.ts';
import { makeArchive } from '../archive/trial-archive.ts';
import { indexed, pageWith, storePages } from './trial-pages.ts';

async function urlsFor(search: Search, query: string): Promise<string[]> {
  return (await search.search(query, { limit: 500 })).items.map((item) => item.url).sort();
}

/** True if the files of the index contain a word, in any table. */
async function fileHas(directory: string, word: string): Promise<boolean> {
  const files = ['search.sqlite', 'search.sqlite-wal'].map((name) =>
    readFile(join(directory, name)).catch(() => Buffer.alloc(0)),
  );
  return (await Promise.all(files)).some((bytes) => bytes.includes(word));
}

test('a content that is captured again is read once, and all its captures are found', async (t) => {
  const archive = await makeArchive(t);
  await storePages(archive, [pageWith('one', 'zebra')]);
  assert.equal((await indexed(archive)).documents, 1);
  await storePages(archive, [
    pageWith('one', 'zebra', { time: Date.UTC(2024, 5, 1) }),
    pageWith('one', 'zebra', { time: Date.UTC(2024, 6, 1), collection: 'other' }),
  ]);
  const report = await indexed(archive);
  assert.deepEqual([report.documents, report.captures], [0, 2]);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  const found = await search.search('zebra');
  assert.deepEqual(
    found.items.map((item) => [item.captures, item.versions, item.time]),
    [[3, 1, Date.UTC(2024, 6, 1)]],
  );
  assert.equal((await search.search('zebra', { group: 'capture' })).total, 3);
  assert.deepEqual((await search.search('zebra', { facets: true })).facets!.collection, [
    { value: 'other', count: 1 },
    { value: 'web', count: 1 },
  ]);
});

test('a result counts all captures of its page, not only those with the shown content', async (t) => {
  const archive = await makeArchive(t);
  const times = [Date.UTC(2022, 0, 1), Date.UTC(2023, 0, 1), Date.UTC(2024, 0, 1)];
  await storePages(archive, [
    pageWith('one', 'zebra first', { time: times[0]! }),
    pageWith('one', 'zebra second', { time: times[1]! }),
    pageWith('one', 'giraffe', { time: times[2]! }),
  ]);
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  const { items } = await search.search('zebra');
  assert.deepEqual(
    items.map(({ versions, captures, first, last }) => [versions, captures, first, last]),
    [[2, 3, times[0], times[2]]],
  );
  const each = await search.search('zebra', { group: 'capture', sort: 'oldest' });
  assert.deepEqual(
    each.items.map(({ versions, captures, first }) => [versions, captures, first]),
    [
      [1, 1, times[0]],
      [1, 1, times[1]],
    ],
  );
});

test('a page counts in the collections of its matching captures, and a capture counts in its own collection', async (t) => {
  const archive = await makeArchive(t);
  await storePages(archive, [
    pageWith('one', 'zebra'),
    pageWith('one', 'zebra', { time: Date.UTC(2023, 0, 1) }),
    pageWith('one', 'zebra', { time: Date.UTC(2022, 0, 1), collection: 'other' }),
    pageWith('two', 'zebra'),
  ]);
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  const byCollection = async (query: string, group: 'url' | 'capture') => {
    const { facets } = await search.search(query, { group, facets: true });
    return facets!.collection.map(({ value, count }) => `${value} ${count}`).join(', ');
  };
  assert.equal(await byCollection('zebra', 'url'), 'web 2, other 1');
  assert.equal(await byCollection('zebra', 'capture'), 'web 3, other 1');
  assert.equal(await byCollection('zebra collection:other', 'url'), 'other 1');
  assert.equal(await byCollection('zebra collection:other', 'capture'), 'other 1');
  assert.equal(await byCollection('zebra to:2022', 'url'), 'other 1');
  assert.equal(await byCollection('nothing', 'capture'), '');
});

test('a collection that does not exist matches no capture, and its negation matches all captures', async (t) => {
  const archive = await makeArchive(t);
  await storePages(archive, [pageWith('one', 'zebra'), pageWith('two', 'zebra', { collection: 'other' })]);
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  assert.deepEqual(await urlsFor(search, 'collection:none'), []);
  assert.deepEqual(await urlsFor(search, 'zebra -collection:none'), ['http://one.example/', 'http://two.example/']);
  assert.deepEqual(await urlsFor(search, '-(collection:none title:one)'), [
    'http://one.example/',
    'http://two.example/',
  ]);
  assert.equal((await search.appearances(urlKey('http://one.example/'), 'collection:none')).found, 0);
});

test('relative links of one content have different targets at different URLs', async (t) => {
  const archive = await makeArchive(t);
  const shared = {
    title: 'Same',
    paragraphs: [`twin ${'words '.repeat(300)}`],
    links: ['next.html', 'http://fixed.example/'],
  };
  await storePages(archive, [pageWith('one', '', shared), pageWith('two', '', shared)]);
  const report = await indexed(archive);
  assert.equal(report.documents, 1);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  assert.deepEqual(await urlsFor(search, 'links-to:http://one.example/next.html'), ['http://one.example/']);
  assert.deepEqual(await urlsFor(search, 'links-to:http://two.example/next.html'), ['http://two.example/']);
  assert.deepEqual(await urlsFor(search, 'links-to:http://fixed.example/'), [
    'http://one.example/',
    'http://two.example/',
  ]);
});

test('deleted captures leave the index, before and after compaction, and their words leave the file', async (t) => {
  const archive = await makeArchive(t);
  await storePages(archive, [
    pageWith('one', 'quagga'),
    pageWith('two', 'zebra'),
    pageWith('one', 'quagga', { time: Date.UTC(2024, 1, 1), collection: 'other' }),
    pageWith('three', 'okapi'),
  ]);
  await indexed(archive);
  assert.ok(await fileHas(archive.directory, 'quagga'));
  await archive.delete({ url: 'http://one.example/', from: Date.UTC(2024, 1, 1) });
  assert.equal((await indexed(archive)).removed, 1);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  assert.equal((await search.search('quagga', { group: 'capture' })).total, 1);
  await archive.delete({ url: 'http://one.example/' });
  await archive.compact();
  assert.equal((await indexed(archive)).removed, 1);
  assert.deepEqual(await urlsFor(search, 'quagga'), []);
  assert.deepEqual(await urlsFor(search, 'zebra OR okapi'), ['http://three.example/', 'http://two.example/']);
  assert.ok(!(await fileHas(archive.directory, 'quagga')));
  assert.equal((await indexed(archive)).removed, 0);
});

test('after a rebuild of the archive the indexer reads only what is new, and removes what was deleted', async (t) => {
  const archive = await makeArchive(t);
  await storePages(archive, [pageWith('one', 'zebra'), pageWith('two', 'okapi')]);
  await indexed(archive);
  await archive.delete({ url: 'http://two.example/' });
  await archive.rebuild();
  await storePages(archive, [pageWith('three', 'quagga')]);
  const report = await indexed(archive);
  assert.deepEqual([report.isAnew, report.records, report.documents, report.removed], [false, 1, 1, 1]);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  assert.deepEqual(await urlsFor(search, ''), ['http://one.example/', 'http://three.example/']);
  assert.equal((await indexed(archive)).isAnew, false);
});

test('pages of results neither repeat nor skip a result while the index changes', async (t) => {
  const archive = await makeArchive(t);
  await storePages(
    archive,
    Array.from({ length: 60 }, (_, at) => pageWith(`old${at}`, `${'zebra '.repeat(1 + (at % 7))}`)),
  );
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  const found: string[] = [];
  let after: string | undefined;
  for (let round = 0; ; round++) {
    const some = await search.search('zebra', { limit: 7, after });
    found.push(...some.items.map((item) => item.url));
    after = some.next;
    if (after === undefined) break;
    if (round < 3) {
      await storePages(
        archive,
        Array.from({ length: 20 }, (_, at) => pageWith(`new${round}x${at}`, 'zebra '.repeat(9))),
      );
      await indexed(archive);
    }
  }
  assert.equal(found.length, 60);
  assert.equal(new Set(found).size, 60);
  assert.ok(found.every((url) => url.startsWith('http://old')));
  await assert.rejects(search.search('okapi', { after: (await search.search('zebra', { limit: 1 })).next }), {
    code: 'BAD_ARGUMENT',
  });
});

test('the first and last time of a phrase in the versions of a page are found', async (t) => {
  const archive = await makeArchive(t);
  const month = (at: number) => Date.UTC(2024, at, 1);
  const words = ['early', 'middle zebra', 'middle zebra', 'later', 'zebra again'];
  await storePages(
    archive,
    words.map((word, at) => pageWith('one', `${word} ${at === 2 ? '' : at}`, { time: month(at) })),
  );
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  const found = await search.appearances('example,one)/' as never, 'zebra');
  assert.deepEqual(found, {
    captures: 5,
    found: 3,
    first: month(1),
    last: month(4),
    spans: [
      { from: month(1), to: month(2), captures: 2 },
      { from: month(4), to: month(4), captures: 1 },
    ],
  });
});

test('a snapshot protects deleted records from compaction, and limits searches to its time', async (t) => {
  const archive = await makeArchive(t);
  await storePages(archive, [pageWith('one', 'zebra')]);
  const snapshot = await archive.createSnapshot('spring');
  await assert.rejects(archive.createSnapshot('spring'), { code: 'SNAPSHOT_EXISTS' });
  await storePages(archive, [pageWith('two', 'zebra', { time: snapshot.time + 1000 })]);
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  const asOf = await search.search('zebra', { asOf: snapshot.time });
  assert.deepEqual(
    asOf.items.map((item) => item.url),
    ['http://one.example/'],
  );
  const urls: (string | undefined)[] = [];
  for await (const record of await archive.stream({ snapshot: 'spring' }))
    if (record.head.type === 'response') urls.push(record.head.targetUri);
  assert.deepEqual(urls, ['http://one.example/']);
  await archive.delete({ url: 'http://one.example/' });
  const kept = await archive.compact();
  assert.deepEqual([kept.segments, kept.kept.map(({ snapshot: name }) => name)], [0, ['spring']]);
  await archive.removeSnapshot('spring');
  assert.equal((await archive.compact()).segments, 1);
  await assert.rejects(archive.removeSnapshot('spring'), { code: 'SNAPSHOT_MISSING' });
});

test('a search thread has the same results and errors as a search on this thread', async (t) => {
  const archive = await makeArchive(t);
  await assert.rejects(SearchThread.start(archive.directory), { code: 'INDEX_MISSING' });
  await storePages(archive, [pageWith('one', 'zebra', { links: ['http://two.example/'] }), pageWith('two', 'okapi')]);
  await indexed(archive);
  const thread = await SearchThread.start(archive.directory);
  t.after(() => thread.close());
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  assert.deepEqual(await thread.search('zebra', { facets: true }), await search.search('zebra', { facets: true }));
  assert.deepEqual(
    await thread.links('http://two.example/', { direction: 'in' }),
    await search.links('http://two.example/', { direction: 'in' }),
  );
  assert.deepEqual(await thread.status(), search.status());
  const refusal = await search.search('"').catch((error: Error) => error.message);
  await assert.rejects(thread.search('"'), { code: 'BAD_QUERY', message: refusal });
  await storePages(archive, [pageWith('three', 'zebra')]);
  await indexed(archive);
  assert.equal((await thread.search('zebra')).total, 2);
});

test('every text is either a valid query or fails with BAD_QUERY', async (t) => {
  const archive = await makeArchive(t);
  await storePages(archive, [pageWith('one', 'zebra'), pageWith('two', '\u56fe\u4e66\u9986')]);
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  const seed = 4;
  const part = fc.constantFrom(
    'zebra',
    '"',
    '(',
    ')',
    'OR',
    'AND',
    '-',
    '*',
    ':',
    '^',
    '+',
    '{',
    'NEAR',
    "'",
    'title:',
    'url:',
    'links-to:',
    'size>',
    '1',
    ' ',
    ' ',
    '\u56fe',
    '\ud83d\ude00',
    '\u{1e900}',
    '\u0301',
    'x*',
    '%',
    '\\',
  );
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.array(part, { maxLength: 8 }).map((parts) => parts.join('')),
  );
  await fc.assert(
    fc.asyncProperty(text, fc.constantFrom('url', 'capture'), async (query, group) => {
      await search
        .search(query, { group, facets: true })
        .catch((error: { code?: string }) => assert.equal(error.code, 'BAD_QUERY', query));
    }),
    { seed, numRuns: 500 },
  );
});

test('a query can have the maximum length, with hundreds of terms or values', async (t) => {
  const archive = await makeArchive(t);
  await storePages(archive, [pageWith('one', 'zebra'), pageWith('two', 'walrus'), pageWith('three', 'beetle')]);
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  const absent = '-walrus '.repeat(450);
  for (const query of [`title ${absent}`, absent, `(title ${absent})`, `url:example ${absent}`, `size>1 ${absent}`])
    assert.deepEqual(
      await urlsFor(search, query),
      ['http://one.example/', 'http://three.example/'],
      query.slice(0, 20),
    );
  assert.deepEqual(await urlsFor(search, 'title -walrus -beetle'), ['http://one.example/']);
  assert.deepEqual(await urlsFor(search, '-walrus -beetle'), ['http://one.example/']);
  assert.deepEqual(await urlsFor(search, 'site:one.example,three.example'), [
    'http://one.example/',
    'http://three.example/',
  ]);
  for (const many of [
    `site:${'b,'.repeat(1900)}one.example`,
    `lang:${'aa,'.repeat(1300)}en,de,und`,
    `-type:${'b/b,'.repeat(950)}text/html`,
  ])
    await search.search(many);
  assert.deepEqual(await urlsFor(search, `site:${'b,'.repeat(1900)}one.example`), ['http://one.example/']);
  for (const type of ['constructor', '__proto__'])
    await assert.rejects(search.search(`type:${type}`), { code: 'BAD_QUERY' });
});

test('a syntax error in a query is reported with the place marked', async (t) => {
  const archive = await makeArchive(t);
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  await assert.rejects(search.search('zebra size>big'), (error: Error) => {
    assert.match(error.message, /zebra size>\u00bbbig\u00ab/);
    return true;
  });
  assert.throws(() => openSearch(join(archive.directory, 'nowhere')), { code: 'INDEX_MISSING' });
});

test('a content that is a page under one of its media types is indexed for that type, in the same run or in a later one', async (t) => {
  const archive = await makeArchive(t);
  const store = async (url: string, mime: string, word: string, day: number) => {
    const responseHead = utf8(`HTTP/1.1 200 OK\r\nContent-Type: ${mime}\r\n\r\n`);
    const body = utf8(`${word} and ${'ordinary words '.repeat(100)}`);
    await archive.store({ kind: 'http', url, time: Date.UTC(2024, 0, day), responseHead, body }, { collection: 'web' });
  };
  await store('http://early.example/a', 'application/octet-stream', 'zebra', 1);
  await indexed(archive);
  await store('http://early.example/a', 'text/plain', 'zebra', 2);
  await store('http://same.example/a', 'application/octet-stream', 'walrus', 1);
  await store('http://same.example/b', 'application/octet-stream', 'walrus', 1);
  await store('http://same.example/a', 'text/plain', 'walrus', 2);
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  assert.deepEqual(await urlsFor(search, 'zebra'), ['http://early.example/a']);
  assert.deepEqual(await urlsFor(search, 'walrus'), ['http://same.example/a']);
});

test('a page that is too large is indexed with its beginning and its full size', async (t) => {
  const archive = await makeArchive(t);
  const body = Buffer.alloc(66 * 1024 * 1024, ' ');
  body.write('<title>Large</title><p>zebra');
  const responseHead = utf8('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n');
  const url = 'http://large.example/';
  await archive.store({ kind: 'http', url, time: Date.UTC(2024, 0, 1), responseHead, body }, { collection: 'web' });
  assert.equal((await indexed(archive)).documents, 1);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  assert.deepEqual(await urlsFor(search, 'title:large zebra size>69MB'), [url]);
});

test('the last word and the last link of a long page are found', async (t) => {
  const archive = await makeArchive(t);
  const links = Array.from({ length: 25_000 }, (_, at) => `<a href=/${at}></a>`).join('');
  const body = utf8(`<title>Long</title><p>${'many words '.repeat(400_000)} zebra ${links}`);
  const responseHead = utf8('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n');
  const url = 'http://long.example/page';
  await archive.store({ kind: 'http', url, time: Date.UTC(2024, 0, 1), responseHead, body }, { collection: 'web' });
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  assert.deepEqual(await urlsFor(search, 'zebra links-to:http://long.example/24999'), [url]);
  assert.equal((await search.links(url, { direction: 'out' })).total, 25_000);
  assert.equal((await search.links('http://long.example/24999', { direction: 'in' })).items.length, 1);
});

test('a record that compaction moves between the stream and the catalog lookup is indexed', async (t) => {
  const archive = await makeArchive(t);
  const pages = Array.from({ length: 8 }, (_, at) => pageWith(`number${at}`, `zebra${at}`));
  await storePages(archive, pages);
  const moving = new Proxy(archive, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== 'stream') return typeof value === 'function' ? value.bind(target) : value;
      return async (query: StreamQuery) => {
        const stream = await target.stream(query);
        async function* records() {
          for await (const record of stream) {
            yield record;
            if (record.head.targetUri !== pages[5]!.url) continue;
            await target.delete({ url: pages[0]!.url });
            await target.compact();
          }
        }
        return { cursor: () => stream.cursor(), [Symbol.asyncIterator]: records };
      };
    },
  });
  const before = (await archive.segments()).map(({ number }) => number);
  await indexed(moving);
  assert.notDeepEqual(
    (await archive.segments()).map(({ number }) => number),
    before,
  );
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  const left = pages.slice(1).map(({ url }) => url);
  assert.deepEqual(await urlsFor(search, 'zebra*'), left.sort());
});

test('an indexer whose stream expires starts again, and indexes the contents of the discarded batch too', async (t) => {
  const archive = await makeArchive(t);
  const pages = Array.from({ length: 12 }, (_, at) => pageWith(`number${at}`, `zebra${at}`));
  await storePages(archive, pages);
  let streams = 0;
  const expiring = new Proxy(archive, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== 'stream') return typeof value === 'function' ? value.bind(target) : value;
      return async (query: StreamQuery) => {
        const stream = await target.stream(query);
        if (++streams > 2) return stream;
        async function* someOf() {
          let count = 0;
          for await (const record of stream) {
            yield record;
            // As if a segment had been removed by compaction before the stream read it.
            if (++count === 8) throw new PinakesError('CURSOR_EXPIRED');
          }
        }
        return { cursor: () => stream.cursor(), [Symbol.asyncIterator]: someOf };
      };
    },
  });
  const indexer = await Indexer.open(expiring);
  const { isAnew } = await indexer.catchUp({ batchDocuments: 4 });
  await indexer.close();
  assert.deepEqual([isAnew, streams], [true, 3]);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  assert.deepEqual(await urlsFor(search, 'zebra*'), pages.map(({ url }) => url).sort());
});

test('a run after an aborted run also indexes captures that were stored since', async (t) => {
  const archive = await makeArchive(t);
  const pages = Array.from({ length: 12 }, (_, at) => pageWith(`number${at}`, `zebra${at}`));
  await storePages(archive, pages.slice(0, 10));
  const indexer = await Indexer.open(archive);
  const leaving = new AbortController();
  const onProgress = ({ tally }: { tally: { documents: number } }) => {
    if (tally.documents >= 4) leaving.abort();
  };
  await assert.rejects(indexer.catchUp({ batchDocuments: 2, signal: leaving.signal, onProgress }));
  await indexer.close();
  await storePages(archive, pages.slice(10));
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  assert.deepEqual(await urlsFor(search, 'zebra*'), pages.map(({ url }) => url).sort());
});

test('a rebuild of the archive at the start of a run does not lose new captures', async (t) => {
  const archive = await makeArchive(t);
  await storePages(archive, [pageWith('one', 'zebra1', { collection: 'b' })]);
  await indexed(archive);
  // The rebuild swaps the numbers of the two segments.
  await storePages(archive, [pageWith('two', 'zebra2', { collection: 'a' })]);
  const byNumber = async () => (await archive.segments()).sort((a, b) => a.number - b.number).map(({ name }) => name);
  const before = await byNumber();
  const indexer = await Indexer.open(archive);
  t.after(() => indexer.close());
  await Promise.all([indexer.catchUp(), archive.rebuild()]);
  assert.deepEqual(await byNumber(), before.toReversed());
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  assert.deepEqual(await urlsFor(search, 'zebra*'), ['http://one.example/', 'http://two.example/']);
});

test('an indexer repeats a batch during which the catalog is rebuilt, instead of removing captures that it does not find', async (t) => {
  const archive = await makeArchive(t);
  const pages = [pageWith('one', 'zebra1'), pageWith('two', 'zebra2')];
  await storePages(archive, pages);
  let lookups = 0;
  const seen = new Proxy(archive, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== 'findCaptures') return typeof value === 'function' ? value.bind(target) : value;
      return async (wanted: Parameters<typeof target.findCaptures>[0]) => {
        if (++lookups > 1) return target.findCaptures(wanted);
        await archive.rebuild();
        return wanted.map(() => []);
      };
    },
  });
  const { isAnew, captures } = await indexed(seen);
  assert.deepEqual([isAnew, captures], [false, 2]);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  assert.deepEqual(await urlsFor(search, 'zebra*'), pages.map(({ url }) => url).sort());
});

test('a collection that was added in a discarded batch does not get the captures of another collection', async (t) => {
  const archive = await makeArchive(t);
  await storePages(archive, [
    pageWith('one', 'zebra1', { collection: 'a' }),
    pageWith('two', 'zebra2', { collection: 'b' }),
  ]);
  const indexer = await Indexer.open(archive);
  t.after(() => indexer.close());
  const broken = new AbortController();
  const onProgress = () => broken.abort();
  await assert.rejects(indexer.catchUp({ batchDocuments: 1, signal: broken.signal, onProgress }));
  await indexer.catchUp();
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  assert.deepEqual(await urlsFor(search, 'zebra* collection:a'), ['http://one.example/']);
  assert.deepEqual(await urlsFor(search, 'zebra* collection:b'), ['http://two.example/']);
});
