import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { urlKey } from '../url/index.ts';
import { RowReader, RowWriter } from './row-bytes.ts';
import { readUrl, urlDifference, writeUrlRest } from './url-difference.ts';

/** The number of bytes that a URL takes beside its form, and the URL read from them. */
function throughBytes(key: string, url: string): { bytes: number; url: string } {
  const writer = new RowWriter();
  const difference = urlDifference(key, url);
  writeUrlRest(writer, difference, url);
  const row = writer.finish();
  const reader = new RowReader(row);
  const read = readUrl(reader, key, difference.form);
  assert.ok(reader.isAtEnd);
  return { bytes: row.length, url: read };
}

test('URLs of the usual forms take no additional bytes', () => {
  for (const url of [
    'http://example.com/',
    'https://example.com/a/b.html',
    'http://www.example.com/a/',
    'https://www.example.com/a?x=1&y=2',
    'https://www.example.co.uk/a/?x=1',
    'http://example.com:8080/a',
    'http://localhost/',
  ]) {
    assert.deepEqual(throughBytes(urlKey(url), url), { bytes: 0, url });
  }
});

test('capitals take a few bytes', () => {
  for (const [url, bytes] of [
    ['https://en.wikipedia.org/wiki/Main_Page', 5],
    ['http://EXAMPLE.com/', 3],
    ['http://example.com/%E4%B8%AD', 9],
  ] as const) {
    assert.deepEqual(throughBytes(urlKey(url), url).url, url);
    assert.ok(throughBytes(urlKey(url), url).bytes <= bytes, `${url}: ${throughBytes(urlKey(url), url).bytes}`);
  }
});

test('any URL is read back with any key', () => {
  const letters = fc.constantFrom(...'aBc.,:/?&=)(#%@ ', 'www.', 'http://', 'https://', '\u00e9', '\u4e2d', '\u0130');
  const anyText = fc.oneof(fc.string({ unit: letters }), fc.webUrl({ withQueryParameters: true }));
  fc.assert(
    fc.property(anyText, anyText, (url, other) => {
      assert.equal(throughBytes(urlKey(url), url).url, url);
      assert.equal(throughBytes(other, url).url, url);
      assert.equal(throughBytes(urlKey(other), url).url, url);
    }),
    { numRuns: 1000 },
  );
});
