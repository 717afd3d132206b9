import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type CrawlState, ROBOTS_FRESH_MS } from '../frontier/crawl-state.ts';
import { SqliteState } from '../frontier/sqlite/sqlite-state.ts';
import { RobotsCache } from './robots-cache.ts';
import type { RobotsRules } from './robots-rules.ts';

async function openState(t: TestContext): Promise<CrawlState> {
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-robots-'));
  t.after(() => rm(directory, { recursive: true }));
  const state = new SqliteState(directory, () => 0);
  t.after(() => state.close());
  return state;
}

/** The rules of an origin, read if they are not in memory. */
async function rulesOf(cache: RobotsCache, origin: string, now: number): Promise<RobotsRules | 'missing' | 'unread'> {
  if (cache.get(origin, now) === 'unread') await cache.load();
  return cache.get(origin, now);
}

test('a stored file is read when it is needed, and an expired one is missing', async (t) => {
  const state = await openState(t);
  const cache = new RobotsCache(state, 'pinakes');
  const origin = 'http://050.test';
  const body = Buffer.from('User-agent: *\nDisallow: /x');
  await cache.put(origin, { kind: 'robots', verdict: 'rules', body, time: 1, captures: 1, bytes: 0 });
  const anew = new RobotsCache(state, 'pinakes');
  assert.equal(anew.get(origin, 2), 'unread');
  assert.ok(anew.isWanted);
  const rules = await rulesOf(anew, origin, 2);
  assert.ok(typeof rules !== 'string' && !rules.isAllowed(`${origin}/x`));
  assert.equal(await rulesOf(anew, origin, 2 + ROBOTS_FRESH_MS), 'missing');
  assert.equal(await rulesOf(anew, 'http://none.test', 2), 'missing');
});

test('the latest large files stay in memory, and the others are loaded again', async (t) => {
  const cache = new RobotsCache(await openState(t), 'pinakes');
  const origin = (number: number) => `http://${number}.test`;
  const answer = { kind: 'robots', time: 1, captures: 1, bytes: 0 } as const;
  const put = (number: number, text: string) =>
    cache.put(origin(number), { ...answer, verdict: 'rules', body: Buffer.from(text) });
  const large = `User-agent: *\nDisallow: /x\n#${'x'.repeat(500_000)}`;
  const first = await put(0, large);
  assert.equal(cache.get(origin(0), 1), first);
  for (let number = 1; number < 40; number++) await put(number, large);
  assert.equal(cache.get(origin(0), 1), 'unread');
  const again = await rulesOf(cache, origin(0), 1);
  assert.ok(typeof again !== 'string' && !again.isAllowed(`${origin(0)}/x`));
  const last = cache.get(origin(39), 1);
  for (let number = 100; number < 600; number++) await put(number, 'User-agent: *\nDisallow: /y');
  assert.equal(cache.get(origin(39), 1), last, 'small files do not push a large one out');
});
