/**
 * Decodes the head of a record and the first bytes of its block, from the first bytes of its member. This is for
 * callers that need no more of a record. One engine is reused. Only WARC records that are uncompressed or in gzip
 * members are decoded here; the full reader decodes all others.
 */
import { type CodecHandle, inflateRawHandle } from '../member/codec-handle.ts';
import { codingOf } from '../member/file-coding.ts';
import { gzipHeadLength } from '../member/gzip-member.ts';
import { headEnd, parseWarcHead, type RecordHead } from '../record/record-head.ts';
import { isWarcStart } from '../record/record-start.ts';

/** Enough for the heads of most records. Decoding more than needed costs time. */
const ROOM_BYTES = 3 * 1024;

export type RecordStart = { readonly head: RecordHead; readonly blockStart: Buffer };

export class RecordStartDecoder {
  readonly #room: Buffer;
  #inflater: CodecHandle | undefined;

  constructor(roomBytes = ROOM_BYTES) {
    this.#room = Buffer.allocUnsafeSlow(roomBytes);
  }

  close(): void {
    this.#inflater?.close();
    this.#inflater = undefined;
  }

  /**
   * `memberStart` may end anywhere. The block's bytes are valid until the next call. Undefined when the head is not
   * complete.
   */
  decode(memberStart: Uint8Array): RecordStart | undefined {
    const bytes = this.#decoded(memberStart);
    if (!bytes || !isWarcStart(bytes, 0, bytes.length)) return undefined;
    const end = headEnd(bytes, 0, bytes.length);
    if (end < 0) return undefined;
    return { head: parseWarcHead(Buffer.from(bytes.subarray(0, end)), []), blockStart: bytes.subarray(end) };
  }

  #decoded(memberStart: Uint8Array): Buffer | undefined {
    const coding = codingOf(memberStart);
    if (coding === 'none') {
      const length = Math.min(memberStart.length, this.#room.length);
      this.#room.set(memberStart.subarray(0, length));
      return this.#room.subarray(0, length);
    }
    const start = coding === 'gzip' ? gzipHeadLength(memberStart, 0, memberStart.length) : 0;
    if (start <= 0) return undefined;
    this.#inflater ??= inflateRawHandle();
    this.#inflater.reset();
    this.#inflater.write(memberStart, start, memberStart.length, this.#room, 0, this.#room.length);
    return this.#inflater.failure === undefined ? this.#room.subarray(0, this.#inflater.produced) : undefined;
  }
}
