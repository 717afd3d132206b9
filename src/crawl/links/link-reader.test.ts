import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { utf8 } from '../../base/index.ts';
import { parseHttpHead } from '../../warc/index.ts';
import { type PageFindings, readFindings, type UnreadPage } from './link-batch.ts';
import { LinkReader } from './link-reader.ts';

let directory: string;
/** A thread like `link-worker.ts` that never answers a batch with the word STUCK. */
let stuckWorker: URL;
/** A thread that takes three seconds to start. */
let lateWorker: URL;
/** A thread that fails to start. */
let brokenWorker: URL;
before(() => {
  directory = mkdtempSync(join(tmpdir(), 'pinakes-links-'));
  const script = (name: string, text: string) => {
    const path = join(directory, name);
    writeFileSync(path, text);
    return pathToFileURL(path);
  };
  const stuck = `
    import { answerJobs } from ${JSON.stringify(import.meta.resolve('../../base/index.ts'))};
    import { readBatch } from ${JSON.stringify(import.meta.resolve('./link-batch.ts'))};
    answerJobs((batch, tell) => {
      tell('begun');
      const isStuck = batch.pages.some(({ bytes }) => Buffer.from(bytes).includes('STUCK'));
      while (isStuck);
      return readBatch(batch);
    });`;
  stuckWorker = script('stuck-worker.ts', stuck);
  lateWorker = script('late-worker.ts', `${stuck} Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000);`);
  brokenWorker = script('broken-worker.ts', `throw new Error('EMFILE: too many open files');`);
});
after(() => rmSync(directory, { recursive: true, force: true }));

function page(number: number, links: readonly string[]): UnreadPage {
  const isCoded = number % 3 === 0;
  const markup = utf8(`<title>${number}</title>${links.join('')}`);
  const body = isCoded ? gzipSync(markup) : markup;
  const isChunked = number % 2 === 0;
  const framed = isChunked
    ? Buffer.concat([utf8(`${body.length.toString(16)}\r\n`), body, utf8('\r\n0\r\n\r\n')])
    : Buffer.from(body);
  const fields = ['Content-Type: text/html', ...(isCoded ? ['Content-Encoding: gzip'] : [])];
  if (isChunked) fields.push('Transfer-Encoding: chunked');
  const head = parseHttpHead(utf8(`HTTP/1.1 200 OK\r\n${fields.join('\r\n')}\r\n\r\n`));
  const kind = { isDecoded: false, isWhole: true, isSitemap: false, omitsReported: false, depth: 1 } as const;
  return { url: `http://host.test/${number}`, head, bytes: framed, ...kind };
}

/** Findings in a form that can be compared. */
function plain({ reading, sitemap }: PageFindings): unknown {
  if (!reading) return sitemap;
  const { isNofollow, isWhole } = reading;
  const links = [...reading.links].map(({ url, kind, isEmbed, isNofollow }) => [url, kind, isEmbed, isNofollow]);
  return { isNofollow, isWhole, links, length: reading.links.length };
}

const SITEMAP = utf8('<urlset><url><loc>http://host.test/from-sitemap</loc></url></urlset>');

test('the thread and the calling thread find the same links, in batches of any size', async (t) => {
  const reader = new LinkReader();
  t.after(() => reader.close());
  const pages = Array.from({ length: 150 }, (_, number) =>
    page(number, [
      `<a href="/${number}?a=1&amp;b=2">x</a><a rel=nofollow href="http://other.test/caf\u00e9">y</a>`,
      `<img src="i${number}.png"><iframe src=/frame></iframe><form action=/form></form>`,
      number % 7 === 0 ? '<meta name=robots content=nofollow>' : '',
    ]),
  );
  pages[40] = { ...page(40, []), bytes: SITEMAP, isDecoded: true, isSitemap: true };
  const expected = await Promise.all(pages.map(async (one) => plain(await readFindings(one))));
  const found = await Promise.all(pages.map(async (one) => plain(await reader.read(one))));
  assert.deepEqual(found, expected);
  assert.deepEqual(plain(await reader.read(pages[3]!)), expected[3]);
});

test('every X-Robots-Tag that is not for another robot counts', async (t) => {
  const reader = new LinkReader();
  t.after(() => reader.close());
  const isNofollow = async (...tags: string[]) => {
    const fields = ['Content-Type: text/html', ...tags.map((tag) => `X-Robots-Tag: ${tag}`)];
    const head = parseHttpHead(utf8(`HTTP/1.1 200 OK\r\n${fields.join('\r\n')}\r\n\r\n`));
    return (await reader.read({ ...page(1, ['<a href=/a>a</a>']), head })).reading!.isNofollow;
  };
  assert.equal(await isNofollow('noarchive'), false);
  assert.equal(await isNofollow('noarchive', 'nofollow'), true);
  assert.equal(await isNofollow('googlebot: nofollow'), false);
});

test('pages with an odd Content-Type are read', async () => {
  for (const type of [
    'text/html, text/html',
    'Text/HTML,text/html; charset=utf-8',
    'text/html;;',
    'text/html charset=x',
  ]) {
    const head = parseHttpHead(utf8(`HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\n\r\n`));
    const marks = { isDecoded: true, isWhole: true, isSitemap: false, omitsReported: false, depth: 0 };
    const { reading } = await readFindings({ url: 'http://a.test/', head, bytes: utf8('<a href=b>'), ...marks });
    assert.deepEqual(
      [...reading!.links].map(({ url }) => url),
      ['http://a.test/b'],
      type,
    );
  }
});

test('a batch with more links than one answer may have is read completely', async (t) => {
  const reader = new LinkReader();
  t.after(() => reader.close());
  const links = Array.from(
    { length: 20_000 },
    (_, link) => `<a href="/a-link-of-an-ordinary-length/${link}.html">x</a>`,
  );
  const pages = Array.from({ length: 5 }, (_, number) => page(number, links));
  const found = await Promise.all(pages.map((one) => reader.read(one)));
  for (const { reading } of found) {
    assert.equal(reading!.links.length, links.length);
    const urls = [...reading!.links].map(({ url }) => url);
    assert.equal(new Set(urls).size, links.length);
    assert.equal(urls.at(-1), 'http://host.test/a-link-of-an-ordinary-length/19999.html');
  }
});

test('links that were reported to a reader are left out where the page allows it', async (t) => {
  const everywhere = '<a href=/menu>m</a><img src=/logo.png><a rel=nofollow href=/login>l</a>';
  const pages = Array.from({ length: 6 }, (_, number) => ({
    ...page(number, [everywhere, `<a href="/own/${number}">x</a><img src=/menu>`]),
    omitsReported: number !== 4,
  }));
  pages[5] = { ...page(5, [everywhere, '<meta name=robots content=nofollow>']), omitsReported: true };
  for (let round = 0; round < 2; round++) {
    const reader = new LinkReader();
    t.after(() => reader.close());
    const found = await Promise.all(pages.map((one) => reader.read(one)));
    const paths = found.map(({ reading }) => [...reading!.links].map(({ url }) => new URL(url).pathname));
    const all = ['/logo.png', '/menu', '/menu', '/login', '/own/0'];
    assert.deepEqual(paths, [
      all,
      ['/login', '/own/1'],
      ['/login', '/own/2'],
      ['/login', '/own/3'],
      all.with(4, '/own/4'),
      ['/logo.png', '/menu', '/login'],
    ]);
    // A page that is read on the calling thread keeps all its links.
    assert.equal((await reader.read(pages[1]!)).reading!.links.length, 5);
    await reader.close();
  }
});

test('links reported for a page far from the seeds are reported again for a nearer page', async (t) => {
  const reader = new LinkReader();
  t.after(() => reader.close());
  const pages = [3, 3, 2, 3, 2].map((depth, number) => ({
    ...page(number, ['<a href=/menu>m</a>']),
    omitsReported: true,
    depth,
  }));
  const found = await Promise.all(pages.map((one) => reader.read(one)));
  assert.deepEqual(
    found.map(({ reading }) => reading!.links.length),
    [1, 0, 1, 0, 0],
  );
});

test("a link to the target of another page's form is reported", async (t) => {
  const reader = new LinkReader();
  t.after(() => reader.close());
  const pages = Array.from({ length: 6 }, (_, number) => ({
    ...page(number, [number < 3 ? '<form action=/contact></form>' : '<a href=/contact>c</a>']),
    omitsReported: true,
  }));
  const found = await Promise.all(pages.map((one) => reader.read(one)));
  const kinds = found.map(({ reading }) => [...reading!.links].map(({ kind }) => kind));
  assert.deepEqual(kinds, [['form'], ['form'], ['form'], ['anchor'], [], []]);
});

test('a page that exceeds the memory of the thread does not stop the other pages of its batch', async (t) => {
  const reader = new LinkReader({ threadMegabytesMax: 24 });
  t.after(() => reader.close());
  const hostile = page(
    3,
    Array.from({ length: 99_000 }, (_, link) => `<a href="/${link}/${'x'.repeat(300)}">x</a>`),
  );
  const pages = [page(1, ['<a href=/one>']), hostile, page(2, ['<a href=/two>']), page(4, ['<a href=/four>'])];
  const found = await Promise.all(pages.map((one) => reader.read(one)));
  assert.deepEqual(
    found.map(({ reading, unreadReason }) => [reading!.isWhole, reading!.links.length, unreadReason]),
    [
      [true, 1, undefined],
      [false, 0, 'reading its links takes too much memory'],
      [true, 1, undefined],
      [true, 1, undefined],
    ],
  );
});

test('a page that cannot be parsed does not stop the other pages of its batch', async (t) => {
  const reader = new LinkReader();
  t.after(() => reader.close());
  const head = parseHttpHead(utf8('HTTP/1.1 200 OK\r\nContent-Type: text/javascript\r\n\r\n'));
  const failing = { ...page(1, []), url: 'no URL', head, bytes: utf8('import("./x.js")') };
  assert.match((await readFindings(failing)).unreadReason!, /^its links could not be read: .*URL/);
  const pages = [page(1, ['<a href=/one>']), failing, page(2, ['<a href=/two>']), page(4, ['<a href=/four>'])];
  const found = await Promise.all(pages.map((one) => reader.read(one)));
  assert.deepEqual(
    found.map(({ reading }) => [reading!.isWhole, reading!.links.length]),
    [
      [true, 1],
      [false, 0],
      [true, 1],
      [true, 1],
    ],
  );
});

test('a page that takes too long does not stop the other pages of its batch', async (t) => {
  const reader = new LinkReader({ batchMsMax: 1500, script: stuckWorker });
  t.after(() => reader.close());
  const pages = [
    page(1, ['<a href=/one>']),
    page(5, ['STUCK']),
    page(2, ['<a href=/two>']),
    page(4, ['<a href=/four>']),
  ];
  const found = await Promise.all(pages.map((one) => reader.read(one)));
  assert.deepEqual(
    found.map(({ reading, unreadReason }) => [reading!.isWhole, reading!.links.length, unreadReason]),
    [
      [true, 1, undefined],
      [false, 0, 'reading its links takes too long'],
      [true, 1, undefined],
      [true, 1, undefined],
    ],
  );
});

test('a small document of a slow kind is read on the thread, even if it is alone', async (t) => {
  const reader = new LinkReader({ batchMsMax: 800, script: stuckWorker });
  t.after(() => reader.close());
  const { unreadReason } = await reader.read({
    ...page(1, []),
    bytes: utf8('<urlset><!-- STUCK -->'),
    isSitemap: true,
  });
  assert.equal(unreadReason, 'reading its links takes too long');
});

test('the start time of a thread does not count against the limit', async (t) => {
  const reader = new LinkReader({ batchMsMax: 1500, script: lateWorker });
  t.after(() => reader.close());
  const { sitemap, unreadReason } = await reader.read({
    ...page(1, []),
    bytes: SITEMAP,
    isDecoded: true,
    isSitemap: true,
  });
  assert.deepEqual([sitemap!.pages, unreadReason], [['http://host.test/from-sitemap'], undefined]);
});

test('when the thread does not start, the reason names its error', async (t) => {
  const reader = new LinkReader({ script: brokenWorker });
  t.after(() => reader.close());
  const { unreadReason } = await reader.read({ ...page(1, []), bytes: SITEMAP, isDecoded: true, isSitemap: true });
  assert.match(unreadReason!, /^its links could not be read: .*EMFILE/);
});
