import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Query } from './query.ts';
import { parseQuery } from './query-parser.ts';

const word = (text: string): Query => ({ kind: 'words', field: 'any', text, isPrefix: false });

function queryOf(text: string): Query {
  const parsed = parseQuery(text);
  assert.ok('query' in parsed, `${text}: ${JSON.stringify(parsed)}`);
  return parsed.query;
}

test('a space means AND, OR binds weaker, a dash negates, parentheses group', () => {
  assert.deepEqual(queryOf(''), { kind: 'all' });
  assert.deepEqual(queryOf('a b OR c'), {
    kind: 'or',
    queries: [{ kind: 'and', queries: [word('a'), word('b')] }, word('c')],
  });
  assert.deepEqual(queryOf('a AND (b OR "c d")'), {
    kind: 'and',
    queries: [word('a'), { kind: 'or', queries: [word('b'), word('c d')] }],
  });
  assert.deepEqual(queryOf('a -b NOT c'), {
    kind: 'and',
    queries: [word('a'), { kind: 'not', query: word('b') }, { kind: 'not', query: word('c') }],
  });
  assert.deepEqual(queryOf('-(a b)'), { kind: 'not', query: { kind: 'and', queries: [word('a'), word('b')] } });
  assert.deepEqual(queryOf('arch*'), { kind: 'words', field: 'any', text: 'arch', isPrefix: true });
  assert.deepEqual(queryOf('"web arch*"'), { kind: 'words', field: 'any', text: 'web arch', isPrefix: true });
  assert.deepEqual(queryOf('"web *"'), word('web *'));
  assert.deepEqual(queryOf('e-mail'), word('e-mail'));
});

test('a phrase can have the quotation marks of any language', () => {
  for (const text of [
    '"c d"',
    '\u201cc d\u201d',
    '\u201ec d\u201c',
    '\u201ec d\u201d',
    '\u00abc d\u00bb',
    '\u00bbc d\u00ab',
  ])
    assert.deepEqual(queryOf(text), word('c d'), text);
  assert.deepEqual(queryOf('"a \u00abb\u00bb \u201cc\u201d"'), word('a \u00abb\u00bb \u201cc\u201d'));
  assert.deepEqual(queryOf('\u201ec d"'), word('c d'));
  assert.deepEqual(queryOf('"c d\u201d'), word('c d'));
});

test('joiners inside names are kept, and other invisible characters are removed', () => {
  const name = '\u0645\u06cc\u200c\u062e';
  const pasted = `\u200e${name[0]}\u200b${name.slice(1)}\u200f`;
  assert.deepEqual(queryOf(`url:http://a.example/${pasted}`), { kind: 'url', url: `http://a.example/${name}` });
  assert.deepEqual(queryOf(`collection:"${pasted}"`), { kind: 'collection', name });
  assert.deepEqual(queryOf(`site:${pasted}.example`), { kind: 'site', host: `${name}.example` });
  assert.deepEqual(queryOf(`title:${pasted}`), { ...word(name.replace('\u200c', '')), field: 'title' });
});

test('fields are parsed with their values', () => {
  const cases: [string, Query][] = [
    ['title:"two words"', { kind: 'words', field: 'title', text: 'two words', isPrefix: false }],
    ['TITLE:x', { kind: 'words', field: 'title', text: 'x', isPrefix: false }],
    ['site:.edu', { kind: 'site', host: 'edu' }],
    ['site:*.Example.org', { kind: 'site', host: 'example.org' }],
    ['url:http://a.example/b?c=d', { kind: 'url', url: 'http://a.example/b?c=d' }],
    ['type:text/html', { kind: 'type', type: 'text/html' }],
    ['lang:DE', { kind: 'language', language: 'de' }],
    ['status:404', { kind: 'status', from: 404, to: 404 }],
    ['status:5xx', { kind: 'status', from: 500, to: 599 }],
    ['collection:news', { kind: 'collection', name: 'news' }],
    ['from:2024', { kind: 'time', from: Date.UTC(2024, 0, 1) }],
    ['to:2024-02', { kind: 'time', to: Date.UTC(2024, 2, 1) - 1 }],
    ['to:2012-06-01T12:00:00Z', { kind: 'time', to: Date.UTC(2012, 5, 1, 12) + 999 }],
    ['size>10kB', { kind: 'number', attribute: 'size', comparison: '>', value: 10_000 }],
    ['size:<=2MB', { kind: 'number', attribute: 'size', comparison: '<=', value: 2e6 }],
    ['inlinks>100', { kind: 'number', attribute: 'inlinks', comparison: '>', value: 100 }],
    ['rank>=1.5', { kind: 'number', attribute: 'rank', comparison: '>=', value: 1.5 }],
    ['links-to:example.org/x', { kind: 'links-to', url: 'example.org/x' }],
    ['linked-from:"http://a.example/b c"', { kind: 'linked-from', url: 'http://a.example/b c' }],
    ['http://example.org/', word('http://example.org/')],
  ];
  for (const [text, query] of cases) assert.deepEqual(queryOf(text), query, text);
});

test('several values of a field, separated by commas, are joined by OR', () => {
  const cases: [string, Query[]][] = [
    [
      'site:a.example,.edu',
      [
        { kind: 'site', host: 'a.example' },
        { kind: 'site', host: 'edu' },
      ],
    ],
    [
      'type:html,pdf',
      [
        { kind: 'type', type: 'html' },
        { kind: 'type', type: 'pdf' },
      ],
    ],
    [
      'lang:en,de',
      [
        { kind: 'language', language: 'en' },
        { kind: 'language', language: 'de' },
      ],
    ],
    [
      'status:404,5xx',
      [
        { kind: 'status', from: 404, to: 404 },
        { kind: 'status', from: 500, to: 599 },
      ],
    ],
    [
      'collection:news,main',
      [
        { kind: 'collection', name: 'news' },
        { kind: 'collection', name: 'main' },
      ],
    ],
  ];
  for (const [text, queries] of cases) assert.deepEqual(queryOf(text), { kind: 'or', queries }, text);
  assert.deepEqual(queryOf('url:http://a.example/b,c'), { kind: 'url', url: 'http://a.example/b,c' });
});

test('a syntax error is reported with its place', () => {
  const cases: [string, number, number, RegExp][] = [
    ['one "two', 4, 1, /no partner/],
    ['a OR', 2, 2, /both sides/],
    ['OR a', 0, 2, /both sides/],
    ['a AND', 2, 3, /both sides/],
    ['(a b', 0, 1, /not closed/],
    ['a)', 1, 1, /not opened/],
    ['a ()', 2, 1, /nothing in these/],
    ['tilte:x', 0, 6, /no field "tilte"/],
    ['size>big', 5, 3, /a size is/],
    ['inlinks>5kb', 8, 3, /number/],
    ['status:ok', 7, 2, /a status is/],
    ['from:yesterday', 5, 9, /a time is/],
    ['lang:english', 5, 7, /a language is/],
    ['site:a/b', 5, 3, /a site is/],
    ['status:200,ok', 7, 6, /a status is/],
    ['lang:en,', 5, 3, /comma/],
    ['type:html,', 5, 5, /comma/],
    ['type:htm', 5, 3, /html, pdf/],
    ['a !!!', 2, 3, /no letter or digit/],
    ['title: x', 0, 6, /needs a value/],
    ['title>x', 0, 7, /colon/],
    ['a NOT', 2, 3, /missing/],
    [`${'('.repeat(60)}a`, 33, 1, /deeply/],
    ['site:*', 5, 1, /host/],
    ['url:*', 4, 1, /URL/],
    ['doi:10.1000', 0, 4, /no field "doi".*in quotation marks/s],
  ];
  for (const [text, at, length, message] of cases) {
    const parsed = parseQuery(text);
    assert.ok('problem' in parsed, text);
    assert.deepEqual([parsed.problem.at, parsed.problem.length], [at, length], text);
    assert.match(parsed.problem.message, message, text);
  }
});

test('any text is parsed to a query, or to a problem at a place within the text', () => {
  const seed = 11;
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc
          .array(fc.constantFrom('a', 'OR', '-', '(', ')', '"', 'size>', 'title:', ' ', 'AND', '\u201c'))
          .map((parts) => parts.join('')),
      ),
      (text) => {
        const parsed = parseQuery(text);
        if ('problem' in parsed) assert.ok(parsed.problem.at >= 0 && parsed.problem.at <= text.length);
      },
    ),
    { seed },
  );
});

test('every search in the guide can be parsed, and its fields apply to all of its words', () => {
  const guide = readFileSync(resolve(import.meta.dirname, '../../../docs/search.md'), 'utf8');
  const shown = Array.from(guide.matchAll(/^pinakes search '([^']+)'/gm), (match) => match[1]!);
  assert.ok(shown.length >= 2);
  for (const text of shown) {
    const parsed = parseQuery(text);
    assert.ok('query' in parsed, text);
    // With an OR at the top level, the fields would apply only to the words after the OR.
    assert.notEqual(parsed.query?.kind, 'or', text);
  }
});
