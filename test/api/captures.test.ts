import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { utf8 } from '../../src/base/index.ts';
import type { Capture } from '../../src/catalog/index.ts';
import { urlKey } from '../../src/url/index.ts';
import { catalogOf } from '../archive/opened-parts.ts';
import { contentOf, type Served, START_MS, served, storeDays } from './served-archive.ts';

type Item = {
  readonly id: string;
  readonly time: string;
  readonly timestamp: string;
  readonly sameAsPrevious: boolean;
  readonly contentKey: string | null;
  readonly kind: string;
};

async function allPages(one: Served, path: string): Promise<Record<string, unknown>[]> {
  const items: Record<string, unknown>[] = [];
  for (let after = ''; ; ) {
    const reply = await one.call(`${path}${after}`);
    assert.equal(reply.status, 200, reply.bytes.toString());
    const page = reply.json as { items: Record<string, unknown>[]; next?: string };
    items.push(...page.items);
    if (page.next === undefined) return items;
    after = `&after=${encodeURIComponent(page.next)}`;
  }
}

test('the neighbours of a time are the captures that replay shows at it, before it and after it', async (t) => {
  const one = await served(t);
  await storeDays(one.archive, 'http://a.test/', [1, 2, 3]);
  const around = async (query: string) => (await one.call(`/api/neighbours?${query}`)).json;
  const shown = (day: number) => ({
    url: 'http://a.test/',
    time: `2024-03-0${day}T10:00:00Z`,
    timestamp: `2024030${day}100000`,
  });
  assert.deepEqual(await around('url=a.test&time=20240301'), { current: shown(1), next: shown(2) });
  assert.deepEqual(await around('url=http://a.test/&time=20240302100000'), {
    current: shown(2),
    previous: shown(1),
    next: shown(3),
  });
  assert.deepEqual(await around('url=a.test&time=2030'), { current: shown(3), previous: shown(2) });
  assert.deepEqual(await around('url=b.test&time=2030'), {});
  assert.equal((await one.call('/api/neighbours?url=a.test&time=2024-99-99')).status, 400);
});

test('captures are listed in pages, in both orders, with the fact whether the content changed since the previous capture', async (t) => {
  const one = await served(t);
  await storeDays(one.archive, 'http://a.test/', [1, 1, 2, 2, 1, 3, 3]);
  const path = '/api/captures?url=http://a.test/';
  const same = [false, true, false, true, false, false, true];
  for (const limit of [1, 2, 3, 7, 100]) {
    const items = (await allPages(one, `${path}&limit=${limit}`)) as unknown as Item[];
    assert.deepEqual(
      items.map(({ sameAsPrevious }) => sameAsPrevious),
      same,
      `limit ${limit}`,
    );
    const back = (await allPages(one, `${path}&order=desc&limit=${limit}`)) as unknown as Item[];
    assert.deepEqual(back, items.toReversed());
  }
  const some = (await allPages(one, `${path}&from=20240302&to=2024-03-03`)) as unknown as Item[];
  assert.deepEqual(
    some.map(({ timestamp, sameAsPrevious }) => [timestamp, sameAsPrevious]),
    [
      ['20240302100000', true],
      ['20240303100000', false],
    ],
  );
});

test('the calendar does not count unknown content as a change, and compares the next content with the last known one', async (t) => {
  const one = await served(t);
  const url = 'http://gaps.test/';
  await storeDays(one.archive, url, [1, 2, 2]);
  const unknown = (day: number, kind: Capture['kind']): Capture => ({
    urlKey: urlKey(url),
    time: START_MS + day * 86_400_000 + 3_600_000,
    place: { segment: 1, offset: 1_000_000 + day, length: 10 },
    url,
    kind,
    collection: 1,
    status: kind === 'metadata' ? 0 : 200,
    mime: '',
    block: undefined,
    hash: day,
  });
  await catalogOf(one.archive).commit({
    captures: [unknown(0, 'metadata'), unknown(1, 'revisit')].map((capture) => ({ capture })),
  });
  const { years } = (await one.call(`/api/calendar?url=${url}`)).json as {
    years: { days: { captures: number; changed: number }[] }[];
  };
  assert.deepEqual(
    years[0]!.days.map(({ captures, changed }) => [captures, changed]),
    [
      [2, 1],
      [2, 1],
      [1, 0],
    ],
  );
});

test('all pages of very many captures of a URL have each capture exactly once', async (t) => {
  const one = await served(t);
  await storeDays(one.archive, 'http://other.test/', [1]);
  const key = urlKey('http://busy.test/');
  const count = 20_000;
  const captureAt = (number: number): Capture => ({
    urlKey: key,
    // Three captures for each millisecond, so that a page may end between captures of one time.
    time: START_MS + Math.floor(number / 3),
    place: { segment: 1, offset: number * 10, length: 10 },
    url: 'http://busy.test/',
    kind: 'response',
    collection: 1,
    status: 200,
    mime: 'text/html',
    block: undefined,
    hash: number,
  });
  for (let at = 0; at < count; at += 5000) {
    const captures = Array.from({ length: 5000 }, (_, index) => ({ capture: captureAt(at + index) }));
    await catalogOf(one.archive).commit({ captures });
  }
  for (const order of ['asc', 'desc']) {
    const items = await allPages(one, `/api/captures?url=http://busy.test/&limit=1000&order=${order}`);
    assert.equal(new Set(items.map(({ id }) => id)).size, count);
    assert.equal(items.length, count);
  }
  const calendar = (await one.call('/api/calendar?url=http://busy.test/')).json;
  assert.equal(calendar.captures, count);
  const urls = (await allPages(one, '/api/urls?limit=1')) as { url: string; captures: number }[];
  assert.deepEqual(
    urls.map(({ url, captures }) => [url, captures]),
    [
      ['http://busy.test/', count],
      ['http://other.test/', 1],
    ],
  );
});

test('URLs are listed by prefix and by domain, in pages', async (t) => {
  const one = await served(t);
  const all = ['http://a.test/', 'http://a.test/x', 'http://a.test/x/1', 'http://b.test/', 'http://sub.a.test/'];
  for (const url of all) await storeDays(one.archive, url, [1]);
  const listed = async (query: string) => (await allPages(one, `/api/urls?limit=1&${query}`)).map(({ url }) => url);
  assert.deepEqual(new Set(await listed('')), new Set(all));
  assert.deepEqual(await listed('prefix=http://a.test/x'), ['http://a.test/x', 'http://a.test/x/1']);
  assert.deepEqual(await listed('prefix=*.a.test'), [
    'http://a.test/',
    'http://a.test/x',
    'http://a.test/x/1',
    'http://sub.a.test/',
  ]);
});

test('pages of URLs continue after a URL of maximum length', async (t) => {
  const one = await served(t);
  const all = ['/a', `/b${'x'.repeat(60_000)}`, `/b${'x'.repeat(60_000)}y`, '/c', '/d'].map(
    (path) => `http://a.test${path}`,
  );
  for (const url of all) await storeDays(one.archive, url, [1]);
  const listed = (await allPages(one, '/api/urls?limit=2')).map(({ url }) => url);
  assert.deepEqual(listed.sort(), all);
});

test('long URLs with a common beginning are listed once each, in pages', async (t) => {
  const one = await served(t);
  const start = `http://a.test/${'x'.repeat(600)}`;
  const all = ['', '/1', '/2', '/2/a', '/2/b?c', '/3'].map((end) => start + end);
  for (const url of [...all, 'http://a.test/', 'http://b.test/']) await storeDays(one.archive, url, [1, 2]);
  const listed = async (query: string) => (await allPages(one, `/api/urls?limit=1&${query}`)).map(({ url }) => url);
  assert.deepEqual((await listed('')).sort(), [...all, 'http://a.test/', 'http://b.test/'].sort());
  assert.deepEqual((await listed(`prefix=${start}/2/`)).sort(), all.slice(2, 5));
  assert.deepEqual((await listed(`prefix=${start}/2`)).sort(), all.slice(2, 5));
  const seen: string[] = [];
  for (let key = ''; ; ) {
    const target = `/cdx?url=${start}/*&fl=original,timestamp&limit=1&showResumeKey=true${key}`;
    const [line, next] = (await one.call(target)).bytes.toString().split('\n\n');
    seen.push(line!.trim());
    if (!next) break;
    key = `&resumeKey=${next.trim()}`;
  }
  assert.equal(new Set(seen).size, 12);
  assert.equal(seen.length, 12);
});

test('the reply for one capture has its WARC and HTTP fields and the record with its content', async (t) => {
  const one = await served(t);
  await storeDays(one.archive, 'http://a.test/', [1, 1]);
  const [, revisit] = (await allPages(one, '/api/captures?url=http://a.test/')) as unknown as Item[];
  const detail = (await one.call(`/api/captures/${revisit!.id}`)).json;
  assert.equal(detail.kind, 'revisit');
  assert.equal(detail.sameAsPrevious, true);
  assert.equal(detail.httpStatusLine, 'HTTP/1.1 200 OK');
  assert.deepEqual((detail.httpFields as string[][])[0], ['Content-Type', 'text/html; charset=utf-8']);
  const fields = new Map(detail.warcFields as [string, string][]);
  assert.equal(fields.get('WARC-Refers-To-Target-URI'), 'http://a.test/');
  assert.equal(detail.recordId, fields.get('WARC-Record-ID'));
  const holder = detail.holder as { references: number; offset: number };
  assert.equal(holder.references, 2);
  assert.ok(holder.offset < (detail.place as { offset: number }).offset);
});

test('an id identifies the same capture after compaction and after a rebuild', async (t) => {
  const one = await served(t);
  await storeDays(one.archive, 'http://a.test/', [1, 2]);
  await storeDays(one.archive, 'http://b.test/', [3]);
  const [, item] = (await allPages(one, '/api/captures?url=http://a.test/')) as unknown as Item[];
  const before = (await one.call(`/api/captures/${item!.id}`)).json;
  await one.archive.delete({ url: 'http://b.test/' });
  await one.archive.compact();
  await one.archive.rebuild();
  const after = (await one.call(`/api/captures/${item!.id}`)).json;
  assert.deepEqual(after.warcFields, before.warcFields);
  assert.notDeepEqual(after.place, before.place);
});

test('text and source are decoded by content coding and charset, and cut at the limit', async (t) => {
  const one = await served(t);
  const html = '<title>T</title><p>Kat\u00e9t\u00f3l &amp; co</p><p>second</p><script>hidden()</script>';
  const body = gzipSync(Buffer.from(html, 'latin1'));
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=iso-8859-1\r\nContent-Encoding: gzip\r\n\r\n';
  await one.archive.store({ kind: 'http', url: 'http://c.test/', time: START_MS, responseHead: utf8(head), body });
  const [item] = (await allPages(one, '/api/captures?url=http://c.test/')) as unknown as Item[];
  const source = (await one.call(`/api/captures/${item!.id}/source`)).json;
  assert.deepEqual([source.text, source.truncated], [html, false]);
  const text = (await one.call(`/api/captures/${item!.id}/text`)).json;
  assert.match(String(text.text), /Kat\u00e9t\u00f3l & co\n+second/);
  assert.doesNotMatch(String(text.text), /hidden/);
  const cut = (await one.call(`/api/captures/${item!.id}/source?limit=10`)).json;
  assert.deepEqual([cut.text, cut.truncated], [html.slice(0, 10), true]);
});

test('a decompression bomb is cut at the limit', async (t) => {
  const one = await served(t);
  const body = gzipSync(Buffer.alloc(200 * 1024 * 1024, 0x20), { level: 9 });
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\n\r\n';
  await one.archive.store({ kind: 'http', url: 'http://bomb.test/', time: START_MS, responseHead: utf8(head), body });
  const [item] = (await allPages(one, '/api/captures?url=http://bomb.test/')) as unknown as Item[];
  const reply = await one.call(`/api/captures/${item!.id}/source?limit=1000`);
  assert.deepEqual([(reply.json.text as string).length, reply.json.truncated], [1000, true]);
});

test('content without text and a revisit without its original are refused with a reason', async (t) => {
  const one = await served(t);
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n';
  const picture = { kind: 'http', url: 'http://p.test/', time: START_MS, responseHead: utf8(head) } as const;
  await one.archive.store({ ...picture, body: Buffer.alloc(2000, 1) });
  const [item] = (await allPages(one, '/api/captures?url=http://p.test/')) as unknown as Item[];
  const reply = await one.call(`/api/captures/${item!.id}/text`);
  assert.deepEqual([reply.status, (reply.json.error as { code: string }).code], [422, 'NO_TEXT']);
});

test('stats, collections and growth are computed again after changes, and have the time of their computation', async (t) => {
  let now = START_MS;
  const one = await served(t, { clock: () => now });
  await storeDays(one.archive, 'http://a.test/', [1, 1, 2], 'first');
  const before = (await one.call('/api/stats')).json;
  assert.deepEqual([before.captures, before.computedAt], [3, '2024-03-01T10:00:00Z']);
  now += 60_000;
  await storeDays(one.archive, 'http://b.test/', [2, 3], 'second');
  const fresh = (await one.call('/api/stats?fresh=1')).json;
  assert.deepEqual([fresh.captures, fresh.computedAt], [5, '2024-03-01T10:01:00Z']);
  const { items } = (await one.call('/api/collections?fresh=true')).json as { items: Record<string, unknown>[] };
  const size = contentOf(1).length;
  assert.deepEqual(
    items.map(({ name, captures, revisits, payloadBytes, uniquePayloadBytes, duplicateShare }) => [
      name,
      captures,
      revisits,
      payloadBytes,
      uniquePayloadBytes,
      duplicateShare,
    ]),
    [
      ['first', 3, 1, 3 * size, 2 * size, 1 / 3],
      ['second', 2, 1, 2 * size, 2 * size, 0],
    ],
  );
  const { points } = (await one.call('/api/collections/first/growth')).json;
  // The first capture of content 2 is in the other collection, on the day before.
  assert.deepEqual(points, [
    { month: '2024-03', captures: 3, payloadBytes: 3 * size, newBytes: size, duplicateCaptures: 2 },
  ]);
});

test('a host with a port and without a scheme finds the same as the whole URL', async (t) => {
  const one = await served(t);
  await storeDays(one.archive, 'http://localhost:18099/git.html', [1, 2]);
  await storeDays(one.archive, 'http://www.a.test/images/one.png', [3]);
  const count = async (path: string) => ((await one.call(path)).json.items as unknown[]).length;
  assert.equal(await count('/api/captures?url=localhost:18099/git.html'), 2);
  assert.equal(await count('/api/captures?url=www.a.test:80/images/one.png'), 1);
  assert.equal(await count('/api/urls?prefix=www.a.test:80/images/'), 1);
  assert.equal((await one.call('/api/calendar?url=localhost:18099/git.html')).json.captures, 2);
  for (const [selection, captures] of [
    [{ url: 'localhost:18099/git.html' }, 2],
    [{ prefix: 'www.a.test:80/images/' }, 1],
    [{ mime: 'text/*' }, 3],
    [{ status: 200 }, 3],
    [{ status: '200' }, 3],
    [{ status: '2xx' }, 3],
    [{ status: '404,5xx' }, 0],
  ] as const) {
    const { preview } = (await one.call('/api/deletes/preview', { json: { selection } })).json;
    assert.equal((preview as { captures: number }).captures, captures);
  }
  for (const selection of [{ mime: 'html' }, { status: '2x' }, { status: '200 OR size>0' }]) {
    const refused = await one.call('/api/deletes/preview', { json: { selection } });
    assert.deepEqual([refused.status, (refused.json.error as { code: string }).code], [400, 'BAD_ARGUMENT']);
  }
});
