/**
 * Reads frames from the bytes of a reply.
 *
 * ```
 *   1 byte kind | 4 bytes length, big-endian | that many bytes
 * ```
 */
const HEAD_BYTES = 5;
/** The maximum length of a frame that the server sends. */
const FRAME_BYTES_MAX = 1024 * 1024;

export type Frame = { readonly kind: string; readonly bytes: Uint8Array };

export class FrameReader {
  #held: Uint8Array[] = [];
  #heldBytes = 0;

  /** Returns the frames that these bytes complete. */
  push(bytes: Uint8Array): Frame[] {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    const frames: Frame[] = [];
    for (;;) {
      if (this.#heldBytes < HEAD_BYTES) return frames;
      const head = this.#joined(HEAD_BYTES);
      const length = new DataView(head.buffer, head.byteOffset).getUint32(1);
      if (length > FRAME_BYTES_MAX) throw new RangeError('a frame is too long: this is not a stream of an archive');
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

  /** The first piece, joined with the next pieces until it has this many bytes. */
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
