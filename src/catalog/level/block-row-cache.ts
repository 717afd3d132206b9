/**
 * Rows of the blocks table that were looked up since the last change of the catalog. A store first looks up whether a
 * content is held and then changes the same row, which need not be read a second time.
 */

/** The most rows that are kept, about 2 MB. */
const ROWS_MAX = 16 * 1024;

export class BlockRowCache {
  readonly #rows = new Map<number, Buffer | undefined>();
  /** The rows are as of this batch. */
  #batchNumber = -1;

  /** Keeps a row, or its absence, as of this batch. */
  keep(batchNumber: number, prefix: number, row: Buffer | undefined): void {
    if (this.#batchNumber !== batchNumber) {
      // The row was read before the last change.
      if (this.#batchNumber > batchNumber) return;
      this.#rows.clear();
      this.#batchNumber = batchNumber;
    }
    if (this.#rows.size < ROWS_MAX) this.#rows.set(prefix, row);
  }

  /** The rows known as of this batch; undefined means that there is no row. */
  after(batchNumber: number): ReadonlyMap<number, Buffer | undefined> {
    return this.#batchNumber === batchNumber ? this.#rows : new Map();
  }

  /** Called after an attempted change: the rows are no longer known. */
  clear(): void {
    this.#rows.clear();
    this.#batchNumber = -1;
  }
}
