/**
 * Collections by name and number. The segments are the truth: the first part of a segment name is its collection. The
 * numbers belong to the catalog, which deals them and keeps them in its notes.
 */
import { PinakesError } from '../base/index.ts';
import type { SharedCatalog } from '../catalog/index.ts';

const NOTE_PREFIX = 'collection:';

/** Allowed names of collections and snapshots. They can be used in a path and in a URL without escapes. */
export const PLAIN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** The parts of a catalog that know collections. */
type CollectionRows = Pick<SharedCatalog, 'notes' | 'collectionNumber'>;

export class Collections {
  readonly #catalog: CollectionRows;
  readonly #numbers = new Map<string, number>();
  readonly #names = new Map<number, string>();

  constructor(catalog: CollectionRows) {
    this.#catalog = catalog;
  }

  async load(): Promise<void> {
    this.#numbers.clear();
    this.#names.clear();
    for (const [note, value] of Object.entries(await this.#catalog.notes(NOTE_PREFIX))) {
      this.#remember(note.slice(NOTE_PREFIX.length), Number(value));
    }
  }

  /** The number of a collection, which never changes. A new collection gets a new number. */
  async number(name: string): Promise<number> {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    this.check(name);
    const number = await this.#catalog.collectionNumber(name);
    this.#remember(name, number);
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
  }
}
