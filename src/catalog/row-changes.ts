/**
 * The rows that a batch puts and removes, gathered to be written at once.
 *
 * A batch that the database gathers itself takes less time, but its memory is free only when the garbage collector meets the little object that stands for it, and of
 * batches with very long URLs that can be many hundred megabytes. So only small ones are gathered there; others go as a list, which is free as soon as it is written.
 */
import type { Database, Operations } from './level-database.ts';

const GATHERED_BYTES_MAX = 512 * 1024;

export class RowChanges implements Operations {
  readonly #keys: Buffer[] = [];
  /** Undefined for a row that is removed. */
  readonly #values: (Buffer | undefined)[] = [];
  #bytes = 0;

  put(key: Buffer, value: Buffer): void {
    this.#keys.push(key);
    this.#values.push(value);
    this.#bytes += key.length + value.length;
  }

  del(key: Buffer): void {
    this.#keys.push(key);
    this.#values.push(undefined);
    this.#bytes += key.length;
  }

  write(database: Database, sync: boolean): Promise<void> {
    return this.#bytes <= GATHERED_BYTES_MAX ? this.#writeGathered(database, sync) : this.#writeList(database, sync);
  }

  async #writeGathered(database: Database, sync: boolean): Promise<void> {
    const batch = database.batch();
    try {
      for (let index = 0; index < this.#keys.length; index++) {
        const value = this.#values[index];
        if (value) batch.put(this.#keys[index]!, value);
        else batch.del(this.#keys[index]!);
      }
      await batch.write({ sync });
    } finally {
      await batch.close();
    }
  }

  async #writeList(database: Database, sync: boolean): Promise<void> {
    const list = this.#keys.map((key, index) => {
      const value = this.#values[index];
      return value ? ({ type: 'put', key, value } as const) : ({ type: 'del', key } as const);
    });
    await database.batch(list, { sync });
  }
}
