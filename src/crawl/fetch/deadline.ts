/**
 * A time by which something has to have come. A process that was busy for long must not blame the server for it: the
 * time is waited for in slices, so that a stall of whatever length uses up one of them, and at the end one more look is
 * taken at what the system has received.
 *
 * Whoever waits again and again, as for every piece of a body, uses one deadline for all of it: its timer runs on from
 * one wait into the next, so that a wait costs next to nothing, and lasts at most one slice longer.
 */
const SLICES = 8;

export class Deadline {
  readonly #onLate: () => void;
  #timer: NodeJS.Timeout | undefined;
  #sliceMs = 0;
  #slicesLeft = 0;
  /** Counts the waits; even between them. */
  #wait = 0;

  constructor(onLate: () => void) {
    this.#onLate = onLate;
  }

  /** Begins to wait. */
  start(ms: number): void {
    const sliceMs = Math.ceil(ms / SLICES);
    if (this.#wait % 2 === 0) this.#wait++;
    if (this.#timer && this.#sliceMs === sliceMs) {
      // The slice that is running began before the wait.
      this.#slicesLeft = SLICES + 1;
      return;
    }
    clearTimeout(this.#timer);
    this.#sliceMs = sliceMs;
    this.#slicesLeft = SLICES;
    this.#timer = setTimeout(() => this.#endSlice(), sliceMs);
  }

  /** What was waited for has come. */
  clear(): void {
    if (this.#wait % 2 === 1) this.#wait++;
  }

  /** Nothing more will be waited for. */
  end(): void {
    this.clear();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #endSlice(): void {
    if (this.#wait % 2 === 1 && --this.#slicesLeft > 0) {
      this.#timer!.refresh();
      return;
    }
    this.#timer = undefined;
    if (this.#wait % 2 === 1) this.#lookAgain(this.#wait);
  }

  /** Between a timer and the second of two immediates the loop has polled its sockets. */
  #lookAgain(wait: number): void {
    setImmediate(() =>
      setImmediate(() => {
        if (this.#wait === wait) this.#onLate();
      }),
    );
  }
}
