/**
 * Searches the schedules of a scenario for one that breaks a promise.
 *
 * `explore` tries every schedule whose choices cost at most a limit, cheapest limit first: a preemption or a fault
 * costs 1, a late PUT 0.5. A schedule is the list of indexes that were chosen; the next one is found by changing the
 * last choice that can be changed, and the rest follows. Real code must do the same thing at the same choices, which is
 * checked. `exploreSeed` chooses at random, and a seed gives the same schedule again.
 */
import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { assert, seededRandom } from '../../src/base/index.ts';
import type { Trace } from './machine.ts';
import { prepare, runSchedule, type Scenario, type Schedule, type ScheduleResult } from './scenario.ts';
import type { Alternative, ChoiceKind, Choose } from './scheduler.ts';
import type { Without } from './without.ts';
import type { World } from './world.ts';

export type Found = {
  readonly cost: number;
  readonly breaches: readonly string[];
  /** The choices that differ from going on as usual. */
  readonly labels: readonly string[];
  /** The schedule, for `replay`. */
  readonly choices: readonly number[];
};

export type Exploration = {
  /** Different schedules. Those of a lower cost are run again for each higher limit, and not counted again. */
  readonly schedules: number;
  readonly steps: number;
  /** Processor time, which other work of the machine does not change much. */
  readonly ms: number;
  readonly found: Found | undefined;
  /** Up to which cost every schedule was tried; undefined: not even cost 0 was finished. */
  readonly costDone: number | undefined;
};

export type ExploreOptions = {
  readonly costMax: number;
  /** Of processor time. */
  readonly limitMs?: number;
  readonly without?: Without;
  /** Whether every schedule is run, also those that arrive at a state which an earlier one went on from. */
  readonly runsAll?: boolean;
  /** Gets a fingerprint of each world that was judged and found sound. */
  readonly sound?: Set<string>;
};

const LIMIT_MS = 60_000;
const STATES_MAX = 1_000_000;
/** A schedule with nothing left to spend asks at every so many choices whether its state is known. */
const ASKED_APART = 4;

type Choice = { index: number; readonly costs: readonly number[]; label: string };

export async function explore(scenario: Scenario, options: ExploreOptions): Promise<Exploration> {
  const { costMax, limitMs = LIMIT_MS, without, runsAll = false, sound = new Set<string>() } = options;
  const started = processorMs();
  const prepared = await prepare(scenario, without);
  let schedules = 0;
  let steps = 0;
  let costDone: number | undefined;
  const result = (found?: Found): Exploration => ({
    schedules,
    steps,
    ms: processorMs() - started,
    found,
    costDone,
  });
  for (let limit = 0, next = 0; next <= costMax; ) {
    const judgedTo = costDone ?? -1;
    limit = next;
    next = Number.POSITIVE_INFINITY;
    const path: Choice[] = [];
    const known = new KnownStates();
    const isNew = () => costOf(path) > judgedTo;
    const skipped = (cost: number) => {
      next = Math.min(next, cost);
    };
    do {
      const { choose, isNext } = followed(path);
      const isKnown = (state: () => string) => isNext() && known.has(state, costOf(path), limit);
      const run = await runGuarded({
        scenario,
        prepared,
        choose,
        isJudged: isNew,
        sound,
        ...(!runsAll && { isKnown }),
      });
      if (isNew() && !run.isStopped) schedules++;
      steps += run.steps;
      if (run.breaches.length > 0) return result(foundAt(path, run.breaches));
      if (processorMs() - started > limitMs) return result();
    } while (advance(path, limit, skipped));
    costDone = limit;
  }
  costDone = costMax;
  return result();
}

/**
 * The states that schedules went on from, with what they had left to spend. From the same state, with no more to spend,
 * nothing else can follow.
 */
class KnownStates {
  readonly #left = new Map<string, number>();
  #asked = 0;

  /** Whether another schedule was in this state with at least as much left. If not, this one is. */
  has(state: () => string, cost: number, limit: number): boolean {
    if (cost === 0) return false;
    const left = limit - cost;
    // Most schedules have nothing left. Asking costs as much as some steps.
    if (left === 0 && this.#asked++ % ASKED_APART !== 0) return false;
    const key = hash('sha1', state(), 'base64');
    const known = this.#left.get(key);
    if (known !== undefined && known >= left) return true;
    if (this.#left.size < STATES_MAX) this.#left.set(key, left);
    return false;
  }
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Chooses as the path says, then the first alternative. New choices are added to the path. */
function followed(path: Choice[]): { choose: Choose; isNext: () => boolean } {
  let depth = 0;
  const isNext = () => depth >= path.length;
  const choose: Choose = (alternatives) => {
    const known = path[depth++];
    if (known) {
      assert(known.costs.length === alternatives.length, 'the same choices lead to the same alternatives');
      known.label = alternatives[known.index]!.label;
      return known.index;
    }
    path.push({ index: 0, costs: alternatives.map(({ cost }) => cost), label: alternatives[0]!.label });
    return 0;
  };
  return { choose, isNext };
}

/** Moves to the next path whose cost is at most the limit. The costs of others are given to `onSkip`. */
function advance(path: Choice[], limit: number, onSkip: (cost: number) => void): boolean {
  let cost = costOf(path);
  for (let last = path.at(-1); last; last = path.at(-1)) {
    cost -= last.costs[last.index]!;
    let next = -1;
    for (let index = last.index + 1; index < last.costs.length && next < 0; index++) {
      if (cost + last.costs[index]! <= limit) next = index;
      else onSkip(cost + last.costs[index]!);
    }
    if (next >= 0) {
      last.index = next;
      return true;
    }
    path.pop();
  }
  return false;
}

function costOf(path: readonly Choice[]): number {
  return path.reduce((sum, { costs, index }) => sum + costs[index]!, 0);
}

function foundAt(path: readonly Choice[], breaches: readonly string[]): Found {
  const labels = path.flatMap(({ index, costs, label }) => (costs[index]! > 0 ? [label] : []));
  return { cost: costOf(path), breaches, labels, choices: path.map(({ index }) => index) };
}

/** How likely each kind of choice is, against going on. Every seed has its own mixture. */
function weightsOf(random: () => number): Record<ChoiceKind, number> {
  const up = (most: number) => most * random() ** 2;
  return {
    go: 1,
    stop: 1,
    switch: up(1),
    wake: up(0.05),
    fault: up(0.15),
    late: up(0.2),
    lease: up(0.05),
    kill: up(0.02),
    lost: up(0.02),
    back: up(0.02),
  };
}

function randomChoice(random: () => number): Choose {
  const weights = weightsOf(random);
  return (alternatives: readonly Alternative[]) => {
    let left = alternatives.reduce((sum, { kind }) => sum + weights[kind], 0) * random();
    const index = alternatives.findIndex(({ kind }) => (left -= weights[kind]) < 0);
    return index < 0 ? 0 : index;
  };
}

/** Runs one schedule that the seed chooses. */
export async function exploreSeed(
  scenario: Scenario,
  seed: number,
  prepared: World,
  onAllowed?: (what: string) => void,
  onWorld?: (world: World) => Promise<void>,
): Promise<Found | undefined> {
  const path: Choice[] = [];
  const choose = randomChoice(seededRandom(seed));
  const { breaches } = await runGuarded({
    scenario,
    prepared,
    onAllowed,
    onWorld,
    choose: (alternatives) => {
      const index = choose(alternatives);
      path.push({ index, costs: alternatives.map(({ cost }) => cost), label: alternatives[index]!.label });
      return index;
    },
  });
  return breaches.length > 0 ? foundAt(path, breaches) : undefined;
}

/** The lines of a schedule: what each process does, what goes wrong, and what is broken in the end. */
export async function replay(scenario: Scenario, { choices }: Pick<Found, 'choices'>, without?: Without) {
  const lines: string[] = [];
  let depth = 0;
  const trace: Trace = (line) => lines.push(line);
  const prepared = await prepare(scenario, without);
  const { breaches } = await runGuarded({ scenario, prepared, choose: () => choices[depth++] ?? 0, trace });
  return { lines, breaches };
}

/** A rejection that no code of a process handles breaks the schedule too. Other tasks of the event loop get a turn. */
async function runGuarded(schedule: Schedule): Promise<ScheduleResult> {
  const unhandled: unknown[] = [];
  // Others, such as those of the test runner, would end the process or the test.
  const listeners = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', (error) => unhandled.push(error));
  try {
    const result = await runSchedule(schedule);
    await setImmediate();
    const breaches = unhandled.map((error) => `an error is not handled: ${(error as Error)?.stack ?? error}`);
    return breaches.length > 0 ? { ...result, breaches: [...result.breaches, ...breaches] } : result;
  } finally {
    process.removeAllListeners('unhandledRejection');
    for (const listener of listeners) process.on('unhandledRejection', listener);
  }
}
