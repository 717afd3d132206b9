import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seedUrls } from './crawl.ts';

test('seeds are accepted as people type them', () => {
  for (const [typed, url] of [
    ['example.org', 'https://example.org/'],
    ['example.org:8080/a', 'https://example.org:8080/a'],
    ['//example.org/a', 'https://example.org/a'],
    [' http://example.org/a ', 'http://example.org/a'],
    ['HTTP:/example.org/a', 'http://example.org/a'],
    ['http://somebody:secret@example.org/', 'http://example.org/'],
    ['example.org/@somebody', 'https://example.org/@somebody'],
  ] as const)
    assert.deepEqual(seedUrls([typed]), [url], typed);
});

test('text that does not name a page is refused as a seed, even if it contains a host', () => {
  for (const typed of [
    '',
    ' ',
    'http://',
    'ftp://example.org/',
    'mailto:somebody@example.org',
    'somebody@example.org',
    'tel:+491234',
    'about:blank',
  ])
    assert.throws(() => seedUrls([typed]), { code: 'BAD_ARGUMENT' }, typed);
});
