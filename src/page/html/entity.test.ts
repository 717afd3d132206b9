import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeAttribute, decodeRawText } from './entity.ts';
import { HtmlReader } from './html-reader.ts';

test('a value is decoded as inside a document', () => {
  const values = [
    '?a=1&amp;b=2',
    '?a=1&b=2',
    '?copy=1&copy=2',
    '?x&copy',
    '&#x41;&#66;&notit;',
    'a"b',
    '&quot;&lt;',
    '&',
    '&#0;',
  ];
  const decoded = ['?a=1&b=2', '?a=1&b=2', '?copy=1&copy=2', '?x\u00a9', 'AB&notit;', 'a"b', '"<', '&', '\ufffd'];
  assert.deepEqual(values.map(decodeAttribute), decoded);
  assert.equal(decodeRawText('Scrolls &amp; <b>ships&copy</b>'), 'Scrolls & <b>ships\u00a9</b>');
});

const PIECES = [
  ...[
    '<a href="',
    '<a href=',
    "<img src='",
    '<iframe srcdoc="',
    '<title>',
    '</title>',
    '<script>',
    '</script>',
    '<!--',
    '-->',
    '<p>',
    '<svg>',
  ],
  ...[
    '"',
    "'",
    '>',
    ' ',
    '=',
    '/x',
    '&amp;',
    '&ampy',
    '&lt;',
    '&quot;',
    '&',
    '&#38;',
    '&#x26',
    '&copy=',
    'x.css',
    '?a=b',
    '</svg>',
    '<![CDATA[',
  ],
];

test('the same links are found with and without the text option', () => {
  const markup = fc.array(fc.constantFrom(...PIECES), { maxLength: 30 }).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(markup, (html) => {
      const [withText, without] = [true, false].map((text) => {
        const reader = new HtmlReader({ text, links: true });
        reader.read(html);
        const links = reader.links.resolve('http://host.test/');
        return { title: reader.meta.title, links: links.map(({ url, kind, isEmbed }) => `${kind} ${isEmbed} ${url}`) };
      });
      assert.deepEqual(without, withText);
    }),
    { numRuns: 3000 },
  );
});
