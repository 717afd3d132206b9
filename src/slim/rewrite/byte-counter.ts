/** What a file would be that is not written: the moves of a ByteCopier, of which only the bytes are counted. */
import { FileWindow } from '../file-window.ts';

export class ByteCounter {
  readonly #source: FileWindow;
  /** How far the source is counted or passed over. */
  #at = 0;
  bytes = 0;

  constructor(source: string) {
    this.#source = new FileWindow(source);
  }

  copyTo(offset: number): void {
    this.bytes += offset - this.#at;
    this.#at = offset;
  }

  /** The next bytes of the source; good until the next call. */
  peek(length: number): Buffer {
    return this.#source.readAll(this.#at, length);
  }

  skip(length: number): void {
    this.#at += length;
  }

  put(bytes: Uint8Array): void {
    this.bytes += bytes.length;
  }

  close(): void {
    this.#source.close();
  }
}
