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
