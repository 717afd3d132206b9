/**
 * The beginning of a body without its content codings, up to a bound or to where they break off. What a few bytes would
 * decode to beyond that is not decoded.
 */
import { ContentDecoders } from './content-coding.ts';

export class DecodedStart {
  /** Whether there is more than the bound. */
  isCut = false;
  /** Whether the codings break off, so that there should be more. Known at the end. */
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

  /** Everything that was kept; nothing is pushed behind it. */
  end(): Uint8Array {
    if (!this.isCut) this.#take(this.#decoders.rest());
    if (this.isCut) this.#decoders.stop();
    this.#decoders.end();
    return Buffer.concat(this.#pieces, this.#length);
  }

  #take(pieces: Iterable<Uint8Array>): void {
    for (const piece of pieces) {
      const part = piece.subarray(0, this.#bytesMax - this.#length);
      // The decoder uses its room again.
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
