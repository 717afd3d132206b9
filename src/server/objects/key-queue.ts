/** Work by name: work of one name runs one after another, work of different names at the same time. */
export class KeyQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name);
    const result = before ? before.then(work, work) : work();
    this.#last.set(name, result);
    const end = () => {
      if (this.#last.get(name) === result) this.#last.delete(name);
    };
    result.then(end, end);
    return result;
  }

  /** Settles when the work that this name has now is done. */
  async idle(name: string): Promise<void> {
    await this.#last.get(name)?.catch(() => {});
  }
}
