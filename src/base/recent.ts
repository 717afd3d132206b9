/**
 * Things that were used lately, by key, as many as fit: when there are too many, those go first that were used longest
 * ago.
 */
export class Recent<Key, Value> {
  readonly #weightMax: number;
  readonly #weightOf: (value: Value) => number;
  /** In order of use, the least recent first. */
  readonly #values = new Map<Key, Value>();
  #weight = 0;

  /** Together the values weigh at most so much. */
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

  /** Keeps a value, unless there is one of this key. */
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
