/**
 * The tests of scenarios: every schedule with one pause or fault, as far as there is time, and some at random.
 * `npm run simulate` tries more of both.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { explore, exploreSeed } from './explorer.ts';
import { prepare, type Scenario } from './scenario.ts';

/** For each scenario, of processor time. */
const LIMIT_MS = 2000;
const FIRST_SEED = 1;
const SEEDS = 5;

export function testScenarios(title: string, scenarios: readonly Scenario[]): void {
  suite(title, () => {
    for (const scenario of scenarios)
      test(scenario.name, async () => {
        const { found, costDone } = await explore(scenario, { costMax: 1, limitMs: LIMIT_MS });
        assert.equal(found, undefined, JSON.stringify(found));
        assert.ok(costDone !== undefined, 'undisturbed schedules are finished');
        const prepared = await prepare(scenario);
        for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++)
          assert.equal(await exploreSeed(scenario, seed, prepared), undefined, `--seed ${seed}`);
      });
  });
}
