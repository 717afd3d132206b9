/**
 * A time by which something has to have come. A process that was busy for long must not blame the server for it: the time is waited for in slices, so that
 * a stall of whatever length uses up one of them, and at the end one more look is taken at what the system has received.
 */
const SLICES = 8;

export class Deadline {
  readonly #sliceMs: number;
  readonly #onLate: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(ms: number, onLate: () => void) {
    this.#sliceMs = Math.ceil(ms / SLICES);
    this.#onLate = onLate;
    this.#wait(SLICES);
  }

  #wait(slices: number): void {
    this.#timer = setTimeout(() => {
      if (slices > 1) this.#wait(slices - 1);
      else this.#lookAgain();
    }, this.#sliceMs);
  }

  /** Between a timer and the second of two immediates the loop has polled its sockets. */
  #lookAgain(): void {
    setImmediate(() =>
      setImmediate(() => {
        if (!this.#isOver) this.#onLate();
      }),
    );
  }

  clear(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
