import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Link } from '../page/index.ts';
import { packLinks, unpackLinks } from './document-links.ts';

const PAGE = 'http://a.example/dir/page';
const link = (parts: Partial<Link>): Link => ({
  url: 'http://a.example/x',
  kind: 'anchor',
  text: '',
  isNofollow: false,
  isEmbed: false,
  ...parts,
});

test('stored links keep kind, text and flags, and relative links are resolved against the given URL', () => {
  const packed = packLinks([
    link({ url: 'http://a.example/dir/b', href: 'b', text: 'to b' }),
    link({ url: 'https://other.example/', kind: 'image', isEmbed: true }),
    link({ url: 'http://a.example/r?q=1', href: '/r?q=1', kind: 'data', isNofollow: true, isEmbed: true }),
  ]);
  assert.deepEqual(unpackLinks(packed, null, 'http://b.example/deep/er/page'), [
    link({ url: 'http://b.example/deep/er/b', text: 'to b' }),
    link({ url: 'https://other.example/', kind: 'image', isEmbed: true }),
    link({ url: 'http://b.example/r?q=1', kind: 'data', isNofollow: true, isEmbed: true }),
  ]);
  assert.equal(unpackLinks(packed, '/base/', PAGE)[0]!.url, 'http://a.example/base/b');
});

test('tabs and line ends in a URL are removed, as browsers do', () => {
  const packed = packLinks([
    link({ url: 'http://a.example/dir/onetwo', href: 'one\n\ttwo', text: 'first' }),
    link({ url: 'http://a.example/dir/three', href: 'three', text: 'second' }),
  ]);
  assert.deepEqual(
    unpackLinks(packed, null, PAGE).map(({ url, text }) => `${url} ${text}`),
    ['http://a.example/dir/onetwo first', 'http://a.example/dir/three second'],
  );
});

test('links with the same URL and kind are stored once; a page without links is stored as null', () => {
  const packed = packLinks([link({ text: 'a' }), link({ text: 'b' }), link({ kind: 'frame' })]);
  assert.deepEqual(
    unpackLinks(packed, null, PAGE).map(({ kind, text }) => `${kind} ${text}`),
    ['anchor a', 'frame '],
  );
  assert.equal(packLinks([]), null);
  assert.deepEqual(unpackLinks(null, null, PAGE), []);
});
