/** Threads that slim's tasks run on. They start with the first task, and tasks begin in the order in which they were given. */
import { Worker } from 'node:worker_threads';
import { type ErrorCode, PinakesError } from '../base/index.ts';
import type { SlimAnswer, SlimFailure, SlimResult, SlimTask } from './slim-worker.ts';

type Waiting = { task: SlimTask; resolve: (result: never) => void; reject: (error: unknown) => void };

export class SlimPool {
  readonly #size: number;
  readonly #workers: Worker[] = [];
  readonly #idle: Worker[] = [];
  readonly #waiting: Waiting[] = [];
  readonly #busy = new Map<Worker, Waiting>();

  constructor(workers: number) {
    this.#size = Math.max(1, workers);
  }

  /** How many tasks should be under way or waiting, so that no thread stands idle. */
  get ahead(): number {
    return this.#size * 2;
  }

  run<Kind extends SlimTask['kind']>(task: Extract<SlimTask, { kind: Kind }>): Promise<SlimResult[Kind]> {
    const { promise, resolve, reject } = Promise.withResolvers<SlimResult[Kind]>();
    this.#waiting.push({ task, resolve: resolve as (result: never) => void, reject });
    if (this.#idle.length === 0 && this.#workers.length < this.#size) this.#start();
    this.#dispatch();
    return promise;
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  #start(): void {
    const worker = new Worker(new URL('./slim-worker.ts', import.meta.url), {
      resourceLimits: { maxYoungGenerationSizeMb: 16 },
    });
    worker.on('message', (answer: SlimAnswer) => {
      const waiting = this.#busy.get(worker);
      this.#busy.delete(worker);
      this.#idle.push(worker);
      if ('result' in answer) waiting?.resolve(answer.result as never);
      else waiting?.reject(revive(answer.failure));
      this.#dispatch();
    });
    worker.on('error', (error) => {
      this.#busy.get(worker)?.reject(error);
      this.#busy.delete(worker);
    });
    this.#workers.push(worker);
    this.#idle.push(worker);
  }

  #dispatch(): void {
    while (this.#idle.length > 0 && this.#waiting.length > 0) {
      const worker = this.#idle.pop()!;
      const waiting = this.#waiting.shift()!;
      this.#busy.set(worker, waiting);
      worker.postMessage(waiting.task);
    }
  }
}

function revive({ code, where, detail }: SlimFailure): Error {
  if (code) return new PinakesError(code as ErrorCode, where === undefined ? {} : { where });
  return new Error(detail);
}

/** Runs work for each item, several at a time, and hands results over in the order of the items. */
export async function* inOrder<Item, Result>(
  items: AsyncIterable<Item> | Iterable<Item>,
  ahead: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<{ item: Item; result: Result }> {
  const underWay: { item: Item; result: Promise<Result> }[] = [];
  for await (const item of items) {
    const result = work(item);
    result.catch(() => {});
    underWay.push({ item, result });
    if (underWay.length < ahead) continue;
    const first = underWay.shift()!;
    yield { item: first.item, result: await first.result };
  }
  for (const { item, result } of underWay) yield { item, result: await result };
}
