/** A file that is being written: bytes of another file, in long sequential pieces, and members that are made anew between them. */
import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { fileError, PinakesError } from '../base/index.ts';

const BUFFER_BYTES = 1024 * 1024;

export class ByteCopier {
  readonly path: string;
  readonly #source: string;
  readonly #from: number;
  readonly #to: number;
  readonly #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  #filled = 0;
  #written = 0;

  constructor(source: string, path: string, mode: number) {
    this.path = path;
    this.#source = source;
    try {
      this.#from = openSync(source, 'r');
    } catch (cause) {
      throw fileError(cause, source);
    }
    try {
      this.#to = openSync(path, 'w', mode);
    } catch (cause) {
      closeSync(this.#from);
      throw fileError(cause, path, 'writing');
    }
  }

  /** Bytes so far: where the next piece will stand. */
  get offset(): number {
    return this.#written + this.#filled;
  }

  /** Copies [from, to) of the source. A source that ends earlier has changed. */
  copy(from: number, to: number): void {
    for (let at = from; at < to; ) {
      if (this.#filled === BUFFER_BYTES) this.#flush();
      const wanted = Math.min(BUFFER_BYTES - this.#filled, to - at);
      const bytes = this.#read(wanted, at);
      if (bytes === 0) throw new PinakesError('FILE_CHANGED', { where: this.#source });
      this.#filled += bytes;
      at += bytes;
    }
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

  /** Makes everything durable. */
  sync(): void {
    this.#flush();
    try {
      fsyncSync(this.#to);
    } catch (cause) {
      throw fileError(cause, this.path, 'writing');
    }
  }

  close(): void {
    closeSync(this.#from);
    closeSync(this.#to);
  }

  #read(wanted: number, position: number): number {
    try {
      return readSync(this.#from, this.#buffer, this.#filled, wanted, position);
    } catch (cause) {
      throw fileError(cause, this.#source);
    }
  }

  #flush(): void {
    try {
      for (let at = 0; at < this.#filled; ) at += writeSync(this.#to, this.#buffer, at, this.#filled - at);
    } catch (cause) {
      throw fileError(cause, this.path, 'writing');
    }
    this.#written += this.#filled;
    this.#filled = 0;
  }
}
