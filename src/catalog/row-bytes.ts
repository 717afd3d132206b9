/**
 * Writes and reads the bytes of rows.
 *
 * Two forms of whole numbers, both for 0 up to the largest safe integer:
 *
 *     varint    7 bits a byte, lowest first; the high bit says that another byte follows
 *     ordered   the count of leading one bits in the first byte says how many bytes follow; highest first, so that
 *               comparing the bytes compares the numbers
 *
 *               0xxxxxxx                      below 2^7
 *               10xxxxxx x8                   below 2^14
 *               ...
 *               11111110 x8 x8 x8 x8 x8 x8 x8   below 2^56
 */
import { assert, view } from '../base/index.ts';

/** A damaged row. The catalog turns this into CATALOG_DAMAGED, which names the place. */
export class DamagedRow extends Error {
  override readonly name = 'DamagedRow';
}

/** The limits of the numbers with 0, 1, 2 ... following bytes in the ordered form. */
const ORDERED_LIMITS: readonly number[] = [7, 14, 21, 28, 35, 42, 49, 56].map((bits) => 2 ** bits);

const FIRST_CHUNK_BYTES = 128;
const CHUNK_BYTES_MAX = 256 * 1024;

/**
 * Writes rows one after the other into chunks, each larger than the last. A finished row is a slice of a chunk and
 * never changes.
 */
export class RowWriter {
  #chunk: Buffer = Buffer.alloc(0);
  #start = 0;
  #at = 0;

  /** The row written since the last call. */
  finish(): Buffer {
    const row = this.#chunk.subarray(this.#start, this.#at);
    this.#start = this.#at;
    return row;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#chunk[this.#at++] = value;
  }

  /** Writes the bytes from `from` on. They are few, so a loop is faster than a call into the platform. */
  bytes(value: Uint8Array, from = 0): void {
    this.#reserve(value.length);
    for (let at = from; at < value.length; at++) this.#chunk[this.#at++] = value[at]!;
  }

  /** Text of characters below U+0100, one byte each. */
  latin1(text: string): void {
    this.#reserve(text.length);
    this.#at += this.#chunk.write(text, this.#at, 'latin1');
  }

  utf8(text: string): void {
    this.#reserve(text.length * 3);
    this.#at += this.#chunk.write(text, this.#at, 'utf8');
  }

  varint(value: number): void {
    assert(Number.isSafeInteger(value) && value >= 0, 'a number of a row is not a whole number from 0 on');
    this.#reserve(8);
    while (value >= 2 ** 31) {
      this.#chunk[this.#at++] = (value % 0x80) | 0x80;
      value = Math.floor(value / 0x80);
    }
    while (value >= 0x80) {
      this.#chunk[this.#at++] = (value & 0x7f) | 0x80;
      value >>>= 7;
    }
    this.#chunk[this.#at++] = value;
  }

  ordered(value: number): void {
    assert(Number.isSafeInteger(value) && value >= 0, 'a number of a key is not a whole number from 0 on');
    let following = 0;
    while (value >= ORDERED_LIMITS[following]!) following++;
    this.#reserve(8);
    let rest = value;
    for (let index = following; index > 0; index--) {
      this.#chunk[this.#at + index] = rest % 0x100;
      rest = Math.floor(rest / 0x100);
    }
    this.#chunk[this.#at] = ((0xff00 >>> following) & 0xff) | rest;
    this.#at += following + 1;
  }

  /** A whole number in this many bytes, highest first. */
  fixed(value: number, bytes: number): void {
    this.#reserve(bytes);
    this.#at = this.#chunk.writeUIntBE(value, this.#at, bytes);
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#chunk.length) return;
    const begun = this.#chunk.subarray(this.#start, this.#at);
    const chunkBytes = Math.min(Math.max(FIRST_CHUNK_BYTES, this.#chunk.length * 4), CHUNK_BYTES_MAX);
    this.#chunk = Buffer.allocUnsafe(Math.max(chunkBytes, (begun.length + bytes) * 2));
    this.#chunk.set(begun);
    this.#start = 0;
    this.#at = begun.length;
  }
}

/**
 * Reads one row from `at` on. Reading beyond the row throws a DamagedRow. This class also reads files of LevelDB, which
 * have the same varints.
 */
export class RowReader {
  readonly #row: Buffer;
  #at: number;

  constructor(row: Uint8Array, at = 0) {
    this.#row = view(row);
    this.#at = at;
  }

  /** How many bytes were read. */
  get at(): number {
    return this.#at;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#row.length;
  }

  byte(): number {
    this.#need(1);
    return this.#row[this.#at++]!;
  }

  /** These bytes, sharing memory with the row. */
  bytes(length: number): Buffer {
    this.#need(length);
    this.#at += length;
    return this.#row.subarray(this.#at - length, this.#at);
  }

  /** The remaining bytes, as UTF-8. */
  restUtf8(): string {
    const text = this.#row.toString('utf8', this.#at);
    this.#at = this.#row.length;
    return text;
  }

  utf8(bytes: number): string {
    this.#need(bytes);
    this.#at += bytes;
    return this.#row.toString('utf8', this.#at - bytes, this.#at);
  }

  varint(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (value > Number.MAX_SAFE_INTEGER) throw new DamagedRow('a varint is too large');
      if (byte < 0x80) return value;
      scale *= 0x80;
    }
  }

  ordered(): number {
    const first = this.byte();
    const following = Math.clz32(~(first << 24));
    if (following > 7) throw new DamagedRow('an ordered number has an impossible length');
    let value = first & (0x7f >>> following);
    for (let index = 0; index < following; index++) value = value * 0x100 + this.byte();
    if (value > Number.MAX_SAFE_INTEGER) throw new DamagedRow('an ordered number is too large');
    return value;
  }

  fixed(bytes: number): number {
    this.#need(bytes);
    this.#at += bytes;
    return this.#row.readUIntBE(this.#at - bytes, bytes);
  }

  #need(bytes: number): void {
    if (this.#at + bytes > this.#row.length) throw new DamagedRow('a value ends early');
  }
}
