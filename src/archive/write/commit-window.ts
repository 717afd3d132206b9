/**
 * Batches stores into one commit. Stores that arrive during a commit go into the next one. A store that may wait is
 * held for a short time while others keep arriving. A commit of one store takes about as long as a commit of fifty. So
 * a crawl that stores one page at a time would spend more time on commits than on pages. On a volume of immutable
 * objects each commit is a PUT, so the time is longer there.
 */

export type CommitPace = {
  /** Commit at once when this many stores, or this many bytes, are waiting. */
  readonly itemsMax: number;
  readonly bytesMax: number;
  /** Stop waiting when no store arrives for this long. */
  readonly idleMs: number;
  readonly pausesMax: number;
};

/** At most 20 ms. */
export const DISK_PACE: CommitPace = { itemsMax: 128, bytesMax: Number.POSITIVE_INFINITY, idleMs: 2, pausesMax: 10 };
/** At most 2 s. */
export const OBJECT_PACE: CommitPace = { itemsMax: 512, bytesMax: 8 * 1024 * 1024, idleMs: 50, pausesMax: 40 };

export type WindowOptions<Item> = {
  readonly mayWait: (item: Item) => boolean;
  readonly bytesOf: (item: Item) => number;
  readonly pace: () => CommitPace;
};

export class CommitWindow<Item> {
  readonly #options: WindowOptions<Item>;
  #items: Item[] = [];
  #bytes = 0;
  #urgent = 0;
  #pace = DISK_PACE;
  #isFlushing = false;
  /** Ends the current pause. */
  #endPause: (() => void) | undefined;

  constructor(options: WindowOptions<Item>) {
    this.#options = options;
  }

  get size(): number {
    return this.#items.length;
  }

  add(item: Item): void {
    this.#items.push(item);
    this.#bytes += this.#options.bytesOf(item);
    if (!this.#options.mayWait(item)) this.#urgent++;
    if (this.#isEnough()) this.#endPause?.();
  }

  /** Commit without waiting from now on. */
  flush(): void {
    this.#isFlushing = true;
    this.#endPause?.();
  }

  /** Waits until there are enough items, an item may not wait, or no item arrives any more. */
  async gather(): Promise<void> {
    this.#pace = this.#options.pace();
    for (let pauses = 0, size = 0; pauses < this.#pace.pausesMax && this.size > size && !this.#isEnough(); pauses++) {
      size = this.size;
      await this.#pause();
    }
  }

  /** Removes and returns the first items, in order of arrival. */
  take(max: number): Item[] {
    const taken = this.#items.splice(0, max);
    for (const item of taken) {
      this.#bytes -= this.#options.bytesOf(item);
      if (!this.#options.mayWait(item)) this.#urgent--;
    }
    return taken;
  }

  #isEnough(): boolean {
    const { itemsMax, bytesMax } = this.#pace;
    return this.#isFlushing || this.#urgent > 0 || this.size >= itemsMax || this.#bytes >= bytesMax;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const endPause = () => {
        clearTimeout(timer);
        this.#endPause = undefined;
        resolve();
      };
      const timer = setTimeout(endPause, this.#pace.idleMs);
      this.#endPause = endPause;
    });
  }
}
