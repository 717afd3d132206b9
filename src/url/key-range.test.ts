import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isInRanges, keyRange, type MatchType } from './key-range.ts';
import { urlKey } from './url-key.ts';

function matches(query: string, matchType: MatchType, url: string): boolean {
  return isInRanges(urlKey(url), keyRange(query, matchType));
}

function check(query: string, matchType: MatchType, inside: string[], outside: string[]): void {
  for (const url of inside) assert.ok(matches(query, matchType, url), `${url} is missing from ${matchType} ${query}`);
  for (const url of outside) assert.ok(!matches(query, matchType, url), `${url} is in ${matchType} ${query}`);
}

test('an exact range contains the key and CDX lines that begin with the key, but not keys that are longer', () => {
  const ranges = keyRange('http://example.com/a', 'exact');
  assert.deepEqual(ranges, [{ from: 'com,example)/a', to: 'com,example)/a!' }]);
  assert.ok(isInRanges('com,example)/a 20240301100000 {}', ranges));
  check(
    'http://example.com/a',
    'exact',
    ['https://www.example.com/A/'],
    ['http://example.com/ab', 'http://example.com/a?b'],
  );
});

test('a prefix range contains all keys that begin with the key', () => {
  check(
    'http://example.com/a',
    'prefix',
    [
      'http://example.com/a',
      'http://example.com/ab',
      'http://example.com/a/b',
      'http://example.com/a?b',
      'http://example.com/A/',
    ],
    ['http://example.com/', 'http://example.com/b', 'http://example.com:8080/a'],
  );
  check('http://example.com', 'prefix', ['http://example.com/', 'https://example.com/x?y'], ['http://a.example.com/']);
});

test('a prefix with a final slash contains the page and the pages below it, but not pages with longer names', () => {
  check(
    'http://example.com/a/',
    'prefix',
    ['http://example.com/a/', 'http://example.com/a/b', 'http://example.com/a/?b', 'http://example.com/a//c'],
    ['http://example.com/ab', 'http://example.com/a-b', 'http://example.com/a.html'],
  );
});

test('a prefix with a final question mark contains the page with every query', () => {
  check(
    'http://example.com/a?',
    'prefix',
    ['http://example.com/a?', 'http://example.com/a?z=1'],
    ['http://example.com/a/b'],
  );
});

test('a host range contains every port of the host and no other host', () => {
  check(
    'http://example.com/x',
    'host',
    [
      'http://example.com/',
      'http://www.example.com/a',
      'http://example.com:8080/a',
      'https://example.com:80/',
      'http://example.com:abc/',
    ],
    [
      'http://a.example.com/',
      'http://example.com.au/',
      'http://example-shop.com/',
      'http://examplecom/',
      'http://com/',
    ],
  );
});

test('a host range of a URL with an explicit port contains only that port', () => {
  check(
    'http://example.com:8080/',
    'host',
    ['http://example.com:8080/a'],
    ['http://example.com/a', 'http://example.com:80801/'],
  );
});

test('a domain range contains the host, all hosts below it, and all their ports', () => {
  check(
    'http://example.com/',
    'domain',
    ['http://example.com/', 'http://a.b.example.com/', 'http://example.com:8080/', 'http://a.example.com:81/x'],
    ['http://example.com.au/', 'http://example-shop.com/', 'http://notexample.com/', 'http://com/', 'dns:example.com'],
  );
  check(
    'http://com/',
    'domain',
    ['http://example.com/', 'http://com/'],
    ['http://example.org/', 'http://example.community/'],
  );
});

test('a URL without a host matches only itself', () => {
  check('dns:example.com', 'host', ['dns:example.com'], ['http://example.com/']);
  check('dns:example.com', 'domain', ['dns:example.com'], ['dns:example.org']);
});

test('a host range of an IPv6 address contains every port of it', () => {
  check(
    'http://[2001:db8::1]/',
    'host',
    ['http://[2001:db8::1]/a', 'http://[2001:db8::1]:81/a'],
    ['http://[2001:db8::2]/'],
  );
});

test('every URL is in the ranges made from it, and ranges are sorted and do not overlap', () => {
  const pieces = fc.constantFrom(
    'http://',
    'dns:',
    'a',
    'B',
    '.',
    '/',
    '?',
    '&',
    '=',
    ':8',
    '[::1]',
    '%41',
    ')',
    '\u00e9',
    '#',
    ' ',
    'filedesc',
  );
  const url = fc.array(pieces, { maxLength: 10 }).map((parts) => parts.join(''));
  const matchType = fc.constantFrom<MatchType>('exact', 'prefix', 'host', 'domain');
  fc.assert(
    fc.property(url, matchType, (text, type) => {
      const ranges = keyRange(text, type);
      assert.ok(isInRanges(urlKey(text), ranges));
      const ends = ranges.flatMap((range) => [range.from, range.to]);
      assert.deepEqual(ends, ends.toSorted());
    }),
    { numRuns: 5000 },
  );
});
