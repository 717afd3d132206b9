/**
 * A cache of values by key, bounded by their total weight. When they weigh too much, the least recently used values are
 * removed.
 */
export class LruCache<Key, Value> {
  readonly #weightMax: number;
  readonly #weightOf: (value: Value) => number;
  /** In order of use, the least recently used first. */
  readonly #values = new Map<Key, Value>();
  #weight = 0;

  /** `weightMax` is the most that all values together may weigh. */
  constructor(weightMax: number, weightOf: (value: Value) => number) {
    this.#weightMax = weightMax;
    this.#weightOf = weightOf;
  }

  get size(): number {
    return this.#values.size;
  }

  get(key: Key): Value | undefined {
    const value = this.#values.get(key);
    if (value !== undefined) {
      this.#values.delete(key);
      this.#values.set(key, value);
    }
    return value;
  }

  /** Keeps a value, unless the key already has one. */
  keep(key: Key, value: Value): void {
    if (this.#values.has(key)) return;
    this.#values.set(key, value);
    this.#weight += this.#weightOf(value);
    for (const oldest of this.#values.keys()) {
      if (this.#weight <= this.#weightMax) return;
      this.forget(oldest);
    }
  }

  forget(key: Key): void {
    const value = this.#values.get(key);
    if (value === undefined) return;
    this.#values.delete(key);
    this.#weight -= this.#weightOf(value);
  }

  clear(): void {
    this.#values.clear();
    this.#weight = 0;
  }
}
