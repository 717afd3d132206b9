import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { requestTarget } from './target.ts';

test('a URL is split like the parser does it, except that an empty query is kept', () => {
  const origin = fc.constantFrom(
    'http://a.test',
    'https://a.test:8443',
    'http://127.0.0.1:80',
    'HTTP://A.test',
    'http://u:p@a.test',
    'https://[::1]:9',
  );
  const piece = fc.constantFrom(
    '/',
    '.',
    '..',
    'a',
    'B',
    '%2e',
    '%41',
    '?',
    '&x=1',
    "'",
    '"',
    ' ',
    '#f',
    '\\',
    '~',
    ':',
    '@',
    '\u00e9',
    '|',
    '^',
    '{',
  );
  fc.assert(
    fc.property(origin, fc.array(piece, { maxLength: 8 }), (start, pieces) => {
      const url = `${start}/${pieces.join('')}`;
      const parsed = new URL(url);
      // The parser does not distinguish an empty query from none; servers do.
      const emptyQuery = /^[^#?]*\?(#|$)/s.test(parsed.href) ? '?' : '';
      const expected = { origin: parsed.origin, host: parsed.host, path: parsed.pathname + parsed.search + emptyQuery };
      assert.deepEqual(requestTarget(url), expected);
    }),
    { numRuns: 3000 },
  );
  for (const path of ['/a?', '/a?#b', '/?', '/a', '/a#?'])
    assert.equal(requestTarget(`http://a.test${path}`).path, path.replace(/#.*/, ''), path);
  assert.throws(() => requestTarget('ftp://a.test/'), /only http/);
  assert.throws(() => requestTarget('http://'), /only http/);
});
