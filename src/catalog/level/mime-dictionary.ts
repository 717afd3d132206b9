/**
 * Numbers for media types, so that a capture holds one byte in place of thirty. Numbers are given in order of first use
 * from 1 on and never change; 0 says that the type is written out where the number stands.
 *
 *     'm'  number (ordered)  ->  UTF-8
 *
 * Servers send anything as a media type, so the dictionary is bounded: what is long, or comes when it is full, is
 * written out.
 */
import { RowReader, RowWriter } from '../row-bytes.ts';
import { TABLE } from '../table.ts';

const ENTRIES_MAX = 16_000;
const CHARACTERS_MAX = 100;

export const WRITTEN_OUT = 0;

export class MimeDictionary {
  readonly #texts: string[] = [];
  readonly #numbers = new Map<string, number>();

  /** The number of a type; 0 when it has none and must be written out or added. */
  numberOf(mime: string): number {
    return this.#numbers.get(mime) ?? WRITTEN_OUT;
  }

  textOf(number: number): string | undefined {
    return this.#texts[number - 1];
  }

  get size(): number {
    return this.#texts.length;
  }

  /** Only what stands in the database may be added here, and in its order. */
  add(mime: string): void {
    this.#texts.push(mime);
    this.#numbers.set(mime, this.#texts.length);
  }
}

/** A type that is worth a number when there are `size` already. */
export function isWorthNumber(mime: string, size: number): boolean {
  return size < ENTRIES_MAX && mime.length <= CHARACTERS_MAX;
}

export function mimeKey(number: number): Buffer {
  const writer = new RowWriter();
  writer.byte(TABLE.mimes);
  writer.ordered(number);
  return writer.finish();
}

export function numberOfMimeKey(row: Buffer): number {
  return new RowReader(row, 1).ordered();
}
