import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { LinkRewriter } from './link-rewriter.ts';

const TIME = Date.UTC(2024, 2, 1, 12);
const P = '/web/20240301120000im_/';

const LINKS: readonly [link: string, rewritten: string | undefined][] = [
  ['http://other.example/a', `${P}http://other.example/a`],
  ['HTTPS://Other.Example/a', `${P}HTTPS://Other.Example/a`],
  ['//cdn.example/x.png', `${P}https://cdn.example/x.png`],
  ['\\\\cdn.example\\x.png', `${P}https://cdn.example/x.png`],
  ['/\\cdn.example/x.png', `${P}https://cdn.example/x.png`],
  ['/root.png', `${P}https://example.org/root.png`],
  ['a/b.png?q=1#f', `${P}https://example.org/dir/a/b.png?q=1#f`],
  ['../../../up.png', `${P}https://example.org/up.png`],
  ['./x', `${P}https://example.org/dir/x`],
  ['/a/../b', `${P}https://example.org/b`],
  ['/a/%2e%2e/b', `${P}https://example.org/b`],
  ['?q', `${P}https://example.org/dir/page.html?q`],
  [' \n\thttp://x.example/ ', `${P}http://x.example/`],
  ['ht\ntp://x.example/', `${P}http://x.example/`],
  ['http:other.png', `${P}http://other.png/`],
  ['https:other.png', `${P}https://example.org/dir/other.png`],
  ['/web/20200101im_/http://x.example/', `${P}https://example.org/web/20200101im_/http://x.example/`],
  ['ftp://files.example/a', `${P}ftp://files.example/a`],
  ['http://x.example/\u00e9', `${P}http://x.example/\u00e9`],
  ['#top', undefined],
  ['', undefined],
  ['data:image/png;base64,AAAA', undefined],
  ['mailto:a@b.example', undefined],
  ['about:blank', undefined],
  ['blob:https://example.org/1', undefined],
  ['javascript:void(0)', undefined],
  ['http://[broken', `${P}http://[broken`],
];

for (const [link, rewritten] of LINKS) {
  test(`${JSON.stringify(link)} ${rewritten === undefined ? 'stays' : `becomes ${rewritten}`}`, () => {
    const links = new LinkRewriter('https://example.org/dir/page.html?x=/y', TIME);
    const found = links.rewrite(link, 'im_');
    if (found !== undefined && rewritten !== undefined && found.includes('\\')) {
      assert.equal(new URL(found, 'http://replay.example').pathname, rewritten);
    } else assert.equal(found, rewritten);
  });
}

test('links are relative to the base of the page', () => {
  const links = new LinkRewriter('https://example.org/dir/page.html', TIME);
  links.setBase('http://static.example/v1/index.html');
  assert.equal(links.rewrite('a.png', 'im_'), `${P}http://static.example/v1/a.png`);
  assert.equal(links.rewrite('/a.png', 'im_'), `${P}http://static.example/a.png`);
  assert.equal(links.rewrite('//x.example/a.png', 'im_'), `${P}http://x.example/a.png`);
});

test('queries of pages in old charsets are escaped in the charset of the page', () => {
  const latin = new LinkRewriter('https://example.org/', TIME, 'windows-1252');
  assert.equal(
    latin.rewrite('/caf\u00e9?q=\u00e9', 'mp_'),
    '/web/20240301120000mp_/https://example.org/caf%C3%A9?q=%E9',
  );
  const japanese = new LinkRewriter('https://example.org/', TIME, 'shift_jis');
  assert.equal(japanese.rewrite('?q=\u65e5', 'mp_'), '/web/20240301120000mp_/https://example.org/?q=%93%FA');
  assert.equal(latin.rewrite('?q=\u65e5', 'mp_'), '/web/20240301120000mp_/https://example.org/?q=%26%2326085%3B');
});

test('the fast way gives the same links as the URL parser', () => {
  const link = fc.oneof(
    fc.webUrl({ withQueryParameters: true, withFragments: true }),
    fc.webPath(),
    fc.webUrl().map((url) => url.slice(5)),
    fc.string(),
  );
  fc.assert(
    fc.property(link, (text) => {
      const links = new LinkRewriter('https://example.org/dir/page.html', TIME);
      const insertion = links.insertion(text, 'im_');
      if (insertion === undefined || !URL.canParse(text, 'https://example.org/dir/page.html')) return;
      const expected = new URL(text, 'https://example.org/dir/page.html').href;
      assert.equal(new URL((insertion + text).slice(P.length)).href, expected);
    }),
    { numRuns: 1000 },
  );
});

test('no link leaves the origin of replay', () => {
  const piece = fc.constantFrom(
    'http:',
    'https:',
    '//',
    '/',
    '\\',
    '..',
    '.',
    'a',
    ':',
    '@',
    '?',
    '#',
    '%2e',
    '\t',
    '\n',
    ' ',
    'x.example',
    'javascript:',
    '\u3002',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const link = pieces.join('');
      const rewritten = new LinkRewriter('https://example.org/dir/page.html', TIME).rewrite(link, 'im_');
      const seen = URL.parse(
        rewritten ?? link,
        'http://replay.example/web/20240301120000mp_/https://example.org/dir/page.html',
      );
      if (!seen || !/^https?:$/.test(seen.protocol)) return;
      assert.equal(seen.origin, 'http://replay.example', link);
      if (URL.canParse(link, 'https://example.org/dir/page.html'))
        assert.ok(seen.pathname.startsWith('/web/20240301120000'), `${link} -> ${seen.href}`);
    }),
    { numRuns: 3000 },
  );
});
