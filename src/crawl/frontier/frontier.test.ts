import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { failedSettlement } from '../outcome.ts';
import { beginRun } from '../run.ts';
import { CRAWL_DEFAULTS } from '../settings.ts';
import { Frontier } from './frontier.ts';
import { type Role, STATE_DONE } from './known-url.ts';
import { planRecrawl } from './recrawl-plan.ts';
import { CrawlState } from './state.ts';

function openState(t: TestContext): CrawlState {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-frontier-'));
  const state = CrawlState.open(directory);
  t.after(() => {
    state.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return state;
}

test('queued pages of depth 0, such as redirect targets of seeds, count as seeds, also after a restart', (t) => {
  const state = openState(t);
  const { number } = beginRun(state, 'first', [], CRAWL_DEFAULTS, 0);
  const offer = (frontier: Frontier, path: string, role: 'page' | 'embed', depth: number, hops = 0) =>
    frontier.transaction(() => frontier.offer({ url: `http://a.test/${path}`, role, depth, hops }, false));
  const settle = (frontier: Frontier, path: string) =>
    frontier.transaction(() => {
      const { id } = frontier.hostsWithQueue(-1, 1)[0]!;
      const item = frontier.peek(id, -1, 100).find(({ url }) => url === `http://a.test/${path}`)!;
      frontier.settle(failedSettlement(item), item.rank);
    });
  const frontier = new Frontier(state, { collection: 'default', run: number, urlsPerHostMax: 1000 });
  assert.equal(frontier.hasQueuedSeeds, false);
  offer(frontier, 'seed', 'page', 0);
  offer(frontier, 'page', 'page', 1);
  offer(frontier, 'picture', 'embed', 0, 1);
  assert.equal(frontier.hasQueuedSeeds, true);
  settle(frontier, 'page');
  offer(frontier, 'moved', 'page', 0, 1);
  settle(frontier, 'seed');
  assert.equal(frontier.hasQueuedSeeds, true);
  const later = new Frontier(state, { collection: 'default', run: number, urlsPerHostMax: 1000 });
  assert.equal(later.hasQueuedSeeds, true);
  settle(later, 'moved');
  assert.equal(later.hasQueuedSeeds, false);
  offer(later, 'page-2', 'page', 1);
  assert.equal(later.hasQueuedSeeds, false);
});

test('no two queued URLs have the same rank, whether a recrawl planned them or found them', (t) => {
  const state = openState(t);
  const settings = { ...CRAWL_DEFAULTS, fixed: true };
  const first = new Frontier(state, {
    collection: 'default',
    run: beginRun(state, 'first', [], settings, 0).number,
    urlsPerHostMax: 1000,
  });
  first.transaction(() => {
    for (let page = 0; page < 40; page++)
      first.offer({ url: `http://a.test/${page}`, role: 'page', depth: 0, hops: 0 }, false);
  });
  const { id } = first.hostsWithQueue(-1, 1)[0]!;
  first.transaction(() => {
    for (const item of first.peek(id, -1, 100)) first.settle(failedSettlement(item), item.rank);
  });
  assert.equal(first.totals().queued, 0);

  const again = beginRun(state, 'again', ['http://a.test/'], settings, 1);
  const frontier = new Frontier(state, { collection: 'default', run: again.number, urlsPerHostMax: 1000 });
  planRecrawl(state, again, 2);
  frontier.transaction(() => {
    for (let file = 0; file < 40; file++) {
      frontier.offer({ url: `http://a.test/${file}.css`, role: 'sitemap', depth: 0, hops: 0 }, true);
      frontier.offer({ url: `http://a.test/${file}.png`, role: 'embed', depth: 0, hops: 1 }, true);
    }
  });
  const queued = frontier.peek(id, -1, 1000);
  assert.equal(queued.length, 120);
  assert.equal(new Set(queued.map(({ rank }) => rank)).size, 120, 'no two ranks are equal');
  frontier.transaction(() => {
    for (const item of queued.slice(0, 50)) frontier.settle(failedSettlement(item), item.rank);
  });
  assert.deepEqual(
    frontier.peek(id, -1, 1000).map(({ url }) => url),
    queued.slice(50).map(({ url }) => url),
  );
  assert.equal(frontier.totals().queued, 70);
});

test('a queued page that a visited page needs moves up to the embeds, also after a restart', (t) => {
  const state = openState(t);
  const { number } = beginRun(state, 'first', [], CRAWL_DEFAULTS, 0);
  const frontier = new Frontier(state, { collection: 'default', run: number, urlsPerHostMax: 1000 });
  const offer = (path: string, role: Role, depth: number, hops: number, isHint = false) => {
    let verdict: string | undefined;
    frontier.transaction(() => {
      verdict = frontier.offer({ url: `http://a.test/${path}`, role, depth, hops, isHint }, false);
    });
    return verdict;
  };
  for (const path of ['seed', 'moved']) offer(path, 'page', 0, 0);
  for (const path of ['one', 'two', 'named', 'picture']) offer(path, 'page', 2, 0);
  offer('led-to', 'page', 2, 1);
  assert.equal(offer('picture', 'embed', 1, 1), 'queued');
  assert.equal(offer('picture', 'embed', 1, 1), 'known');
  assert.equal(offer('led-to', 'embed', 1, 1), 'known');
  assert.equal(offer('named', 'embed', 2, 0), 'known', 'a URL that is only named is not needed');
  assert.equal(offer('named', 'embed', 1, 1, true), 'known', 'nor is one that is only prefetched');
  assert.equal(offer('seed', 'embed', 0, 1), 'known', 'a seed stays a page');
  frontier.transaction(() => {
    frontier.offer({ url: 'http://a.test/new', role: 'page', depth: 2, hops: 0 }, false);
    frontier.offer({ url: 'http://a.test/new', role: 'embed', depth: 1, hops: 1 }, false);
  });

  const later = new Frontier(state, { collection: 'default', run: number, urlsPerHostMax: 1000 });
  const { id, queued } = later.hostsWithQueue(-1, 1)[0]!;
  const items = later.peek(id, -1, 100);
  assert.deepEqual(
    items.map(({ role, depth, url }) => `${role} ${depth} ${new URL(url).pathname}`),
    [
      'embed 1 /led-to',
      'embed 1 /picture',
      'embed 1 /new',
      'page 0 /seed',
      'page 0 /moved',
      'page 2 /one',
      'page 2 /two',
      'page 2 /named',
    ],
  );
  assert.equal(queued, 8);
  later.onlyNeeds = true;
  assert.equal(later.peek(id, -1, 100).length, 3);
});

test('a page that moves to the embeds during its visit is removed from the queue when it is settled', (t) => {
  const state = openState(t);
  const { number } = beginRun(state, 'first', [], CRAWL_DEFAULTS, 0);
  const frontier = new Frontier(state, { collection: 'default', run: number, urlsPerHostMax: 1000 });
  const offer = (role: Role) => {
    const hops = role === 'embed' ? 1 : 0;
    return frontier.offer({ url: 'http://a.test/picture', role, depth: 1, hops }, false);
  };
  frontier.transaction(() => offer('page'));
  const { id } = frontier.hostsWithQueue(-1, 1)[0]!;
  const [item] = frontier.peek(id, -1, 1);
  frontier.transaction(() => assert.equal(offer('embed'), 'queued'));
  assert.equal(frontier.movedFrom, item!.rank);
  assert.equal(frontier.totals().queued, 1);
  frontier.transaction(() => frontier.settle(failedSettlement(item!), item!.rank, frontier.lastRank));
  assert.deepEqual([frontier.totals().queued, frontier.peek(id, -1, 1)], [0, []]);
  frontier.transaction(() => assert.equal(offer('embed'), 'known'));
  assert.equal(frontier.totals().queued, 0);
});

test('a page of a recrawl that a changed page needs is visited as an embed', (t) => {
  const state = openState(t);
  const settings = { ...CRAWL_DEFAULTS, fixed: true };
  const first = new Frontier(state, {
    collection: 'default',
    run: beginRun(state, 'first', [], settings, 0).number,
    urlsPerHostMax: 1000,
  });
  first.transaction(() => {
    for (const path of ['one', 'picture'])
      first.offer({ url: `http://a.test/${path}`, role: 'page', depth: 1, hops: 0 }, false);
  });
  const { id } = first.hostsWithQueue(-1, 1)[0]!;
  first.transaction(() => {
    for (const item of first.peek(id, -1, 100))
      first.settle({ ...failedSettlement(item, STATE_DONE), verified: 1 }, item.rank);
  });
  const again = beginRun(state, 'again', ['http://a.test/'], { ...settings, lifetimeMs: 1000 }, 1);
  planRecrawl(state, again, 2);
  const frontier = new Frontier(state, { collection: 'default', run: again.number, urlsPerHostMax: 1000 });
  frontier.transaction(() => frontier.offer({ url: 'http://a.test/picture', role: 'embed', depth: 1, hops: 1 }, true));
  assert.deepEqual(
    frontier.peek(id, -1, 100).map(({ role, url }) => `${role} ${url}`),
    ['embed http://a.test/picture', 'page http://a.test/one'],
  );
  assert.equal(frontier.totals().queued, 2);
});

test('each run queues at most VARIANTS_MAX URLs that share a key', (t) => {
  const state = openState(t);
  const crawl = (session: (number: number) => string) => {
    const { number } = beginRun(state, 'first', [], CRAWL_DEFAULTS, 0);
    const frontier = new Frontier(state, { collection: 'default', run: number, urlsPerHostMax: 1000 });
    const verdicts = new Map<string, number>();
    frontier.transaction(() => {
      for (let visit = 0; visit < 40; visit++) {
        const url = `http://a.test/page?jsessionid=${session(visit).padStart(32, 'a')}`;
        const verdict = frontier.offer({ url, role: 'page', depth: 1, hops: 0 }, false);
        verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
      }
    });
    const { id } = frontier.hostsWithQueue(-1, 1)[0]!;
    const queued = frontier.peek(id, -1, 1000);
    assert.equal(queued.length, 16);
    frontier.transaction(() => {
      for (const item of queued) frontier.settle(failedSettlement(item), item.rank);
    });
    return Object.fromEntries(verdicts);
  };
  const expected = { queued: 16, variant: 24 };
  assert.deepEqual(
    crawl((visit) => `1x${visit}`),
    expected,
  );
  assert.deepEqual(
    crawl((visit) => `2x${visit}`),
    expected,
    'other session ids',
  );
  assert.deepEqual(
    crawl((visit) => `1x${visit}`),
    expected,
    'the same ids once more',
  );
});

test('a page that is found at a smaller depth during its visit is read again as a page', (t) => {
  const state = openState(t);
  const { number } = beginRun(state, 'first', [], CRAWL_DEFAULTS, 0);
  const frontier = new Frontier(state, { collection: 'default', run: number, urlsPerHostMax: 1000 });
  frontier.rereadsNearer = true;
  const offer = (role: Role, depth: number, hops: number) =>
    frontier.transaction(() => frontier.offer({ url: 'http://a.test/x', role, depth, hops }, false));
  offer('page', 1, 0);
  const { id } = frontier.hostsWithQueue(-1, 1)[0]!;
  const next = () => frontier.peek(id, -1, 10)[0]!;
  const taken = next();
  assert.equal(frontier.hasQueuedSeeds, false);
  offer('embed', 0, 1);
  const movedTo = frontier.lastRank;
  frontier.transaction(() => frontier.settle(failedSettlement(taken, STATE_DONE), taken.rank, movedTo));
  const again = next();
  assert.deepEqual([again.role, again.depth, again.hops, frontier.totals().queued], ['page', 0, 0, 1]);
  frontier.transaction(() => frontier.settle(failedSettlement(again, STATE_DONE), again.rank));
  assert.deepEqual([frontier.hasQueuedSeeds, frontier.totals().queued], [false, 0]);
});
