import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { RobotsCache } from './robots-cache.ts';
import { ROBOTS_FRESH_MS } from './robots-rules.ts';
import { CrawlState } from './state.ts';

test('files that are too old to hold leave the state as others come', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-robots-'));
  t.after(() => rm(directory, { recursive: true }));
  const state = CrawlState.open(directory);
  t.after(() => state.close());
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
  assert.equal(left.length, 100, 'those that hold stay');
  const anew = new RobotsCache(state, 'pinakes').get('http://050.new.test', now);
  assert.equal(anew?.isAllowed('http://050.new.test/x'), false);
});
