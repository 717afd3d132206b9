/**
 * Collections by name and number. The segments are the truth: the first part of a segment name is its collection. The
 * numbers belong to the catalog, which deals them and keeps them in its notes.
 *
 * A collection keeps its number, so what was read once stays right. If others change the catalog too, an unknown name
 * or number is looked up again.
 */
import { PinakesError } from '../base/index.ts';
import type { Catalog } from '../catalog/index.ts';
import { DELETION_FOLDER } from '../ledger/index.ts';

const NOTE_PREFIX = 'collection:';

/** Allowed names of collections and snapshots. They can be used in a path and in a URL without escapes. */
export const PLAIN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** What the segments with deletion records are in. It has no captures, and no collection can have its name (D1). */
export const DELETIONS = { name: DELETION_FOLDER.replace('/', ''), number: 0 } as const;

/** The parts of a catalog that know collections. */
type CollectionRows = Pick<Catalog, 'notes' | 'collectionNumber' | 'isShared'>;

export type Collection = { readonly name: string; readonly number: number };

export class Collections {
  readonly #catalog: CollectionRows;
  readonly #numbers = new Map<string, number>();
  readonly #names = new Map<number, string>();

  constructor(catalog: CollectionRows) {
    this.#catalog = catalog;
  }

  async load(): Promise<void> {
    const notes = Object.entries(await this.#catalog.notes(NOTE_PREFIX));
    this.#numbers.clear();
    this.#names.clear();
    for (const [note, value] of notes) this.#remember(note.slice(NOTE_PREFIX.length), Number(value));
  }

  /** The number of a collection, which never changes. A new collection gets a new number. */
  async number(name: string): Promise<number> {
    const known = name === DELETIONS.name ? DELETIONS.number : this.#numbers.get(name);
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

  /** The number of a collection, if the archive has the collection. */
  async find(name: string): Promise<number | undefined> {
    return this.#numbers.get(name) ?? (await this.#others()).get(name);
  }

  /** The name of a collection: at once if it is known, since every line of an answer may need it. */
  name(number: number): string | Promise<string> {
    if (number === DELETIONS.number) return DELETIONS.name;
    return this.#names.get(number) ?? this.#nameOfOther(number);
  }

  async all(): Promise<Collection[]> {
    return [...(await this.#others())].map(([name, number]) => ({ name, number }));
  }

  async #nameOfOther(number: number): Promise<string> {
    await this.#others();
    return this.#names.get(number) ?? `collection-${number}`;
  }

  /** The collections, with those that others have made meanwhile. */
  async #others(): Promise<ReadonlyMap<string, number>> {
    if (this.#catalog.isShared) await this.load();
    return this.#numbers;
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
