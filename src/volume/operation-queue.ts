/**
 * Operations in order: operations that share a key run one after the other, in the order of the calls. Others run side
 * by side.
 *
 * An operation takes all its keys at the moment of the call, so two operations that share several keys can never wait
 * for each other.
 */

export class OperationQueue {
  readonly #tails = new Map<string, Promise<unknown>>();

  run<T>(keys: readonly string[], action: () => Promise<T>): Promise<T> {
    const earlier = keys.map((key) => this.#tails.get(key));
    const done = Promise.allSettled(earlier).then(action);
    const tail = done.catch(() => undefined);
    for (const key of keys) this.#tails.set(key, tail);
    void tail.then(() => {
      for (const key of keys) if (this.#tails.get(key) === tail) this.#tails.delete(key);
    });
    return done;
  }
}

/**
 * The results of an action on each item, in order, with at most `limit` running at a time. After a failure no further
 * action is started, and the failure is thrown after all running actions have ended. So nothing runs after the caller
 * has the error.
 */
export async function mapLimited<T, R>(
  items: readonly T[],
  limit: number,
  action: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  let failure: { readonly cause: unknown } | undefined;
  const work = async () => {
    while (next < items.length && !failure) {
      const index = next++;
      try {
        results[index] = await action(items[index]!, index);
      } catch (cause) {
        failure ??= { cause };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, work));
  if (failure) throw failure.cause;
  return results;
}

/** Counts running operations, so that closing can wait for them. */
export class OperationCount {
  #underWay = 0;
  #idle: (() => void)[] = [];

  async during<T>(action: () => Promise<T>): Promise<T> {
    this.#underWay++;
    try {
      return await action();
    } finally {
      if (--this.#underWay === 0) for (const wake of this.#idle.splice(0)) wake();
    }
  }

  async idle(): Promise<void> {
    if (this.#underWay > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }
}
