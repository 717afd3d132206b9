/**
 * Runs the scenarios of a suite: every schedule up to a cost, then schedules at random.
 *
 *     npm run simulate -- ledger [--scenario NAME] [--cost 1] [--seconds 60] [--seeds 1000] [--seed 1] [--trace]
 *     npm run simulate -- ledger --storms [--seeds 1000 | --seconds 3600] [--seed 1] [--trace]
 *     npm run simulate -- ledger --postgres URL --seeds 20 [--seed 1] [--scenario NAME]
 *     npm run simulate -- ledger --bite [--rule NAME,NAME] [--scenario NAME]
 *
 * `--postgres` runs random schedules over a real database, in those scenarios in which the catalog does not go back.
 * `--scenario` runs those whose name begins so. `--seconds` limits the processor time of each scenario. `--seeds` is
 * how many schedules are chosen at random, from `--seed` on. `--storms` runs scenarios that seeds make up (storm.ts).
 * `--trace` prints the schedule that was found. `--bite` takes away the rules of without.ts, one by one, or those of
 * `--rule` together, and prints how soon the loss is found. `--without NAME,NAME` takes rules away from any other run.
 * Names of mutations.ts need `--import ./test/simulation/mutate.ts`, as `npm run simulate` has it.
 */
import { parseArgs } from 'node:util';
import { openPostgresCatalog } from '../../src/catalog/index.ts';
import { bite, describeBite, saysOf, withoutRules } from './bite.ts';
import { type Exploration, explore, exploreSeed, type Found, replay } from './explorer.ts';
import { joinPostgres } from './postgres-twin.ts';
import { prepare, type Scenario } from './scenario.ts';
import { stormOf } from './storm.ts';
import { SUITES } from './suites.ts';
import { RULES } from './without.ts';
import type { World } from './world.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    scenario: { type: 'string', default: '' },
    cost: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '60' },
    seeds: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    trace: { type: 'boolean', default: false },
    storms: { type: 'boolean', default: false },
    bite: { type: 'boolean', default: false },
    rule: { type: 'string' },
    without: { type: 'string' },
    postgres: { type: 'string' },
  },
});
const suite = SUITES[positionals[0] ?? ''];
if (!suite) throw new Error(`the first argument is one of ${Object.keys(SUITES).join(', ')}`);
const scenarios = suite.filter(({ name }) => name.startsWith(values.scenario));
const costMax = Number(values.cost);
const limitMs = Number(values.seconds) * 1000;
const rulesOf = (list: string | undefined) => (list ? list.split(',') : []);
for (const name of [...rulesOf(values.rule), ...rulesOf(values.without)])
  if (!saysOf(name)) throw new Error(`${name} is not in without.ts, nor in mutations.ts`);
const without = withoutRules(rulesOf(values.without));
let failed = 0;
let onWorld: ((world: World) => Promise<void>) | undefined;

async function printFound(scenario: Scenario, found: Found): Promise<void> {
  failed++;
  if (!values.trace) return;
  const { lines } = await replay(scenario, found, without);
  for (const line of lines) console.log(`      ${line}`);
}

async function runScenario(scenario: Scenario): Promise<void> {
  const exploration = await explore(scenario, { costMax, limitMs, without });
  console.log(describe(scenario, exploration));
  if (exploration.found) await printFound(scenario, exploration.found);
}

function describe({ name }: Scenario, { found, costDone, schedules, steps, ms }: Exploration): string {
  const state = found ? 'BAD ' : costDone === costMax ? 'ok  ' : `cut above ${costDone ?? 'nothing'} `;
  const rate = `${schedules} schedules, ${Math.round(ms)} ms, ${((ms * 1000) / steps).toFixed(1)} us a step`;
  return `${state}${name}: ${found ? `cost ${found.cost} | ${found.breaches.join(' | ')} ` : ''}(${rate})`;
}

async function runSeeds(scenario: Scenario): Promise<void> {
  const first = Number(values.seed);
  const started = performance.now();
  const prepared = await prepare(scenario, without);
  for (let seed = first; seed < first + Number(values.seeds); seed++) {
    const found = await exploreSeed(scenario, seed, prepared, undefined, onWorld);
    if (!found) continue;
    console.log(`BAD ${scenario.name}: --seed ${seed} | ${found.breaches.join(' | ')}`);
    await printFound(scenario, found);
    return;
  }
  const ms = Math.round(performance.now() - started);
  console.log(`ok  ${scenario.name}: seeds ${first} to ${first + Number(values.seeds) - 1} (${ms} ms)`);
}

/** Scenarios that seeds make up. Each is tried with one schedule, which the same seed chooses. */
async function runStorms(): Promise<void> {
  const first = Number(values.seed);
  const started = performance.now();
  const isOver = (done: number) =>
    Number(values.seeds) > 0 ? done >= Number(values.seeds) : performance.now() - started > limitMs;
  let done = 0;
  let allowed = 0;
  const allow = () => allowed++;
  for (; !isOver(done); done++) {
    const storm = stormOf(first + done);
    const found = await exploreSeed(storm, first + done, await prepare(storm, without), allow);
    if (!found) continue;
    console.log(`BAD ${storm.name}: --seed ${first + done} | ${found.breaches.join(' | ')}`);
    await printFound(storm, found);
  }
  const ms = Math.round(performance.now() - started);
  console.log(`storms: seeds ${first} to ${first + done - 1}, ${failed} broke a promise (${ms} ms)`);
  if (allowed > 0) console.log(`allowed: ${allowed} captures that were stored twice were left out by a stream`);
}

/** Random schedules over a real PostgreSQL, in a schema `simulation` that is emptied for each of them. */
async function runOnPostgres(url: string): Promise<void> {
  const catalog = await openPostgresCatalog({ url, schema: 'simulation' });
  onWorld = (world) => joinPostgres(world, catalog);
  for (const scenario of scenarios) if (!scenario.goesBack && !scenario.isLossy) await runSeeds(scenario);
  await catalog.close();
}

if (values.postgres !== undefined) await runOnPostgres(values.postgres);
else if (values.storms) await runStorms();
else if (values.bite) {
  const given = rulesOf(values.rule);
  const removed = given.length > 0 ? [given] : Object.keys(RULES).map((rule) => [rule]);
  for (const rules of removed) console.log(describeBite(await bite(scenarios, rules, { costMax, limitMs })));
} else {
  for (const scenario of scenarios) await runScenario(scenario);
  if (Number(values.seeds) > 0) for (const scenario of scenarios) await runSeeds(scenario);
}
process.exitCode = failed > 0 ? 1 : 0;
