/** Redirects are edges of the link graph instead of pages. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Archive } from '../../src/archive/index.ts';
import { utf8 } from '../../src/base/index.ts';
import { Indexer, listEdges, openSearch, type Search } from '../../src/search/index.ts';
import { makeArchive } from '../archive/trial-archive.ts';

const DAY_MS = 86_400_000;
const START = Date.UTC(2024, 0, 1);
const at = (name: string) => `http://site.example/${name}`;

async function store(archive: Archive, url: string, day: number, fields: string, body: string): Promise<void> {
  await archive.store({
    kind: 'http',
    url,
    time: START + day * DAY_MS,
    responseHead: utf8(`HTTP/1.1 ${fields}\r\n\r\n`),
    body: utf8(body),
  });
}

const page = (title: string, ...links: string[]) =>
  `<!doctype html><title>${title}</title><p>${'words '.repeat(300)}${links.map((to) => `<a href="${to}">go</a>`).join('')}`;
const OK = '200 OK\r\nContent-Type: text/html';

/** `from` links to `old` and `older`. Both redirect to `new`, which has a page and a redirect to itself with https. */
async function storeSite(archive: Archive): Promise<void> {
  await store(archive, at('from'), 0, OK, page('From', at('old'), at('older')));
  await store(archive, at('old'), 0, `301 Moved Permanently\r\nContent-Length: 0\r\nLocation: ${at('new#part')}`, '');
  const stub = page('Stub', at('elsewhere'));
  await store(archive, at('older'), 1, '302 Found\r\nContent-Type: text/html\r\nLocation: /new', stub);
  await store(archive, at('new'), 1, OK, page('New', at('from')));
  await store(archive, at('new'), 2, `301 Moved\r\nLocation: https://www.site.example/new`, '');
  // None of these is a redirect to a web page.
  await store(archive, at('created'), 2, `201 Created\r\nContent-Type: text/html\r\nLocation: /x`, page('Created'));
  await store(archive, at('mail'), 2, '302 Found\r\nLocation: mailto:a@site.example', '');
  await store(archive, at('nowhere'), 2, '302 Found\r\nContent-Type: text/html', page('Nowhere'));
}

async function indexed(t: TestContext, archive: Archive): Promise<Search> {
  await rank(archive);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  return search;
}

async function rank(archive: Archive, asOf?: number): Promise<{ redirects: number; removed: number }> {
  const indexer = await Indexer.open(archive, { stopwatch: () => 0 });
  try {
    const report = await indexer.catchUp();
    await indexer.rank({ asOf });
    return report;
  } finally {
    await indexer.close();
  }
}

test('a redirect is a link from its URL to its target, in link lists and in edge tables', async (t) => {
  const archive = await makeArchive(t);
  await storeSite(archive);
  const search = await indexed(t, archive);
  const linksOf = async (name: string, direction: 'in' | 'out') =>
    (await search.links(at(name), { direction })).items.map(({ url, kind }) => `${kind} ${url}`);
  assert.deepEqual(await linksOf('old', 'out'), [`redirect ${at('new')}`]);
  assert.deepEqual(await linksOf('older', 'out'), [`redirect ${at('new')}`]);
  assert.deepEqual((await linksOf('new', 'in')).sort(), [`redirect ${at('old')}`, `redirect ${at('older')}`]);
  assert.deepEqual(await linksOf('elsewhere', 'in'), [], 'links in the body of a redirect do not count');
  assert.deepEqual(
    await linksOf('new', 'out'),
    [`anchor ${at('from')}`],
    'a redirect to the same URL key is not a link',
  );
  assert.deepEqual(await linksOf('x', 'in'), []);
  const edges = [...listEdges(archive.directory)].filter(([, , kind]) => kind === 'redirect');
  assert.deepEqual(edges.map(([source, target]) => `${source} ${target}`).sort(), [
    `${at('old')} ${at('new')}`,
    `${at('older')} ${at('new')}`,
  ]);
});

test('redirects count as citations and pass rank on, but are not results', async (t) => {
  const archive = await makeArchive(t);
  await storeSite(archive);
  const search = await indexed(t, archive);
  const { items, total } = await search.search('site:site.example', { limit: 100 });
  const titles = items.map(({ title }) => title).sort();
  assert.deepEqual(titles, ['Created', 'From', 'New', 'Nowhere']);
  assert.equal(total, 4);
  assert.equal((await search.search('-unheardof', { limit: 100 })).items.length, 4);
  assert.equal((await search.search('stub')).items.length, 0);
  const found = new Map(items.map((item) => [item.title, item]));
  assert.equal(found.get('New')!.inlinks, 2);
  assert.equal(found.get('From')!.inlinks, 1);
  // The ranks by definition, over from, old, older, new, created, nowhere.
  const links = [[1, 2], [3], [3], [0], [], []];
  let ranks = links.map(() => 1);
  for (let round = 0; round < 500; round++) {
    const next = links.map(() => 0.15);
    for (const [from, targets] of links.entries()) {
      const share = targets.length === 0 ? links.map((_, to) => to) : targets;
      for (const to of share) next[to]! += (0.85 * ranks[from]!) / share.length;
    }
    ranks = next;
  }
  assert.ok(Math.abs(found.get('New')!.rank - ranks[3]!) < 1e-5, `${found.get('New')!.rank} ${ranks[3]}`);
  assert.ok(Math.abs(found.get('From')!.rank - ranks[0]!) < 1e-5);
  const { documents, captures, urls } = search.status();
  assert.deepEqual({ documents, captures, urls }, { documents: 4, captures: 4, urls: 6 });
});

test('the latest capture decides whether a URL is a page or a redirect', async (t) => {
  const archive = await makeArchive(t);
  await store(archive, at('target'), 0, OK, page('Target'));
  await store(archive, at('moving'), 0, OK, page('Moving', at('other')));
  await store(archive, at('other'), 0, OK, page('Other'));
  await store(archive, at('moving'), 5, '308 Permanent Redirect\r\nLocation: target', '');
  const search = await indexed(t, archive);
  const inlinks = async (name: string) => (await search.search(`url:${at(name)}`)).items[0]!.inlinks;
  assert.equal(await inlinks('target'), 1);
  assert.equal(await inlinks('other'), 0);
  await rank(archive, START + 2 * DAY_MS);
  assert.equal(await inlinks('target'), 0);
  assert.equal(await inlinks('other'), 1);
  const before = await search.links(at('moving'), { direction: 'out', at: START + 2 * DAY_MS });
  assert.deepEqual(
    before.items.map(({ url }) => url),
    [at('other')],
  );
});

test('a deleted redirect leaves the graph, and returns when it is captured again', async (t) => {
  const archive = await makeArchive(t);
  await storeSite(archive);
  const search = await indexed(t, archive);
  await archive.delete({ url: at('old') });
  assert.equal((await rank(archive)).removed, 1);
  const inlinks = async () => (await search.search(`url:${at('new')}`)).items[0]!.inlinks;
  assert.equal(await inlinks(), 1);
  await archive.rebuild();
  const report = await rank(archive);
  assert.deepEqual({ redirects: report.redirects, removed: report.removed }, { redirects: 0, removed: 0 });
  await store(archive, at('old'), 9, `301 Moved\r\nLocation: ${at('new')}`, '');
  assert.equal((await rank(archive)).redirects, 1);
  assert.equal(await inlinks(), 2);
});
