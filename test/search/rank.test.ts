import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { seededRandom } from '../../src/base/index.ts';
import { EDGE_COLUMNS, edgeLine, Indexer, listEdges, openSearch } from '../../src/search/index.ts';
import { makeArchive } from '../archive/trial-archive.ts';
import { LAUNCHER } from '../journeys/pinakes-process.ts';
import { indexed, storePages, type TrialPage } from './trial-pages.ts';

const SEED = 3;
const PAGES = 30;
const url = (at: number) => `http://site.example/p/${at}`;

function pages(): TrialPage[] {
  const random = seededRandom(SEED);
  return Array.from({ length: PAGES }, (_, at) => ({
    url: url(at),
    time: Date.UTC(2024, 0, 1 + at),
    collection: 'web',
    status: 200,
    language: 'en',
    title: `Page ${at}`,
    paragraphs: [`page number ${at} ${'words '.repeat(300)}`],
    hidden: 'x',
    // Some pages have no links, some link to themselves, some to pages that were not captured.
    links: at % 7 === 0 ? [] : Array.from({ length: 1 + (at % 4) }, () => url(Math.floor(random() ** 2 * (PAGES + 5)))),
  }));
}

/** PageRank by its definition: a full matrix and many rounds. */
function expectedRanks(all: readonly TrialPage[]): number[] {
  const links = all.map((page, at) =>
    [...new Set(page.links)].map((link) => Number(link.split('/').at(-1))).filter((to) => to < PAGES && to !== at),
  );
  let ranks = all.map(() => 1);
  for (let round = 0; round < 500; round++) {
    const next = all.map(() => 0.15);
    for (const [from, targets] of links.entries()) {
      const share = targets.length === 0 ? all.map((_, to) => to) : targets;
      for (const to of share) next[to]! += (0.85 * ranks[from]!) / share.length;
    }
    ranks = next;
  }
  return ranks;
}

test('ranks and citation counts match the definition, and can sort and filter searches', async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const archive = await makeArchive(t);
  const all = pages();
  await storePages(archive, all);
  await indexed(archive);
  const indexer = await Indexer.open(archive);
  const report = await indexer.rank({ tolerance: 1e-12 });
  await indexer.close();
  assert.equal(report.urls, PAGES);
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  const found = await search.search('page', { sort: 'rank', limit: 100 });
  const ranks = expectedRanks(all);
  for (const item of found.items) {
    const at = Number(item.url.split('/').at(-1));
    assert.ok(Math.abs(item.rank - ranks[at]!) < 1e-9, `${item.url} ${item.rank} ${ranks[at]}`);
    assert.equal(item.inlinks, all.filter((page, from) => from !== at && page.links.includes(item.url)).length);
  }
  assert.deepEqual(
    found.items.map((item) => item.rank),
    ranks.toSorted((a, b) => b - a).map((rank) => found.items.find((item) => Math.abs(item.rank - rank) < 1e-9)!.rank),
  );
  const cited = await search.search('inlinks>3', { limit: 100 });
  assert.deepEqual(
    cited.items.map((item) => item.url).sort(),
    found.items
      .filter((item) => item.inlinks > 3)
      .map((item) => item.url)
      .sort(),
  );
  const byLinks = (await search.search('page', { sort: 'inlinks', limit: 100 })).items.map((item) => item.inlinks);
  assert.deepEqual(
    byLinks,
    byLinks.toSorted((a, b) => b - a),
  );
});

test('ranks for an earlier time use the pages that were captured before it', async (t) => {
  const archive = await makeArchive(t);
  const base = pages()[1]!;
  await storePages(archive, [
    { ...base, url: url(1), time: Date.UTC(2024, 0, 1), links: [url(2)] },
    { ...base, url: url(2), time: Date.UTC(2024, 0, 1), title: 'two', links: [] },
    { ...base, url: url(3), time: Date.UTC(2024, 6, 1), title: 'three', links: [url(2)] },
  ]);
  await indexed(archive);
  const indexer = await Indexer.open(archive);
  t.after(() => indexer.close());
  const search = openSearch(archive.directory);
  t.after(() => search.close());
  const inlinks = async () => (await search.search(`url:${url(2)}`)).items[0]!.inlinks;
  await indexer.rank({ asOf: Date.UTC(2024, 2, 1) });
  assert.equal(await inlinks(), 1);
  await indexer.rank();
  assert.equal(await inlinks(), 2);
});

test('all links are listed as edges', async (t) => {
  const archive = await makeArchive(t);
  const all = pages();
  await storePages(archive, all);
  await indexed(archive);
  const edges = [...listEdges(archive.directory)];
  const expected = all.flatMap((page) => [...new Set(page.links)].map((link) => `${page.url} ${link}`));
  assert.deepEqual(edges.map(([source, target]) => `${source} ${target}`).sort(), expected.sort());
  assert.equal(
    edgeLine(['http://a/', 'http://b/', 'anchor', 'say "hi", you', false, false, 0, 1000, 2]),
    'http://a/,http://b/,anchor,"say ""hi"", you",false,false,1970-01-01T00:00:00Z,1970-01-01T00:00:01Z,2',
  );
  assert.equal(EDGE_COLUMNS.length, edges[0]!.length);
  await assert.rejects(readFile(join(archive.directory, 'search.sqlite-edges')));
});

test('the temporary file of a killed or aborted ranking is removed', async (t) => {
  const archive = await makeArchive(t);
  const edges = join(archive.directory, 'search.sqlite-edges');
  await writeFile(edges, 'left behind');
  const indexer = await Indexer.open(archive);
  assert.equal(existsSync(edges), false, 'removed by the next indexer');
  await writeFile(edges, 'at it');
  await indexer.abandon();
  await indexer.close();
  assert.equal(existsSync(edges), false, 'removed when the indexer closes');
});

test('ranking fails when there is no space for all links', async (t) => {
  const archive = await makeArchive(t);
  await storePages(archive, pages());
  await indexed(archive);
  await archive.close();
  // Links are written in chunks of 1 MiB. All other writes of ranking are smaller.
  const line = `ulimit -f 900; "${LAUNCHER}" rank --archive .`;
  const { status, stderr } = spawnSync('bash', ['-c', line], { cwd: archive.directory, encoding: 'utf8' });
  assert.match(stderr, /^pinakes: .*search\.sqlite-edges: .*\[FILE_UNWRITABLE\]\n/);
  assert.equal(status, 2);
});
