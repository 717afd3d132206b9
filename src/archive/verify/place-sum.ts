/**
 * A sum over records of a segment that does not depend on their order, to compare two sets of records in memory that
 * does not grow with them (I9). Equal sets have equal sums. Different sets have equal sums with a probability of about
 * 2^-64, also when as many records were added as removed.
 */
const NO_DIGEST = new Uint8Array(8);

export class PlaceSum {
  #count = 0;
  #high = 0;
  #low = 0;

  /** Adds the record at this offset. `digest`: the content that the record is said to hold. */
  add(offset: number, digest: Uint8Array = NO_DIGEST): void {
    this.#change(offset, digest, 1);
  }

  subtract(offset: number, digest: Uint8Array = NO_DIGEST): void {
    this.#change(offset, digest, -1);
  }

  addAll(other: PlaceSum): void {
    this.#count += other.#count;
    this.#high = (this.#high + other.#high) | 0;
    this.#low = (this.#low + other.#low) | 0;
  }

  equals(other: PlaceSum): boolean {
    return this.#count === other.#count && this.#high === other.#high && this.#low === other.#low;
  }

  #change(offset: number, digest: Uint8Array, times: 1 | -1): void {
    let high = 0x9e3779b9;
    let low = 0x85ebca6b;
    for (const word of [offset, offset / 2 ** 32, wordAt(digest, 0), wordAt(digest, 4)]) {
      high = mixed(high ^ (word >>> 0));
      low = mixed(Math.imul(low, 0xcc9e2d51) + (word >>> 0));
    }
    this.#count += times;
    this.#high = (this.#high + times * high) | 0;
    this.#low = (this.#low + times * low) | 0;
  }
}

function wordAt(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
}

/** The finishing step of MurmurHash3: every bit of the result depends on every bit of the word. */
function mixed(word: number): number {
  let hash = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
