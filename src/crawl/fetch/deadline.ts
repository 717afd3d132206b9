/**
 * A time limit for something to arrive. A process that was busy for long must not blame the server. So the time is
 * measured in slices, and a stall of any length uses up only one of them. At the end the system is asked once more for
 * received bytes.
 *
 * Repeated waits, such as for each piece of a body, share one deadline. Its timer runs on from one wait to the next. So
 * a wait costs almost nothing, and lasts at most one slice longer.
 */
const SLICES = 8;

export class Deadline {
  readonly #onLate: () => void;
  #timer: NodeJS.Timeout | undefined;
  #sliceMs = 0;
  #slicesLeft = 0;
  /** Odd during a wait, even between two waits. */
  #wait = 0;

  constructor(onLate: () => void) {
    this.#onLate = onLate;
  }

  /** Begins a wait. */
  start(ms: number): void {
    const sliceMs = Math.ceil(ms / SLICES);
    if (this.#wait % 2 === 0) this.#wait++;
    if (this.#timer && this.#sliceMs === sliceMs) {
      // The current slice began before this wait, so one more is allowed.
      this.#slicesLeft = SLICES + 1;
      return;
    }
    clearTimeout(this.#timer);
    this.#sliceMs = sliceMs;
    this.#slicesLeft = SLICES;
    this.#timer = setTimeout(() => this.#endSlice(), sliceMs);
  }

  /** Ends a wait: the bytes have arrived. */
  clear(): void {
    if (this.#wait % 2 === 1) this.#wait++;
  }

  /** Ends the last wait, and stops the timer. */
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

  /** Between a timer and the second of two immediates the event loop has polled its sockets. */
  #lookAgain(wait: number): void {
    setImmediate(() =>
      setImmediate(() => {
        if (this.#wait === wait) this.#onLate();
      }),
    );
  }
}
