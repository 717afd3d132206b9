/**
 * The bytes in memory of stores that are not committed yet. Behind a slow volume, further stores wait before they read
 * their bodies (I9). How large a body is shows only when it was read, so each store first counts as one of middle size.
 */
const BYTES_MAX = 64 * 1024 * 1024;
const EXPECTED_BYTES = 1024 * 1024;

export class UncommittedBytes {
  readonly #waiting: (() => void)[] = [];
  #bytes = 0;

  /** Waits until there is room for another store, and counts it. */
  async enter(): Promise<UncommittedStore> {
    while (this.#bytes + EXPECTED_BYTES > BYTES_MAX) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#bytes += EXPECTED_BYTES;
    let counted = EXPECTED_BYTES;
    const count = (bytes: number) => {
      this.#bytes += bytes - counted;
      counted = bytes;
      // The next one counts itself, and wakes another if there is still room.
      if (this.#bytes + EXPECTED_BYTES <= BYTES_MAX) this.#waiting.shift()?.();
    };
    return { holds: count, leave: () => count(0) };
  }
}

/** What one store counts. */
export type UncommittedStore = {
  /** Called when its body was read. */
  readonly holds: (bytes: number) => void;
  readonly leave: () => void;
};
