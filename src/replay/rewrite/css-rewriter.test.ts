import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { rewriteCss } from './css-rewriter.ts';
import { LinkRewriter } from './link-rewriter.ts';

const links = () => new LinkRewriter('https://example.org/css/main.css', Date.UTC(2024, 2, 1, 12));
const web = (modifier: string, url: string) => `/web/20240301120000${modifier}/${url}`;
const A = web('oe_', 'https://example.org/css/a.png');

for (const [css, expected] of [
  ['b{c:url(a.png)}', `b{c:url(${A})}`],
  ['b{c:URL( a.png )}', `b{c:url(${A})}`],
  ['b{c:url("a.png")}', `b{c:url("${A}")}`],
  ["b{c:url( 'a.png' )}", `b{c:url( "${A}" )}`],
  ['b{c:url(\\61.png)}', `b{c:url(${A})}`],
  ['b{c:u\\72l("a.png")}', `b{c:u\\72l("${A}")}`],
  ['b{c:url(data:image/png;base64,AA==) url(#i)}', 'b{c:url(data:image/png;base64,AA==) url(#i)}'],
  ['b{c:url(//cdn.example/x)}', `b{c:url(${web('oe_', 'https://cdn.example/x')})}`],
  ['@import "b.css" screen;', `@import "${web('cs_', 'https://example.org/css/b.css')}" screen;`],
  ['@import url(b.css);', `@import url(${web('cs_', 'https://example.org/css/b.css')});`],
  ["@IMPORT url('b.css') layer(x);", `@IMPORT url("${web('cs_', 'https://example.org/css/b.css')}") layer(x);`],
  ['@namespace svg url(http://www.w3.org/2000/svg);', '@namespace svg url(http://www.w3.org/2000/svg);'],
  ['b{c:image-set("a.png" 1x, url(a.png) 2x)}', `b{c:image-set("${A}" 1x, url(${A}) 2x)}`],
  ['b{content:"a.png"}', 'b{content:"a.png"}'],
  ['/* url(a.png) */', '/* url(a.png) */'],
  ['b{c:url(a.png', `b{c:url(${A})`],
  ['}}}{{ b:url(a.png) ;;; @@ "', `}}}{{ b:url(${A}) ;;; @@ "`],
  [
    '@font-face{src:url(/f.woff2) format("woff2")}',
    `@font-face{src:url(${web('oe_', 'https://example.org/f.woff2')}) format("woff2")}`,
  ],
] as const) {
  test(`${css} becomes ${expected}`, () => assert.equal(rewriteCss(css, links()), expected));
}

test('everything but the links stays as it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const plain = text.replace(/url|src|@|\\|image-set/gi, '');
      assert.equal(rewriteCss(plain, links()), plain);
      rewriteCss(`${text} url(`, links());
    }),
  );
});

test('selectors of links become selectors of links of the archive', () => {
  const rules: readonly (readonly [string, string])[] = [
    [`a[href^="https://b.example"] {}`, `a:where([href^="http"])[href*="_/https://b.example"] {}`],
    [`b:not([href^='https:']) {}`, `b:not(:where([href^="http"])[href*="_/https:"]) {}`],
    [`img[src^="https://b.example"] {}`, `img[src*="_/https://b.example"] {}`],
    [`a[ href = 'http://b.example/x' i ] {}`, `a[ href $= "_/http://b.example/x" i ] {}`],
    [`a[href^="http"], a[href$=".pdf"], a[href="#top"] {}`, `a[href^="http"], a[href$=".pdf"], a[href="#top"] {}`],
    [`a[href^="/blog"] {}`, `a:where(:not([href^="http"]))[href*="_/https://example.org/blog"] {}`],
    [`a[href="/"] {}`, `a:where(:not([href^="http"]))[href$="_/https://example.org/"] {}`],
    [`img[src="//cdn.example/a.png"] {}`, `img[src$="_/https://cdn.example/a.png"] {}`],
    [`a[href^="/"], a[href^="//"] {}`, `a[href^="/"], a[href^="//"] {}`],
    [`p[title^="https://b.example"] {}`, `p[title^="https://b.example"] {}`],
    [`/* [href^= */ p { content: "https://b.example" }`, `/* [href^= */ p { content: "https://b.example" }`],
  ];
  for (const [rule, expected] of rules) assert.equal(rewriteCss(rule, links()), expected);
});
