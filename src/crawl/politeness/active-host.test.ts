import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { Frontier } from '../frontier/frontier.ts';
import type { Offer } from '../frontier/known-url.ts';
import { CrawlState } from '../frontier/state.ts';
import { failedSettlement } from '../outcome.ts';
import { CRAWL_DEFAULTS } from '../settings.ts';
import { ActiveHost } from './active-host.ts';
import { HostDelay } from './host-delay.ts';

function withHost(work: (frontier: Frontier, offer: (offer: Offer) => void, host: ActiveHost) => void): void {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-host-'));
  const state = CrawlState.open(directory);
  try {
    const frontier = new Frontier(state, { collection: 'default', run: 1, urlsPerHostMax: 1_000_000 });
    let host: ActiveHost | undefined;
    const offer = (offered: Offer) =>
      frontier.transaction(() => {
        if (frontier.offer(offered, false) === 'queued') host?.noteQueued(frontier.lastRank, frontier.movedFrom);
      });
    offer({ url: 'http://a.test/', role: 'page', depth: 0, hops: 0 });
    const [{ id, name } = { id: 0, name: '' }] = frontier.hostsWithQueue(-1, 1);
    const settings = { ...CRAWL_DEFAULTS, hostConcurrency: 1 };
    host = new ActiveHost({ id, name, delay: new HostDelay(settings), frontier, hostConcurrency: 1 });
    work(frontier, offer, host);
  } finally {
    state.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

test('an embed that a page needs comes before pages that were queued and read ahead earlier', () => {
  withHost((_, offer, host) => {
    for (let page = 0; page < 30; page++) offer({ url: `http://a.test/${page}`, role: 'page', depth: 1, hops: 0 });
    const taken: string[] = [];
    const next = () => {
      if (host.peek(0, () => {})) taken.push(host.take().url);
    };
    next();
    offer({ url: 'http://a.test/style.css', role: 'embed', depth: 1, hops: 1 });
    for (let step = 0; step < 40; step++) next();
    assert.equal(taken.indexOf('http://a.test/style.css'), 1);
    assert.equal(taken.length, 32);
  });
});

test('a queued page that a visited page needs comes next, as an embed, even after it was read ahead', () => {
  withHost((_, offer, host) => {
    for (let page = 0; page < 30; page++) offer({ url: `http://a.test/${page}`, role: 'page', depth: 1, hops: 0 });
    const next = () => {
      const item = host.peek(0, () => {}) && host.take();
      return item && `${item.role} ${new URL(item.url).pathname}`;
    };
    assert.equal(next(), 'page /');
    offer({ url: 'http://a.test/20', role: 'embed', depth: 0, hops: 1 });
    assert.deepEqual([next(), next()], ['embed /20', 'page /0']);
    const rest = Array.from({ length: 30 }, next);
    assert.equal(rest.filter((item) => item !== undefined).length, 28);
  });
});

test('in any order of offers and settlements, every URL is taken exactly once', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('offer' as const), url: fc.nat(12), rank: fc.nat(3) }),
    fc.record({ kind: fc.constant('take' as const) }),
    fc.record({ kind: fc.constant('settle' as const), which: fc.nat(10) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
      withHost((frontier, offer, host) => {
        const offered = new Set(['http://a.test/']);
        const taken: string[] = [];
        const busy: ReturnType<ActiveHost['take']>[] = [];
        const take = () => {
          if (!host.peek(0, () => {})) return false;
          busy.push(host.take());
          taken.push(busy.at(-1)!.url);
          return true;
        };
        for (const one of steps) {
          if (one.kind === 'take') take();
          else if (one.kind === 'offer') {
            const url = `http://a.test/${one.url}`;
            offered.add(url);
            offer({ url, role: one.rank === 0 ? 'embed' : 'page', depth: one.rank, hops: one.rank === 0 ? 1 : 0 });
          } else {
            const [item] = busy.splice(one.which % Math.max(1, busy.length), 1);
            if (!item) continue;
            frontier.transaction(() => frontier.settle(failedSettlement(item), item.rank, host.movedTo(item.rank)));
            host.settled(item.rank);
          }
        }
        while (take());
        assert.deepEqual([...taken].sort(), [...offered].sort());
        assert.equal(frontier.totals().queued, busy.length);
        frontier.transaction(() => {
          for (const item of busy) frontier.settle(failedSettlement(item), item.rank, host.movedTo(item.rank));
        });
        for (const item of busy) host.settled(item.rank);
        assert.deepEqual(frontier.peek(host.id, -1, 1000), []);
        assert.equal(frontier.totals().queued, 0);
        host.peek(0, () => {});
        assert.equal(host.isIdle, true);
      });
    }),
    { numRuns: 60 },
  );
});
