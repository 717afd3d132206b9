import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatPageId, pageId, parsePageId } from './page-id.ts';

test('a page id is the first 64 bits of the SHA-256 of the normal form', () => {
  const hex = createHash('sha256').update('http://www.stanford.edu/').digest('hex').slice(0, 16);
  assert.equal(formatPageId(pageId('http://www.stanford.edu:80/')), hex);
  assert.equal(pageId('HTTP://www.Stanford.edu#top'), BigInt(`0x${hex}`));
});

test('pages that may differ have different ids', () => {
  const urls = ['http://a/', 'https://a/', 'http://a/b', 'http://a/b/', 'http://a/B', 'http://a/?b&c', 'http://a/?c&b'];
  assert.equal(new Set(urls.map(pageId)).size, urls.length);
});

test('a page id is written in 16 digits and read back', () => {
  assert.equal(formatPageId(0n), '0000000000000000');
  fc.assert(fc.property(fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }), (id) => parsePageId(formatPageId(id)) === id));
  assert.equal(parsePageId('00000000000000FF'), 255n);
});

test('other texts are not read as page ids', () => {
  for (const text of ['', '0', '00000000000000000', '000000000000000g', '0x00000000000001', ' 000000000000001']) {
    assert.equal(parsePageId(text), undefined, text);
  }
});
