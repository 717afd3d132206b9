/**
 * Writes a file from the bytes of another file, copied in long sequential pieces, with new members between them.
 */
import { closeSync, fsyncSync, futimesSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { fileError, PinakesError, writingFile } from '../../base/index.ts';
import { giveOwner } from '../file-owner.ts';
import { FileWindow } from '../file-window.ts';

const BUFFER_BYTES = 1024 * 1024;

export class ByteCopier {
  readonly path: string;
  readonly #source: FileWindow;
  readonly #target: number;
  readonly #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  #filled = 0;
  /** How far the source has been copied or skipped. */
  #at = 0;

  /** With `replaced`, the file that the new one will replace, the new file gets the owner and permissions of it. */
  constructor(source: string, path: string, replaced: string | undefined) {
    this.path = path;
    this.#source = new FileWindow(source);
    let target: number | undefined;
    try {
      const stats = statSync(replaced ?? source);
      // A file left by an earlier attempt may be read-only, like the source.
      rmSync(path, { force: true });
      target = openSync(path, 'w', stats.mode & 0o777);
      if (replaced !== undefined) giveOwner(target, stats);
    } catch (cause) {
      this.#source[Symbol.dispose]();
      if (target !== undefined) closeSync(target);
      throw fileError(cause, path, 'writing');
    }
    this.#target = target;
  }

  /** Copies the source up to an offset. Throws FILE_CHANGED when the source ends before it. */
  copyTo(offset: number): void {
    while (this.#at < offset) {
      const piece = this.#source.readSome(this.#at, offset - this.#at);
      if (piece.length === 0) throw new PinakesError('FILE_CHANGED', { where: this.#source.path });
      this.put(piece);
      this.#at += piece.length;
    }
  }

  /** The next bytes of the source; valid until the next call. */
  peek(length: number): Buffer {
    return this.#source.readAll(this.#at, length);
  }

  /** Leaves out the next bytes of the source. */
  skip(length: number): void {
    this.#at += length;
  }

  put(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#filled === BUFFER_BYTES) this.#flush();
      const piece = bytes.subarray(at, at + BUFFER_BYTES - this.#filled);
      this.#buffer.set(piece, this.#filled);
      this.#filled += piece.length;
      at += piece.length;
    }
  }

  /** Gives the file the times of the source. Call it after the last `put`. */
  copyTimes(): void {
    this.#flush();
    writingFile(this.path, () => {
      const { atime, mtime } = statSync(this.#source.path);
      futimesSync(this.#target, atime, mtime);
    });
  }

  /** Makes everything durable. */
  sync(): void {
    this.#flush();
    writingFile(this.path, () => fsyncSync(this.#target));
  }

  [Symbol.dispose](): void {
    this.#source[Symbol.dispose]();
    closeSync(this.#target);
  }

  #flush(): void {
    writingFile(this.path, () => {
      for (let at = 0; at < this.#filled; ) at += writeSync(this.#target, this.#buffer, at, this.#filled - at);
    });
    this.#filled = 0;
  }
}
