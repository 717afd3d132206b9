import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { normalUrl } from './normal-url.ts';

test('URLs that are the same by the standards have one normal form', () => {
  const forms: Record<string, string> = {
    'HTTP://Example.COM:80/a/../B%7e%c3%a9?x=1&a=%2f#f': 'http://example.com/B~%C3%A9?x=1&a=%2F',
    'https://example.com:443': 'https://example.com/',
    'http://b\u00fccher.ch/\u00e9': 'http://xn--bcher-kva.ch/%C3%A9',
    'http://example.com/a b': 'http://example.com/a%20b',
    'http://example.com/100%': 'http://example.com/100%25',
    'http://example.com/?q={a|b}': 'http://example.com/?q=%7Ba%7Cb%7D',
    'http://example.com/?q=%7Ba%7cb%7D': 'http://example.com/?q=%7Ba%7Cb%7D',
    'http://0x7f.1/': 'http://127.0.0.1/',
    'http://[2001:DB8:0::1]:80/': 'http://[2001:db8::1]/',
    '  http://exa\nmple.com/ ': 'http://example.com/',
    'example.com/A': 'http://example.com/A',
    'foo://HOST/%7Ea#x': 'foo://host/~a',
    'URN:uuid:0A': 'urn:uuid:0A',
    'dns:example.com': 'dns:example.com',
  };
  for (const [url, form] of Object.entries(forms)) assert.equal(normalUrl(url), form);
});

test('differences that may name another page stay: path case, query order, trailing slash, empty query, www, scheme, userinfo', () => {
  const urls = [
    'http://example.com/a',
    'http://example.com/A',
    'http://example.com/a/',
    'http://example.com/a?',
    'http://example.com/a?b=1&a=2',
    'http://example.com/a?a=2&b=1',
    'http://www.example.com/a',
    'https://example.com/a',
    'http://example.com:8080/a',
    'http://user@example.com/a',
    'http://example.com//a',
    'http://example.com/a%2Fb',
    'http://example.com/a/b',
  ];
  for (const url of urls) assert.equal(normalUrl(url), url);
});

test('a URL that the platform rejects is normalised as far as possible', () => {
  assert.equal(normalUrl('HTTP://exa mple.com/A b#x'), 'http://exa%20mple.com/A%20b');
  assert.equal(normalUrl('http://1.2.3.999/%7E'), 'http://1.2.3.999/~');
  assert.equal(normalUrl('http://EXAMPLE.com:99999/A'), 'http://example.com:99999/A');
  assert.equal(normalUrl(''), '');
});

test('the normal form of any string is printable ASCII and its own normal form', () => {
  const piece = fc.constantFrom(
    ...[
      'http://',
      'Foo://',
      'data:',
      'x:',
      '//',
      '/',
      '..',
      '.',
      '%2e',
      '%5a',
      '%',
      'A',
      'b',
      ':',
      ':80',
      ':x',
      '@',
      '?',
      '#',
      ' ',
      '\\',
      '[',
      ']',
    ],
    ...['\u00e9', '\u3002', '\ud800', '\0', '|', '{', '<', '1', '0x1', "'"],
  );
  const anything = fc.oneof(
    fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
    fc.string({ unit: 'binary' }),
  );
  fc.assert(
    fc.property(anything, (url) => {
      const form = normalUrl(url);
      assert.match(form, /^[!-~]*$/);
      assert.equal(normalUrl(form), form);
    }),
    { numRuns: 10_000 },
  );
});

test('hostile URLs are normalised in bounded time', () => {
  const ideographs = Array.from({ length: 5000 }, (_, index) =>
    String.fromCharCode(0x4e00 + ((index * 7919) % 20_000)),
  );
  const host = ideographs.join('');
  const escaped = encodeURIComponent(host);
  const hostile: Record<string, readonly string[]> = {
    'long hosts': Array.from({ length: 60 }, (_, index) => `http://${index}${host}/`),
    'long hosts behind odd slashes': Array.from({ length: 60 }, (_, index) => ` HTTP:\\/\t${index}${host}`),
    'long hosts without a scheme': Array.from({ length: 60 }, (_, index) => `${index}${host}`),
    'long escaped hosts': Array.from({ length: 60 }, (_, index) => `http://${index}${escaped}/`),
    'dot segments': [`http://a${'/..'.repeat(200_000)}`],
    spaces: [`${' '.repeat(50_000)}http://[${' '.repeat(50_000)}x`],
    'lone surrogates': ['\ud800'.repeat(100_000)],
    data: [`data:,${'\u00e9'.repeat(100_000)}`],
  };
  for (const [what, urls] of Object.entries(hostile)) {
    const before = process.cpuUsage();
    for (const url of urls) normalUrl(url);
    // Processor time, which other processes do not change.
    const spentMs = process.cpuUsage(before).user / 1000;
    assert.ok(spentMs < 5000, `${what} took ${spentMs} ms`);
  }
});
