/** Queries with conditions on captures: one capture of a page must meet all of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSearch, type SearchOptions } from '../../src/search/index.ts';
import { makeArchive } from '../archive/trial-archive.ts';
import { indexed, pageWith, storePages } from './trial-pages.ts';

test('one capture of a page must meet all conditions on captures, wherever they are in the query', async (t) => {
  const archive = await makeArchive(t);
  const page = pageWith('page', 'zebra');
  await storePages(archive, [
    { ...page, status: 404, time: Date.UTC(2018, 0, 1) },
    { ...page, status: 200, time: Date.UTC(2021, 0, 1) },
  ]);
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  const queries: [string, boolean][] = [
    ['(zebra status:404) to:2019', true],
    ['(zebra status:404) from:2020', false],
    ['status:200 (status:404 zebra)', false],
    ['-(status:404 OR lion)', true],
    ['-(-status:404 OR -lion)', false],
    ['-(-(zebra status:404 status:200))', false],
    ['(lion status:404) OR (zebra from:2020)', true],
  ];
  for (const [query, isFound] of queries)
    assert.deepEqual(
      (await search.search(query)).items.map(({ url }) => url),
      isFound ? [page.url] : [],
      query,
    );
});

test('a result shows the time, status and collection of a matching capture, wherever the condition is in the query', async (t) => {
  const archive = await makeArchive(t);
  const page = pageWith('page', 'zebra');
  await storePages(archive, [
    { ...page, status: 404, time: Date.UTC(2018, 0, 1), collection: 'old' },
    { ...page, status: 200, time: Date.UTC(2021, 0, 1), collection: 'new' },
  ]);
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  const old = { time: Date.UTC(2018, 0, 1), status: 404, collection: 'old' };
  for (const query of [
    '(lion OR status:404)',
    'zebra (lion OR status:404)',
    '(zebra status:404) to:2019',
    '-(status:200 zebra)',
  ]) {
    for (const group of ['url', 'capture'] as const) {
      const { items, facets } = await search.search(query, { group, facets: true });
      const shown = items.map(({ time, status, collection }) => ({ time, status, collection }));
      assert.deepEqual(shown, [old], `${query} by ${group}`);
      assert.deepEqual(facets?.year, [{ value: '2018', count: 1 }], query);
      assert.deepEqual(facets?.collection, [{ value: 'old', count: 1 }], query);
    }
  }
  const oldest = await search.search('(zebra status:200) OR (lion to:2019)', { sort: 'oldest' });
  assert.deepEqual(
    oldest.items.map(({ time }) => time),
    [Date.UTC(2021, 0, 1)],
  );
});

test('of several captures at the same time a result shows the matching one', async (t) => {
  const archive = await makeArchive(t);
  const page = { ...pageWith('page', 'zebra'), time: Date.UTC(2018, 0, 1) };
  await storePages(archive, [
    { ...page, status: 200, collection: 'one' },
    { ...page, status: 404, collection: 'two' },
  ]);
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  for (const [query, status, collection] of [
    ['(lion OR status:404)', 404, 'two'],
    ['(lion OR status:200)', 200, 'one'],
    ['zebra collection:two', 404, 'two'],
  ] as const) {
    const { items } = await search.search(query);
    assert.deepEqual([items[0]?.status, items[0]?.collection], [status, collection], query);
  }
});

test('a page whose last capture is an error comes after other pages, unless another order is chosen', async (t) => {
  const archive = await makeArchive(t);
  const gone = pageWith('gone', 'zebra', { paragraphs: ['zebra zebra'] });
  const moved = pageWith('moved', 'zebra', { paragraphs: [`zebra ${'found again '.repeat(8)}`] });
  const long = pageWith('long', 'zebra', { paragraphs: [`zebra ${'long words here '.repeat(20)}`] });
  await storePages(archive, [
    { ...gone, status: 404, time: Date.UTC(2021, 0, 1) },
    { ...moved, status: 404, time: Date.UTC(2018, 0, 1) },
    { ...moved, status: 200, time: Date.UTC(2019, 0, 1) },
    { ...long, status: 200, time: Date.UTC(2020, 0, 1) },
  ]);
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  const urlsBy = async (query: string, options: SearchOptions = {}) =>
    (await search.search(query, options)).items.map(({ url }) => url);
  assert.deepEqual(await urlsBy('zebra'), [moved.url, long.url, gone.url]);
  assert.deepEqual(await urlsBy('zebra', { sort: 'date' }), [gone.url, long.url, moved.url]);
  assert.deepEqual(await urlsBy('zebra status:404'), [moved.url, gone.url]);
  const captures = await search.search('zebra', { group: 'capture' });
  assert.deepEqual(
    captures.items.map(({ status }) => status),
    [200, 200, 404, 404],
  );
});
