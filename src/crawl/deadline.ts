/**
 * A time by which something has to have come. When it passes, one more look is taken at what the system has received: a process that was busy for long must not
 * blame the server for it.
 */
export class Deadline {
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(ms: number, onLate: () => void) {
    this.#timer = setTimeout(() => {
      // Between a timer and the second of two immediates the loop has polled its sockets.
      setImmediate(() =>
        setImmediate(() => {
          if (!this.#isOver) onLate();
        }),
      );
    }, ms);
  }

  clear(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
