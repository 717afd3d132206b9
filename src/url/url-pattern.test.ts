import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseUrlPattern, typedUrl } from './url-pattern.ts';

test('a pattern means a URL, a prefix, a host or a domain', () => {
  const patterns: Record<string, ReturnType<typeof parseUrlPattern>> = {
    'http://example.com/a': { url: 'http://example.com/a', matchType: 'exact' },
    'example.com/a/*': { url: 'example.com/a/', matchType: 'prefix' },
    'http://example.com/a*': { url: 'http://example.com/a', matchType: 'prefix' },
    '*.example.com': { url: 'example.com', matchType: 'domain' },
    '*.example.com/*': { url: 'example.com', matchType: 'domain' },
    'https://*.example.com/': { url: 'https://example.com', matchType: 'domain' },
    ' example.com ': { url: 'example.com', matchType: 'exact' },
  };
  for (const [pattern, expected] of Object.entries(patterns)) assert.deepEqual(parseUrlPattern(pattern), expected);
});

test('a star elsewhere is a character of the URL', () => {
  assert.deepEqual(parseUrlPattern('http://example.com/*/a'), { url: 'http://example.com/*/a', matchType: 'exact' });
  assert.deepEqual(parseUrlPattern('http://example.com/a%2A'), { url: 'http://example.com/a%2A', matchType: 'exact' });
});

test('a typed host with a port is not taken for a scheme', () => {
  assert.equal(parseUrlPattern('example.com:8080/a').url, 'http://example.com:8080/a');
  assert.equal(parseUrlPattern('localhost:8080').url, 'http://localhost:8080');
  assert.equal(parseUrlPattern('urn:123').url, 'urn:123');
});

test('a typed URL is read as a URL with a host if possible', () => {
  assert.equal(typedUrl(' www.example.com:80/images/ '), 'http://www.example.com:80/images/');
  assert.equal(typedUrl('LOCALHOST:18099/git.html'), 'http://LOCALHOST:18099/git.html');
  for (const url of [
    'example.com/a',
    'https://example.com:80/',
    'dns:example.com',
    'urn:uuid:1',
    'metadata:a.b:80x',
    '',
  ])
    assert.equal(typedUrl(url), url);
});
