/**
 * Kills processes that work on an archive at random moments. `npm run faults` does the same for a given number of
 * rounds.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { killRounds } from './archive-kill.ts';

const ROUNDS = 20;

test('I2 Acknowledged means durable, I3 Torn tails heal: after every kill the archive has all acknowledged captures, and every revisit has its original', async (t) => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const report = await killRounds(ROUNDS, seed);
  t.diagnostic(JSON.stringify(report));
  assert.ok(report.acknowledged > ROUNDS, 'the processes completed some calls');
});
