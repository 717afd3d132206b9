import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSearch } from '../../src/search/index.ts';
import { makeArchive } from '../archive/trial-archive.ts';
import { indexed, LANGUAGES, storePages, type TrialPage, trialPages } from './trial-pages.ts';

const SEED = 7;
const UNSPACED = /[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/;

/**
 * Searches a text without an index. White space and punctuation separate words; accents and case do not count. Scripts
 * without spaces are searched as they are.
 */
function has(text: string, phrase: string): boolean {
  const fold = (part: string) =>
    part
      .normalize('NFD')
      .replace(/[\u0300-\u036f]/g, '')
      .normalize('NFC')
      .toLowerCase();
  if (UNSPACED.test(phrase)) return fold(text).includes(fold(phrase));
  // A script without spaces is separated from other words, as a reader separates them.
  const spaced = (part: string) =>
    fold(part).replace(/[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+/g, ' # ');
  const words = (part: string) => spaced(part).match(/[\p{L}\p{N}\p{M}#]+/gu) ?? [];
  return ` ${words(text).join(' ')} `.includes(` ${words(phrase).join(' ')} `);
}

const isIn = (page: TrialPage, phrase: string) => has(page.title, phrase) || has(page.paragraphs.join('\n'), phrase);
const year = (page: TrialPage) => new Date(page.time).getUTCFullYear();
const host = (page: TrialPage) => new URL(page.url).host.replace(/^www\./, '');

test('searches over generated pages in many scripts find what a scan over all pages finds', async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const archive = await makeArchive(t);
  const pages = trialPages(SEED, 160);
  await storePages(archive, pages);
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  const cases: [string, (page: TrialPage) => boolean][] = [
    ['archive', (page) => isIn(page, 'archive')],
    ['ARCHIVE river', (page) => isIn(page, 'archive') && isIn(page, 'river')],
    ['garden OR winter', (page) => isIn(page, 'garden') || isIn(page, 'winter')],
    ['library -river', (page) => isIn(page, 'library') && !isIn(page, 'river')],
    ['-library', (page) => !isIn(page, 'library')],
    ['bucherei', (page) => isIn(page, 'Bücherei')],
    ['Größe', (page) => isIn(page, 'Größe')],
    ['grosse', (page) => isIn(page, 'Größe')],
    ['"STRASSE"', (page) => isIn(page, 'Straße')],
    ['weis*', (page) => isIn(page, 'weiß')],
    ['cafe', (page) => isIn(page, 'café')],
    ['"café naïve"', (page) => isIn(page, 'café naïve')],
    ['e-mail', (page) => isIn(page, 'e-mail')],
    ['библиотека', (page) => isIn(page, 'библиотека')],
    ['БИБЛИОТЕКА OR река', (page) => isIn(page, 'библиотека') || isIn(page, 'река')],
    ['βιβλιοθηκη', (page) => isIn(page, 'βιβλιοθήκη')],
    ['हिन्दी', (page) => isIn(page, 'हिन्दी')],
    ['مكتبة', (page) => isIn(page, 'مكتبة')],
    ['图书馆', (page) => isIn(page, '图书馆')],
    ['书馆', (page) => isIn(page, '书馆')],
    ['河', (page) => isIn(page, '河')],
    ['館', (page) => isIn(page, '館')],
    ['図書館', (page) => isIn(page, '図書館')],
    ['"保存インターネット"', (page) => isIn(page, '保存インターネット')],
    ['ターネ', (page) => isIn(page, 'ターネ')],
    ['도서관', (page) => isIn(page, '도서관')],
    ['서관', (page) => isIn(page, '서관')],
    ['ห้องสมุด', (page) => isIn(page, 'ห้องสมุด')],
    ['secretscript', () => false],
    ['hiddenstyle OR invisible', () => false],
    ['title:stanford', (page) => has(page.title, 'stanford')],
    ['title:图书馆', (page) => has(page.title, '图书馆')],
    ['lang:ja', (page) => page.language === 'ja'],
    ['lang:ru письмо', (page) => page.language === 'ru' && isIn(page, 'письмо')],
    ['status:404 archive', (page) => page.status === 404 && isIn(page, 'archive')],
    ['status:4xx', (page) => page.status === 404],
    ['collection:papers winter', (page) => page.collection === 'papers' && isIn(page, 'winter')],
    ['from:2022 to:2023 archive', (page) => year(page) >= 2022 && year(page) <= 2023 && isIn(page, 'archive')],
    ['site:stanford.edu', (page) => host(page).endsWith('stanford.edu')],
    ['site:.edu archive', (page) => host(page).endsWith('.edu') && isIn(page, 'archive')],
    ['site:a.example.org OR lang:ko', (page) => host(page) === 'a.example.org' || page.language === 'ko'],
    ['status:404 OR lang:zh', (page) => page.status === 404 || page.language === 'zh'],
    ['url:page/1', (page) => page.url.includes('page/1')],
    [`url:${pages[0]!.url}`, (page) => page.url === pages[0]!.url],
    [`links-to:${pages[3]!.url}`, (page) => page.links.includes(pages[3]!.url)],
    [
      `linked-from:${pages[5]!.url}`,
      (page) => pages.filter((other) => other.url === pages[5]!.url).some((other) => other.links.includes(page.url)),
    ],
    ['size>1', () => true],
    ['size>10MB', () => false],
    [
      'type:html (archive OR письмо) -status:404',
      (page) => (isIn(page, 'archive') || isIn(page, 'письмо')) && page.status !== 404,
    ],
  ];
  for (const [query, fits] of cases) {
    const expected = pages.filter(fits).map((page) => `${page.url} ${page.time}`);
    const found: string[] = [];
    let after: string | undefined;
    do {
      const page = await search.search(query, { group: 'capture', limit: 25, after });
      found.push(...page.items.map((item) => `${item.url} ${item.time}`));
      assert.equal(page.total, expected.length, query);
      after = page.next;
    } while (after !== undefined);
    assert.deepEqual(found.sort(), expected.sort(), query);
    const byUrl = await search.search(query, { limit: 500 });
    assert.deepEqual(
      new Set(byUrl.items.map((item) => item.url)),
      new Set(pages.filter(fits).map((page) => page.url)),
      query,
    );
  }
  assert.ok(LANGUAGES.length >= 10);
});

test("WebBase's example: pages with Stanford in the title that point to a given URL", async (t) => {
  const archive = await makeArchive(t);
  const page = (name: string, title: string, links: string[]): TrialPage => ({
    url: `http://${name}/`,
    time: Date.UTC(2024, 0, 1),
    collection: 'web',
    status: 200,
    language: 'en',
    title,
    paragraphs: [`page ${name} ${'words '.repeat(200)}`],
    hidden: 'x',
    links,
  });
  await storePages(archive, [
    page('one.example', 'Stanford University', ['https://www.target.example/paper']),
    page('two.example', 'About Stanford', ['http://other.example/']),
    page('three.example', 'Another place', ['http://target.example/paper']),
    page('four.example', 'STANFORD news', ['http://target.example/paper', 'http://two.example/']),
  ]);
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  const found = await search.search('title:Stanford links-to:http://target.example/paper');
  assert.deepEqual(found.items.map((item) => item.url).sort(), ['http://four.example/', 'http://one.example/']);
  const links = await search.links('http://target.example/paper', { direction: 'in' });
  assert.equal(links.total, 3);
  assert.deepEqual(links.items.map((item) => item.url).sort(), [
    'http://four.example/',
    'http://one.example/',
    'http://three.example/',
  ]);
  const out = await search.links('http://four.example/', { direction: 'out' });
  assert.deepEqual(
    out.items.map((item) => [item.url, item.text, item.isKnown]),
    [
      ['http://target.example/paper', 'go', false],
      ['http://two.example/', 'go', true],
    ],
  );
});

test('links to a URL are listed in pages, each once, and the last page has no next page', async (t) => {
  const archive = await makeArchive(t);
  const target = 'http://target.example/';
  const page = (name: string, version: number, links: number): TrialPage => ({
    url: `http://${name}/`,
    time: Date.UTC(2024, 0, version),
    collection: 'web',
    status: 200,
    language: 'en',
    title: `version ${version}`,
    paragraphs: [],
    hidden: 'x',
    // Three spellings of the same URL key.
    links: [target, 'https://target.example/', 'http://www.target.example/'].slice(0, links),
  });
  await storePages(archive, [page('one.example', 1, 3), page('one.example', 2, 2), page('two.example', 3, 1)]);
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  const all = await search.links(target, { direction: 'in' });
  assert.equal(all.next, undefined);
  assert.equal(all.total, 2);
  assert.equal(all.items.length, 6);
  for (const limit of [1, 2, 3, 4, 6]) {
    const found = [];
    let after: string | undefined;
    do {
      const some = await search.links(target, { direction: 'in', limit, after });
      assert.ok(some.items.length > 0 && some.items.length <= limit, `${some.items.length} of ${limit}`);
      found.push(...some.items);
      after = some.next;
    } while (after !== undefined);
    assert.deepEqual(found, all.items, `${limit} at a time`);
  }
});
