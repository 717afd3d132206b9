/**
 * Cuts the frames of a stream out of the bytes of a reply.
 *
 * ```
 *   1 byte kind | 4 bytes length, big-endian | so many bytes
 * ```
 */
const HEAD_BYTES = 5;
/** The server makes none that are longer. */
const FRAME_BYTES_MAX = 1024 * 1024;

export type Frame = { readonly kind: string; readonly bytes: Uint8Array };

export class FrameReader {
  #held: Uint8Array[] = [];
  #heldBytes = 0;

  /** The frames that are whole with these bytes. */
  push(bytes: Uint8Array): Frame[] {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    const frames: Frame[] = [];
    for (;;) {
      if (this.#heldBytes < HEAD_BYTES) return frames;
      const head = this.#joined(HEAD_BYTES);
      const length = new DataView(head.buffer, head.byteOffset).getUint32(1);
      if (length > FRAME_BYTES_MAX) throw new RangeError('a frame is too long: this is no stream of an archive');
      if (this.#heldBytes < HEAD_BYTES + length) return frames;
      const whole = this.#joined(HEAD_BYTES + length);
      frames.push({
        kind: String.fromCharCode(whole[0]!),
        bytes: whole.subarray(HEAD_BYTES, HEAD_BYTES + length),
      });
      this.#held[0] = whole.subarray(HEAD_BYTES + length);
      this.#heldBytes -= HEAD_BYTES + length;
    }
  }

  /** The first of what is held, made so long that these bytes stand in it together. */
  #joined(bytes: number): Uint8Array {
    const first = this.#held[0]!;
    if (first.length >= bytes) return first;
    const all = new Uint8Array(this.#heldBytes);
    let at = 0;
    for (const part of this.#held) {
      all.set(part, at);
      at += part.length;
    }
    this.#held = [all];
    return all;
  }
}
