/**
 * A time limit for bytes to arrive. A process that was busy for long must not blame the server. So the time is measured
 * in slices, and a stall of any length uses up a single slice. After the last slice, the event loop polls the sockets
 * once more for received bytes.
 *
 * Repeated waits, such as those for the pieces of a body, share one deadline. Its timer keeps running between waits. So
 * a wait costs almost nothing, but its limit can be one slice longer.
 */
const SLICES = 8;

export class Deadline {
  readonly #onLate: () => void;
  #timer: NodeJS.Timeout | undefined;
  #sliceMs = 0;
  #slicesLeft = 0;
  /** A counter that is odd during a wait and even between two waits. */
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

  /** The event loop polls its sockets between a timer and the second of two immediates. */
  #lookAgain(wait: number): void {
    setImmediate(() =>
      setImmediate(() => {
        if (this.#wait === wait) this.#onLate();
      }),
    );
  }
}
