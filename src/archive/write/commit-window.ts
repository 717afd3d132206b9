/**
 * Batches stores into one commit. Stores that arrive during a commit go into the next one. A store that may wait is
 * held for a few milliseconds while others keep arriving. A commit of one store takes about as long as a commit of
 * fifty. So a crawl that stores one page at a time would spend more time on commits than on pages.
 */

/** Commit at once when this many stores are waiting. */
const BATCH_MAX = 128;
/** Stop waiting when no store arrives for this long. */
const IDLE_MS = 2;
const PAUSES_MAX = 10;

export class CommitWindow<Item> {
  readonly #mayWait: (item: Item) => boolean;
  #items: Item[] = [];
  #urgent = 0;
  #isFlushing = false;
  /** Ends the current pause. */
  #endPause: (() => void) | undefined;

  constructor(mayWait: (item: Item) => boolean) {
    this.#mayWait = mayWait;
  }

  get size(): number {
    return this.#items.length;
  }

  add(item: Item): void {
    this.#items.push(item);
    if (!this.#mayWait(item)) this.#urgent++;
    if (this.#isEnough()) this.#endPause?.();
  }

  /** Commit without waiting from now on. */
  flush(): void {
    this.#isFlushing = true;
    this.#endPause?.();
  }

  /** Waits until there are BATCH_MAX items, an item may not wait, or no item arrives any more. */
  async gather(): Promise<void> {
    for (let pauses = 0, size = 0; pauses < PAUSES_MAX && this.size > size && !this.#isEnough(); pauses++) {
      size = this.size;
      await this.#pause();
    }
  }

  /** Removes and returns the first items, in order of arrival. */
  take(max: number): Item[] {
    const taken = this.#items.splice(0, max);
    for (const item of taken) if (!this.#mayWait(item)) this.#urgent--;
    return taken;
  }

  #isEnough(): boolean {
    return this.#isFlushing || this.#urgent > 0 || this.size >= BATCH_MAX;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const endPause = () => {
        clearTimeout(timer);
        this.#endPause = undefined;
        resolve();
      };
      const timer = setTimeout(endPause, IDLE_MS);
      this.#endPause = endPause;
    });
  }
}
