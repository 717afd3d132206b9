/** Volumes that fail under an archive. A run lets every eighth change fail, from a random one on; `npm run faults` lets every one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EFFECTS, failChanges, WORK_NAMES } from './archive-io.ts';

const STEP = 8;

for (const effect of EFFECTS) {
  for (const name of WORK_NAMES) {
    test(`I3 Torn tails heal: when a change to the volume fails with ${effect} (${name}), nothing acknowledged is lost`, async (t) => {
      const first = 1 + Math.floor(Math.random() * STEP);
      t.diagnostic(`first ${first}`);
      const fired = await failChanges(effect, name, first, STEP);
      t.diagnostic(`${fired} faults`);
      assert.ok(fired > 3, `${fired} faults`);
    });
  }
}
