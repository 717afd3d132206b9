/**
 * A sliding window over a stream of bytes. Bytes are addressed by their position in the stream.
 *
 * ```
 *   stream   ......|retained|unread..........|..........
 *   memory         0        read             end        capacity
 *   position     base       position        endPosition
 * ```
 * Bytes before `position` are consumed. Bytes from `retainFrom` on stay readable until they are dropped, so that a
 * reader can look back after damage. `reserve` may move the bytes in memory, so a view into the window is valid until
 * the next `reserve`.
 */
import { assert } from '../../base/index.ts';

export class ByteWindow {
  buffer: Buffer;
  /** Stream position of buffer[0]. */
  base: number;
  /** Index in the buffer of the next unread byte. */
  read = 0;
  /** Index in the buffer past the last byte. */
  end = 0;
  /** Index in the buffer of the oldest byte to keep; never past `read`. */
  #kept = 0;
  readonly #capacityStart: number;

  constructor(position: number, capacityBytes: number) {
    this.base = position;
    this.#capacityStart = capacityBytes;
    this.buffer = Buffer.allocUnsafeSlow(capacityBytes);
  }

  get position(): number {
    return this.base + this.read;
  }

  get endPosition(): number {
    return this.base + this.end;
  }

  get available(): number {
    return this.end - this.read;
  }

  /** Stream position of the oldest byte that can still be read. */
  get keptPosition(): number {
    return this.base + this.#kept;
  }

  indexOfPosition(position: number): number {
    return position - this.base;
  }

  /** Drops everything before this position, and keeps at most `most` consumed bytes in any case. */
  retainFrom(position: number, most: number): void {
    const wanted = Math.min(position - this.base, this.read);
    this.#kept = Math.max(this.#kept, wanted, this.read - most);
    if (this.#kept === this.end) {
      this.base += this.end;
      this.read = 0;
      this.end = 0;
      this.#kept = 0;
    }
  }

  /** Makes room for at least this many more bytes after `end`. */
  reserve(bytes: number): void {
    if (this.buffer.length - this.end >= bytes) return;
    const held = this.end - this.#kept;
    if (held + bytes > this.buffer.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(this.#capacityStart, 2 * (held + bytes)));
      this.buffer.copy(grown, 0, this.#kept, this.end);
      this.buffer = grown;
    } else {
      this.buffer.copyWithin(0, this.#kept, this.end);
    }
    this.base += this.#kept;
    this.read -= this.#kept;
    this.end = held;
    this.#kept = 0;
  }

  /** Appends a copy of bytes. */
  push(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.buffer.set(bytes, this.end);
    this.end += bytes.length;
  }

  consume(bytes: number): void {
    assert(bytes <= this.end - this.read, 'consumed past the end of a window');
    this.read += bytes;
  }

  /** Goes back, or forward, to a position that is still in the window. */
  seek(position: number): void {
    assert(position >= this.keptPosition && position <= this.endPosition, 'sought a position outside the window');
    this.read = position - this.base;
  }
}
