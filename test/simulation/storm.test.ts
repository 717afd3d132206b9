import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exploreSeed } from './explorer.ts';
import { prepare } from './scenario.ts';
import { stormOf } from './storm.ts';

const FIRST_SEED = 1;
const SEEDS = 60;

test('Many processes at random break no promise', async (t) => {
  t.diagnostic(`seeds ${FIRST_SEED} to ${FIRST_SEED + SEEDS - 1}`);
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
    const storm = stormOf(seed);
    assert.equal(await exploreSeed(storm, seed, await prepare(storm)), undefined, storm.name);
  }
});
