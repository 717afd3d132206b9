/**
 * The beginning of a body without its content codings, up to a limit or to the place where a coding breaks off.
 * Decoding stops there, because a few bytes can decode to gigabytes.
 */
import { ContentDecoders } from './content-coding.ts';

export class DecodedStart {
  /** Whether the body is longer than the limit. */
  isCut = false;
  /** Whether a coding breaks off, so that a part of the body is missing. Known after `end`. */
  get isBroken(): boolean {
    return !this.isCut && this.#decoders.isCut;
  }

  readonly #decoders: ContentDecoders;
  readonly #bytesMax: number;
  readonly #pieces: Buffer[] = [];
  #length = 0;

  constructor(codings: readonly string[], bytesMax: number) {
    this.#decoders = new ContentDecoders(codings);
    this.#bytesMax = bytesMax;
  }

  push(bytes: Uint8Array): void {
    if (!this.isCut) this.#take(this.#decoders.decoded(bytes));
  }

  /** Returns everything that was kept. Nothing is pushed afterwards. */
  end(): Uint8Array {
    if (!this.isCut) this.#take(this.#decoders.rest());
    if (this.isCut) this.#decoders.stop();
    this.#decoders.end();
    return Buffer.concat(this.#pieces, this.#length);
  }

  #take(pieces: Iterable<Uint8Array>): void {
    for (const piece of pieces) {
      const part = piece.subarray(0, this.#bytesMax - this.#length);
      // The decoder reuses its buffer.
      if (part.length > 0) this.#pieces.push(Buffer.from(part));
      this.#length += part.length;
      this.isCut = part.length < piece.length;
      if (this.isCut) return;
    }
  }
}

/** The beginning of bytes without their content codings. */
export function decodedStart(bytes: Uint8Array, codings: readonly string[], bytesMax: number): Uint8Array {
  const start = new DecodedStart(codings, bytesMax);
  start.push(bytes);
  return start.end();
}
