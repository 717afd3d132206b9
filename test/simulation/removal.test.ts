import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { explore } from './explorer.ts';
import { REMOVAL_SCENARIOS } from './removal-scenarios.ts';

suite('No schedule with one pause or fault breaks a promise:', () => {
  for (const scenario of REMOVAL_SCENARIOS)
    test(scenario.name, async () => {
      const { found, costDone } = await explore(scenario, { costMax: 1, limitMs: 300_000 });
      assert.deepEqual(found, undefined);
      assert.equal(costDone, 1);
    });
});
