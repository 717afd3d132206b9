/**
 * Lets every change that small works make to a volume fail in turn. `npm run faults` does the same with large works.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EFFECTS, failChanges, WORK_NAMES } from './archive-io.ts';

for (const effect of EFFECTS) {
  for (const name of WORK_NAMES) {
    test(`I3 Torn tails heal: when any change to the volume fails with ${effect} (${name}), nothing acknowledged is lost`, async (t) => {
      const fired = await failChanges(effect, name, 'small');
      t.diagnostic(`${fired} faults`);
      assert.ok(fired > 15, `${fired} faults`);
    });
  }
}
