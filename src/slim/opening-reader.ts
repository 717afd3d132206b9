/** Reads how chosen records of a file begin, through one buffer that goes forward with the offsets. Synchronous, for worker threads. */
import { closeSync, openSync, readSync } from 'node:fs';
import { fileError } from '../base/index.ts';
import { type Opening, RecordOpening } from '../warc/index.ts';
import type { Span } from './span-reader.ts';

const BUFFER_BYTES = 128 * 1024;
/** Compressed, the heads of a record take less. */
const OPENING_BYTES = 8 * 1024;

export class OpeningReader {
  readonly #path: string;
  readonly #descriptor: number;
  readonly #decoder = new RecordOpening();
  readonly #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  #from = 0;
  #filled = 0;

  constructor(path: string) {
    this.#path = path;
    try {
      this.#descriptor = openSync(path, 'r');
    } catch (cause) {
      throw fileError(cause, path);
    }
  }

  close(): void {
    this.#decoder.close();
    closeSync(this.#descriptor);
  }

  /** Undefined when the beginning does not tell: then the record must be read whole. */
  read({ offset, length }: Span): Opening | undefined {
    const wanted = Math.min(length, OPENING_BYTES);
    if (offset < this.#from || offset + wanted > this.#from + this.#filled) this.#fill(offset);
    const at = offset - this.#from;
    return this.#decoder.decode(this.#buffer.subarray(at, Math.min(at + wanted, this.#filled)));
  }

  #fill(offset: number): void {
    try {
      this.#from = offset;
      this.#filled = readSync(this.#descriptor, this.#buffer, 0, BUFFER_BYTES, offset);
    } catch (cause) {
      throw fileError(cause, this.#path);
    }
  }
}
