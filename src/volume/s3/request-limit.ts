/** Limits how many requests run at the same time. The others wait in the order of their calls. */
import { whenAborted } from '../../base/index.ts';

export class RequestLimit {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(max: number) {
    this.#free = max;
  }

  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#turn(signal);
    try {
      return await work();
    } finally {
      const [next] = this.#waiting;
      if (next) {
        this.#waiting.delete(next);
        next();
      } else this.#free++;
    }
  }

  /** Waits until a request that ends passes its turn on. */
  async #turn(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    using _wait = signal && whenAborted(signal, () => this.#waiting.delete(resolve) && reject(signal.reason));
    await promise;
  }
}

/** Runs the work for each item with at most `max` at a time. After a failure no further item is begun. */
export async function forEachLimited<Item>(
  items: readonly Item[],
  max: number,
  work: (item: Item, index: number) => Promise<void>,
): Promise<void> {
  let at = 0;
  let hasFailed = false;
  const run = async () => {
    while (at < items.length && !hasFailed) {
      const index = at++;
      try {
        await work(items[index]!, index);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const runs = await Promise.allSettled(Array.from({ length: Math.min(max, items.length) }, run));
  for (const outcome of runs) if (outcome.status === 'rejected') throw outcome.reason;
}
