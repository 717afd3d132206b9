/**
 * Gathers what is committed together. Whatever comes while a commit is under way is in the next one anyway; who is
 * waiting also waits a few milliseconds for others, as long as others keep coming. A commit costs about as much for one
 * as for fifty, so a crawl that asks for one page at a time would spend more on commits than on its pages.
 */

/** So many are not made to wait for more. */
const ENOUGH = 128;
/** As long as this nobody comes, and nobody is waited for any more. */
const PAUSE_MS = 2;
const PAUSES_MAX = 10;

export class CommitWindow<Item> {
  readonly #mayWait: (item: Item) => boolean;
  #items: Item[] = [];
  #urgent = 0;
  #isFlushing = false;
  /** Ends the pause at hand. */
  #goOn: (() => void) | undefined;

  constructor(mayWait: (item: Item) => boolean) {
    this.#mayWait = mayWait;
  }

  get size(): number {
    return this.#items.length;
  }

  add(item: Item): void {
    this.#items.push(item);
    if (!this.#mayWait(item)) this.#urgent++;
    if (this.#isEnough()) this.#goOn?.();
  }

  /** From now on nobody is waited for. */
  flush(): void {
    this.#isFlushing = true;
    this.#goOn?.();
  }

  /** Waits until there are enough, somebody is urgent, or nobody else comes. */
  async gather(): Promise<void> {
    for (let pauses = 0, size = 0; pauses < PAUSES_MAX && this.size > size && !this.#isEnough(); pauses++) {
      size = this.size;
      await this.#pause();
    }
  }

  /** The first of them, in order of arrival. */
  take(max: number): Item[] {
    const taken = this.#items.splice(0, max);
    for (const item of taken) if (!this.#mayWait(item)) this.#urgent--;
    return taken;
  }

  #isEnough(): boolean {
    return this.#isFlushing || this.#urgent > 0 || this.size >= ENOUGH;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const goOn = () => {
        clearTimeout(timer);
        this.#goOn = undefined;
        resolve();
      };
      const timer = setTimeout(goOn, PAUSE_MS);
      this.#goOn = goOn;
    });
  }
}
