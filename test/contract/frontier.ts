/** The rules of every frontier and state of crawls; see src/crawl/frontier/frontier.ts. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { type CrawlState, type Frontier, STATE_DONE, STATE_GONE, STATE_UNVERIFIED } from '../../src/crawl/index.ts';
import {
  beginRun,
  embed,
  finishRun,
  found,
  offer,
  offerAll,
  page,
  queueOf,
  queueTexts,
  type StateUnderTest,
  settle,
  settleAll,
  take,
  write,
} from './frontier-world.ts';

const HOUR_MS = 3600_000;

export function frontierContract(name: string, make: () => Promise<StateUnderTest>): void {
  const check = (title: string, work: (state: CrawlState, t: TestContext, world: StateUnderTest) => Promise<void>) =>
    test(`${name}: ${title}`, async (t) => {
      const world = await make();
      const state = world.open();
      try {
        await work(state, t, world);
      } finally {
        await state.close();
        await world.dispose();
      }
    });

  check('a queued page that a visited page needs moves up to the embeds, also for another process', async (state) => {
    const frontier = await beginRun(state);
    await offerAll(frontier, [page('seed', 0), page('moved', 0)]);
    await offerAll(
      frontier,
      ['one', 'two', 'named', 'picture'].map((path) => page(path, 2)),
    );
    await offer(frontier, page('led-to', 2, { hops: 1 }));
    assert.equal(await offer(frontier, embed('picture')), 'queued');
    assert.equal(await offer(frontier, embed('picture')), 'known');
    assert.equal(await offer(frontier, embed('led-to')), 'known');
    assert.equal(
      await offer(frontier, embed('named', 2, { hops: 0 })),
      'known',
      'a URL that is only named is not needed',
    );
    assert.equal(
      await offer(frontier, embed('named', 1, { isHint: true })),
      'known',
      'nor one that is only prefetched',
    );
    assert.equal(await offer(frontier, embed('seed', 0)), 'known', 'a seed stays a page');
    await offerAll(frontier, [page('new', 2), embed('new')]);
    await frontier.close();
    const [run] = await state.runs('default', 1);
    const later = await state.frontier(run!, false);
    assert.deepEqual(await queueTexts(later), [
      'embed 1 /led-to',
      'embed 1 /picture',
      'embed 1 /new',
      'page 0 /seed',
      'page 0 /moved',
      'page 2 /one',
      'page 2 /two',
      'page 2 /named',
    ]);
    later.onlyNeeds = true;
    assert.equal((await queueOf(later)).length, 3);
    await later.close();
  });

  check('a page that moves to the embeds during its visit leaves the queue when it is settled', async (state) => {
    const frontier = await beginRun(state);
    await offer(frontier, page('picture'));
    const item = await take(frontier, 'picture');
    assert.equal(await offer(frontier, embed('picture')), 'queued');
    assert.equal((await queueOf(frontier)).length, 1);
    await settle(frontier, item);
    assert.deepEqual(await queueOf(frontier), []);
    assert.equal(await offer(frontier, embed('picture')), 'known');
    assert.ok(await frontier.isFinished());
    await frontier.close();
  });

  check('a page that is found at a smaller depth after or during its visit is read again', async (state) => {
    const frontier = await beginRun(state, { depthMax: 3 });
    await offerAll(frontier, [page('after', 2), page('during', 2)]);
    await settle(frontier, await take(frontier, 'after'));
    assert.equal(await offer(frontier, page('after', 1)), 'queued');
    const taken = await take(frontier, 'during');
    assert.equal(await offer(frontier, embed('during', 0)), 'queued');
    const { queued } = await settle(frontier, taken);
    assert.equal(queued.length, 1);
    const items = await queueOf(frontier);
    assert.deepEqual(
      items.map(({ tries }) => tries),
      [-1, -1],
    );
    assert.deepEqual(await queueTexts(frontier), ['page 0 /during', 'page 1 /after']);
    await frontier.close();
  });

  check(
    'no two queued URLs of a host have the same rank, whether a recrawl planned them or found them',
    async (state) => {
      const settings = { fixed: true };
      const first = await beginRun(state, settings);
      await offerAll(
        first,
        Array.from({ length: 40 }, (_, number) => page(String(number), 0)),
      );
      await settleAll(first);
      await finishRun(state, first);
      const frontier = await beginRun(state, settings, 'again');
      assert.equal(await frontier.planRecrawl(() => true), 0);
      const files = Array.from({ length: 40 }, (_, number) => number);
      await offerAll(
        frontier,
        files.flatMap((file) => [page(`${file}.css`, 0, { role: 'sitemap' }), embed(`${file}.png`, 0)]),
        true,
      );
      const queued = await queueOf(frontier);
      assert.equal(queued.length, 120);
      assert.equal(new Set(queued.map(({ rank }) => rank)).size, 120, 'no two ranks are equal');
      for (const item of queued.slice(0, 50)) await settle(frontier, item);
      assert.deepEqual(
        (await queueOf(frontier)).map(({ url }) => url),
        queued.slice(50).map(({ url }) => url),
      );
      await frontier.close();
    },
  );

  check('a recrawl visits unverified pages, expiring ones, and then as many likely ones as it may', async (state) => {
    const now = await state.now();
    const first = await beginRun(state);
    const paths = ['failed', 'old', 'often', 'never', 'gone', 'seed', 'out'];
    await offerAll(
      first,
      paths.map((path) => page(path)),
    );
    const settled = async (frontier: Frontier, path: string, isChanged: boolean | undefined, verified: number) =>
      settle(frontier, await take(frontier, path), { verified, ...(isChanged !== undefined && { isChanged }) });
    for (const path of ['often', 'never', 'out']) await settled(first, path, undefined, now - 9 * HOUR_MS);
    await settle(first, await take(first, 'failed'), { state: STATE_UNVERIFIED, status: 0 });
    await settled(first, 'old', undefined, now - 1000 * HOUR_MS);
    for (const path of ['gone', 'seed'])
      await settle(first, await take(first, path), { state: STATE_GONE, status: 404 });
    await finishRun(state, first);
    const second = await beginRun(state, { fixed: true }, 'again');
    await second.planRecrawl(({ url }) => !url.endsWith('gone'));
    await settled(second, 'often', true, now - 3 * HOUR_MS);
    await settled(second, 'never', false, now - 3 * HOUR_MS);
    await settled(second, 'out', true, now - HOUR_MS);
    await settle(second, await take(second, 'failed'), { state: STATE_UNVERIFIED, status: 0 });
    await settled(second, 'old', undefined, now - 1000 * HOUR_MS);
    await finishRun(state, second);
    const settings = { budget: 1, lifetimeMs: 100 * HOUR_MS };
    const third = await beginRun(state, settings, 'again', ['http://a.test/seed']);
    assert.equal(await third.planRecrawl(({ url }) => !url.endsWith('out')), 1);
    const visited = (await queueOf(third)).map(({ url }) => new URL(url).pathname);
    assert.deepEqual(
      [visited.slice(0, 2).sort(), visited.slice(2)],
      [
        ['/failed', '/seed'],
        ['/old', '/often'],
      ],
    );
    await third.close();
  });

  check('each run queues at most 16 URLs that share a key', async (state) => {
    const crawl = async (session: (number: number) => string) => {
      const frontier = await beginRun(state);
      const offers = Array.from({ length: 40 }, (_, visit) =>
        page(`page?jsessionid=${session(visit).padStart(32, 'a')}`),
      );
      const { queued, refused } = await offerAll(frontier, offers);
      await settleAll(frontier);
      await finishRun(state, frontier);
      return [queued.length, refused.reduce((sum, { count }) => sum + count, 0), refused[0]!.reason];
    };
    for (const session of ['1x', '2x', '1x'])
      assert.deepEqual(await crawl((visit) => `${session}${visit}`), [16, 24, 'variant'], session);
  });

  check('a host has as many URLs as the settings allow, over all runs', async (state) => {
    const frontier = await beginRun(state, { urlsPerHostMax: 2 });
    assert.equal(await offer(frontier, page('one')), 'queued');
    assert.equal(await offer(frontier, page('two')), 'queued');
    assert.equal(await offer(frontier, page('three')), 'host-full');
    assert.equal(await offer(frontier, page('one')), 'known');
    assert.equal(await offer(frontier, page('http://b.test/three')), 'queued');
    await frontier.close();
  });

  check('a recrawl leaves known URLs out, and takes gone ones where it is told to', async (state) => {
    const first = await beginRun(state);
    await offerAll(first, [page('kept'), page('gone')]);
    await settle(first, await take(first, 'kept'));
    await settle(first, await take(first, 'gone'), { state: STATE_GONE, status: 404 });
    await finishRun(state, first);
    const again = await beginRun(state, {}, 'again');
    assert.deepEqual(
      [
        await offer(again, page('kept'), true),
        await offer(again, page('gone'), true),
        await offer(again, page('kept'), true, true),
      ],
      ['known', 'known', 'known'],
    );
    assert.equal(await offer(again, page('gone'), true, true), 'queued');
    assert.equal(await offer(again, page('new'), true), 'queued');
    await finishRun(state, again);
    const seeds = await beginRun(state);
    assert.equal(await offer(seeds, page('kept')), 'queued', 'a crawl from seeds visits everything again');
    await seeds.close();
  });

  check('a redirect to a URL that was visited without a cookie is followed once more', async (state) => {
    const frontier = await beginRun(state);
    await offer(frontier, page('wall', 0));
    await settle(frontier, await take(frontier, 'wall'), { status: 302, verified: 10 });
    await offer(frontier, page('set', 0));
    const again = { url: 'http://a.test/wall', hops: 2, since: 10 };
    const { again: visited } = await settle(frontier, await take(frontier, 'set'), { findings: { again } });
    assert.deepEqual(visited, [again.url]);
    const item = await take(frontier, 'wall');
    assert.deepEqual([item.hops, item.tries], [2, 0]);
    await settle(frontier, item, { status: 302, verified: 20 });
    await offer(frontier, page('set-2', 0));
    assert.deepEqual((await settle(frontier, await take(frontier, 'set-2'), { findings: { again } })).again, []);
    await frontier.close();
  });

  check('embeds that a sitemap lists wait for their page, and are offered with its links', async (state) => {
    const frontier = await beginRun(state);
    await offerAll(frontier, [page('sitemap', 0, { role: 'sitemap' }), page('kept'), page('later'), page('gone')]);
    await settle(frontier, await take(frontier, 'kept'));
    const link = (path: string) => ({
      url: `http://a.test/${path}`,
      kind: 'image' as const,
      isEmbed: true,
      isNofollow: false,
    });
    const pageEmbeds = ['kept', 'later', 'gone', 'unknown'].map((path) => ({
      page: `http://a.test/${path}`,
      links: [link(`${path}.png`), link(`${path}-2.png`)],
    }));
    const offersOf = (_: unknown, links: readonly { readonly url: string }[]) =>
      found(links.map(({ url }) => embed(url)));
    await settle(frontier, await take(frontier, 'sitemap'), { findings: { pageEmbeds }, offersOf });
    const pictures = async () => (await queueTexts(frontier)).filter((text) => text.startsWith('embed')).sort();
    assert.deepEqual(await pictures(), ['embed 1 /kept-2.png', 'embed 1 /kept.png']);
    await settle(frontier, await take(frontier, 'gone'), {
      state: STATE_GONE,
      status: 404,
      findings: { waitingEmbeds: 'deleted' },
      offersOf,
    });
    await settle(frontier, await take(frontier, 'later'), { findings: { waitingEmbeds: 'offered' }, offersOf });
    assert.deepEqual(await pictures(), [
      'embed 1 /kept-2.png',
      'embed 1 /kept.png',
      'embed 1 /later-2.png',
      'embed 1 /later.png',
    ]);
    await frontier.close();
  });

  check('a page whose visit fails for a while keeps its place and counts the tries', async (state) => {
    const frontier = await beginRun(state);
    await offer(frontier, page('slow'));
    const item = await take(frontier, 'slow');
    await write(frontier, { tries: [item] });
    await write(frontier, { tries: [item] });
    const again = await take(frontier, 'slow');
    assert.deepEqual([again.tries, again.rank], [2, item.rank]);
    await frontier.close();
  });

  check('a URL that a rendered page requested is known without being queued', async (state) => {
    const frontier = await beginRun(state);
    const { isSettled, ...item } = await frontier.lookUp(embed('script.js'));
    assert.equal(isSettled, false);
    await offer(frontier, page('page'));
    // The host is leased by its page.
    assert.equal((await queueOf(frontier)).length, 1);
    const settlement = { ...(await settlementOf(item)), state: STATE_DONE };
    await write(frontier, { visits: [{ item, rank: undefined, settlement, findings: undefined }] });
    assert.equal((await queueOf(frontier)).length, 1);
    assert.equal((await frontier.lookUp(embed('script.js'))).isSettled, true);
    assert.equal(await offer(frontier, embed('script.js')), 'known');
    assert.equal((await frontier.find('http://a.test/script.js', false))?.isDone, true);
    assert.equal(await frontier.find('http://a.test/other', true), undefined);
    await frontier.close();
  });

  check('pages of depth 0 count as seeds until they are settled', async (state) => {
    const frontier = await beginRun(state);
    await offerAll(frontier, [page('seed', 0), page('page'), embed('picture', 0)]);
    assert.ok(frontier.hasQueuedSeeds);
    await settle(frontier, await take(frontier, 'page'));
    await offer(frontier, page('moved', 0, { hops: 1 }));
    await settle(frontier, await take(frontier, 'seed'));
    assert.ok(frontier.hasQueuedSeeds);
    await settle(frontier, await take(frontier, 'moved'));
    for (let waitedMs = 0; frontier.hasQueuedSeeds; waitedMs += 50) {
      assert.ok(waitedMs < 10_000);
      await setTimeout(50);
    }
    await frontier.close();
  });

  check('robots.txt files are kept for all processes, and deleted when they have expired', async (state, _, world) => {
    const now = 100 * HOUR_MS;
    const name = (kind: string, number: number) => `http://${String(number).padStart(3, '0')}.${kind}.test`;
    const file = (fetched: number) => ({
      verdict: 'rules' as const,
      body: Buffer.from('User-agent: *\nDisallow: /x'),
      fetched,
    });
    for (let number = 0; number < 30; number++) await state.putRobots(name('old', number), file(1));
    for (let number = 0; number < 30; number++) await state.putRobots(name('new', number), file(now));
    const other = world.open();
    const all = ['old', 'new'].flatMap((kind) => Array.from({ length: 30 }, (_unused, number) => name(kind, number)));
    const files = await other.robots(all);
    assert.deepEqual([...files.keys()].sort(), all.filter((origin) => origin.includes('new')).sort());
    const { verdict, body, fetched } = files.get(name('new', 5))!;
    assert.deepEqual([verdict, Buffer.from(body).toString(), fetched], ['rules', 'User-agent: *\nDisallow: /x', now]);
    await other.close();
  });

  check('runs are listed, resumed with other settings, dropped, and found by number', async (state) => {
    const frontier = await beginRun(state, { collection: 'one' }, 'first', ['http://a.test/']);
    await offer(frontier, page('left'));
    await frontier.close();
    const [run] = await state.runs('one', 10);
    assert.deepEqual([run!.state, run!.seeds, run!.counts === undefined], ['running', ['http://a.test/'], false]);
    const resumed = await state.resume(run!, { ...run!.settings, delayMs: 7 });
    assert.equal((await state.run(run!.number))!.settings.delayMs, 7);
    const later = await state.frontier(resumed, true);
    assert.deepEqual(
      (await later.hosts(-1, 10)).map(({ name: host, queued, mayBeVisited }) => [host, queued, mayBeVisited]),
      [['a.test', 1, true]],
    );
    await later.close();
    await state.drop(resumed);
    assert.equal((await state.runs('one', 1))[0]!.state, 'dropped');
    const next = await beginRun(state, { collection: 'one' });
    assert.deepEqual(await queueOf(next), []);
    await write(next, { movedSeeds: ['http://b.test/'] });
    await next.close();
    assert.deepEqual((await state.allSeeds('one')).sort(), ['http://a.test/', 'http://b.test/']);
    assert.equal((await state.lastFirstRun('one'))!.number, (await state.runs('one', 1))[0]!.number);
    assert.equal(await state.lastFirstRun('two'), undefined);
    assert.equal((await state.runs(undefined, 10)).length, 2);
  });

  check('a scheduled crawl that is due is claimed by one process', async (state, _, world) => {
    const due = (await state.now()) - 1000;
    const schedule = { collection: 'daily', every: 'day', seeds: ['http://a.test/'], settings: { delayMs: 3 }, due };
    assert.deepEqual(await state.putSchedule(schedule), { ...schedule, last: undefined, isClaimed: false });
    const other = world.open();
    const claims = await Promise.all([state.claimDue('daily'), other.claimDue('daily')]);
    const [claim, ...more] = claims.filter((one) => one !== undefined);
    assert.equal(more.length, 0);
    assert.deepEqual(
      (await other.schedules()).map(({ isClaimed }) => isClaimed),
      [true],
    );
    await claim!.giveUp();
    const again = await other.claimDue('daily');
    assert.equal(again!.schedule.settings.delayMs, 3);
    await again!.settle(due + 1000 * HOUR_MS, due);
    assert.equal(await state.claimDue('daily'), undefined, 'it is not due');
    const [settled] = await state.schedules();
    assert.deepEqual([settled!.due, settled!.last, settled!.isClaimed], [due + 1000 * HOUR_MS, due, false]);
    const early = await state.claimDue('daily', true);
    await early!.giveUp();
    assert.deepEqual([await state.removeSchedule('daily'), await state.removeSchedule('daily')], [true, false]);
    await other.close();
  });
}

async function settlementOf(
  item: Awaited<ReturnType<Frontier['lookUp']>> extends infer Item ? Omit<Item, 'isSettled'> : never,
) {
  const none = { verified: undefined, captured: undefined, etag: undefined, modified: undefined, digest: undefined };
  return { item, status: 200, ...none, isChanged: undefined } as never as Parameters<
    Frontier['write']
  >[0]['visits'][number]['settlement'];
}
