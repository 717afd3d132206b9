/**
 * A file that is being written: bytes of another file, in long sequential pieces, and members that are made anew
 * between them.
 */
import { closeSync, fsyncSync, futimesSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { fileError, PinakesError } from '../../base/index.ts';
import { giveOwner } from '../file-owner.ts';
import { FileWindow } from '../file-window.ts';

const BUFFER_BYTES = 1024 * 1024;

export class ByteCopier {
  readonly path: string;
  readonly #source: FileWindow;
  readonly #target: number;
  readonly #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  #filled = 0;
  /** How far the source is copied or passed over. */
  #at = 0;

  /** A file that is to take the place of the source gets its owner; every other is this user's. */
  constructor(source: string, path: string, takesPlace: boolean) {
    this.path = path;
    this.#source = new FileWindow(source);
    let target: number | undefined;
    try {
      const stats = statSync(source);
      // What a broken off attempt left may be read-only, as the source is.
      rmSync(path, { force: true });
      target = openSync(path, 'w', stats.mode & 0o777);
      if (takesPlace) giveOwner(target, stats);
    } catch (cause) {
      this.#source.close();
      if (target !== undefined) closeSync(target);
      throw fileError(cause, path, 'writing');
    }
    this.#target = target;
  }

  /** Copies the source up to an offset. A source that ends earlier has changed. */
  copyTo(offset: number): void {
    while (this.#at < offset) {
      const piece = this.#source.readSome(this.#at, offset - this.#at);
      if (piece.length === 0) throw new PinakesError('FILE_CHANGED', { where: this.#source.path });
      this.put(piece);
      this.#at += piece.length;
    }
  }

  /** The next bytes of the source; good until the next call. */
  peek(length: number): Buffer {
    return this.#source.readAll(this.#at, length);
  }

  /** Leaves the next bytes of the source out. */
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

  /** Gives the file the times of the source, once nothing more is put into it. */
  takeTimes(): void {
    this.#flush();
    try {
      const { atime, mtime } = statSync(this.#source.path);
      futimesSync(this.#target, atime, mtime);
    } catch (cause) {
      throw fileError(cause, this.path, 'writing');
    }
  }

  /** Makes everything durable. */
  sync(): void {
    this.#flush();
    try {
      fsyncSync(this.#target);
    } catch (cause) {
      throw fileError(cause, this.path, 'writing');
    }
  }

  close(): void {
    this.#source.close();
    closeSync(this.#target);
  }

  #flush(): void {
    try {
      for (let at = 0; at < this.#filled; ) at += writeSync(this.#target, this.#buffer, at, this.#filled - at);
    } catch (cause) {
      throw fileError(cause, this.path, 'writing');
    }
    this.#filled = 0;
  }
}
