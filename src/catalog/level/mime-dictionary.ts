/**
 * Numbers for media types, so that a capture has one byte instead of thirty. Types are numbered from 1 in order of
 * first use, and numbers never change. 0 means that the type itself follows.
 *
 *     'm'  number (ordered)  ->  UTF-8
 *
 * Servers send anything as a media type, so the dictionary is bounded. Long types, and new types when the dictionary is
 * full, get no number.
 */
import { RowReader } from '../row-bytes.ts';

const ENTRIES_MAX = 16_000;
const CHARACTERS_MAX = 100;

export const WRITTEN_OUT = 0;

export class MimeDictionary {
  readonly #texts: string[] = [];
  readonly #numbers = new Map<string, number>();

  /** The number of a type; 0 if it has none. */
  numberOf(mime: string): number {
    return this.#numbers.get(mime) ?? WRITTEN_OUT;
  }

  textOf(number: number): string | undefined {
    return this.#texts[number - 1];
  }

  get size(): number {
    return this.#texts.length;
  }

  /** Adds a type that is in the database. Types must be added in the order of their numbers. */
  add(mime: string): void {
    this.#texts.push(mime);
    this.#numbers.set(mime, this.#texts.length);
  }
}

/** Whether a type gets a number when the dictionary already has `size`. */
export function isWorthNumber(mime: string, size: number): boolean {
  return size < ENTRIES_MAX && mime.length <= CHARACTERS_MAX;
}

export function numberOfMimeKey(row: Buffer): number {
  return new RowReader(row, 1).ordered();
}
