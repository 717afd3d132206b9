/**
 * The worker threads of slim. They start with the first task, and tasks start in the order in which they were given.
 */
import { ThreadPool } from '../base/index.ts';
import type { SlimResult, SlimTask } from './slim-worker.ts';

export class SlimPool {
  readonly #size: number;
  readonly #threads: ThreadPool<SlimTask, SlimResult[SlimTask['kind']]>;

  constructor(workers: number) {
    this.#size = Math.max(1, workers);
    this.#threads = new ThreadPool(new URL('./slim-worker.ts', import.meta.url), {
      threads: this.#size,
      limits: { maxYoungGenerationSizeMb: 16 },
      jobsPerThread: 1,
    });
  }

  /** How many tasks should be running or waiting, so that no thread is idle. */
  get tasksAhead(): number {
    return this.#size * 2;
  }

  run<Kind extends SlimTask['kind']>(task: Extract<SlimTask, { kind: Kind }>): Promise<SlimResult[Kind]> {
    return this.#threads.run(task) as Promise<SlimResult[Kind]>;
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}

/** Runs `work` for several items concurrently, and yields the results in the order of the items. */
export async function* mapInOrder<Item, Result>(
  items: AsyncIterable<Item> | Iterable<Item>,
  ahead: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<{ item: Item; result: Result }> {
  const running: { item: Item; result: Promise<Result> }[] = [];
  for await (const item of items) {
    const result = work(item);
    result.catch(() => {});
    running.push({ item, result });
    if (running.length < ahead) continue;
    const first = running.shift()!;
    yield { item: first.item, result: await first.result };
  }
  for (const { item, result } of running) yield { item, result: await result };
}
