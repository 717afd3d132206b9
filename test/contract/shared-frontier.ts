/** The rules of a frontier that several crawlers share: leases, what goes with a host, limits, and the end of a run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { type CrawlReport, type CrawlState, type Frontier, type HostFacts, zeroCounts } from '../../src/crawl/index.ts';
import { beginRun, offerAll, page, queueOf, settle, take, write } from './frontier-world.ts';

export type SharedWorld = {
  readonly state: CrawlState;
  /** Ends the leases of all crawlers but those that renew them in time, as if their processes had been paused. */
  readonly endLeases: () => Promise<void>;
  readonly dispose: () => Promise<void>;
};

const HOSTS = 60;
const ALL = 10_000;
/** The hosts of these tests. */
const NAMES = ['a.test', ...Array.from({ length: HOSTS }, (_, number) => `${number}.test`)];
const NONE = { failedUrls: [], partlyReadUrls: [] };

const FACTS: HostFacts = {
  pauseMs: 0,
  latencyMs: 12,
  crawlDelayMs: 0,
  refusals: 1,
  refusedUrls: 0,
  refusesAll: false,
  requestedPauseMs: 0,
  connectionFailures: 0,
  unreachableMs: 0,
  answeringOrigin: 'http://a.test',
  name: 'found',
};

async function join(state: CrawlState): Promise<Frontier> {
  const [run] = await state.runs(undefined, 1);
  const frontier = await state.frontier(run!, false);
  frontier.rereadsNearer = true;
  return frontier;
}

async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let waitedMs = 0; !(await isSo()); waitedMs += 50) {
    assert.ok(waitedMs < 20_000, what);
    await setTimeout(50);
  }
}

const namesOf = async (frontier: Frontier) => (await frontier.hosts(-1, ALL)).map(({ name }) => name).sort();

export function sharedFrontier(make: () => Promise<SharedWorld>): void {
  const check = (title: string, work: (world: SharedWorld) => Promise<void>) =>
    test(title, async () => {
      const world = await make();
      try {
        await work(world);
      } finally {
        await world.dispose();
      }
    });

  check('a crawler that joins gets its share of the hosts, and no host has two crawlers', async ({ state }) => {
    const one = await beginRun(state);
    await offerAll(
      one,
      Array.from({ length: HOSTS }, (_, number) => page(`http://${number}.test/`)),
    );
    assert.equal((await namesOf(one)).length, HOSTS);
    const other = await join(state);
    assert.deepEqual(await namesOf(other), []);
    await until('the first crawler is asked for hosts', () => giveWantedBack(one));
    await until('the other crawler gets hosts', async () => (await namesOf(other)).length > 10);
    const [mine, theirs] = [await namesOf(one), await namesOf(other)];
    assert.deepEqual(
      [...mine, ...theirs].sort(),
      Array.from({ length: HOSTS }, (_, number) => `${number}.test`).sort(),
    );
    assert.ok(mine.every((name) => one.mayAsk(name) && !other.mayAsk(name)));
    assert.ok(theirs.every((name) => other.mayAsk(name) && !one.mayAsk(name)));
    await Promise.all([one.close(), other.close()]);
  });

  check(
    'nothing is written under a lease that has ended, and its URLs are asked again',
    async ({ state, endLeases }) => {
      const paused = await beginRun(state);
      await offerAll(paused, [page('one'), page('two')]);
      const item = await take(paused, 'one');
      assert.ok(paused.holds('a.test'));
      await endLeases();
      assert.equal((await settle(paused, item)).lost.length, 1, 'even before another crawler has taken its place');
      const other = await join(state);
      const [host] = await other.hosts(-1, ALL);
      assert.equal(host!.mayBeVisited, true, 'the other may have stored what it did not note');
      assert.ok(host!.earlier.unnotedAgoMs! < 30_000, 'the pause is counted from the end of the lease');
      const { lost, queued } = await settle(paused, item, {
        findings: { urls: [{ offer: page('late'), orGone: false }] },
      });
      assert.deepEqual([lost.length, queued], [1, []]);
      assert.deepEqual(
        (await queueOf(other)).map(({ url }) => url),
        ['http://a.test/one', 'http://a.test/two'],
      );
      await until('the paused crawler notices', () => !paused.holds('a.test'));
      assert.ok((paused.news()?.lost.length ?? 0) > 0);
      assert.deepEqual(await namesOf(paused), [], 'its host has another crawler');
      const taken = await take(other, 'one');
      assert.deepEqual((await settle(other, taken)).lost, []);
      await Promise.all([paused.close(), other.close()]);
    },
  );

  check('the pause, the back-off and the cookies of a host go with it', async ({ state }) => {
    const one = await beginRun(state);
    await offerAll(one, [page('one'), page('two')]);
    const item = await take(one, 'one');
    const cookie = { domain: 'a.test', name: 'wall', value: 'passed', setAt: 5, isSecure: false, isNeeded: true };
    await write(one, { tries: [item], facts: new Map([['a.test', { ...FACTS, pauseMs: 60_000 }]]), cookies: [cookie] });
    await one.release(new Map([['a.test', { ...FACTS, pauseMs: 40_000, refusals: 2 }]]));
    const other = await join(state);
    await until('the host is free', async () => (await namesOf(other)).length === 1);
    const [host] = await other.hosts(-1, ALL);
    const { facts, unnotedAgoMs } = host!.earlier;
    assert.ok(facts!.pauseMs > 30_000 && facts!.pauseMs <= 40_000, String(facts!.pauseMs));
    assert.deepEqual([{ ...facts!, pauseMs: 0 }, unnotedAgoMs], [{ ...FACTS, refusals: 2 }, undefined]);
    assert.equal(host!.mayBeVisited, false, 'it was given back');
    assert.equal((await take(other, 'one')).tries, 1);
    let cookies = other.news()?.cookies ?? [];
    await until('the cookie arrives', () => (cookies = [...cookies, ...(other.news()?.cookies ?? [])]).length > 0);
    assert.deepEqual(cookies[0], cookie);
    await Promise.all([one.close(), other.close()]);
  });

  check('a limit of pages holds over all crawlers together', async ({ state }) => {
    const one = await beginRun(state, { pagesMax: 25 });
    const other = await join(state);
    const used = new Map([one, other].map((frontier) => [frontier, 0]));
    for (let idle = 0; idle < 4; ) {
      idle++;
      for (const [frontier, count] of used)
        if (count < frontier.pagesAllowed(count) || (await frontier.askForPages(count))) {
          used.set(frontier, count + 1);
          idle = 0;
        }
    }
    const counts = [...used.values()];
    assert.ok(Math.min(...counts) > 0, 'both get some');
    assert.equal(counts[0]! + counts[1]!, 25);
    await Promise.all([one.close(), other.close()]);
  });

  check('one crawler ends the run when nothing is left, with the counts of all', async ({ state }) => {
    const crawlers = [await beginRun(state), await join(state), await join(state)];
    const [one] = crawlers;
    await offerAll(one!, [page('only')]);
    await settle(one!, await take(one!, 'only'));
    for (const crawler of crawlers) assert.ok(await crawler.isFinished());
    let isOver = false;
    const ends = await Promise.all(
      crawlers.map(async (crawler, number) => {
        // The first one waits until the counts of the others are final.
        if (number > 0) await setTimeout(500);
        assert.ok(!isOver);
        const end = await crawler.end('done', NONE, { ...zeroCounts(), pages: 10 ** number, statuses: { 200: 1 } });
        isOver = true;
        if (end.kind === 'last') await crawler.finish({ outcome: 'done', counts: end.counts } as CrawlReport);
        return end;
      }),
    );
    assert.deepEqual(ends.map(({ kind }) => kind).sort(), ['ended', 'ended', 'last']);
    for (const end of ends) {
      const counts = end.kind === 'ended' ? end.report.counts : end.kind === 'last' ? end.counts : undefined;
      assert.deepEqual([counts?.pages, counts?.statuses], [111, { 200: 3 }]);
    }
    assert.equal((await state.runs(undefined, 1))[0]!.state, 'done');
    await Promise.all(crawlers.map((crawler) => crawler.close()));
  });

  check('a run goes on when one crawler is stopped, and is interrupted when the last one is', async ({ state }) => {
    const [one, other] = [await beginRun(state), await join(state)];
    await offerAll(one, [page('left')]);
    await assert.rejects(state.drop((await state.runs(undefined, 1))[0]!), { code: 'CRAWL_RUNNING' });
    assert.equal((await one.end('interrupted', NONE, zeroCounts())).kind, 'left');
    await one.close();
    await until('the host is free', async () => (await namesOf(other)).length === 1);
    assert.equal((await other.end('done', NONE, zeroCounts())).kind, 'unfinished');
    assert.equal((await other.end('interrupted', NONE, zeroCounts())).kind, 'last');
    await other.close();
  });

  check('URLs that seeds redirected to reach all crawlers', async ({ state }) => {
    const [one, other] = [await beginRun(state), await join(state)];
    await write(one, { movedSeeds: ['http://moved.test/'] });
    let moved: readonly string[] = [];
    await until('the seed arrives', () => (moved = other.news()?.movedSeeds ?? moved).length > 0);
    assert.deepEqual(moved, ['http://moved.test/']);
    await Promise.all([one.close(), other.close()]);
  });

  check('a host can be reserved for a single request, also while another crawler holds it', async ({ state }) => {
    const [one, other] = [await beginRun(state), await join(state)];
    await offerAll(one, [page('one')]);
    await take(one, 'one');
    const reserving = other.reserve('a.test', AbortSignal.timeout(20_000));
    await until('the holder is asked', () => giveWantedBack(one));
    await reserving;
    assert.ok(other.mayAsk('a.test') && !one.holds('a.test'));
    await assert.rejects(one.reserve('a.test', AbortSignal.timeout(300)));
    await Promise.all([one.close(), other.close()]);
  });
}

/** Gives the hosts back that are wanted, as an engine does. Returns whether there were any. */
async function giveWantedBack(frontier: Frontier): Promise<boolean> {
  const wanted = new Set(frontier.news()?.wanted);
  if (wanted.size === 0) return false;
  await frontier.release(new Map(NAMES.filter((name) => !frontier.mayAsk(name)).map((name) => [name, FACTS])));
  return true;
}
