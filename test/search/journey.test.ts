import assert from 'node:assert/strict';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { createArchive, openArchive } from '../../src/archive/index.ts';
import { Indexer } from '../../src/search/index.ts';
import { temporaryDirectory, trialOptions } from '../archive/trial-archive.ts';
import { pinakes as pinakesProcess } from '../journeys/pinakes-process.ts';
import { pinakes, pinakesJson } from '../journeys/pinakes-runner.ts';
import { storePages, trialPages } from './trial-pages.ts';

test('a search without results prints the time of the index, and an incomplete index is always reported', async (t) => {
  const directory = await temporaryDirectory(t);
  const at = join(directory, 'archive');
  await createArchive(at);
  const search = (...words: string[]) => pinakes(directory, 'search', '-a', at, ...words);
  const archive = await openArchive(at, trialOptions());
  await storePages(archive, trialPages(3, 5));
  // The state after an `index` command that was interrupted before its first batch.
  await (await Indexer.open(archive)).close();
  await archive.close();
  const unfinished = /may lack pages of the archive; `pinakes index --archive \S+` adds them/;
  assert.match((await search('number')).err, unfinished);
  assert.match((await search('number', '--json')).err, unfinished);
  assert.match((await pinakes(directory, 'links', '-a', at, '--out', join(directory, 'all.csv'))).err, unfinished);
  assert.equal((await pinakes(directory, 'index', '-a', at)).code, 0);
  const found = await search('number');
  assert.match(found.out, /^\d+ results/);
  assert.doesNotMatch(found.err, /pinakes index/);
  const nothing = await search('zebra');
  assert.deepEqual([nothing.code, nothing.out], [0, 'nothing found\n']);
  const howFar =
    /^The index is complete up to \d{4}-\d\d-\d\dT.*Z; `pinakes index --archive \S+` adds later captures\.\n$/;
  const [asWritten, ...rest] = nothing.err.split(/(?<=\n)/);
  assert.match(asWritten!, /^A word matches only in the form in which it is on the page/);
  assert.match(rest.join(''), howFar);
  assert.match((await search('zebr*')).err, howFar);
  assert.match((await search('site:zebra.example')).err, howFar);
});

test('a search for an unknown collection lists the collections of the index', async (t) => {
  const directory = await temporaryDirectory(t);
  const at = join(directory, 'archive');
  await createArchive(at);
  const archive = await openArchive(at, trialOptions());
  await storePages(archive, trialPages(3, 5));
  const names = (await archive.collections.all()).map(({ name }) => name);
  await archive.close();
  await pinakes(directory, 'index', '-a', at);
  const search = (query: string, ...more: string[]) => pinakes(directory, 'search', '-a', at, query, ...more);
  const message = `The index does not have a collection sping; it has ${names.toSorted().join(', ')}.\n`;
  assert.ok((await search('number collection:sping')).err.includes(message));
  assert.ok((await search('number -collection:sping')).err.includes(message));
  const asJson = await search('collection:sping', '--json');
  assert.deepEqual([asJson.code, asJson.out, asJson.err], [0, '', message]);
  assert.equal((await search(`number collection:${names[0]}`, '--limit', '1000')).err, '');
});

test('facets list their largest values, and the number of the others', async (t) => {
  const directory = await temporaryDirectory(t);
  const at = join(directory, 'archive');
  await createArchive(at);
  const archive = await openArchive(at, trialOptions());
  const [page] = trialPages(2, 1);
  const sites = Array.from({ length: 23 }, (_, number) => `http://site${number}.example/`);
  await storePages(
    archive,
    sites.map((url) => ({ ...page!, url, title: `harbour of ${url}` })),
  );
  await archive.close();
  assert.equal((await pinakes(directory, 'index', '-a', at)).code, 0);
  const search = ['search', 'harbour', '-a', at, '--facets', '--limit', '1'];
  assert.match((await pinakes(directory, ...search)).out, /\nsite: .*\.example \(1\), and 3 more\n/);
  const { facets, facetsLeftOut } = (await pinakesJson(directory, ...search, '--json')).at(-1)!;
  assert.equal((facets as { site: unknown[] }).site.length, 20);
  assert.deepEqual(facetsLeftOut, { site: 3 });
});

test('a content that is too large to be indexed completely is reported', async (t) => {
  const directory = await temporaryDirectory(t);
  const at = join(directory, 'archive');
  await createArchive(at);
  const archive = await openArchive(at, trialOptions());
  const [small, large] = trialPages(2, 2);
  await storePages(archive, [
    small!,
    { ...large!, links: Array.from({ length: 100_001 }, (_, number) => `/${number}`) },
  ]);
  await archive.close();
  const { code, err } = await pinakes(directory, 'index', '-a', at);
  assert.deepEqual([code, err], [0, 'Only a part of 1 content was indexed; docs/search.md has the limits.\n']);
  const [again] = await pinakesJson(directory, 'index', '-a', at, '--rebuild', '--json');
  assert.deepEqual([again!.documents, again!.partlyRead], [2, 1]);
});

test('ranks that were skipped are computed by the next `pinakes index`, even without new captures', async (t) => {
  const directory = await temporaryDirectory(t);
  const at = join(directory, 'archive');
  await createArchive(at);
  const archive = await openArchive(at, trialOptions());
  await storePages(archive, trialPages(3, 5));
  await archive.close();
  const isRanked = async (...options: string[]) =>
    'rank' in (await pinakesJson(directory, 'index', '-a', at, '--json', ...options))[0]!;
  assert.equal(await isRanked('--no-rank'), false);
  assert.equal(await isRanked(), true);
  assert.equal(await isRanked(), false);
  assert.match((await pinakes(directory, 'delete', '-a', at, '--from', '2000', '--yes')).out, /^deleted/);
  assert.equal(await isRanked('--no-rank'), false);
  assert.equal(await isRanked(), true);
});

test('the command line indexes, searches and ranks an archive, and writes its links', async (t) => {
  const directory = await temporaryDirectory(t);
  const at = join(directory, 'archive');
  await createArchive(at);
  const archive = await openArchive(at, trialOptions());
  const pages = trialPages(9, 25);
  await storePages(archive, pages);
  await archive.close();

  const before = await pinakes(directory, ...['search', 'archive', '-a', at]);
  assert.equal(before.code, 2);
  assert.match(before.err, /INDEX_MISSING[\s\S]*pinakes index/);

  const index = pinakesProcess(directory, ...['index', '-a', at, '--json']);
  assert.equal(index.code, 0, index.err);
  assert.equal(JSON.parse(index.out).captures, pages.length);

  const lines = await pinakesJson(directory, 'search', 'number', '-a', at, '--json', '--limit', '5');
  assert.equal(lines.length, 6);
  for (const item of lines.slice(0, 5)) {
    for (const name of ['url', 'time', 'title', 'snippet', 'score']) assert.ok(name in item, name);
    assert.match(String(item.time), /^20\d\d-.*Z$/);
  }
  const token = String(lines[5]!.next);
  const next = await pinakesJson(directory, 'search', 'number', '-a', at, '--json', '--limit', '500', '--after', token);
  const urls = [...lines.slice(0, 5), ...next].map((item) => item.url);
  assert.equal(new Set(urls).size, new Set(pages.map((page) => page.url)).size);
  assert.equal(urls.length, new Set(urls).size);

  const slip = await pinakes(directory, ...['search', 'one', 'size>big', '-a', at]);
  assert.equal(slip.code, 2);
  assert.match(slip.err, /one size>big\n {11}\^\^\^ a size is/);

  const human = pinakesProcess(directory, ...['search', 'padding', '-a', at, '--facets', '--limit', '1']);
  assert.match(human.out, /results?\n[\s\S]*\[padding\][\s\S]*site: [\s\S]*collection: /);

  const csv = join(directory, 'edges.csv');
  assert.equal((await pinakes(directory, ...['links', '-a', at, '--out', csv])).code, 0);
  const rows = (await readFile(csv, 'utf8')).trim().split('\r\n');
  assert.equal(rows[0], 'source,target,kind,text,nofollow,embed,first,last,captures');
  const parquet = join(directory, 'edges.parquet');
  assert.equal((await pinakes(directory, ...['links', '-a', at, '--out', parquet])).code, 0);
  assert.ok((await stat(parquet)).size > 0);
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  const result = await connection.runAndReadAll(`SELECT count(*) FROM '${parquet}'`);
  assert.equal(Number(result.getRows()[0]![0]), rows.length - 1);
  connection.closeSync();
  instance.closeSync();

  const rank = pinakesProcess(directory, ...['rank', '-a', at, '--json']);
  assert.equal(JSON.parse(rank.out).urls, new Set(pages.map((page) => page.url)).size);

  const streamed = await pinakesJson(directory, 'stream', '-a', at, '--json', '--order', 'inlinks');
  assert.equal(streamed.length, pages.length);
  const inlinks = new Map(next.map((item) => [item.url, Number(item.inlinks)]));
  const counts = streamed.flatMap(({ url }) => inlinks.get(url) ?? []);
  assert.deepEqual(
    counts,
    counts.toSorted((a, b) => b - a),
    'the most cited come first',
  );
  assert.ok(counts[0]! > counts.at(-1)!);
  const sideways = await pinakes(directory, ...['stream', '-a', at, '--order', 'sideways']);
  assert.deepEqual([sideways.code, /storage, url, time, inlinks, rank/.test(sideways.err)], [2, true]);

  assert.equal((await pinakes(directory, ...['snapshot', 'create', 'first', '-a', at])).code, 0);
  assert.equal((await pinakes(directory, ...['snapshot', 'create', 'first', '-a', at])).code, 2);
  const listed = JSON.parse((await pinakes(directory, ...['snapshot', 'ls', '-a', at, '--json'])).out);
  assert.equal(listed.name, 'first');
  assert.equal((await pinakes(directory, ...['search', 'number', '-a', at, '--snapshot', 'first'])).code, 0);
  assert.equal((await pinakes(directory, ...['snapshot', 'rm', 'first', '-a', at])).code, 0);
  assert.equal((await pinakes(directory, ...['search', 'number', '-a', at, '--snapshot', 'first'])).code, 2);
});
