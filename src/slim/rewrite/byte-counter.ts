/** Counts the bytes of a file that is not written, for a dry run; has the methods of a ByteCopier. */
import { FileWindow } from '../file-window.ts';

export class ByteCounter {
  readonly #source: FileWindow;
  /** How far the source has been counted or skipped. */
  #at = 0;
  bytes = 0;

  constructor(source: string) {
    this.#source = new FileWindow(source);
  }

  copyTo(offset: number): void {
    this.bytes += offset - this.#at;
    this.#at = offset;
  }

  /** The next bytes of the source; valid until the next call. */
  peek(length: number): Buffer {
    return this.#source.readAll(this.#at, length);
  }

  skip(length: number): void {
    this.#at += length;
  }

  put(bytes: Uint8Array): void {
    this.bytes += bytes.length;
  }

  [Symbol.dispose](): void {
    this.#source[Symbol.dispose]();
  }
}
