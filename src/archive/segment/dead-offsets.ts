/**
 * The offsets of deleted records, for all segments of an archive, with one segment at a time in memory (I9).
 *
 * ```
 *   <directory>/<segment number>      offsets, 8 bytes each, in the byte order of the machine
 * ```
 */
import { readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileError } from '../../base/index.ts';

const NONE: ReadonlySet<number> = new Set();

export class DeadOffsets {
  readonly #directory: string;
  readonly #numbers = new Set<number>();
  #last: { readonly number: number; readonly offsets: ReadonlySet<number> } | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** The segments that have deleted records. */
  numbers(): number[] {
    return [...this.#numbers];
  }

  async set(number: number, offsets: Iterable<number>): Promise<void> {
    const numbers = Float64Array.from(offsets);
    await this.delete(number);
    if (numbers.length === 0) return;
    const path = this.#pathOf(number);
    await writeFile(path, new Uint8Array(numbers.buffer)).catch((cause: unknown) => {
      throw fileError(cause, path, 'writing');
    });
    this.#numbers.add(number);
  }

  /** Empty for a segment without deleted records. */
  async get(number: number): Promise<ReadonlySet<number>> {
    if (!this.#numbers.has(number)) return NONE;
    if (this.#last?.number === number) return this.#last.offsets;
    const path = this.#pathOf(number);
    const bytes = await readFile(path).catch((cause: unknown) => {
      throw fileError(cause, path);
    });
    const offsets = new Set(new Float64Array(Uint8Array.from(bytes).buffer));
    this.#last = { number, offsets };
    return offsets;
  }

  async delete(number: number): Promise<void> {
    if (this.#last?.number === number) this.#last = undefined;
    if (this.#numbers.delete(number)) await unlink(this.#pathOf(number)).catch(() => {});
  }

  #pathOf(number: number): string {
    return join(this.#directory, String(number));
  }
}
