/**
 * Whether the scenarios bite: for each rule of the protocol, takes the rule away and searches for the cheapest schedule
 * that breaks a promise. Rules that back each other up are taken away together. A rule that no scenario misses is
 * either not needed or not tested.
 */
import { type Exploration, explore } from './explorer.ts';
import { MUTATIONS } from './mutations.ts';
import type { Scenario } from './scenario.ts';
import { RULES, type Without } from './without.ts';

export type Bite = {
  /** Of without.ts, and of mutations.ts, which the process began with. */
  readonly rules: readonly string[];
  /** Where the loss of the rule was found at the lowest cost. */
  readonly scenario: string | undefined;
  readonly exploration: Exploration | undefined;
  /** Schedules of all scenarios until the end of the search. */
  readonly schedules: number;
};

export type BiteOptions = {
  readonly costMax: number;
  /** For each scenario. */
  readonly limitMs: number;
};

const COST_STEP = 0.5;

export async function bite(
  scenarios: readonly Scenario[],
  rules: readonly string[],
  { costMax, limitMs }: BiteOptions,
): Promise<Bite> {
  let best: { scenario: string; exploration: Exploration; cost: number } | undefined;
  let schedules = 0;
  for (const scenario of scenarios) {
    const cost = best ? Math.min(costMax, best.cost - COST_STEP) : costMax;
    if (cost < 0) break;
    const exploration = await explore(scenario, {
      costMax: cost,
      limitMs,
      without: withoutRules(rules),
      runsAll: true,
    });
    schedules += exploration.schedules;
    if (exploration.found) best = { scenario: scenario.name, exploration, cost: exploration.found.cost };
  }
  return { rules, scenario: best?.scenario, exploration: best?.exploration, schedules };
}

/** Those of the rules that are taken away from outside of the code. */
export function withoutRules(rules: readonly string[]): Without {
  return Object.fromEntries(rules.filter((rule) => Object.hasOwn(RULES, rule)).map((rule) => [rule, true]));
}

/** What is taken away under this name. Undefined: there is no such name. */
export function saysOf(name: string): string | undefined {
  const mutation = Object.hasOwn(MUTATIONS, name) ? MUTATIONS[name] : undefined;
  if (mutation) return `${mutation.rule} ${mutation.says}`;
  return Object.entries(RULES).find(([rule]) => rule === name)?.[1];
}

export function describeBite({ rules, scenario, exploration, schedules }: Bite): string {
  const removed = `without ${rules.map((rule) => `${rule} (${saysOf(rule)})`).join(' and ')}`;
  const found = exploration?.found;
  if (!found) return `${removed}: NOT FOUND in ${schedules} schedules`;
  return `${removed}: cost ${found.cost} in "${scenario}" after ${exploration.schedules} schedules | ${found.breaches[0]}`;
}
