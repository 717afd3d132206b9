import assert from 'node:assert/strict';
import test from 'node:test';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { type DefaultTreeAdapterTypes, parse } from 'parse5';
import { HtmlRewriter } from './html-rewriter.ts';
import { LinkRewriter } from './link-rewriter.ts';

const TIME = Date.UTC(2024, 2, 1, 12);
const URL_OF_PAGE = 'https://example.org/dir/page.html';
const web = (modifier: string, url: string) => `/web/20240301120000${modifier}/${url}`;

function rewritten(html: string, options: { head?: string; isXml?: boolean; cuts?: number[] } = {}): string {
  const { head = '', isXml = false, cuts = [] } = options;
  const rewriter = new HtmlRewriter({ links: new LinkRewriter(URL_OF_PAGE, TIME), head, isXml });
  const places = [0, ...cuts.map((cut) => cut % (html.length + 1)).sort((a, b) => a - b), html.length];
  let out = '';
  for (let at = 1; at < places.length; at++) out += rewriter.write(html.slice(places[at - 1], places[at]));
  return out + rewriter.end();
}

const SNIPPETS: readonly [html: string, expected: string][] = [
  ['<a href="x.html">', `<a href="${web('mp_', 'https://example.org/dir/x.html')}">`],
  ["<a href='/x?a=1&amp;b=2'>", `<a href='${web('mp_', 'https://example.org/x?a=1&amp;b=2')}'>`],
  ['<a href=//other.example/x>', `<a href=${web('mp_', 'https://other.example/x')}>`],
  ['<a href=../up>', `<a href="${web('mp_', 'https://example.org/up')}">`],
  ['<a href="&#104;ttp://h.example/">', `<a href="${web('mp_', 'http://h.example/')}">`],
  ['<a href="http&colon;//h.example/">', `<a href="${web('mp_', 'http://h.example/')}">`],
  ['<A HREF="HTTP://H.example/">', `<A HREF="${web('mp_', 'HTTP://H.example/')}">`],
  ['<a href="#x">', '<a href="#x">'],
  ['<a href>', '<a href>'],
  ['<a href="mailto:a@b.example">', '<a href="mailto:a@b.example">'],
  ['<a target="_top" href="x">', `<a target="_top" href="${web('mp_', 'https://example.org/dir/x')}">`],
  ['<img src="a.png">', `<img src="${web('im_', 'https://example.org/dir/a.png')}">`],
  ['<img src="data:image/gif;base64,R0lGOD">', '<img src="data:image/gif;base64,R0lGOD">'],
  [
    '<img srcset="a.png, b.png 2x, https://c.example/c,1.png 100w">',
    `<img srcset="${web('im_', 'https://example.org/dir/a.png')}, ${web('im_', 'https://example.org/dir/b.png')} 2x, ${web('im_', 'https://c.example/c,1.png')} 100w">`,
  ],
  [
    '<source srcset="data:image/png;base64,AA 1x,b.png 2x">',
    `<source srcset="data:image/png;base64,AA 1x,${web('im_', 'https://example.org/dir/b.png')} 2x">`,
  ],
  [
    '<link rel="stylesheet" href="a.css">',
    `<link rel="stylesheet" href="${web('cs_', 'https://example.org/dir/a.css')}">`,
  ],
  [
    '<link href="a.woff2" rel=preload as=font>',
    `<link href="${web('oe_', 'https://example.org/dir/a.woff2')}" rel=preload as=font>`,
  ],
  ['<link rel=modulepreload href=/m.js>', `<link rel=modulepreload href="${web('esm_', 'https://example.org/m.js')}">`],
  [
    '<link rel="preload" imagesrcset="a 1x">',
    `<link rel="preload" imagesrcset="${web('im_', 'https://example.org/dir/a')} 1x">`,
  ],
  [
    '<script src="a.js" integrity="sha256-x"></script>',
    `<script src="${web('js_', 'https://example.org/dir/a.js')}" data-archived-integrity="sha256-x"></script>`,
  ],
  [
    '<script type="module" src="a.js"></script>',
    `<script type="module" src="${web('esm_', 'https://example.org/dir/a.js')}"></script>`,
  ],
  ['<iframe src="f.html"></iframe>', `<iframe src="${web('if_', 'https://example.org/dir/f.html')}"></iframe>`],
  [
    '<video poster=p.jpg src=v.mp4></video>',
    `<video poster="${web('im_', 'https://example.org/dir/p.jpg')}" src="${web('oe_', 'https://example.org/dir/v.mp4')}"></video>`,
  ],
  ['<object data="o.swf">', `<object data="${web('oe_', 'https://example.org/dir/o.swf')}">`],
  [
    '<form action="/go"><button formaction="/b">',
    `<form action="${web('mp_', 'https://example.org/go')}"><button formaction="${web('mp_', 'https://example.org/b')}">`,
  ],
  ['<body background=b.gif>', `<body background="${web('im_', 'https://example.org/dir/b.gif')}">`],
  ['<q cite="/s">', `<q cite="${web('mp_', 'https://example.org/s')}">`],
  ['<iframe sandbox="allow-scripts">', '<iframe sandbox="allow-scripts allow-same-origin">'],
  ['<iframe sandbox="allow-forms">', '<iframe sandbox="allow-forms">'],
  ['<a ping="https://spy.example/">', '<a data-archived-ping="https://spy.example/">'],
  [
    '<p style="background:url(&quot;b.png&quot;)">',
    `<p style="background:url(&quot;${web('oe_', 'https://example.org/dir/b.png')}&quot;)">`,
  ],
  [
    '<style>@import "a.css";b{c:url(d.png)}</style>',
    `<style>@import "${web('cs_', 'https://example.org/dir/a.css')}";b{c:url(${web('oe_', 'https://example.org/dir/d.png')})}</style>`,
  ],
  [
    '<meta http-equiv=refresh content="5; url=next.html">',
    `<meta http-equiv=refresh content="5; url=${web('mp_', 'https://example.org/dir/next.html')}">`,
  ],
  [
    '<meta http-equiv="Refresh" content="0;URL=\'http://h.example/\'">',
    `<meta http-equiv="Refresh" content="0;URL='${web('mp_', 'http://h.example/')}'">`,
  ],
  [
    '<meta http-equiv="Content-Security-Policy" content="default-src *">',
    '<meta data-archived-http-equiv="Content-Security-Policy" content="default-src *">',
  ],
  ['<meta charset="windows-1251">', '<meta charset="utf-8">'],
  [
    '<meta http-equiv=content-type content="text/html; charset=koi8-r">',
    '<meta http-equiv=content-type content="text/html; charset=utf-8">',
  ],
  [
    '<base href="/sub/"><img src="a.png">',
    `<base href="${web('mp_', 'https://example.org/sub/')}"><img src="${web('im_', 'https://example.org/sub/a.png')}">`,
  ],
  [
    '<svg><image href="a.png"/><use xlink:href="#i"/><use href="s.svg#i"/></svg>',
    `<svg><image href="${web('im_', 'https://example.org/dir/a.png')}"/><use xlink:href="#i"/><use href="${web('oe_', 'https://example.org/dir/s.svg#i')}"/></svg>`,
  ],
  [
    '<param name="movie" value="m.swf"><param name="quality" value="high">',
    `<param name="movie" value="${web('oe_', 'https://example.org/dir/m.swf')}"><param name="quality" value="high">`,
  ],
  ['<my-thing src="a.png">', '<my-thing src="a.png">'],
  ['<input value="http://x.example/" name="q">', '<input value="http://x.example/" name="q">'],
  [
    '<script type="application/json">{"a":"location"}</script>',
    '<script type="application/json">{"a":"location"}</script>',
  ],
  [
    '<script type="importmap">{"imports":{"a":"/a.js"}}</script>',
    `<script type="importmap">{"imports":{"a":"${web('esm_', 'https://example.org/a.js')}"}}</script>`,
  ],
  ['<script type="speculationrules">{"prefetch":[]}</script>', '<script type="speculationrules">{}</script>'],
  ['<script>var x = 1 < 2;</script>', '<script>var x = 1 < 2;</script>'],
  ['<textarea><img src="a.png"></textarea>', '<textarea><img src="a.png"></textarea>'],
  ['<!-- <img src="a.png"> -->', '<!-- <img src="a.png"> -->'],
  ['<a href="javascript:void(0)">', '<a href="javascript:void(0)">'],
  ['a < b <img src=x>', `a < b <img src="${web('im_', 'https://example.org/dir/x')}">`],
];

for (const [html, expected] of SNIPPETS) {
  test(`rewrites ${html}`, () => {
    const normal = (text: string) => JSON.stringify(treeOf(text));
    const found = rewritten(html);
    if (found !== expected) assert.equal(normal(found), normal(expected));
  });
}

test('handlers and javascript: links are rewritten as scripts', () => {
  assert.match(rewritten(`<a onclick="location = 'x'">`), /__pinakes_place:.*\(\(\)=>location,/);
  assert.equal(rewritten('<b on-place="top" on:go="window">'), '<b on-place="top" on:go="window">');
  assert.match(rewritten(`<a href="javascript:window.open('x')">`), /javascript:var _____WB\$wombat/);
  assert.match(rewritten('<script>window.x = 1</script>'), /^<script>var _____WB.*window\.x = 1\n\}\}<\/script>$/s);
});

test('a document in an attribute is rewritten as a document', () => {
  const found = rewritten(`<iframe srcdoc="<img src='a.png'>"></iframe>`, { head: '<i></i>' });
  assert.ok(found.includes(`&lt;i>&lt;/i>&lt;img src='${web('im_', 'https://example.org/dir/a.png')}'`), found);
});

const HEAD = '<script src="/static/x.js"></script>';

for (const [html, expected] of [
  ['<!doctype html><html><head><title>t</title>', `<!doctype html><html><head>${HEAD}<title>t</title>`],
  ['<!doctype html><title>t</title>', `<!doctype html>${HEAD}<title>t</title>`],
  ['<!-- c -->\n<html><body>x', `<!-- c -->\n<html>${HEAD}<body>x`],
  ['just text', `${HEAD}just text`],
  ['</p><b>', `${HEAD}</p><b>`],
  ['<html></html>', `<html>${HEAD}</html>`],
  ['<html>', `<html>${HEAD}`],
] as const) {
  test(`the head of ${JSON.stringify(html)} begins with the scripts of replay`, () =>
    assert.equal(rewritten(html, { head: HEAD }), expected));
}

test('the head of an XHTML document is XML; an SVG document has no head', () => {
  const xhtml = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head></html>';
  assert.equal(rewritten(xhtml, { head: HEAD, isXml: true }), xhtml.replace('<head>', `<head>${HEAD}`));
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"><image href="a.png"/></svg>';
  assert.equal(
    rewritten(svg, { head: HEAD, isXml: true }),
    svg.replace('a.png', web('im_', 'https://example.org/dir/a.png')),
  );
});

test('scripts in XML keep their meaning', () => {
  const found = rewritten('<svg><script>if (window.a &lt; 1 &amp;&amp; b) c()</script></svg>', { isXml: true });
  assert.match(found, /<script><!\[CDATA\[.*window\.a < 1 && b.*\]\]><\/script>/s);
});

for (const [open, close] of [
  ['//<![CDATA[', '//]]>'],
  ['/*<![CDATA[*/', '/*]]>*/'],
  ['<![CDATA[', ']]>'],
] as const)
  test(`scripts in XML run between ${open} and ${close}`, () => {
    const script = `${open}\nfound = top === window && 1 < 2;\n${close}`;
    const html = rewritten(`<html><script>${script}</script></html>`, { isXml: true });
    const text = /<script>(.*)<\/script>/s.exec(html)![1]!.replaceAll(/<!\[CDATA\[|\]\]>/g, '');
    const scope: Record<string, unknown> = { window: 1, top: 1 };
    runInNewContext(`var self = this;${text}`, scope);
    assert.equal(scope.found, true);
  });

test('in SVG within HTML, style and script have markup', () => {
  const found = rewritten('<svg><style><a href="x"></a></style></svg><img src="a">');
  assert.ok(found.endsWith(`<img src="${web('im_', 'https://example.org/dir/a')}">`), found);
});

/** Names, attributes and texts of a parsed document; with `withLinks` false, without the attributes that have links. */
function treeOf(html: string, withLinks = true): unknown {
  const walk = (node: DefaultTreeAdapterTypes.Node): unknown => {
    const { nodeName } = node;
    const children = 'childNodes' in node ? node.childNodes.map(walk) : [];
    const attributes = 'attrs' in node ? node.attrs.filter(({ name }) => withLinks || !LINK_ATTRIBUTES.has(name)) : [];
    const isRaw = 'parentNode' in node && node.parentNode && /^(?:script|style)$/.test(node.parentNode.nodeName);
    return [
      nodeName,
      attributes.map(({ name, value }) => [name, value]),
      'value' in node && (withLinks || !isRaw) ? node.value : '',
      children,
    ];
  };
  return walk(parse(html));
}

const LINK_ATTRIBUTES = new Set([
  'href',
  'src',
  'srcset',
  'style',
  'action',
  'background',
  'content',
  'data',
  'poster',
  'target',
  'onclick',
  'ping',
  'data-archived-ping',
  'xlink:href',
  'imagesrcset',
  'formaction',
  'integrity',
  'data-archived-integrity',
]);

const link = fc.constantFrom(
  'http://out.example/',
  '//out.example/a',
  '/b',
  'c',
  '../d',
  'https://out.example/?a=1&amp;b',
  '#e',
  'data:,x',
  '&#104;ttp://out.example/',
  ' http://out.example/ ',
  'h\nttp://out.example',
);
const quoted = fc.tuple(link, fc.constantFrom('"', "'")).map(([url, quote]) => quote + url + quote);
const attribute = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(
        'href',
        'src',
        'SRC',
        'action',
        'data',
        'background',
        'poster',
        'xlink:href',
        'class',
        'formaction',
      ),
      quoted,
    )
    .map(([name, value]) => `${name}=${value}`),
  fc.tuple(fc.constantFrom('srcset', 'imagesrcset'), link).map(([name, url]) => `${name}="${url.trim()} 1x, x.png 2x"`),
  fc.constantFrom('hidden', 'style="a:url(http://out.example/x)"', "onclick='location = 1'", 'a=b', '/'),
);
const piece = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(
        'a',
        'img',
        'DIV',
        'link rel=stylesheet',
        'iframe',
        'svg',
        'image',
        'form',
        'object',
        'video',
        'p',
        'table',
        'td',
      ),
      fc.array(attribute, { maxLength: 3 }),
    )
    .map(([name, attributes]) => `<${[name, ...attributes].join(' ')}>`),
  fc.constantFrom(
    '</a>',
    '</svg>',
    '</div>',
    '<!-- x -->',
    'text & more',
    '<',
    '>',
    '<br/>',
    '<script>window.a = "<b>"</script>',
    '<style>a{b:url(c)}</style>',
    '<title>x</title>',
    '</iframe>',
    '<!doctype html>',
    '<head>',
    '<base href="http://base.example/x/">',
  ),
);
const page = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));

test('the rewritten page has the same tree, except for links', () => {
  fc.assert(
    fc.property(page, (html) => assert.deepEqual(treeOf(rewritten(html), false), treeOf(html, false))),
    { numRuns: 400 },
  );
});

test('no known attribute keeps a link to elsewhere', () => {
  const isOutside = (value: string) => {
    const seen = URL.parse(value, 'http://replay.example/web/20240301120000mp_/https://example.org/');
    return seen !== null && /^https?:$/.test(seen.protocol) && seen.origin !== 'http://replay.example';
  };
  const walk = (node: DefaultTreeAdapterTypes.Node): void => {
    if ('attrs' in node) {
      for (const { name, value } of node.attrs) {
        if (/^(?:href|src|action|data|background|poster|formaction|xlink:href)$/.test(name) && node.nodeName !== 'html')
          assert.ok(!isOutside(value) || isInert(node.nodeName, name), `${node.nodeName} ${name}=${value}`);
      }
    }
    if ('childNodes' in node) node.childNodes.forEach(walk);
  };
  // Attributes without a meaning on an element are not links.
  const isInert = (element: string, name: string) =>
    (name === 'data' && element !== 'object') || (name === 'action' && element !== 'form');
  fc.assert(
    fc.property(page, (html) => walk(parse(rewritten(html)))),
    { numRuns: 400 },
  );
});

test('the output does not depend on how the input is cut into pieces', () => {
  fc.assert(
    fc.property(page, fc.array(fc.nat(), { maxLength: 20 }), (html, cuts) => {
      assert.equal(rewritten(html, { head: HEAD, cuts }), rewritten(html, { head: HEAD }));
    }),
    { numRuns: 400 },
  );
  const all = SNIPPETS.map(([html]) => html).join('\n');
  const every = Array.from({ length: all.length }, (_, at) => at);
  assert.equal(rewritten(all, { head: HEAD, cuts: every }), rewritten(all, { head: HEAD }));
});

for (const html of [
  '<a><svg></a><iframe><a href="/x"></iframe>',
  '<div><svg></div><script>"<p>".x = location</script>',
  '<p><svg></p><style>a { b: url(/c) }</style>',
  '<a><svg><a></a><style>&quot;</style></svg></a>',
  '<div><svg><foreignObject><p></div><style>x</style></foreignObject><style>&amp;</style></svg>',
  '<div><svg><foreignObject><div><svg></div><style>&amp;</style></div></foreignObject></svg>',
]) {
  test(`${html} keeps its tree`, () => {
    assert.deepEqual(treeOf(rewritten(html), false), treeOf(html, false));
  });
}

/** Long enough for quadratic time to take hours. */
const LONG = 1_000_000;
for (const [name, html] of [
  ['attributes of one name', `<param ${'value=a '.repeat(LONG)}>`],
  ['attributes of one name on a meta element', `<meta http-equiv=refresh ${'content=a '.repeat(LONG)}>`],
  ['spaces in a refresh', `<meta http-equiv=refresh content="0;url=x${' '.repeat(LONG)}y">`],
  ['spaces before a refresh', `<meta http-equiv=refresh content="${' '.repeat(LONG)}x">`],
  ['commas in a srcset', `<img srcset="a${','.repeat(LONG)}x">`],
  ['openings of CDATA sections', `<svg><style>${'<![CDATA['.repeat(LONG / 10)}</style></svg>`],
  ['elements of different names', Array.from({ length: LONG / 10 }, (_, index) => `<x${index}>`).join('')],
] as const) {
  test(`a page with very many ${name} is rewritten`, () => {
    assert.ok(rewritten(html).length >= html.length);
  });
}

test('a tag or a script without an end passes unchanged in bounded memory', () => {
  const links = new LinkRewriter(URL_OF_PAGE, TIME);
  const rewriter = new HtmlRewriter({ links, head: '' });
  let length = rewriter.write('<p><script>window.a = "').length;
  const chunk = 'x'.repeat(1024 * 1024);
  for (let count = 0; count < 20; count++) length += rewriter.write(chunk).length;
  assert.ok(length > 8 * chunk.length, 'what is too long to hold goes out');
  length += rewriter.write('"</script><img src="a.png">').length;
  assert.ok(rewriter.end().length + length > 20 * chunk.length);
});

test('forms send input in the former charset of the page', () => {
  const sent = (html: string, charset: string) => {
    const rewriter = new HtmlRewriter({ links: new LinkRewriter(URL_OF_PAGE, TIME, charset), head: '' });
    return rewriter.write(html) + rewriter.end();
  };
  const action = web('mp_', 'https://example.org/s');
  assert.equal(sent('<form action="/s">', 'windows-1251'), `<form accept-charset="windows-1251" action="${action}">`);
  assert.equal(sent('<FORM>', 'shift_jis'), '<FORM accept-charset="shift_jis">');
  assert.equal(sent('<form accept-charset=utf-8>', 'shift_jis'), '<form accept-charset=utf-8>');
  assert.equal(sent('<form action="/s">', 'utf-8'), `<form action="${action}">`);
});
