/**
 * Rows of the blocks table that were looked up since the last change of the catalog. Whoever stores a content asks
 * first whether it is held and then changes the very row that told it, which need not be read a second time.
 */

/** More are not kept; about 2 MB. */
const ROWS_MAX = 16 * 1024;

export class BlockRowCache {
  readonly #rows = new Map<number, Buffer | undefined>();
  /** The number of the last batch that the rows know of. */
  #batchNumber = -1;

  /** Keeps a row, or that there is none, as it was when the catalog had taken this batch and began no other. */
  keep(batchNumber: number, prefix: number, row: Buffer | undefined): void {
    if (this.#batchNumber !== batchNumber) {
      // One that was read before the last change comes too late.
      if (this.#batchNumber > batchNumber) return;
      this.#rows.clear();
      this.#batchNumber = batchNumber;
    }
    if (this.#rows.size < ROWS_MAX) this.#rows.set(prefix, row);
  }

  /** The rows that are known to be the same after this batch; undefined among them stands for no row. */
  after(batchNumber: number): ReadonlyMap<number, Buffer | undefined> {
    return this.#batchNumber === batchNumber ? this.#rows : new Map();
  }

  /** A change was tried: nothing is known of what stands there now. */
  clear(): void {
    this.#rows.clear();
    this.#batchNumber = -1;
  }
}
