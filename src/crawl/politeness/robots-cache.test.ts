import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { CrawlState } from '../frontier/state.ts';
import { RobotsCache } from './robots-cache.ts';
import { ROBOTS_FRESH_MS } from './robots-rules.ts';

async function openState(t: TestContext): Promise<CrawlState> {
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-robots-'));
  t.after(() => rm(directory, { recursive: true }));
  const state = CrawlState.open(directory);
  t.after(() => state.close());
  return state;
}

test('storing a file deletes expired files of other origins', async (t) => {
  const state = await openState(t);
  const cache = new RobotsCache(state, 'pinakes');
  const put = (name: string, number: number, time: number) =>
    cache.put(`http://${String(number).padStart(3, '0')}.${name}.test`, {
      kind: 'robots',
      verdict: 'rules',
      body: Buffer.from('User-agent: *\nDisallow: /x'),
      time,
      captures: 1,
      bytes: 0,
    });
  const now = 10 * ROBOTS_FRESH_MS;
  for (let number = 0; number < 100; number++) put('old', number, 1);
  for (let number = 0; number < 100; number++) put('new', number, now - 1);
  const left = state.all<{ origin: string }>('SELECT origin FROM robots').map(({ origin }) => origin);
  assert.equal(left.filter((origin) => origin.includes('old')).length, 0);
  assert.equal(left.length, 100, 'fresh files stay');
  const anew = new RobotsCache(state, 'pinakes').get('http://050.new.test', now);
  assert.equal(anew?.isAllowed('http://050.new.test/x'), false);
});

test('the latest large files stay in memory, and the others are loaded again', async (t) => {
  const cache = new RobotsCache(await openState(t), 'pinakes');
  const origin = (number: number) => `http://${number}.test`;
  const answer = { kind: 'robots', time: 1, captures: 1, bytes: 0 } as const;
  const put = (number: number, text: string) =>
    cache.put(origin(number), { ...answer, verdict: 'rules', body: Buffer.from(text) });
  const large = `User-agent: *\nDisallow: /x\n#${'x'.repeat(500_000)}`;
  const first = put(0, large);
  assert.equal(cache.get(origin(0), 1), first);
  for (let number = 1; number < 40; number++) put(number, large);
  const again = cache.get(origin(0), 1);
  assert.notEqual(again, first);
  assert.equal(again?.isAllowed(`${origin(0)}/x`), false);
  const last = cache.get(origin(39), 1);
  for (let number = 100; number < 600; number++) put(number, 'User-agent: *\nDisallow: /y');
  assert.equal(cache.get(origin(39), 1), last, 'small files do not push a large one out');
});
