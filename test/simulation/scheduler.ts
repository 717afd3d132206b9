/**
 * Runs processes (async functions of real code) one at a time, in an order that `choose` decides.
 *
 * Each call of a process to the outside passes a gate: the process names what it is about to do and waits. The
 * scheduler opens one gate and then waits until that process is at its next gate or has ended. So whatever a process
 * does between two gates happens in one step.
 *
 * The end of a step is found without a timer: `process.nextTick` called from a microtask runs when no microtask is
 * left. Code that waits for anything but a gate gets turns of the event loop, up to a limit. A process that arrives at
 * a gate while another one is let go on is a fault of the simulation, and an assert.
 *
 * Sleeping is a gate with a time. Sleepers are woken in order of time when nothing else can go on; waking one earlier
 * costs as much as a preemption, and stands for a stall of all others.
 */
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { assert, type EpochMs } from '../../src/base/index.ts';
import { stateDigest } from './state-digest.ts';

export type ChoiceKind = 'go' | 'switch' | 'wake' | 'stop' | 'fault' | 'late' | 'lease' | 'kill' | 'lost' | 'back';

export type Alternative = {
  readonly kind: ChoiceKind;
  /** How far this is from an undisturbed run. The first alternative of a choice is the cheapest. */
  readonly cost: number;
  readonly label: string;
};

export type Choose = (alternatives: readonly Alternative[]) => number;

/** Something that can happen to the world at any time: a lease ends, a late PUT arrives, the catalog goes back. */
export type WorldAction = Alternative & { take(): void | Promise<void> };

/** A label is made only for a trace. */
type Label = () => string;

type Gate = {
  readonly label: Label;
  readonly open: () => void;
  /** For a sleeper: when it wakes. */
  readonly wakesAt: EpochMs | undefined;
};

export type ProcessState = 'new' | 'started' | 'ended' | 'killed';

/** A process as its own code sees it: what the simulated catalog, volumes and clock call. */
export class Process {
  readonly name: string;
  state: ProcessState = 'new';
  gates: Gate[] = [];
  /** A digest of all that the process was answered. */
  history = '';
  readonly #scheduler: Scheduler;

  constructor(name: string, scheduler: Scheduler) {
    this.name = name;
    this.#scheduler = scheduler;
  }

  /** Waits until the scheduler lets the process go on. */
  pass(label: Label): Promise<void> {
    return this.#wait(label, undefined);
  }

  /** The clock's sleep. */
  sleep(ms: number): Promise<void> {
    return this.#wait(() => `sleeps for ${ms} ms`, this.#scheduler.time.now + ms);
  }

  /** Which of the faults happens to the operation that the gate was opened for; undefined: none. */
  fault<Fault extends string>(faults: readonly Fault[]): Fault | undefined {
    const alternatives: Alternative[] = [{ kind: 'go', cost: 0, label: 'as usual' }];
    for (const label of faults) alternatives.push({ kind: 'fault', cost: 1, label });
    const index = this.#scheduler.choose(alternatives);
    return faults[index - 1];
  }

  /** Whether anybody wants to know of its answers. */
  get isHeard(): boolean {
    return this.#scheduler.isKnown !== undefined;
  }

  /** Called with every answer that the process gets. */
  saw(answer: unknown): void {
    if (this.isHeard) this.history = stateDigest([this.history, answer]);
  }

  /** A line of the trace. */
  note(text: Label): void {
    this.#scheduler.trace?.(`${this.name}: ${text()}`);
  }

  #wait(label: Label, wakesAt: EpochMs | undefined): Promise<void> {
    assert(this.#scheduler.running === this, `${this.name} moves while another process is let go on`);
    return new Promise((open) => this.gates.push({ label, open, wakesAt }));
  }
}

export type ProcessOptions = {
  /** Whether the process may be killed, for the price of a fault. */
  readonly mayDie?: boolean;
  /** The process is not let go on before this holds. */
  readonly startsWhen?: () => boolean;
};

type Entry = ProcessOptions & { readonly process: Process; readonly run: (process: Process) => Promise<void> };

export type SchedulerOptions = {
  readonly choose: Choose;
  /** The present, moved by sleepers that wake. */
  readonly time: { now: EpochMs };
  /** What can happen to the world now. */
  readonly actions?: () => readonly WorldAction[];
  readonly trace?: ((line: string) => void) | undefined;
  readonly stepsMax?: number;
  /** Whether a real database is behind the gates, which answers after a time. */
  readonly isReal?: boolean;
  /** Asked before a choice: whether what can follow from the present state was tried already. Then the run stops. */
  readonly isKnown?: ((state: () => string) => boolean) | undefined;
};

/** How long a step may take beyond microtasks: turns of the event loop, or, with a real database, time. */
const TURNS_MAX = 10_000;
const STEP_MS_MAX = 60_000;
const STEPS_MAX = 2000;

const NOTHING: readonly WorldAction[] = [];

/** A run that does not end, or a process that throws. */
export class ScheduleFailure extends Error {
  override readonly name = 'ScheduleFailure';
}

export class Scheduler {
  readonly choose: Choose;
  readonly trace: ((line: string) => void) | undefined;
  readonly time: { now: EpochMs };
  readonly isKnown: SchedulerOptions['isKnown'];
  running: Process | undefined;
  steps = 0;
  /** Whether the run stopped in a state that is known. */
  isStopped = false;
  readonly #entries: Entry[] = [];
  readonly #actions: () => readonly WorldAction[];
  readonly #stepsMax: number;
  readonly #isReal: boolean;
  #current: Entry | undefined;
  #failure: { readonly process: Process; readonly error: unknown } | undefined;

  constructor({
    choose,
    time,
    actions = () => NOTHING,
    trace,
    stepsMax = STEPS_MAX,
    isKnown,
    isReal,
  }: SchedulerOptions) {
    this.isKnown = isKnown;
    this.choose = choose;
    this.time = time;
    this.#actions = actions;
    this.trace = trace;
    this.#stepsMax = stepsMax;
    this.#isReal = isReal ?? false;
  }

  add(name: string, run: (process: Process) => Promise<void>, options: ProcessOptions = {}): Process {
    const process = new Process(name, this);
    this.#entries.push({ process, run, ...options });
    return process;
  }

  /** Ends a process as kill -9 does: its code never goes on. */
  kill(process: Process): void {
    if (isOver(process)) return;
    process.state = 'killed';
    process.gates = [];
    this.trace?.(`${process.name} is killed`);
  }

  get processes(): readonly Process[] {
    return this.#entries.map(({ process }) => process);
  }

  /** Runs until all processes have ended, or the choice is to stop. Throws ScheduleFailure. */
  async run(): Promise<void> {
    await undefined;
    for (;;) {
      const steps = this.#possibleSteps();
      if (steps.length === 0) return;
      if (steps.length > 1 && this.isKnown?.(() => this.#state())) {
        this.isStopped = true;
        return;
      }
      if (++this.steps > this.#stepsMax) throw new ScheduleFailure(`no end after ${this.#stepsMax} steps`);
      const step = steps[steps.length === 1 ? 0 : this.choose(steps)]!;
      if (step.kind === 'stop') return;
      await step.take();
      if (this.#failure) {
        const { process, error } = this.#failure;
        throw new ScheduleFailure(`${process.name} fails: ${(error as Error)?.stack ?? error}`, { cause: error });
      }
    }
  }

  /** Where the processes are. With the state of the world, it says what can follow. */
  #state(): string {
    const current = this.#current?.process.gates.some(({ wakesAt }) => wakesAt === undefined) && this.#current.process;
    const at = this.#entries.map(({ process: { name, state, history, gates } }) =>
      state === 'started' ? `${name} ${history} ${gates.map(({ wakesAt }) => wakesAt ?? '')}` : `${name} ${state}`,
    );
    return `${at.join('\n')}\n${current ? current.name : ''}`;
  }

  /** What can happen next, the cheapest first. */
  #possibleSteps(): WorldAction[] {
    const steps: WorldAction[] = [];
    const current = this.#current;
    const canGoOn = current?.process.gates.some(({ wakesAt }) => wakesAt === undefined);
    if (current && canGoOn) this.#addGates(steps, current, 0);
    const first = steps.length;
    for (const entry of this.#entries) {
      if (entry === current && canGoOn) continue;
      const { process, startsWhen } = entry;
      if (process.state === 'new') {
        if (startsWhen && !startsWhen()) continue;
        const cost = canGoOn ? 1 : 0;
        steps.push({ kind: cost ? 'switch' : 'go', cost, label: process.name, take: () => this.#start(entry) });
      } else if (process.state === 'started') this.#addGates(steps, entry, canGoOn ? 1 : 0);
    }
    this.#addSleepers(steps, steps.length > 0);
    const isIdle = steps.length === 0;
    const actions = this.#actions();
    for (const action of actions) steps.push(action);
    for (const { process, mayDie } of this.#entries)
      if (mayDie && process.state === 'started')
        steps.push({ kind: 'kill', cost: 1, label: `${process.name} is killed`, take: () => this.kill(process) });
    if (isIdle && steps.length > 0) steps.unshift({ kind: 'stop', cost: 0, label: 'the end', take: () => {} });
    assert(steps.length === 0 || first === 0 || steps[0]!.cost === 0, 'going on costs nothing');
    return steps;
  }

  /** The gates of a process that are not sleepers. Another one than the oldest is another order of its own calls. */
  #addGates(steps: WorldAction[], entry: Entry, cost: number): void {
    let extra = 0;
    for (const gate of entry.process.gates) {
      if (gate.wakesAt !== undefined) continue;
      const kind = cost + extra === 0 ? 'go' : 'switch';
      steps.push({ kind, cost: cost + extra, label: entry.process.name, take: () => this.#goOn(entry, gate) });
      extra = 1;
    }
  }

  #addSleepers(steps: WorldAction[], isBusy: boolean): void {
    const sleepers: { readonly entry: Entry; readonly gate: Gate; readonly at: EpochMs }[] = [];
    for (const entry of this.#entries)
      for (const gate of entry.process.gates)
        if (gate.wakesAt !== undefined) sleepers.push({ entry, gate, at: gate.wakesAt });
    if (sleepers.length === 0) return;
    sleepers.sort((a, b) => a.at - b.at);
    for (const [index, { entry, gate }] of sleepers.entries()) {
      const isNext = index === 0 && !isBusy;
      const label = `${entry.process.name} wakes`;
      steps.push({ kind: isNext ? 'go' : 'wake', cost: isNext ? 0 : 1, label, take: () => this.#goOn(entry, gate) });
    }
  }

  async #start(entry: Entry): Promise<void> {
    const { process } = entry;
    process.state = 'started';
    this.trace?.(`${process.name} starts`);
    await this.#step(entry, () => {
      entry.run(process).then(
        () => this.#end(process),
        (error: unknown) => {
          this.#failure ??= { process, error };
          this.#end(process);
        },
      );
    });
  }

  #end(process: Process): void {
    process.state = 'ended';
    // Timers and calls under way end with the process.
    process.gates = [];
  }

  async #goOn(entry: Entry, gate: Gate): Promise<void> {
    const { process } = entry;
    const index = process.gates.indexOf(gate);
    if (process.gates.length > 1) process.saw(index);
    process.gates.splice(index, 1);
    if (gate.wakesAt !== undefined) this.time.now = Math.max(this.time.now, gate.wakesAt);
    if (this.trace) this.trace(`${process.name}: ${gate.label()}`);
    await this.#step(entry, gate.open);
  }

  async #step(entry: Entry, begin: () => void): Promise<void> {
    const { process } = entry;
    this.#current = entry;
    this.running = process;
    begin();
    await microtasksDone();
    for (let turns = 0; process.gates.length === 0 && !isOver(process); turns++) {
      if (turns >= TURNS_MAX && !(await this.#waitsForDatabase(turns)))
        throw new ScheduleFailure(`${process.name} waits for something that is not a gate`);
      await setImmediate();
    }
    this.running = undefined;
  }

  /** Whether a step may go on to wait, because the world has a real database. */
  async #waitsForDatabase(turns: number): Promise<boolean> {
    if (!this.#isReal) return false;
    await delay(1);
    return turns - TURNS_MAX < STEP_MS_MAX;
  }
}

function isOver({ state }: Process): boolean {
  return state === 'ended' || state === 'killed';
}

/** Called from a microtask, returns when all other microtasks are done. */
function microtasksDone(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
