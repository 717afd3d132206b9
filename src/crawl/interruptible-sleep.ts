/** A sleep that ends early when something has happened. */
export class InterruptibleSleep {
  #wake: (() => void) | undefined;

  sleep(ms: number): Promise<void> {
    return new Promise<void>((resolve) => {
      const goOn = () => {
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(goOn, ms);
      // Handle all answers that have arrived before sending new requests, which then go out in one burst.
      this.#wake = () => {
        this.#wake = undefined;
        clearTimeout(timer);
        setImmediate(goOn);
      };
    });
  }

  /** Ends the sleep, if there is one. */
  wake(): void {
    this.#wake?.();
  }
}
