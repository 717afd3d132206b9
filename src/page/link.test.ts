import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LinkCollector } from './link.ts';

test('the fast paths resolve links exactly as the platform does', () => {
  const seed = 17;
  const part = fc.constantFrom(
    '/',
    'a',
    'B-c',
    '.',
    '..',
    '~x',
    '%20',
    ' ',
    '?q=1',
    '#f',
    '//',
    'x.html',
    ':',
    '\\',
    'http:',
    'https://ok.example/',
    'http://xn--a.example/',
    'http://1.2/',
    'www',
    '&c=%2f',
    '\u00e9',
    '@',
    '_',
  );
  fc.assert(
    fc.property(
      fc.array(part, { minLength: 1, maxLength: 6 }),
      fc.constantFrom(
        'http://h.example/d/p.html',
        'https://H.example:8443/x?y/z#a/b',
        'http://user:pass@h.example/d/?',
        'ftp://f.example/a/b',
      ),
      (parts, base) => {
        const value = parts.join('');
        const links = new LinkCollector();
        links.add(value, 'anchor', false);
        const expected = URL.parse(value, base);
        const isWebUrl = expected !== null && /^(https?|ftp):$/.test(expected.protocol) && !value.startsWith('#');
        assert.deepEqual(
          links.resolve(base).map(({ url }) => url),
          isWebUrl ? [expected.href.split('#')[0]] : [],
          value,
        );
      },
    ),
    { seed, numRuns: 5000 },
  );
});
