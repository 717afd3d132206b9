/** Longer ones come up once, and would fill the memory. */
const TEXT_LENGTH_MAX = 1000;

/** Texts that came up lately, up to about so many: the older half is forgotten at once. */
export class RecentTexts {
  readonly #halfMax: number;
  #later = new Set<string>();
  #earlier = new Set<string>();

  constructor(max: number) {
    this.#halfMax = max / 2;
  }

  has(text: string): boolean {
    return this.#later.has(text) || this.#earlier.has(text);
  }

  add(text: string): void {
    if (text.length > TEXT_LENGTH_MAX) return;
    // A text that was cut out of a longer one would keep that in memory.
    this.#later.add(Buffer.from(text).toString());
    if (this.#later.size <= this.#halfMax) return;
    this.#earlier = this.#later;
    this.#later = new Set();
  }

  clear(): void {
    this.#later.clear();
    this.#earlier.clear();
  }
}
