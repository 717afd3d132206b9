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
