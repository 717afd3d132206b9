/** Longer ones come up once, and would fill the memory. */
const TEXT_LENGTH_MAX = 1000;

/** Texts that came up lately, up to about so many, each with a number: the older half is forgotten at once. */
export class RecentTexts {
  readonly #halfMax: number;
  #later = new Map<string, number>();
  #earlier = new Map<string, number>();

  constructor(max: number) {
    this.#halfMax = max / 2;
  }

  /** Whether a text came up with this number or a smaller one. */
  has(text: string, number = 0): boolean {
    return (this.#later.get(text) ?? this.#earlier.get(text) ?? Number.POSITIVE_INFINITY) <= number;
  }

  add(text: string, number = 0): void {
    if (text.length > TEXT_LENGTH_MAX) return;
    // A text that was cut out of a longer one would keep that in memory.
    this.#later.set(Buffer.from(text).toString(), number);
    if (this.#later.size <= this.#halfMax) return;
    this.#earlier = this.#later;
    this.#later = new Map();
  }

  clear(): void {
    this.#later.clear();
    this.#earlier.clear();
  }
}
