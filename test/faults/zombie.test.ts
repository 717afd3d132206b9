import assert from 'node:assert/strict';
import { test } from 'node:test';
import { zombieRounds } from './zombie-round.ts';

test('I2, P1: on a bucket, killed and stopped writers lose nothing that was acknowledged', async (t) => {
  const seed = Math.floor(Math.random() * 1e9);
  const { acknowledged } = await zombieRounds(10, seed, (line) => t.diagnostic(line));
  assert.ok(acknowledged > 0);
});
