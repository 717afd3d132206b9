import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { bite, describeBite } from './bite.ts';
import { SUITES } from './suites.ts';
import type { RuleName } from './without.ts';

/** Rules whose loss few schedules find, and the beginning of the scenario that finds it. See docs/simulation.md. */
const CHEAP: readonly (readonly [rules: readonly RuleName[], scenario: string, costMax: number])[] = [
  [['referents'], 'A ', 1],
  [['attempt'], 'A ', 1],
  [['id', 'length'], 'C ', 1],
  [['marks'], 'N ', 0],
  [['bars'], 'L ', 0],
  [['runs'], 'R ', 0],
];
const LIMIT_MS = 60_000;

suite('A schedule breaks a promise without', () => {
  for (const [rules, name, costMax] of CHEAP)
    test(rules.join(' and '), async () => {
      const scenarios = SUITES.ledger!.filter((scenario) => scenario.name.startsWith(name));
      const found = await bite(scenarios, rules, { costMax, limitMs: LIMIT_MS });
      assert.ok(found.exploration?.found, describeBite(found));
    });
});
