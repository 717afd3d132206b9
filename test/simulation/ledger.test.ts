import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { explore, exploreSeed } from './explorer.ts';
import { LEDGER_SCENARIOS } from './ledger-scenarios.ts';
import { prepare } from './scenario.ts';

/** For each scenario. */
const LIMIT_MS = 20_000;
const SEEDS = 20;

suite('The ledger keeps its promises', () => {
  for (const scenario of LEDGER_SCENARIOS)
    test(scenario.name, async () => {
      const { found, costDone } = await explore(scenario, { costMax: 1, limitMs: LIMIT_MS });
      assert.equal(found, undefined, JSON.stringify(found));
      assert.equal(costDone, 1);
      const first = Date.now() % 1e9;
      const prepared = await prepare(scenario);
      for (let seed = first; seed < first + SEEDS; seed++)
        assert.equal(await exploreSeed(scenario, seed, prepared), undefined, `--seed ${seed}`);
    });
});
