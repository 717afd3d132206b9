/** Invisible characters inside words. Editors leave them on pages, and pasted text brings them into queries. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSearch, parseQuery } from '../../src/search/index.ts';
import { makeArchive } from '../archive/trial-archive.ts';
import { indexed, pageWith, storePages } from './trial-pages.ts';

const INVISIBLE: Readonly<Record<string, string>> = {
  'soft hyphen': '\u00ad',
  'zero width space': '\u200b',
  'zero width non-joiner': '\u200c',
  'zero width joiner': '\u200d',
  'left-to-right mark': '\u200e',
  'right-to-left mark': '\u200f',
  'right-to-left embedding': '\u202b',
  'word joiner': '\u2060',
  'first strong isolate': '\u2068',
  'byte order mark': '\ufeff',
  'variation selector': '\ufe00',
  'ideographic variation selector': '\u{e0100}',
  'combining grapheme joiner': '\u034f',
};

test('words with invisible characters, on the page or in the query, are found and marked', async (t) => {
  const archive = await makeArchive(t);
  const names = Object.keys(INVISIBLE);
  await storePages(
    archive,
    names.map((name, at) => {
      const sign = INVISIBLE[name]!;
      return pageWith(`page${at}`, `steam${sign}ship${sign}company${at} ภาษา${sign}ไทย 国会${sign}図書館${at}`);
    }),
  );
  await indexed(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  for (const [at, name] of names.entries()) {
    const sign = INVISIBLE[name]!;
    for (const word of [`steamshipcompany${at}`, `${sign}steam${sign}shipcompany${at}${sign}`, `国会図書館${at}`]) {
      const { items } = await search.search(word);
      assert.deepEqual(
        items.map(({ url }) => url),
        [`http://page${at}.example/`],
        `${name}: ${word}`,
      );
      const { snippet, marks } = items[0]!;
      const marked = marks.map(([from, to]) => snippet.slice(from, to).replaceAll(sign, ''));
      assert.ok(marked.join('').includes(word.replaceAll(sign, '')), `${name}: ${marked} in ${snippet}`);
    }
    assert.equal((await search.search(`${sign}title:"Title of page${at}"${sign}`)).total, 1, name);
    assert.equal((await search.search(`${sign}site:page${at}.example steam*`)).total, 1, name);
  }
  assert.equal((await search.search('ภาษาไทย')).total, names.length);
  assert.equal((await search.search('ไทย')).total, names.length);
});

test('the place of a syntax error behind invisible characters is correct', () => {
  const parsed = parseQuery('\u200eflood\u200b size>big');
  assert.deepEqual('problem' in parsed && [parsed.problem.at, parsed.problem.length], [13, 3]);
});
