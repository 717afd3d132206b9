/**
 * Counts distinct contents exactly up to a bound, and says so when there are more: a URL of a million contents must not
 * take a million digests of memory (I9).
 */
import type { BlockKey } from '../../catalog/index.ts';

const EXACT_MAX = 65_536;

export class DistinctCount {
  readonly #seen = new Set<string>();
  #isExact = true;

  add({ digest, overflow }: BlockKey): void {
    if (this.#seen.size >= EXACT_MAX) this.#isExact = this.#isExact && this.#seen.has(nameOf(digest, overflow));
    else this.#seen.add(nameOf(digest, overflow));
  }

  get count(): number {
    return this.#seen.size;
  }

  /** Whether there are no more than counted. */
  get isExact(): boolean {
    return this.#isExact;
  }
}

/** 96 bits tell contents apart. */
function nameOf(digest: Uint8Array, overflow: number): string {
  return `${Buffer.from(digest.buffer, digest.byteOffset, 12).toString('latin1')}${overflow}`;
}
