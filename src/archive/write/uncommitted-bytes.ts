/**
 * The bytes in memory of stores that are not committed yet. Behind a slow volume, further stores wait before they read
 * their bodies (I9).
 */
const BYTES_MAX = 64 * 1024 * 1024;

export class UncommittedBytes {
  readonly #forRoom: (() => void)[] = [];
  #bytes = 0;

  /** Waits until there is room for another store. */
  async room(): Promise<void> {
    while (this.#bytes >= BYTES_MAX) await new Promise<void>((resolve) => this.#forRoom.push(resolve));
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  remove(bytes: number): void {
    this.#bytes -= bytes;
    for (const resolve of this.#forRoom.splice(0)) resolve();
  }
}
