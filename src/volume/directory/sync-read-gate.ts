/**
 * Small reads on the calling thread.
 *
 * When the system has the bytes in memory, or the disk is fast, passing a read to another thread costs several times
 * the read itself, and retrieval would spend most of its time on switching threads. A read that takes LONG_MS or more
 * shows a slow disk: the next LEFT_MIN reads go to other threads before the calling thread is tried again. Each further
 * slow read doubles this number, up to LEFT_MAX. So a slow disk rarely blocks the thread, and a fast disk costs no
 * thread switches.
 */
import { readSync } from 'node:fs';

/** Longer ranges are never read on the calling thread. */
const SYNC_BYTES_MAX = 128 * 1024;
const LONG_MS = 1;
const LEFT_MIN = 16;
const LEFT_MAX = 1024;

export class SyncReadGate {
  readonly #stopwatch: (() => number) | undefined;
  /** How many of the next reads go to other threads. */
  #left = 0;
  #leftNext = LEFT_MIN;

  /**
   * `stopwatch` is a monotonic clock in milliseconds. Without it reads cannot be timed, and all go to other threads.
   */
  constructor(stopwatch: (() => number) | undefined) {
    this.#stopwatch = stopwatch;
  }

  /**
   * The bytes of a range, in a buffer of their own; undefined when another thread must read them. That read also
   * reports what is wrong with the file.
   */
  read(descriptor: number, offset: number, length: number): Uint8Array<ArrayBuffer> | undefined {
    const isShort = Number.isInteger(length) && length >= 0 && length <= SYNC_BYTES_MAX;
    // A negative offset would mean the file's own position.
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
    // A short read is the end of the file or an interruption; the read by another thread finds out which.
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
