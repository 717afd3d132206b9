/** Longer texts are rarely repeated, and would fill the memory. */
const TEXT_LENGTH_MAX = 1000;

/** Remembers about `max` recent texts, each with a number. When there are more, the older half is forgotten. */
export class RecentTexts {
  readonly #halfMax: number;
  #newer = new Map<string, number>();
  #older = new Map<string, number>();

  constructor(max: number) {
    this.#halfMax = max / 2;
  }

  /** Whether a text was added with this number or a smaller one. */
  has(text: string, number = 0): boolean {
    return (this.#newer.get(text) ?? this.#older.get(text) ?? Number.POSITIVE_INFINITY) <= number;
  }

  add(text: string, number = 0): void {
    if (text.length > TEXT_LENGTH_MAX) return;
    // Copy the text: a substring would keep the whole text that it was cut from in memory.
    this.#newer.set(Buffer.from(text).toString(), number);
    if (this.#newer.size <= this.#halfMax) return;
    this.#older = this.#newer;
    this.#newer = new Map();
  }

  clear(): void {
    this.#newer.clear();
    this.#older.clear();
  }
}
