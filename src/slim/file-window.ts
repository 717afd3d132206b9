/**
 * A buffer that moves forward over a file, so that reading many small pieces needs few reads. Synchronous, for worker
 * threads.
 */
import { closeSync, readSync } from 'node:fs';
import { openToRead, readingFile } from '../base/index.ts';

const WINDOW_BYTES = 1024 * 1024;

export class FileWindow {
  readonly path: string;
  readonly #descriptor: number;
  #buffer = Buffer.allocUnsafeSlow(WINDOW_BYTES);
  /** The window holds [from, from + filled) of the file. */
  #from = 0;
  #filled = 0;

  constructor(path: string) {
    this.path = path;
    this.#descriptor = openToRead(path);
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
  }

  /**
   * Returns at least one and at most `length` bytes from the offset on: fewer at the end of the window, none at the end
   * of the file.
   */
  readSome(offset: number, length: number): Buffer {
    if (offset < this.#from || offset >= this.#from + this.#filled) this.#fill(offset);
    const at = offset - this.#from;
    return this.#buffer.subarray(at, Math.min(at + length, this.#filled));
  }

  /** Returns `length` bytes from the offset on, fewer only at the end of the file. */
  readAll(offset: number, length: number): Buffer {
    const isInside = offset >= this.#from && offset + length <= this.#from + this.#filled;
    if (!isInside) {
      if (length > this.#buffer.length) this.#buffer = Buffer.allocUnsafeSlow(length);
      this.#fill(offset);
    }
    const at = offset - this.#from;
    return this.#buffer.subarray(at, Math.min(at + length, this.#filled));
  }

  #fill(offset: number): void {
    this.#from = offset;
    this.#filled = 0;
    readingFile(this.path, () => {
      while (this.#filled < this.#buffer.length) {
        const room = this.#buffer.length - this.#filled;
        const bytes = readSync(this.#descriptor, this.#buffer, this.#filled, room, offset + this.#filled);
        if (bytes === 0) return;
        this.#filled += bytes;
      }
    });
  }
}
