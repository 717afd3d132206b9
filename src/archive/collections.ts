/**
 * Collections by name and number. The segments are the truth: the first part of a segment name is its collection. The
 * numbers belong to the catalog, which keeps them in its notes.
 */
import { PinakesError } from '../base/index.ts';
import type { Catalog } from '../catalog/index.ts';

const NOTE_PREFIX = 'collection:';

/** Allowed names of collections and snapshots. They can be used in a path and in a URL without escapes. */
export const PLAIN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

export class Collections {
  readonly #catalog: Catalog;
  readonly #numbers = new Map<string, number>();
  readonly #names = new Map<number, string>();
  #lastNumber = 0;

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  async load(): Promise<void> {
    this.#numbers.clear();
    this.#names.clear();
    this.#lastNumber = 0;
    for (const [note, value] of Object.entries(await this.#catalog.notes(NOTE_PREFIX))) {
      this.#remember(note.slice(NOTE_PREFIX.length), Number(value));
    }
  }

  /** The number of a collection. A new collection gets a new number. */
  async number(name: string): Promise<number> {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    this.check(name);
    const number = this.#lastNumber + 1;
    // Remembered before it is written, so that two calls at the same time never give one number to different names.
    this.#remember(name, number);
    try {
      await this.#catalog.write({ putNotes: { [NOTE_PREFIX + name]: String(number) } });
    } catch (error) {
      this.#numbers.delete(name);
      throw error;
    }
    return number;
  }

  /** Refuses a name that no collection can have. The name becomes a folder and the beginning of file names. */
  check(name: string): void {
    if (this.#numbers.has(name) || PLAIN_NAME.test(name)) return;
    const detail =
      'a name is made of the letters A-Z and a-z, digits, dots, dashes and underscores, begins with a letter or a digit, and has at most 100 of them';
    throw new PinakesError('BAD_ARGUMENT', { where: `collection '${name}'`, detail });
  }

  find(name: string): number | undefined {
    return this.#numbers.get(name);
  }

  name(number: number): string {
    return this.#names.get(number) ?? `collection-${number}`;
  }

  all(): { name: string; number: number }[] {
    return [...this.#numbers].map(([name, number]) => ({ name, number }));
  }

  /** The notes of the catalog about the collections. */
  notes(): Record<string, string> {
    return Object.fromEntries([...this.#numbers].map(([name, number]) => [NOTE_PREFIX + name, String(number)]));
  }

  #remember(name: string, number: number): void {
    this.#numbers.set(name, number);
    this.#names.set(number, name);
    this.#lastNumber = Math.max(this.#lastNumber, number);
  }
}
