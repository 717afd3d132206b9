/**
 * Runs two transactions on real connections, statement by statement, in every order. A statement that waits for a lock
 * is left waiting, and the other transaction goes on.
 *
 * An order is a list of turns, one for each statement: 0 or 1. The orders are all those with at most so many switches
 * between the two; with PINAKES_INTERLEAVINGS=all, all there are.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Catalog } from '../../src/catalog/index.ts';
import type { Database, Query } from '../../src/database/index.ts';

/** The work of one transaction, or of several one after the other. It ends with its outcome. */
export type Work<Outcome> = () => Promise<Outcome>;

export type Run<Outcome> = {
  readonly outcomes: readonly [Outcome, Outcome];
  /** Which of the two committed first. */
  readonly first: 0 | 1 | undefined;
  /** The statements in the order in which they were sent, for a message. */
  readonly trace: readonly string[];
};

const SWITCHES_MAX = process.env.PINAKES_INTERLEAVINGS === 'all' ? Number.POSITIVE_INFINITY : 2;

/** Lets one process send its statements one by one. */
export class Stepped {
  readonly #observer: Query;
  #pid: number | undefined;
  #waiting: { readonly text: string; readonly go: () => void } | undefined;
  #isOver = false;
  #isStepped = false;

  /** All transactions of the database are stepped while `run` runs. The observer asks the server who waits. */
  constructor(database: Database, observer: Query) {
    this.#observer = observer;
    const transact = database.transact.bind(database);
    database.transact = async <Value>(work: (query: Query) => Promise<Value>): Promise<Value> =>
      await transact(async (query) => {
        if (!this.#isStepped) return await work(query);
        const [row] = await query('select pg_backend_pid() as pid');
        this.#pid = Number(row!.pid);
        const value = await work(async (text, values) => {
          await this.#gate(text);
          return await query(text, values);
        });
        await this.#gate('commit');
        return value;
      });
  }

  begin<Outcome>(work: Work<Outcome>): Promise<Outcome> {
    this.#isOver = false;
    this.#isStepped = true;
    return work().finally(() => {
      this.#isOver = true;
      this.#isStepped = false;
    });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Sends the next statement, and waits until it is done or waits for a lock. False: there was none to send. */
  async step(trace: (text: string) => void): Promise<boolean> {
    if (!(await this.#settled())) return false;
    if (this.#isOver) return false;
    const { text, go } = this.#waiting!;
    this.#waiting = undefined;
    trace(text);
    go();
    await this.#settled();
    return true;
  }

  /** True when it is over or has a statement to send; false when it waits for a lock. */
  async #settled(): Promise<boolean> {
    for (let attempt = 0; !this.#isOver && !this.#waiting; attempt++) {
      await delay(attempt < 3 ? 0 : 1);
      if (attempt < 3 || this.#pid === undefined) continue;
      const [row] = await this.#observer('select cardinality(pg_blocking_pids($1::integer)) as count', [this.#pid]);
      if (Number(row!.count) > 0 && !this.#isOver && !this.#waiting) return false;
    }
    return true;
  }

  #gate(text: string): Promise<void> {
    return new Promise((go) => {
      this.#waiting = { text, go };
    });
  }
}

/**
 * Runs the two works of `prepare` in every order. `check` is called after each run. Returns how many orders there were.
 */
export async function interleave<Outcome>(
  catalogs: readonly [Stepped, Stepped],
  prepare: () => Promise<readonly [Work<Outcome>, Work<Outcome>]>,
  check: (run: Run<Outcome>) => Promise<void>,
): Promise<number> {
  const open: (readonly (0 | 1)[])[] = [[0], [1]];
  let orders = 0;
  for (let order = open.pop(); order; order = open.pop()) {
    const works = await prepare();
    const trace: string[] = [];
    const ended = catalogs.map((stepped, index) => stepped.begin(works[index]!));
    const all = Promise.all(ended);
    all.catch(() => {});
    const turns: (0 | 1)[] = [];
    const switches = () => turns.filter((turn, index) => index > 0 && turn !== turns[index - 1]).length;
    for (let at = 0; !catalogs.every(({ isOver }) => isOver); at++) {
      const wanted = order[at] ?? turns.at(-1)!;
      const sent = (turn: 0 | 1) =>
        catalogs[turn]!.step((text) => trace.push(`${turn}: ${text.trim().split('\n')[0]!.slice(0, 60)}`));
      const turn = (await sent(wanted)) ? wanted : ((1 - wanted) as 0 | 1);
      if (turn !== wanted && !(await sent(turn))) {
        if (catalogs.every(({ isOver }) => isOver)) break;
        await delay(1);
        at--;
        continue;
      }
      // Where this order does not say whose turn it is, the other turn begins another order.
      if (at >= order.length && turn === wanted && !catalogs[1 - turn]!.isOver) {
        const other = [...turns, (1 - turn) as 0 | 1];
        turns.push(turn);
        if (switchesIn(other) <= SWITCHES_MAX) open.push(other);
      } else turns.push(turn);
      if (switches() > 1000) throw new Error('the order does not end');
    }
    const outcomes = (await all) as unknown as readonly [Outcome, Outcome];
    orders++;
    const commit = trace.find((line) => line.endsWith(': commit'));
    const first = commit === undefined ? undefined : commit.startsWith('0') ? 0 : 1;
    await check({ outcomes, first, trace });
  }
  return orders;
}

function switchesIn(turns: readonly (0 | 1)[]): number {
  return turns.filter((turn, index) => index > 0 && turn !== turns[index - 1]).length;
}

/** Two catalogs that are stepped. */
export function stepped(catalogs: readonly [Catalog, Catalog], observer: Query): readonly [Stepped, Stepped] {
  const [one, other] = catalogs.map(({ database }) => new Stepped(database!, observer));
  return [one!, other!];
}
