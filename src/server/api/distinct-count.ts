/** Counts distinct contents up to a limit, so that memory is bounded (I9). `isExact` is false when there are more. */
import type { BlockKey } from '../../catalog/index.ts';

const EXACT_MAX = 65_536;

export class DistinctCount {
  readonly #seen = new Set<string>();
  #isExact = true;

  add({ digest, overflow }: BlockKey): void {
    if (this.#seen.size >= EXACT_MAX) this.#isExact = this.#isExact && this.#seen.has(keyOf(digest, overflow));
    else this.#seen.add(keyOf(digest, overflow));
  }

  get count(): number {
    return this.#seen.size;
  }

  get isExact(): boolean {
    return this.#isExact;
  }
}

/** 96 bits of the digest suffice to distinguish contents. */
function keyOf(digest: Uint8Array, overflow: number): string {
  return `${Buffer.from(digest.buffer, digest.byteOffset, 12).toString('latin1')}${overflow}`;
}
