/** Sound pages of every kind that is read. They are the same in every run. */
import { deflateSync, gzipSync } from 'node:zlib';
import { zipFile } from './zip-file.ts';

export type PageInput = { readonly name: string; readonly mime: string; readonly bytes: Buffer };

export const PAGE_URL = 'http://example.test/dir/page';

const HTML = `<!doctype html><html lang="en"><head><meta charset="windows-1252"><title>The caf\u00e9 &amp; more</title><base href="/base/">
<meta name="robots" content="nofollow"><meta http-equiv="refresh" content="5; url=/next"><link rel="stylesheet" href="style.css">
<script type="importmap">{"imports": {"a": "/a.js"}}</script><script type="application/ld+json">{"@type": "WebPage", "url": "/in-json"}</script>
<script>import('./later.js'); var page = "/x";</script><style>@import url("more.css"); p { background: url(p.png) }</style></head>
<body style="background: url('b.png')"><h1>Heading</h1><p>Some <b>words</b> &#x263a; &notanentity; <a href="a?b=c&amp;d">link</a>
<img src="i.png" srcset="i2.png 2x, i3.png 3x"><iframe srcdoc="&lt;a href=inner&gt;x&lt;/a&gt;"></iframe><svg><a xlink:href="s"/></svg>
<table><tr><td>cell</table><template><a href="t">t</a></template><noscript><img src="n.png"></noscript><!-- comment --><![CDATA[x]]></body></html>`;

const CSS =
  '@charset "utf-8"; @import "a.css" screen; /* c */ @font-face { src: url("f.woff2") format("woff2") } a { background: url(x\\(y.png), image-set("z.png" 1x) }';
const SCRIPT =
  'import a from "./a.js"; export * from "./b.js"; const c = import(`./c.js`); /* import "./no.js" */ const r = /["\\/]import/; import("./d.js"); `a\\`b`;';
const RSS =
  '<?xml version="1.0"?><rss version="2.0"><channel><title>T</title><link>http://example.test/</link><item><title>One</title><link>/one</link><description>&lt;a href="/d"&gt;d&lt;/a&gt;</description><enclosure url="/e.mp3"/></item></channel></rss>';
const ATOM =
  '<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><entry><title>E</title><link href="/e" rel="alternate"/><content type="html">&lt;img src="/i.png"&gt;</content><updated>2024-03-01T10:00:00Z</updated></entry></feed>';
const JSON_FEED = JSON.stringify({
  version: 'https://jsonfeed.org/version/1.1',
  title: 'T',
  items: [{ id: '1', url: '/one', content_html: '<a href="/x">x</a>', attachments: [{ url: '/a.mp3' }] }],
});
const SITEMAP =
  '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="x"><url><loc>http://example.test/a</loc><lastmod>2024-03-01</lastmod><image:image><image:loc>/i.png</image:loc></image:image></url></urlset>';
const SITEMAP_INDEX =
  '<sitemapindex><sitemap><loc>http://example.test/1.xml</loc></sitemap><sitemap><loc>/2.xml.gz</loc></sitemap></sitemapindex>';
const MANIFEST = JSON.stringify({ name: 'App', start_url: '/start', icons: [{ src: '/i.png', sizes: '48x48' }] });
const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg"><title>S</title><a href="/s"><text>words</text></a><image href="i.png"/></svg>';

/** A PDF with these objects, numbered from 1; the first is its catalog. */
export function pdfOf(objects: readonly (string | Buffer)[]): Buffer {
  const parts: Buffer[] = [Buffer.from('%PDF-1.7\n')];
  let length = parts[0]!.length;
  const offsets = objects.map((object, at) => {
    const offset = length;
    const whole = Buffer.concat([
      Buffer.from(`${at + 1} 0 obj\n`),
      Buffer.from(object as Buffer),
      Buffer.from('\nendobj\n'),
    ]);
    parts.push(whole);
    length += whole.length;
    return offset;
  });
  const table = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const end = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${length}\n%%EOF\n`;
  return Buffer.concat([...parts, Buffer.from(end)]);
}

/** A PDF of one page with this content. */
export function pagePdf(content: Uint8Array): Buffer {
  const packed = deflateSync(content);
  return pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    Buffer.concat([
      Buffer.from(`<< /Length ${packed.length} /Filter /FlateDecode >>\nstream\n`),
      packed,
      Buffer.from('\nendstream'),
    ]),
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ]);
}

const OFFICE = 'application/vnd.openxmlformats-officedocument';

/** A Word document with this body. */
export function docx(body: string): Buffer {
  return zipFile([
    { name: '[Content_Types].xml', content: '<Types/>' },
    {
      name: '_rels/.rels',
      content: '<Relationships><Relationship Type="x/officeDocument" Target="word/document.xml"/></Relationships>',
    },
    { name: 'word/document.xml', content: `<w:document xmlns:w="w"><w:body>${body}</w:body></w:document>` },
    {
      name: 'word/_rels/document.xml.rels',
      content:
        '<Relationships><Relationship Id="r1" Target="http://example.test/linked" TargetMode="External"/></Relationships>',
    },
    { name: 'docProps/core.xml', content: '<cp:coreProperties><dc:title>Title</dc:title></cp:coreProperties>' },
  ]);
}

export function pageInputs(): PageInput[] {
  const odt = zipFile([
    { name: 'mimetype', content: 'application/vnd.oasis.opendocument.text', isStored: true },
    {
      name: 'content.xml',
      content:
        '<office:document-content><office:body><text:p>Words <text:a xlink:href="http://example.test/o">o</text:a></text:p></office:body></office:document-content>',
    },
  ]);
  const xlsx = zipFile([
    { name: '[Content_Types].xml', content: '<Types/>' },
    {
      name: '_rels/.rels',
      content: '<Relationships><Relationship Type="x/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    },
    {
      name: 'xl/workbook.xml',
      content: '<workbook><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
    },
    {
      name: 'xl/_rels/workbook.xml.rels',
      content: '<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>',
    },
    {
      name: 'xl/worksheets/sheet1.xml',
      content: '<worksheet><sheetData><row><c t="s"><v>0</v></c></row></sheetData></worksheet>',
    },
    { name: 'xl/sharedStrings.xml', content: '<sst><si><t>shared words</t></si></sst>' },
  ]);
  const texts: readonly (readonly [name: string, mime: string, text: string])[] = [
    ['html', 'text/html', HTML],
    ['html of no charset', 'text/html', HTML.replace('<meta charset="windows-1252">', '')],
    ['xhtml', 'application/xhtml+xml', HTML.toLowerCase()],
    ['html of no type', 'application/octet-stream', HTML],
    ['style sheet', 'text/css', CSS],
    ['script', 'text/javascript', SCRIPT],
    ['rss', 'application/rss+xml', RSS],
    ['atom', 'application/atom+xml', ATOM],
    ['json feed', 'application/feed+json', JSON_FEED],
    ['sitemap', 'application/xml', SITEMAP],
    ['sitemap index', 'application/xml', SITEMAP_INDEX],
    ['list of URLs', 'text/plain', 'http://example.test/1\nhttp://example.test/2\n'],
    ['manifest', 'application/manifest+json', MANIFEST],
    ['svg', 'image/svg+xml', SVG],
    ['text', 'text/plain', 'Just some words of a text, \u4e00\u4e8c\u4e09.\n'],
  ];
  return [
    ...texts.map(([name, mime, text]) => ({ name, mime, bytes: Buffer.from(text) })),
    { name: 'html in UTF-16', mime: 'text/html; charset=utf-16', bytes: Buffer.from(`\ufeff${HTML}`, 'utf16le') },
    { name: 'packed sitemap', mime: 'application/gzip', bytes: gzipSync(SITEMAP) },
    {
      name: 'docx',
      mime: `${OFFICE}.wordprocessingml.document`,
      bytes: docx('<w:p><w:r><w:t>Words</w:t></w:r></w:p>'),
    },
    { name: 'xlsx', mime: `${OFFICE}.spreadsheetml.sheet`, bytes: xlsx },
    { name: 'odt', mime: 'application/vnd.oasis.opendocument.text', bytes: odt },
    { name: 'pdf', mime: 'application/pdf', bytes: pagePdf(Buffer.from('BT /F1 12 Tf (words of a page) Tj ET')) },
  ];
}
