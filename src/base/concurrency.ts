/**
 * Runs one piece of work at a time, in the order of the calls. A failure does not prevent the next piece from running.
 */
export class Exclusive {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(work, work);
    this.#last = next.catch(() => {});
    return next;
  }

  async idle(): Promise<void> {
    await this.#last;
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
