/** Reads bytes of LevelDB's files one after another: varints and slices. Invalid bytes are a DamagedRow. */
import { DamagedRow } from '../row-bytes.ts';

export class LevelBytes {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isOver(): boolean {
    return this.#at >= this.#bytes.length;
  }

  byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new DamagedRow('it ends inside a number');
    return byte;
  }

  varint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) break;
    }
    if (!Number.isSafeInteger(value)) throw new DamagedRow('a number in it is too large');
    return value;
  }

  slice(length: number): Buffer {
    if (length > this.#bytes.length - this.#at) throw new DamagedRow('it ends inside a value');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
