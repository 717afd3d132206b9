/**
 * Small reads on the calling thread.
 *
 * Handing a read to another thread and waiting for it costs several times what the read costs when the system has the
 * bytes in memory or the disk is fast, and it is what retrieval would spend most of its time on. A read that took long
 * shows a disk that has to be waited for: then the next ones are left to other threads, twice as many after each
 * further long one, before it is tried again. So a slow disk holds the thread up rarely, and a fast one costs no hops.
 */
import { readSync } from 'node:fs';

/** Longer ranges are never read at once. */
const SYNC_BYTES_MAX = 128 * 1024;
const LONG_MS = 1;
const LEFT_MIN = 16;
const LEFT_MAX = 1024;

export class SyncReadGate {
  readonly #stopwatch: (() => number) | undefined;
  /** How many reads are still left to others. */
  #left = 0;
  #leftNext = LEFT_MIN;

  /**
   * `stopwatch` gives milliseconds. Without it nobody can tell how long a read took, and all are left to other threads.
   */
  constructor(stopwatch: (() => number) | undefined) {
    this.#stopwatch = stopwatch;
  }

  /**
   * The bytes of a range, in memory of their own; undefined when they are to be read in another way, which also tells
   * what is wrong with the file.
   */
  read(descriptor: number, offset: number, length: number): Uint8Array<ArrayBuffer> | undefined {
    const isShort = Number.isInteger(length) && length >= 0 && length <= SYNC_BYTES_MAX;
    // A negative offset would mean wherever the file's own position stands.
    if (!this.#stopwatch || !isShort || !Number.isSafeInteger(offset) || offset < 0) return undefined;
    if (this.#left > 0) {
      this.#left--;
      return undefined;
    }
    const start = this.#stopwatch();
    const bytes = new Uint8Array(Buffer.allocUnsafeSlow(length).buffer);
    let filled: number;
    try {
      filled = readSync(descriptor, bytes, 0, length, offset);
    } catch {
      return undefined;
    }
    this.#judge(this.#stopwatch() - start);
    // A short read is the end of the file, or an interruption; the other way tells which.
    return filled === length ? bytes : undefined;
  }

  #judge(elapsedMs: number): void {
    if (elapsedMs < LONG_MS) {
      this.#leftNext = LEFT_MIN;
      return;
    }
    this.#left = this.#leftNext;
    this.#leftNext = Math.min(LEFT_MAX, this.#leftNext * 2);
  }
}
