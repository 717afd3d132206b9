/** Records that crawlers write for themselves are found only if the query asks for them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { utf8 } from '../../src/base/index.ts';
import { openSearch } from '../../src/search/index.ts';
import { makeArchive, NOON } from '../archive/trial-archive.ts';
import { indexed, pageWith, storePages } from './trial-pages.ts';

test('robots.txt and records without a web address are found only by queries with a field for addresses or types', async (t) => {
  const archive = await makeArchive(t);
  await storePages(archive, [pageWith('one', 'zebra')]);
  const responseHead = utf8('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n');
  const others = ['http://one.example/robots.txt', 'urn:crawl:log', 'metadata://one.example/log', 'dns:one.example'];
  for (const url of others) {
    const body = utf8(`zebra ${url}`);
    if (url.startsWith('http')) await archive.store({ kind: 'http', url, time: NOON, responseHead, body });
    else await archive.store({ kind: 'resource', url, time: NOON, mime: 'text/plain', body });
  }
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  const urls = async (query: string) => (await search.search(query)).items.map(({ url }) => url).sort();
  for (const query of ['zebra', '', 'zebra from:2020'])
    assert.deepEqual(await urls(query), ['http://one.example/'], query);
  assert.deepEqual(await urls('zebra type:text'), others.toSorted());
  assert.deepEqual(await urls('url:robots.txt'), [others[0]]);
  assert.deepEqual(await urls('zebra url:urn:crawl:log'), ['urn:crawl:log']);
  assert.equal((await search.search('zebra')).total, 1);
});
