/**
 * Removes the chunk framing of a body (RFC 9112 section 7.1), piece by piece.
 *
 * ```
 *   size-in-hex [;extension] CRLF  data CRLF  ...  0 CRLF  [trailer fields] CRLF
 * ```
 * Many bodies only claim to be chunked: recorders remove the framing and keep the header. From the first line that
 * should be a size line and is not, the rest is kept unchanged, including that line, and `isBroken` is set.
 *
 * Small chunks are emitted together: some bodies have a chunk for every byte, and each emitted piece costs the receiver
 * more than its bytes.
 */
import { CR, EMPTY, LF } from '../../base/index.ts';

const SIZE_LINE_BYTES_MAX = 256;
/** Chunks of this size and more are emitted as they are. Smaller ones are joined, up to TOGETHER_BYTES_MAX. */
const LARGE_BYTES_MIN = 4096;
const TOGETHER_BYTES_MAX = 16 * 1024;

export class ChunkedBody {
  /** Whether a size line was malformed, or the last chunk was cut off. */
  isBroken = false;
  #state: 'size' | 'data' | 'data-end' | 'trailer' | 'raw' = 'size';
  #left = 0;
  #line: number[] = [];
  /** Buffer for the data of small chunks; its first `#waiting` bytes wait to be emitted. */
  #small: Uint8Array = EMPTY;
  #waiting = 0;
  readonly #emit: (bytes: Uint8Array) => void;

  constructor(emit: (bytes: Uint8Array) => void) {
    this.#emit = emit;
  }

  push(bytes: Uint8Array): void {
    this.#take(bytes);
    this.#emitWaiting();
  }

  /** Emits data, or keeps it to join it with later data. `roomMax` bounds the length of all this data. */
  #emitOrKeep(data: Uint8Array, roomMax: number): void {
    if (data.length >= LARGE_BYTES_MIN || data.length === roomMax) {
      this.#emitWaiting();
      this.#emit(data);
      return;
    }
    if (this.#waiting + data.length > this.#small.length) {
      this.#emitWaiting();
      this.#small = new Uint8Array(Math.min(roomMax, TOGETHER_BYTES_MAX));
    }
    this.#small.set(data, this.#waiting);
    this.#waiting += data.length;
  }

  #emitWaiting(): void {
    if (this.#waiting > 0) this.#emit(this.#small.subarray(0, this.#waiting));
    this.#waiting = 0;
    this.#small = EMPTY;
  }

  #take(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#state === 'data') {
        const taken = Math.min(this.#left, bytes.length - at);
        this.#emitOrKeep(bytes.subarray(at, at + taken), bytes.length - at);
        this.#left -= taken;
        at += taken;
        if (this.#left === 0) this.#state = 'data-end';
      } else if (this.#state === 'raw') {
        this.#emitWaiting();
        this.#emit(bytes.subarray(at));
        return;
      } else if (this.#state === 'trailer') {
        // Trailer fields are not payload.
        return;
      } else {
        at = this.#readLine(bytes, at);
      }
    }
  }

  end(): void {
    if (this.#state === 'trailer' || this.#state === 'raw') return;
    const rest = this.#line;
    this.#line = [];
    // A body without its last chunk was cut off. An empty body cannot be broken.
    if (this.#seen || rest.length > 0) this.isBroken = true;
    // After a chunk, the beginning of a size line is framing. Anywhere else it is payload.
    const isFraming = this.#seen && /^\r?$|^[0-9a-f]+[ \t]*(;[^\n]*)?\r?$/i.test(String.fromCharCode(...rest));
    if (!isFraming && rest.length > 0) this.#emit(Uint8Array.from(rest));
  }

  #seen = false;

  #readLine(bytes: Uint8Array, at: number): number {
    const end = this.#line.length === 0 ? this.#readPlainLine(bytes, at) : at;
    return end > at ? end : this.#readAnyLine(bytes, at);
  }

  /**
   * Reads a line in its usual form: the line end after data, or a size of digits only. Returns where it ends; `at` when
   * the line has another form, or is not complete yet.
   */
  #readPlainLine(bytes: Uint8Array, at: number): number {
    if (this.#state === 'data-end') {
      if (!hasLineEnd(bytes, at)) return at;
      this.#state = 'size';
      return at + 2;
    }
    const digits = sizeDigits(bytes, at);
    if (digits.count === 0 || !hasLineEnd(bytes, at + digits.count)) return at;
    this.#begin(digits.size);
    return at + digits.count + 2;
  }

  #begin(size: number): void {
    this.#seen = true;
    this.#left = size;
    this.#state = size === 0 ? 'trailer' : 'data';
  }

  #readAnyLine(bytes: Uint8Array, at: number): number {
    while (at < bytes.length) {
      const byte = bytes[at++]!;
      this.#line.push(byte);
      if (byte === LF) {
        this.#readSize();
        return at;
      }
      if (this.#line.length > SIZE_LINE_BYTES_MAX) {
        this.#giveUp();
        return at;
      }
    }
    return at;
  }

  #readSize(): void {
    const text = String.fromCharCode(...this.#line);
    if (this.#state === 'data-end' && text.trim() === '') {
      this.#line = [];
      this.#state = 'size';
      return;
    }
    const match = /^[ \t]*(0*[0-9a-f]{1,12})[ \t]*(?:;[^\n]*)?\r?\n$/i.exec(text);
    // Data that is longer than its declared size is not framed, even when the rest looks like a size line.
    if (!match || this.#state === 'data-end') {
      this.#giveUp();
      return;
    }
    this.#line = [];
    this.#begin(Number.parseInt(match[1]!, 16));
  }

  #giveUp(): void {
    this.isBroken = true;
    this.#state = 'raw';
    const line = Uint8Array.from(this.#line);
    this.#line = [];
    this.#emitWaiting();
    this.#emit(line);
  }
}

const SIZE_DIGITS_MAX = 8;
const ZERO = 0x30;

/**
 * The data of a body that consists of one complete chunk, as small pages do; undefined for every other body, which
 * needs a `ChunkedBody`.
 */
export function onlyChunk(body: Uint8Array): Uint8Array | undefined {
  const { size, count } = sizeDigits(body, 0);
  if (size === 0 || !hasLineEnd(body, count)) return undefined;
  const from = count + 2;
  const to = from + size;
  const isEnd = hasLineEnd(body, to) && body[to + 2] === ZERO && hasLineEnd(body, to + 3);
  return isEnd ? body.subarray(from, to) : undefined;
}

/** The digits of a size, up to SIZE_DIGITS_MAX, and their value. */
function sizeDigits(bytes: Uint8Array, at: number): { size: number; count: number } {
  let size = 0;
  let count = 0;
  for (; count < SIZE_DIGITS_MAX; count++) {
    const digit = hexDigit(bytes[at + count] ?? 0);
    if (digit < 0) break;
    size = size * 16 + digit;
  }
  return { size, count };
}

function hasLineEnd(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === CR && bytes[at + 1] === LF;
}

/** The value of a hexadecimal digit by its code; -1 for any other character. */
export function hexDigit(code: number): number {
  if (code >= ZERO && code <= 0x39) return code - ZERO;
  const letter = (code | 0x20) - 0x61;
  return letter >= 0 && letter < 6 ? letter + 10 : -1;
}
