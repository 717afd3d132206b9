/** How many documents are read on threads at a time; others wait for their turn, in order. */
export class ReadingTurns {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(readingsMax: number) {
    this.#free = readingsMax;
  }

  async take<T>(read: () => Promise<T>): Promise<T> {
    if (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#free--;
    try {
      return await read();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}
