import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Frontier, FrontierBatch, TakenUrl } from '../frontier/frontier.ts';
import type { Offer } from '../frontier/known-url.ts';
import { SqliteState } from '../frontier/sqlite/sqlite-state.ts';
import { failedSettlement } from '../outcome.ts';
import { zeroCounts } from '../report.ts';
import { CRAWL_DEFAULTS } from '../settings.ts';
import { ActiveHost } from './active-host.ts';
import { HostDelay } from './host-delay.ts';

type World = {
  readonly frontier: Frontier;
  readonly host: ActiveHost;
  readonly offer: (offer: Offer) => Promise<void>;
  /** The next URL of the host, read if it must be. */
  readonly peek: () => Promise<TakenUrl | undefined>;
  readonly settle: (items: readonly TakenUrl[]) => Promise<void>;
};

async function withHost(work: (world: World) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-host-'));
  const state = new SqliteState(directory, () => 0);
  try {
    const settings = { ...CRAWL_DEFAULTS, hostConcurrency: 1 };
    const run = await state.begin({ kind: 'first', seeds: [], movedSeeds: [], settings });
    const frontier = await state.frontier(run, false);
    let host: ActiveHost | undefined;
    const write = async (batch: Partial<FrontierBatch>) => {
      const none = { visits: [], urls: [], tries: [], facts: new Map(), cookies: [], movedSeeds: undefined };
      const whole = { ...none, onlyNew: false, offersOf: () => [], counts: () => zeroCounts(), ...batch };
      for (const { rank } of (await frontier.write(whole)).queued) host?.noteQueued(rank);
    };
    const offer = (offered: Offer) => write({ urls: [{ offer: offered, orGone: false }] });
    await offer({ url: 'http://a.test/', role: 'page', depth: 0, hops: 0 });
    const [found] = await frontier.hosts(-1, 1);
    const active = new ActiveHost({ ...found!, delay: new HostDelay(settings), hostConcurrency: 1 });
    host = active;
    const peek = async () => {
      for (active.peek(0); active.mustRead; active.peek(0)) {
        const request = active.readRequest();
        active.noteRead(request, (await frontier.read([request]))[0]!);
      }
      return active.peek(0);
    };
    const settle = async (items: readonly TakenUrl[]) => {
      const visits = items.map((item) => ({
        item,
        rank: item.rank,
        settlement: failedSettlement(item),
        findings: undefined,
      }));
      await write({ visits });
      for (const { url } of items) active.settled(url);
    };
    await work({ frontier, host: active, offer, peek, settle });
  } finally {
    await state.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

test('an embed that a page needs comes before pages that were queued and read ahead earlier', () =>
  withHost(async ({ offer, host, peek }) => {
    for (let page = 0; page < 30; page++)
      await offer({ url: `http://a.test/${page}`, role: 'page', depth: 1, hops: 0 });
    const taken: string[] = [];
    const next = async () => {
      if (await peek()) taken.push(host.take().url);
    };
    await next();
    await offer({ url: 'http://a.test/style.css', role: 'embed', depth: 1, hops: 1 });
    for (let step = 0; step < 40; step++) await next();
    assert.equal(taken.indexOf('http://a.test/style.css'), 1);
    assert.equal(taken.length, 32);
  }));

test('a queued page that a visited page needs comes next, as an embed, even after it was read ahead', () =>
  withHost(async ({ offer, host, peek }) => {
    for (let page = 0; page < 30; page++)
      await offer({ url: `http://a.test/${page}`, role: 'page', depth: 1, hops: 0 });
    const next = async () => {
      const item = (await peek()) && host.take();
      return item && `${item.role} ${new URL(item.url).pathname}`;
    };
    assert.equal(await next(), 'page /');
    await offer({ url: 'http://a.test/20', role: 'embed', depth: 0, hops: 1 });
    assert.deepEqual([await next(), await next()], ['embed /20', 'page /0']);
    let rest = 0;
    for (let step = 0; step < 30; step++) if ((await next()) !== undefined) rest++;
    assert.equal(rest, 28);
  }));

test('in any order of offers and settlements, every URL is taken exactly once', async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('offer' as const), url: fc.nat(12), rank: fc.nat(3) }),
    fc.record({ kind: fc.constant('take' as const) }),
    fc.record({ kind: fc.constant('settle' as const), which: fc.nat(10) }),
    fc.record({ kind: fc.constant('read-again' as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80, size: 'max' }), (steps) =>
      withHost(async ({ frontier, offer, host, peek, settle }) => {
        const offered = new Set(['http://a.test/']);
        const taken: string[] = [];
        const busy: TakenUrl[] = [];
        const take = async () => {
          if (!(await peek())) return false;
          busy.push(host.take());
          taken.push(busy.at(-1)!.url);
          return true;
        };
        for (const one of steps) {
          if (one.kind === 'take') await take();
          else if (one.kind === 'read-again') {
            // Other crawlers may have queued URLs.
            host.readAgain();
          } else if (one.kind === 'offer') {
            const url = `http://a.test/${one.url}`;
            offered.add(url);
            await offer({
              url,
              role: one.rank === 0 ? 'embed' : 'page',
              depth: one.rank,
              hops: one.rank === 0 ? 1 : 0,
            });
          } else {
            const [item] = busy.splice(one.which % Math.max(1, busy.length), 1);
            if (item) await settle([item]);
          }
        }
        while (await take());
        assert.deepEqual([...taken].sort(), [...offered].sort());
        assert.equal((await frontier.totals()).queued, busy.length);
        await settle(busy);
        assert.equal((await frontier.totals()).queued, 0);
        await peek();
        assert.equal(host.isIdle, true);
      }),
    ),
    { numRuns: 60 },
  );
});
