import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { readSitemap, type Sitemap } from './feeds/sitemap.ts';
import { linksOfHeaders } from './html/header-links.ts';
import { PAGE_BYTES_MAX, pageKind, readPageOnThisThread } from './page.ts';

const url = 'http://example.org/dir/doc';

test('an RSS feed is read as a page: titles, text and links of its entries', async () => {
  const rss = `<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><link>http://example.org/</link><description>All of it</description><language>de</language>
    <item><title>First &amp; best</title><link>/one</link><description><![CDATA[<p>Hello <img src="/i.png"></p>]]></description><pubDate>Fri, 01 Mar 2024 10:00:00 GMT</pubDate><enclosure url="/a.mp3"/></item>
    <item><guid>http://example.org/two</guid><title>Second</title></item></channel></rss>`;
  const page = (await readPageOnThisThread({ bytes: Buffer.from(rss), mime: 'text/xml', url }))!;
  assert.equal(page.title, 'News');
  assert.equal(page.language, 'de');
  assert.equal(page.text, 'First & best\nHello\nSecond');
  assert.equal(page.modifiedAt, Date.UTC(2024, 2, 1, 10));
  assert.deepEqual(
    page.links.map((link) => [link.url, link.kind, link.text]),
    [
      ['http://example.org/', 'anchor', ''],
      ['http://example.org/i.png', 'image', ''],
      ['http://example.org/a.mp3', 'media', ''],
      ['http://example.org/one', 'anchor', 'First & best'],
      ['http://example.org/two', 'anchor', 'Second'],
    ],
  );
});

test('links of a feed are resolved against its own base', async () => {
  const atom = `<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://blog.example/all/"><link rel="self" href="atom"/>
    <entry><title>one</title><link href="one"/><content type="html">&lt;img src="one.png"&gt;</content></entry></feed>`;
  const page = (await readPageOnThisThread({
    bytes: Buffer.from(atom),
    mime: 'application/atom+xml',
    url: 'http://feeds.example/x/',
  }))!;
  assert.equal(page.base, 'http://blog.example/all/');
  assert.deepEqual(page.links.map(({ url }) => url).sort(), [
    'http://blog.example/all/atom',
    'http://blog.example/all/one',
    'http://blog.example/all/one.png',
  ]);
});

test('Atom and JSON feeds are read as pages', async () => {
  const atom = `<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en"><title>Blog</title><link rel="self" href="/atom"/><link rel="next" href="/atom?2"/>
    <entry><title>Post</title><link href="/post"/><content type="html">&lt;b&gt;Bold&lt;/b&gt; text</content></entry></feed>`;
  const page = (await readPageOnThisThread({ bytes: Buffer.from(atom), mime: 'application/atom+xml', url }))!;
  assert.equal(page.text, 'Post\nBold text');
  assert.deepEqual(
    page.links.map((link) => `${link.kind} ${link.url}`),
    ['feed http://example.org/atom', 'anchor http://example.org/atom?2', 'anchor http://example.org/post'],
  );
  const json = JSON.stringify({
    title: 'J',
    items: [{ url: '/j', title: 'Item', content_html: '<p>x<a href=/y>y</a>' }],
  });
  const feed = (await readPageOnThisThread({ bytes: Buffer.from(json), mime: 'application/feed+json', url }))!;
  assert.equal(feed.text, 'Item\nxy');
  assert.deepEqual(
    feed.links.map((link) => link.url),
    ['http://example.org/j', 'http://example.org/y'],
  );
});

test('XML sitemaps, sitemap indexes, text sitemaps and compressed sitemaps are read', () => {
  const xml =
    '<urlset xmlns="x" xmlns:image="y"><url><loc> http://example.org/a?x=1&amp;y=2 </loc><lastmod>2024-03-01</lastmod><image:image><image:loc>http://example.org/i.png</image:loc></image:image></url><url><loc>/b</loc></url></urlset>';
  const expected = {
    urls: [
      {
        url: 'http://example.org/a?x=1&y=2',
        modifiedAt: Date.UTC(2024, 2, 1),
        needs: [{ url: 'http://example.org/i.png', kind: 'image' }],
      },
      { url: 'http://example.org/b' },
    ],
    sitemaps: [],
  };
  assert.deepEqual(readSitemap(Buffer.from(xml), url), expected);
  assert.deepEqual(readSitemap(gzipSync(xml), url), expected);
  const joined = Buffer.concat([gzipSync(xml.slice(0, 200)), gzipSync(xml.slice(200)), Buffer.alloc(10)]);
  assert.deepEqual(readSitemap(joined, url), expected, 'several gzip members, with padding');
  const index = '<sitemapindex><sitemap><loc>http://example.org/s1.xml.gz</loc></sitemap></sitemapindex>';
  assert.deepEqual(readSitemap(Buffer.from(index), url), { urls: [], sitemaps: ['http://example.org/s1.xml.gz'] });
  const text = 'http://example.org/1\r\nnot a url\nhttps://example.org/2';
  assert.deepEqual(readSitemap(Buffer.from(text), url).urls, [
    { url: 'http://example.org/1' },
    { url: 'https://example.org/2' },
  ]);
});

test('alternate languages in a sitemap are listed once', () => {
  const link = (href: string) => `<xhtml:link rel="alternate" hreflang="x" href="${href}"/>`;
  const all = ['/en', '/de', '/fr'].map((path) => link(`http://example.org${path}`)).join('');
  const xml = `<urlset xmlns:xhtml="http://www.w3.org/1999/xhtml"><url><loc>/en</loc>${all}</url><url><loc>/de</loc>${all}${link('')}</url></urlset>`;
  assert.deepEqual(
    readSitemap(Buffer.from(xml), url).urls.map((entry) => entry.url),
    ['http://example.org/en', 'http://example.org/de', 'http://example.org/fr'],
  );
  for (const prefix of ['ns1:', 'x:']) {
    const { urls } = readSitemap(Buffer.from(xml.replaceAll('xhtml:', prefix)), url);
    assert.equal(urls.length, 3, prefix);
  }
});

test('images and videos in a sitemap are read with any namespace prefix, with entities and CDATA', () => {
  const sitemap = (image: string, video: string) =>
    `<urlset><url><loc>/a</loc><${image}:image><${image}:loc> /one.png?a=1&amp;b=2 </${image}:loc><${image}:caption>/no.png</${image}:caption></${image}:image>
      <${image}:image><${image}:loc><![CDATA[https://far.example/two.png?a=1&b=2]]></${image}:loc></${image}:image>
      <${video}:video><${video}:thumbnail_loc>/film.jpg</${video}:thumbnail_loc><${video}:title>film</${video}:title>
      <${video}:content_loc>/film.mp4</${video}:content_loc><${video}:player_loc allow_embed="yes">/player?film=1</${video}:player_loc></${video}:video></url>
      <url><loc>/b</loc><${image}:image><${image}:loc></${image}:loc></${image}:image></url>
      <url><${image}:image><${image}:loc>/of-no-page.png</${image}:loc></${image}:image></url><url><loc>/c</loc></url></urlset>`;
  const needs = [
    { url: 'http://example.org/one.png?a=1&b=2', kind: 'image' },
    { url: 'https://far.example/two.png?a=1&b=2', kind: 'image' },
    { url: 'http://example.org/film.jpg', kind: 'image' },
    { url: 'http://example.org/film.mp4', kind: 'media' },
    { url: 'http://example.org/player?film=1', kind: 'frame' },
  ];
  for (const [image, video] of [
    ['image', 'video'],
    ['ns1', 'ns2'],
    ['i', 'v'],
  ] as const)
    assert.deepEqual(
      readSitemap(Buffer.from(sitemap(image, video)), url),
      {
        urls: [
          { url: 'http://example.org/a', needs },
          { url: 'http://example.org/b' },
          { url: 'http://example.org/c' },
        ],
        sitemaps: [],
      },
      image,
    );
});

test('a sitemap with too many images is cut, and marked as truncated', () => {
  const picture = (number: number) => `<image:image><image:loc>/${number}.png</image:loc></image:image>`;
  const entry = (page: number) =>
    `<url><loc>/${page}</loc>${Array.from({ length: 1000 }, (_, number) => picture(page * 1000 + number)).join('')}</url>`;
  const sitemap = (pages: number) =>
    readSitemap(
      Buffer.from(`<urlset>${Array.from({ length: pages }, (_, page) => entry(page)).join('')}</urlset>`),
      url,
    );
  const count = ({ urls }: Sitemap) => urls.reduce((sum, { needs }) => sum + (needs?.length ?? 0), 0);
  const [full, over] = [sitemap(100), sitemap(101)];
  assert.deepEqual([full.urls.length, count(full), full.isTruncated], [100, 100_000, undefined]);
  assert.deepEqual([over.urls.length, count(over), over.isTruncated], [101, 100_000, true]);
});

test('a sitemap is recognised by its first element, with any prefix and any prolog', () => {
  const comment = `<!-- ${'made by a plugin '.repeat(300)} -->`;
  for (const root of ['<urlset>', '<sm:urlset xmlns:sm="x">', '<ns0:sitemapindex>'])
    for (const prolog of [
      '',
      '<?xml version="1.0"?>\n',
      `\ufeff<?xml version="1.0"?>\n${comment}\n<?xml-stylesheet?>\n`,
    ])
      assert.equal(pageKind('text/xml', Buffer.from(`${prolog}${root}`)), 'sitemap', prolog.slice(0, 30) + root);
  assert.equal(pageKind('text/xml', Buffer.from(`${comment}<other><urlset/></other>`)), undefined);
  assert.equal(pageKind('text/xml', Buffer.from('<?'.repeat(40_000))), undefined);
});

test('a compressed sitemap that inflates beyond the limit is cut', () => {
  const bomb = gzipSync(Buffer.alloc(101 * 1024 * 1024, 0x20), { level: 1 });
  assert.deepEqual(readSitemap(bomb, url), { urls: [], sitemaps: [], isTruncated: true });
});

test('the readable part of a cut compressed sitemap is marked as truncated', () => {
  const urls = Array.from({ length: 2000 }, (_, number) => `http://example.org/${(number * 2_654_435_761) % 2 ** 32}`);
  const whole = gzipSync(urls.join('\n'));
  assert.deepEqual(
    readSitemap(whole, url).urls.map((entry) => entry.url),
    urls,
  );
  const { urls: read, isTruncated } = readSitemap(whole.subarray(0, whole.length >> 1), url);
  assert.ok(read.length > 500 && read.length < 1500 && isTruncated, `${read.length} ${isTruncated}`);
});

test('links in HTTP headers are found with their relations', () => {
  const links = linksOfHeaders(
    [
      ['Link', '</s.css>; rel=preload; as=style, <two>; rel="next"; title="a, b"'],
      ['link', '<https://other.example/>; rel="canonical"'],
      ['Refresh', '5; url=/later'],
      ['Location', 'moved'],
      ['X', 'http://no'],
    ],
    url,
  );
  assert.deepEqual(
    links.map((link) => `${link.kind} ${link.url} ${link.text}`.trim()),
    [
      'style http://example.org/s.css',
      'anchor http://example.org/dir/two a, b',
      'canonical https://other.example/',
      'refresh http://example.org/later',
      'refresh http://example.org/dir/moved',
    ],
  );
});

/** A PDF of one page with a line of text, a link, a title and a correct cross-reference table. */
function pdf(): Buffer {
  const content = 'BT /F1 24 Tf 72 700 Td (Hello from a document) Tj ET';
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> /Annots [6 0 R] >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    '<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /A << /S /URI /URI (http://example.org/linked) >> >>',
    "<< /Title (A paper) /CreationDate (D:20240301100000+01'00') >>",
  ];
  let text = '%PDF-1.4\n';
  const offsets = objects.map((object, at) => {
    const offset = text.length;
    text += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const start = text.length;
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`;
  text += offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  text += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R /Info 7 0 R >>\nstartxref\n${start}\n%%EOF\n`;
  return Buffer.from(text, 'latin1');
}

test('a PDF is read with its links, title and date; a broken PDF gives an empty truncated page', async () => {
  const page = (await readPageOnThisThread({ bytes: pdf(), mime: 'application/pdf', url }))!;
  assert.equal(page.title, 'A paper');
  assert.equal(page.text, 'Hello from a document');
  assert.deepEqual(
    page.links.map((link) => link.url),
    ['http://example.org/linked'],
  );
  assert.equal(page.publishedAt, Date.UTC(2024, 2, 1, 9));
  const broken = (await readPageOnThisThread({
    bytes: Buffer.from('%PDF-1.4 nothing more'),
    mime: 'application/pdf',
    url,
  }))!;
  assert.deepEqual([broken.text, broken.isTruncated], ['', true]);
});

test('the kind of page is detected from the first bytes if the media type is unknown', async () => {
  const kindOf = async (text: string, mime: string) =>
    (await readPageOnThisThread({ bytes: Buffer.from(text), mime, url }))?.text;
  assert.equal(await kindOf('<!DOCTYPE html><p>x', ''), 'x');
  assert.equal(await kindOf('<!DOCTYPE html><p>x', 'application/octet-stream'), 'x');
  assert.equal(await kindOf('\n<title>t</title><p>x', ''), 'x');
  assert.equal(await kindOf('<A HREF=/y>x</A>', ''), 'x');
  assert.equal(await kindOf('<abbr>x</abbr>', ''), undefined);
  for (const nothing of ['', 'html', 'unk', 'no-type', '*/*', 'unknown/unknown', 'application/unknown'])
    assert.equal(await kindOf('<!DOCTYPE html><p>x', nothing), 'x', nothing);
  assert.equal(await kindOf('GIF89a', 'application/octet-stream'), undefined);
  assert.equal(await kindOf('line one\n\n  line two ', 'text/plain; charset=utf-8'), 'line one\nline two');
  assert.equal(await kindOf('x', 'image/png'), undefined);
  assert.equal(await kindOf('x', 'constructor'), undefined);
});

test('the language is detected if it is not declared', async () => {
  const german =
    'Die Bibliothek bewahrt B\u00fccher und Zeitungen der vergangenen Jahre auf, damit sie gelesen werden.';
  assert.equal(
    (await readPageOnThisThread({ bytes: Buffer.from(`<p>${german}`), mime: 'text/html', url }))!.language,
    'de',
  );
  assert.equal(
    (await readPageOnThisThread({ bytes: Buffer.from(`<html lang=en><p>${german}`), mime: 'text/html', url }))!
      .language,
    'en',
  );
});

test('a document that is cut at PAGE_BYTES_MAX is marked as truncated', async () => {
  const bytes = Buffer.alloc(PAGE_BYTES_MAX + 1000, `<p>${'word '.repeat(100)}`);
  const page = (await readPageOnThisThread({ bytes, mime: 'text/html', url }, { text: false }))!;
  assert.equal(page.isTruncated, true);
});

test('as in browsers, queries of links are encoded in the charset of the page and paths in UTF-8', async () => {
  const url = 'http://a.example/d/';
  const linksOf = async (bytes: Uint8Array, contentType: string) =>
    (await readPageOnThisThread({ bytes, mime: 'text/html', url, contentType }))!.links.map((link) => [
      link.url,
      link.href,
    ]);
  const latin = Buffer.from(
    '<a href="/\xe9?q=\xe9&amp;r=%E9&amp;s=&#8364;&#1078;#\xe9">x</a><a href="?z">z</a>',
    'latin1',
  );
  assert.deepEqual(await linksOf(latin, 'text/html; charset=iso-8859-1'), [
    ['http://a.example/%C3%A9?q=%E9&r=%E9&s=%80%26%231078%3B', '/\u00e9?q=%E9&r=%E9&s=%80%26%231078%3B#\u00e9'],
    ['http://a.example/d/?z', '?z'],
  ]);
  const cyrillic = Buffer.from('<meta charset=windows-1251><img src="i?\xe6">', 'latin1');
  assert.deepEqual(await linksOf(cyrillic, 'text/html'), [['http://a.example/d/i?%E6', 'i?%E6']]);
  const japanese = Buffer.from('<a href="http://b.example/?q=\x93\xfa\x96\x7b">x</a>', 'latin1');
  assert.deepEqual(await linksOf(japanese, 'text/html; charset=shift_jis'), [
    ['http://b.example/?q=%93%FA%96%7B', undefined],
  ]);
  for (const charset of ['utf-8', 'utf-16le'] as const) {
    const text = '<a href="?q=\u00e9">x</a>';
    const bytes = charset === 'utf-8' ? Buffer.from(text) : Buffer.from(text, 'utf16le');
    assert.deepEqual((await linksOf(bytes, `text/html; charset=${charset}`))[0]![0], 'http://a.example/d/?q=%C3%A9');
  }
});
