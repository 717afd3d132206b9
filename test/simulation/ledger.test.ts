import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { explore, exploreSeed } from './explorer.ts';
import { LEDGER_SCENARIOS } from './ledger-scenarios.ts';
import { prepare } from './scenario.ts';

/** For each scenario. */
const LIMIT_MS = 3000;
const SEEDS = 5;
const FIRST_SEED = 1;

suite('The ledger keeps its promises', () => {
  for (const scenario of LEDGER_SCENARIOS)
    test(scenario.name, async () => {
      const { found, costDone } = await explore(scenario, { costMax: 1, limitMs: LIMIT_MS });
      assert.equal(found, undefined, JSON.stringify(found));
      assert.ok(costDone !== undefined, 'undisturbed schedules are finished');
      const prepared = await prepare(scenario);
      for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++)
        assert.equal(await exploreSeed(scenario, seed, prepared), undefined, `--seed ${seed}`);
    });
});
