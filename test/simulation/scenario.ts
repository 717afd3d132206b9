/**
 * A scenario: what was before, who acts, and what may go wrong. One schedule of it is one sequence of choices.
 */
import { machineFor, type Trace, type Work } from './machine.ts';
import { type Choose, type Process, ScheduleFailure, Scheduler, type WorldAction } from './scheduler.ts';
import { cutPower } from './simulated-disk.ts';
import type { Without } from './without.ts';
import { COMMITS_BACK_MAX, World } from './world.ts';

export type ScenarioProcess = {
  readonly work: Work;
  readonly mayDie?: boolean;
  /** The process waits until this holds. Such processes survive a power cut, since they begin after it. */
  readonly startsWhen?: (world: World) => boolean;
};

export type Scenario = {
  readonly name: string;
  /** Done once, without faults. Its processes have other names than those of the scenario. */
  readonly setup?: (world: World) => Promise<void>;
  readonly processes: Readonly<Record<string, Work | ScenarioProcess>>;
  /** Whether answers and PUTs may be lost. Default: true. */
  readonly hasFaults?: boolean;
  /** Leases that may end before their time, each once. */
  readonly leasesEnd?: readonly string[];
  /**
   * The catalog may lose its last commits: behind a failover, which begins a new incarnation, or at a power cut of the
   * machine that has an embedded catalog, which also kills all processes.
   */
  readonly goesBack?: 'failover' | 'power cut';
  /** By how many commits. Default: COMMITS_BACK_MAX. */
  readonly commitsBackMax?: number;
  /** How often it may go back. Default: once. */
  readonly setbacksMax?: number;
  /** The catalog may be lost. What makes it again is a process of the scenario. */
  readonly isLossy?: boolean;
  /** Steps after which a schedule counts as one that does not end. Default: that of the scheduler. */
  readonly stepsMax?: number;
  /** Called when all have stopped: heals, collects, compacts, and returns what does not hold. */
  readonly finish: (world: World, trace?: Trace) => Promise<string[]>;
};

/** The world after the setup, which schedules begin with. */
export async function prepare(scenario: Scenario, without: Without = {}): Promise<World> {
  const world = new World();
  await scenario.setup?.(world);
  return new World({ without }, world);
}

export type ScheduleResult = {
  readonly breaches: readonly string[];
  readonly steps: number;
  /** Whether the run stopped in a state that is known. */
  readonly isStopped: boolean;
};

export type Schedule = {
  readonly scenario: Scenario;
  /** Not changed. */
  readonly prepared: World;
  readonly choose: Choose;
  /** Asked when all have stopped. Default: yes. */
  readonly isJudged?: () => boolean;
  /** Called with what the judge found, and allows. */
  readonly onAllowed?: ((what: string) => void) | undefined;
  /** Fingerprints of worlds that were judged and found sound. Many schedules end in the same one. */
  readonly sound?: Set<string>;
  /** Asked before a choice: whether what can follow from this state was tried already. */
  readonly isKnown?: ((state: () => string) => boolean) | undefined;
  readonly trace?: Trace;
  /** Called with the world before anything happens in it. */
  readonly onWorld?: ((world: World) => Promise<void>) | undefined;
};

export async function runSchedule({
  scenario,
  prepared,
  choose,
  isJudged = () => true,
  sound = new Set(),
  onAllowed,
  isKnown,
  trace,
  onWorld,
}: Schedule): Promise<ScheduleResult> {
  const { goesBack, commitsBackMax = COMMITS_BACK_MAX } = scenario;
  const world = new World({ commitsBackMax: goesBack ? commitsBackMax : 0, without: prepared.without }, prepared);
  world.hasFaults = scenario.hasFaults ?? true;
  world.isEmbedded = goesBack === 'power cut';
  await onWorld?.(world);
  const { stepsMax } = scenario;
  const ended = new Set<string>();
  const isKnownState = (processes: () => string) =>
    world.breaches.length === 0 && isKnown!(() => `${processes()}\n${world.state()}\n${[...ended]}`);
  const scheduler = new Scheduler({
    choose,
    time: world,
    isReal: world.twin !== undefined,
    actions: () => actions(),
    trace,
    ...(isKnown && { isKnown: isKnownState }),
    ...(stepsMax !== undefined && { stepsMax }),
  });
  const actions = actionsOf(scenario, world, scheduler, ended);
  for (const [name, given] of Object.entries(scenario.processes)) {
    const { work, mayDie = false, startsWhen } = typeof given === 'function' ? { work: given } : given;
    scheduler.add(name, (process) => work(machineFor(process, world)), {
      mayDie,
      ...(startsWhen && { startsWhen: () => startsWhen(world) }),
    });
  }
  const breaches: string[] = [];
  try {
    await scheduler.run();
    world.hasFaults = false;
    breaches.push(...world.breaches, ...world.book.complaints);
    trace?.('--- all have stopped');
    if (breaches.length === 0 && !scheduler.isStopped && isJudged()) {
      const end = world.fingerprint();
      if (!sound.has(end)) {
        breaches.push(...(await scenario.finish(world, trace)), ...world.breaches);
        for (const what of world.book.allowed) onAllowed?.(what);
        if (breaches.length === 0) sound.add(end);
      }
    }
  } catch (error) {
    if (!(error instanceof ScheduleFailure)) throw error;
    breaches.push(...world.breaches, error.message);
  }
  return { breaches, steps: scheduler.steps, isStopped: scheduler.isStopped };
}

const NOTHING: readonly WorldAction[] = [];

/** What may happen to the world at each step of a scenario. */
function actionsOf(
  scenario: Scenario,
  world: World,
  scheduler: Scheduler,
  /** Leases that were ended before their time. */
  ended: Set<string>,
): () => readonly WorldAction[] {
  const { leasesEnd = [], goesBack, setbacksMax = 1, commitsBackMax = COMMITS_BACK_MAX, isLossy = false } = scenario;
  const isQuiet = leasesEnd.length === 0 && !goesBack && !isLossy;
  return () => {
    if (isQuiet && world.late.length === 0) return NOTHING;
    const actions: WorldAction[] = [];
    const add = (kind: WorldAction['kind'], cost: number, label: string, take: () => void | Promise<void>) =>
      actions.push({
        kind,
        cost,
        label,
        take: () => {
          scheduler.trace?.(label);
          return take();
        },
      });
    for (const put of world.late) add('late', 0.5, `the PUT of ${put.name} arrives late`, () => world.land(put));
    if (leasesEnd.length > 0) {
      const living = world.catalog.livingLeases();
      for (const name of leasesEnd)
        if (!ended.has(name) && living.includes(name))
          add('lease', holderIsOver(scheduler, name) ? 0.5 : 1, `the lease ${name} ends`, () => {
            ended.add(name);
            world.catalog.expireLease(name);
          });
    }
    if (goesBack && world.setbacks < setbacksMax)
      for (let commits = 1; commits <= commitsBackMax; commits++)
        if (world.canGoBack(commits, goesBack === 'power cut'))
          add('back', 1, `the catalog goes back by ${commits} commits`, () =>
            goBack(world, scheduler, scenario, commits),
          );
    if (isLossy && !world.isLost) add('lost', 1, 'the catalog is lost', () => world.loseCatalog());
    return actions;
  };
}

function holderIsOver(scheduler: Scheduler, name: string): boolean {
  return scheduler.processes.some((process) => process.name === name && process.state !== 'started');
}

async function goBack(
  world: World,
  scheduler: Scheduler,
  { goesBack, processes }: Scenario,
  commits: number,
): Promise<void> {
  world.goBack(commits);
  if (goesBack === 'failover') {
    await world.catalog.beginIncarnation(++world.incarnation);
    return;
  }
  // A process of the owner before never begins: nothing is done before the next owner has healed.
  const isOver = ({ name, state }: Process) => {
    const given = processes[name];
    return state === 'started' || (state === 'new' && (typeof given === 'function' || !given?.startsWhen));
  };
  for (const process of scheduler.processes) if (isOver(process)) scheduler.kill(process);
  await cutPower(world, scheduler.choose, scheduler.trace);
}
