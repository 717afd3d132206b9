/** Searches for words that very many pages have: the results, their order and their number. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { utf8 } from '../../base/index.ts';
import { urlKey } from '../../url/index.ts';
import type { IndexEntry } from '../index-entry.ts';
import { SEARCH_FILE } from '../sqlite/database.ts';
import { IndexWriter } from '../sqlite/index-writer.ts';
import { openSearch, type Search } from './search.ts';

const PAGES = 20_100;
/** More than PROMINENT_MIN (500), so that only pages with the word in title or headings are ranked. */
const TITLED = 2200;
const TITLED_FEW = 300;
/** A page that has each word hundreds of times, but not in its title. */
const DENSE = 20_099;

const directory = mkdtempSync(join(tmpdir(), 'pinakes-common-'));
let search: Search;

function entryOf(at: number): IndexEntry {
  const isOfOnePage = at >= 5000 && at < 5000 + TITLED;
  const marks = [at < TITLED ? 'common' : '', at < TITLED_FEW ? 'usual' : '', isOfOnePage ? 'changing' : ''];
  const title = `${marks.join(' ')} page ${at}`;
  const words = 'common usual changing words '.repeat(at === DENSE ? 400 : 1);
  const payload = utf8(`<!doctype html><html lang=en><title>${title}</title><p>${words}${'filling '.repeat(20)}`);
  const url = isOfOnePage ? 'http://one.example/5000' : `http://host${at % 10}.example/${at}`;
  return {
    key: urlKey(url),
    url,
    time: Date.UTC(2024, 0, 1) + at,
    hash: at,
    collection: 'web',
    status: 200,
    mime: 'text/html',
    offset: 0,
    segment: 1,
    digest: createHash('sha256').update(String(at)).digest(),
    overflow: 0,
    content: { payload, codings: [], contentType: 'text/html; charset=utf-8', size: payload.length },
  };
}

before(async () => {
  const writer = new IndexWriter(join(directory, SEARCH_FILE));
  for (let at = 0; at < PAGES; at += 500)
    await writer.add(Array.from({ length: Math.min(500, PAGES - at) }, (_, i) => entryOf(at + i)));
  await writer.commit();
  await writer.close();
  search = openSearch(directory);
});

after(() => {
  search.close();
  rmSync(directory, { recursive: true });
});

const numberOf = ({ url }: { readonly url: string }) => Number(url.split('/').at(-1));

/** The results of all pages of a listing. */
async function allResults(query: string, limit: number): Promise<number[]> {
  const numbers: number[] = [];
  for (let next: string | undefined; ; ) {
    const page = await search.search(query, { limit, after: next });
    numbers.push(...page.items.map(numberOf));
    if (page.next === undefined) return numbers;
    next = page.next;
  }
}

describe('a word that more than 20,000 contents have', () => {
  test('finds contents with the word in the title, if there are many of them', async () => {
    const page = await search.search('common', { limit: 100 });
    assert.equal(page.items.length, 100);
    for (const item of page.items) assert.ok(numberOf(item) < TITLED, `${item.url} has no such title`);
    assert.equal(page.total, PAGES, 'the number is that of all contents with the word');
    assert.equal(page.isTotalExact, false);
    const scores = page.items.map(({ score }) => score);
    assert.deepEqual(
      scores,
      scores.toSorted((a, b) => b - a),
    );
  });

  test('is listed page by page without repeating or skipping a result', async () => {
    const numbers = await allResults('common', 500);
    assert.equal(numbers.length, 2000, 'the maximum length of a listing');
    assert.equal(new Set(numbers).size, numbers.length);
    assert.ok(numbers.every((number) => number < TITLED));
  });

  test('is ranked over all contents if few have it in the title', async () => {
    const page = await search.search('usual', { limit: 20 });
    assert.equal(numberOf(page.items[0]!), DENSE, 'the page with the most occurrences');
    assert.ok(page.items.slice(1).every((item) => numberOf(item) < TITLED_FEW));
    assert.equal(page.total, PAGES);
    assert.equal(page.isTotalExact, false);
  });

  test('is searched in all contents if the contents with the word in the title are versions of one page', async () => {
    const page = await search.search('changing', { limit: 50 });
    assert.equal(page.items.length, 50);
    assert.ok(page.items.some((item) => numberOf(item) === 5000));
    assert.notEqual(page.next, undefined);
  });

  test('is ranked over all contents if the search has other conditions or another order', async () => {
    const ofHost = await allResults('common site:host9.example size>1kB', 100);
    assert.deepEqual(ofHost, [DENSE]);
    const newest = await search.search('common', { sort: 'date', limit: 3 });
    assert.deepEqual(newest.items.map(numberOf), [DENSE, DENSE - 1, DENSE - 2]);
    const captures = await search.search('common', { group: 'capture', sort: 'oldest', limit: 2 });
    assert.deepEqual(captures.items.map(numberOf), [0, 1]);
  });

  test('has the same order when most contents meet the condition, so that only the best contents are read', async () => {
    // A search over captures ranks all contents.
    for (const query of ['usual lang:en', 'common type:html', 'usual common size>100']) {
      const quick = await search.search(query, { limit: 40 });
      const whole = await search.search(query, { limit: 40, group: 'capture' });
      assert.equal(quick.items.length, 40);
      const order = ({ items }: typeof quick) => items.map(({ score, url }) => ({ score, url }));
      assert.deepEqual(order(quick), order(whole), query);
    }
  });

  test('with another common word finds contents with the rarer word in the title, if there are many of them', async () => {
    const page = await search.search('common words', { limit: 500 });
    assert.equal(page.total, PAGES);
    const outside = page.items.filter((item) => numberOf(item) >= TITLED);
    assert.deepEqual(outside, []);
  });

  test('has facets over all contents with the word, not only over those listed first', async () => {
    const { facets } = await search.search('common', { facets: true, limit: 5 });
    const sites = facets!.site.map(({ value }) => value);
    assert.equal(sites.length, 11, 'ten hosts, and the one whose pages have no such title');
    const counted = facets!.site.reduce((sum, { count }) => sum + count, 0);
    assert.ok(counted > 1500 && counted <= 2000, `${counted} of ${PAGES}`);
  });

  test('is counted again when the index changes', async () => {
    assert.equal((await search.search('filling', { limit: 1 })).total, PAGES);
    const writer = new IndexWriter(join(directory, SEARCH_FILE));
    await writer.add([entryOf(PAGES)]);
    await writer.commit();
    assert.equal((await search.search('filling', { limit: 1 })).total, PAGES + 1);
    const { key, time, hash, collection } = entryOf(PAGES);
    assert.equal(await writer.remove([{ key, time, hash, collection }]), 1);
    await writer.commit();
    await writer.close();
    assert.equal((await search.search('filling', { limit: 1 })).total, PAGES);
  });

  test('together with a rare word has an exact count', async () => {
    const page = await search.search('common 17', { limit: 10 });
    assert.deepEqual(page.items.map(numberOf), [17]);
    assert.deepEqual({ total: page.total, isExact: page.isTotalExact }, { total: 1, isExact: true });
  });
});
