import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type DefaultTreeAdapterMap, parse } from 'parse5';
import type { Link } from '../link.ts';
import { type Page, readPageOnThisThread } from '../page.ts';

const URL_OF_PAGE = 'http://example.org/dir/page.html';

async function read(html: string, mime = 'text/html'): Promise<Page> {
  return (await readPageOnThisThread({
    bytes: Buffer.from(html),
    mime,
    contentType: `${mime}; charset=utf-8`,
    url: URL_OF_PAGE,
  }))!;
}

const linesOf = (links: readonly Link[]) =>
  links.map((link) => `${link.kind}${link.isEmbed ? '!' : ''} ${link.url.replace('http://example.org/', '')}`);

test('links and embeds are found in every kind of element', async () => {
  const cases: [string, string[]][] = [
    ['<a href="x y.html#part">t</a>', ['anchor dir/x%20y.html']],
    ['<area href="/x?a=1&amp;b=2">', ['anchor x?a=1&b=2']],
    ['<img src=i.png lowsrc=l.png longdesc=d>', ['image! dir/i.png', 'image! dir/l.png', 'anchor dir/d']],
    ['<img srcset="a,b.png 1x, c.png 2x,d.png">', ['image! dir/a,b.png', 'image! dir/c.png', 'image! dir/d.png']],
    ['<picture><source srcset=s.webp src=t.png></picture>', ['image! dir/t.png', 'image! dir/s.webp']],
    [
      '<video src=v.mp4 poster=p.jpg><source src=w.webm><track src=t.vtt></video>',
      ['media! dir/v.mp4', 'image! dir/p.jpg', 'media! dir/w.webm', 'media! dir/t.vtt'],
    ],
    ['<link rel=stylesheet href=s.css>', ['style! dir/s.css']],
    ['<link rel="alternate" type="application/rss+xml" href=feed>', ['feed dir/feed']],
    ['<link rel="alternate" hreflang=de href=de>', ['alternate dir/de']],
    [
      '<link rel=canonical href=/c><link rel=manifest href=m><link rel="shortcut icon" href=f.ico>',
      ['canonical c', 'manifest! dir/m', 'icon! dir/f.ico'],
    ],
    [
      '<link rel=preload as=font href=f.woff><link rel=modulepreload href=m.js>',
      ['font! dir/f.woff', 'script! dir/m.js'],
    ],
    ['<link rel=preload as=image imagesrcset="a.png 1x, b.png 2x">', ['image! dir/a.png', 'image! dir/b.png']],
    ['<link rel=preconnect href=//cdn.example><link rel=next href=2>', ['anchor dir/2']],
    ['<script src=s.js></script>', ['script! dir/s.js']],
    ['<iframe src=f.html></iframe><frame src=g.html>', ['frame! dir/f.html', 'frame! dir/g.html']],
    ['<iframe srcdoc="<img src=&quot;in.png&quot;>"></iframe>', ['image! dir/in.png']],
    [
      '<object data=o.swf><param name=movie value=m.swf></object><embed src=e.swf>',
      ['object! dir/o.swf', 'object! dir/m.swf', 'object! dir/e.swf'],
    ],
    ['<applet code=A.class codebase=/java>', ['object! java/A.class']],
    [
      '<form action=/find><input type=image src=b.png><button formaction=/other></form>',
      ['form find', 'image! dir/b.png', 'form other'],
    ],
    ['<body background=b.gif><td background=c.gif>', ['image! dir/b.gif', 'image! dir/c.gif']],
    ['<blockquote cite=q><q cite=r>', ['anchor dir/q', 'anchor dir/r']],
    ['<meta http-equiv=Refresh content="0;URL=\'next.html\'">', ['refresh dir/next.html']],
    ['<meta property="og:image" content="/og.png">', ['image og.png']],
    [
      '<svg><image xlink:href="i.svg"/><use href="u.svg#x"/><a xlink:href=l><text>x</text></a></svg>',
      ['image! dir/i.svg', 'image! dir/u.svg', 'anchor dir/l'],
    ],
    [
      '<img data-src=lazy.jpg data-srcset="l1.jpg 1x, l2.jpg 2x"><div data-bg="url(bg.png)">',
      ['image! dir/lazy.jpg', 'image! dir/l1.jpg', 'image! dir/l2.jpg', 'image! dir/bg.png'],
    ],
    [
      '<a href=x data-src=large.jpg data-bg=behind.jpg>x</a><a data-href=y.html data-src="#box">y</a>',
      ['image! dir/large.jpg', 'image! dir/behind.jpg', 'anchor dir/x', 'anchor dir/y.html'],
    ],
    ['<iframe data-src=lazy.html></iframe><div data-src="{{ not a url }}">', ['frame! dir/lazy.html']],
    ['<p style="background:url(\'s.png\')">', ['image! dir/s.png']],
    [
      '<style>@namespace url(http://www.w3.org/1999/xhtml); @namespace s url("svg"); @document url(/x) { p {} } @import url(a.css) print; @import "b.css"; p{background:image-set("c.png" 1x)} @font-face{src:url(d.woff)} i{content:"no"}</style>',
      ['style! dir/a.css', 'style! dir/b.css', 'image! dir/c.png', 'font! dir/d.woff'],
    ],
    [
      '<frameset><frame src=f><noframes><body><a href=menu>menu</a><img src=n.png></noframes></frameset><noembed><a href=m></noembed>',
      ['frame! dir/f', 'anchor dir/menu', 'image! dir/n.png', 'anchor dir/m'],
    ],
    ['<noscript><img src=n.png></noscript><template><a href=t></a></template>', ['image! dir/n.png', 'anchor dir/t']],
    [
      '<script type="application/ld+json">{"@context":"https://schema.org","@type":"A","url":"http://example.org/ld","image":{"url":"/ld.png"}}</script>',
      ['image ld.png', 'data ld'],
    ],
    [
      '<a href="javascript:x()"><a href=mailto:a@b><a href="#top"><a href=""><img src="data:image/png;base64,AAAA">',
      [],
    ],
    ['<!-- <a href=c> --><textarea><a href=t></textarea><script>"<a href=s>"</script>', []],
    ['<a href=one href=two>', ['anchor dir/one']],
    ['<amp-img src="/amp.png"></amp-img>', ['image! amp.png']],
  ];
  for (const [html, expected] of cases) assert.deepEqual(linesOf((await read(html)).links), expected, html);
});

test('a base element in a template or in SVG is ignored', async () => {
  const page = await read('<template><base href="/no/"></template><svg><base href="/no/"/></svg><a href=a></a>');
  assert.equal(page.base, undefined);
});

test('the first base element applies to the whole document', async () => {
  const page = await read('<a href=a></a><base href="/b/"><base href="/c/"><a href=b></a>');
  assert.deepEqual(linesOf(page.links), ['anchor b/a', 'anchor b/b']);
});

test('anchors have their text, the alternative text of their images, and nofollow', async () => {
  const [link] = (await read('<a href=x rel="external nofollow">The\n <b>bold</b> &amp; <img alt="picture"> end</a>'))
    .links;
  assert.deepEqual([link!.text, link!.isNofollow], ['The bold & picture end', true]);
  const both = (await read('<a href=x data-href=y.html rel=nofollow>x</a>')).links;
  assert.deepEqual(
    both.map(({ isNofollow }) => isNofollow),
    [true, true],
  );
});

test('the text is the visible text, with blocks on lines and decoded entities', async () => {
  const page = await read(
    '<!doctype html><html lang=fr-CA><head><title> A &lt;title&gt;\n here </title><style>p{color:red}</style></head><body>' +
      '<nav>Menu</nav><h1>One <i>h</i>eading</h1><p>caf&eacute;&nbsp;&#x4e2d;&hellip;<br>line<script>hidden()</script> two' +
      '<noscript>unseen</noscript><template>neither</template><ul><li>a<li>b</ul><table><tr><td>c<td>d<tr><td>e</table>' +
      '<pre>x\n  y</pre>in<b>side</b><footer>End</footer><svg><title>not the title</title></svg>',
  );
  assert.equal(page.title, 'A <title> here');
  assert.equal(page.language, 'fr');
  assert.deepEqual(page.headings, ['One heading']);
  assert.equal(
    page.text,
    'Menu\nOne heading\ncaf\u00e9 \u4e2d\u2026\nline two\na\nb\nc d\ne\nx\ny\ninside\nEnd\nnot the title',
  );
  assert.ok(!page.mainText.includes('Menu') && !page.mainText.includes('End'));
});

test('the readings of ruby text follow at the end of the line', async () => {
  const cases: [string, string][] = [
    [
      '<p><ruby>図<rt>と</rt>書<rt>しょ</rt>館<rt>かん</rt></ruby>で<ruby>本<rp>(</rp><rt>ほん</rt><rp>)</rp></ruby>を読む</p>次',
      '図書館で本を読む (としょかん ほん)\n次',
    ],
    ['<ruby>漢<rt>かん<rp>|</rp>字<rt>じ</ruby>。', '漢字。 (かんじ)'],
    ['<ruby><rb>東<rb>京<rt>とう<rt>きょう</ruby>', '東京 (とうきょう)'],
    ['<p><ruby>北<rt>never closed<p>another line', '北 (never closed)\nanother line'],
    ['<rt>without ruby</rt>', 'without ruby'],
    ['<ruby>漢<rt> <b>かん</b> </rt>字<rt>じ</rt></ruby>', '漢字 (かん じ)'],
  ];
  for (const [html, text] of cases) assert.equal((await read(html)).text, text, html);
});

test('a reading that is not closed does not hide the text after it', async () => {
  const { text } = await read(`<ruby>漢<rt>かん ${'word '.repeat(20_000)}<b>needle</b> <i>end</i>`);
  assert.match(text, /needle end/);
});

test('paragraphs and headings of invisible characters are empty', async () => {
  const page = await read('<h2>&#8203;</h2><p>&#8203; &shy;</p><p>one<b>&zwnj;</b>word</p>');
  assert.equal(page.text, 'oneword');
  assert.deepEqual(page.headings, []);
});

test('description, robots directives and dates of a document are read', async () => {
  const page = await read(
    '<meta name=description content="What it is"><meta name=robots content="noindex, NOFOLLOW"><meta property="og:title" content="Social">' +
      '<meta property="article:published_time" content="2024-03-01T10:00:00+01:00">' +
      '<script type="application/ld+json">{"dateModified":"2024-04-02"}</script>',
  );
  assert.equal(page.description, 'What it is');
  assert.equal(page.title, 'Social');
  assert.deepEqual(page.robots, { nofollow: true, noindex: true });
  assert.equal(page.publishedAt, Date.UTC(2024, 2, 1, 9));
  assert.equal(page.modifiedAt, Date.UTC(2024, 3, 2));
});

test('max-image-preview:none does not mean nofollow', async () => {
  const { robots } = await read('<meta name=robots content="index, follow, max-image-preview:none">');
  assert.deepEqual(robots, { nofollow: false, noindex: false });
});

test('in XHTML an empty script element does not hide the rest of the page', async () => {
  const page = await read('<html xmlns="x"><script src="a.js"/><p>seen</p></html>', 'application/xhtml+xml');
  assert.equal(page.text, 'seen');
});

type Node = DefaultTreeAdapterMap['node'];

/** The expected text and links, from the tree of parse5. */
function expectedOf(html: string): { links: string[]; text: string } {
  const links: string[] = [];
  let text = '';
  const pending: { node: Node; isShown: boolean }[] = [
    { node: parse(html, { scriptingEnabled: false }), isShown: true },
  ];
  while (pending.length > 0) {
    const { node, isShown } = pending.pop()!;
    if (node.nodeName === '#text') {
      if (isShown) text += (node as DefaultTreeAdapterMap['textNode']).value;
      continue;
    }
    const name = node.nodeName;
    for (const { name: attribute, value } of 'attrs' in node ? node.attrs : []) {
      if ((name === 'a' && attribute === 'href') || (name === 'img' && attribute === 'src')) links.push(value);
    }
    const isHidden = ['script', 'style', 'template', 'noscript', 'title', 'iframe', 'noembed', 'noframes'].includes(
      name,
    );
    const children = 'content' in node ? node.content.childNodes : 'childNodes' in node ? node.childNodes : [];
    for (const child of [...children].reverse()) pending.push({ node: child, isShown: isShown && !isHidden });
  }
  return { links, text };
}

test('text and links equal those of a full parser on generated documents', async () => {
  const seed = 20240301;
  const word = fc.constantFrom(
    'alpha',
    'beta &amp; gamma',
    '&copy;2024',
    'a &lt; b',
    '&notit;',
    '&#128512;',
    'x&y',
    '\u4e2d\u6587',
  );
  const link = fc.integer({ min: 0, max: 999 }).map((n) => `l${n}`);
  const { node } = fc.letrec<{ node: string }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 6 },
      word,
      link.map((href) => `<img src="${href}">`),
      fc.constantFrom(
        '<!-- c <b> -->',
        '<br>',
        '<script>var a = "<p>x</p>";</script>',
        '<style>b > i {}</style>',
        '</em>',
        '<hr/>',
        '<![CDATA[x]]>',
        '<?pi x?>',
      ),
      fc
        .tuple(
          fc.constantFrom('div', 'p', 'b', 'span', 'ul', 'section', 'h2', 'blockquote'),
          fc.array(tie('node'), { maxLength: 4 }),
          fc.boolean(),
        )
        .map(
          ([name, inner, isClosed]) => `<${name} class='x' data-y=z>${inner.join(' ')}${isClosed ? `</${name}>` : ''}`,
        ),
      fc.tuple(link, word).map(([href, text]) => `<a title="a > b" href=${href}>${text}</a>`),
      fc
        .tuple(fc.constantFrom('noscript', 'template'), fc.array(word, { maxLength: 2 }), link)
        .map(([name, inner, href]) => `<${name}>${inner.join(' ')}<img src='${href}'></${name}>`),
    ),
  }));
  await fc.assert(
    fc.asyncProperty(fc.array(node, { maxLength: 8 }), async (nodes) => {
      const html = `<!DOCTYPE html><title>t</title><body>${nodes.join('\n')}`;
      const page = await read(html);
      const expected = expectedOf(html);
      const strip = (text: string) => text.replace(/\s+/g, '');
      assert.equal(strip(page.text), strip(expected.text), html);
      const links = expected.links.map((value) => new URL(value, URL_OF_PAGE).href);
      assert.deepEqual(page.links.map((found) => found.url).sort(), links.sort(), html);
    }),
    { seed, numRuns: 300 },
  );
});

test('hostile documents are read in bounded time and stack', async () => {
  const deep = await read(`${'<div><a href=x>'.repeat(200_000)}end`);
  assert.equal(deep.text, 'end');
  assert.equal(deep.isTruncated, true);
  assert.equal(deep.links.length, 100_000);
  for (const html of [
    '<'.repeat(500_000),
    '<!--'.repeat(200_000),
    '<noframes><noembed>'.repeat(100_000),
    `<a ${'x='.repeat(300_000)}`,
    `<p style="${'url('.repeat(100_000)}">`,
    '&'.repeat(500_000),
    `<meta http-equiv=refresh content="${' '.repeat(300_000)}">`,
    `<img srcset="${','.repeat(500_000)}">`,
    `<script type=application/ld+json>${'['.repeat(200_000)}</script>`,
    `<title>${'a'.repeat(500_000)}`,
  ]) {
    assert.ok(await read(html));
  }
});

test('control characters count as spaces, so the text of a page of zeros is empty', async () => {
  const zeros = new Uint8Array(100_000);
  assert.equal((await readPageOnThisThread({ bytes: zeros, mime: 'text/html', url: 'http://a.test/' }, {}))?.text, '');
  const mixed = Buffer.from('<p>one\0\0two\x1f\x7fthree');
  assert.equal(
    (await readPageOnThisThread({ bytes: mixed, mime: 'text/html', url: 'http://a.test/' }, {}))?.text,
    'one two three',
  );
});
