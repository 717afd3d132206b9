/**
 * One record out of its member, both in memory: the quick way for random reads. The engines are kept and used again;
 * what comes out belongs to the caller.
 *
 * Only what is sound comes out: a member whose checksum is wrong is not decoded here. Who wants what can still be read
 * of it, and what is wrong with it, reads it with `readRecords`.
 */
import { constants, crc32 } from 'node:zlib';
import { view, ZSTD_WINDOW_LOG_MAX } from '../../base/index.ts';
import { type CodecHandle, inflateRawHandle, zstdDecompressHandle } from '../member/codec-handle.ts';
import { codingOf } from '../member/file-coding.ts';
import { gzipHeadLength } from '../member/gzip-member.ts';
import { RECORD_TRAILER } from '../record/new-record.ts';
import { headEnd, parseWarcHead, type RecordHead } from '../record/record-head.ts';
import { isWarcStart } from '../record/record-start.ts';

const ROOM_BYTES_START = 256 * 1024;
/** What decodes to more than this is not decoded at once: a small member can hold very much (I9). */
const ROOM_BYTES_MAX = 16 * 1024 * 1024;
/** Engines for zstd members, one for each dictionary; of more, those that were used longest ago are closed. */
const ZSTD_ENGINES_MAX = 8;
/** How much of a record is decoded to find its head. */
const HEAD_ROOM_BYTES = 8 * 1024;
const GZIP_TRAILER_BYTES = 8;

/** What a member decodes to, and where in it the packed data ends. */
type Decoded = { readonly bytes: Buffer; readonly end: number };

export type DecodedRecord = {
  readonly head: RecordHead;
  readonly block: Uint8Array;
  /** Whether head and trailer are as the standard asks, so that other readers go on behind it. */
  readonly isSound: boolean;
};

export class RecordDecoder {
  #inflater: CodecHandle | undefined;
  readonly #zstd = new Map<Uint8Array | undefined, CodecHandle>();
  #room = Buffer.allocUnsafeSlow(ROOM_BYTES_START);

  close(): void {
    this.#inflater?.close();
    for (const engine of this.#zstd.values()) engine.close();
    this.#inflater = undefined;
    this.#zstd.clear();
  }

  /** The WARC record in a member; undefined when the member does not hold exactly one whole record, or is damaged. */
  decode(member: Uint8Array, dictionary?: Uint8Array): DecodedRecord | undefined {
    const bytes = this.decodeMember(member, dictionary);
    if (!bytes || !isWarcStart(bytes, 0, bytes.length)) return undefined;
    const bodyAt = headEnd(bytes, 0, bytes.length);
    if (bodyAt < 0) return undefined;
    const head = parseWarcHead(bytes.subarray(0, bodyAt), []);
    const { contentLength } = head;
    if (contentLength === undefined || bodyAt + contentLength > bytes.length) return undefined;
    const end = bodyAt + contentLength;
    const isSound = head.form === 'sound' && bytes.subarray(end).equals(RECORD_TRAILER);
    return { head, block: bytes.subarray(bodyAt, end), isSound };
  }

  /**
   * The head of the WARC record that begins a member, out of the member's first bytes; undefined when these do not tell
   * all of it.
   */
  decodeHead(start: Uint8Array): RecordHead | undefined {
    const coding = codingOf(start);
    if (coding === 'zstd') return undefined;
    const bytes = coding === 'gzip' ? this.#inflateStart(start) : view(start);
    if (!bytes || !isWarcStart(bytes, 0, bytes.length)) return undefined;
    const end = headEnd(bytes, 0, bytes.length);
    return end < 0 ? undefined : parseWarcHead(Buffer.from(bytes.subarray(0, end)), []);
  }

  #inflateStart(member: Uint8Array): Buffer | undefined {
    const deflateAt = gzipHeadLength(member, 0, member.length);
    if (deflateAt <= 0) return undefined;
    this.#inflater ??= inflateRawHandle();
    this.#inflater.reset();
    this.#inflater.write(member, deflateAt, member.length, this.#room, 0, HEAD_ROOM_BYTES);
    return this.#inflater.failure === undefined ? this.#room.subarray(0, this.#inflater.produced) : undefined;
  }

  /**
   * The bytes in a gzip member or a zstd frame, or a copy of bytes that are neither; undefined when it does not decode
   * to its end and to its checksum, or to more than fits into memory.
   */
  decodeMember(member: Uint8Array, dictionary?: Uint8Array): Buffer | undefined {
    const coding = codingOf(member);
    if (coding === 'none') return Buffer.from(member);
    if (coding === 'zstd')
      return this.#run(this.#zstdEngine(dictionary), member, 0, () => this.#forgetZstd(dictionary))?.bytes;
    const start = gzipHeadLength(member, 0, member.length);
    if (start <= 0) return undefined;
    this.#inflater ??= inflateRawHandle();
    this.#inflater.reset();
    const inflated = this.#run(this.#inflater, member, start, () => {});
    return inflated && isAsSummed(inflated.bytes, view(member), inflated.end) ? inflated.bytes : undefined;
  }

  #zstdEngine(dictionary: Uint8Array | undefined): CodecHandle {
    let engine = this.#zstd.get(dictionary);
    if (engine) this.#zstd.delete(dictionary);
    else {
      const params = { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX };
      engine = zstdDecompressHandle({ params, ...(dictionary && { dictionary: Buffer.from(dictionary) }) });
    }
    this.#zstd.set(dictionary, engine);
    const [oldest] = this.#zstd.keys();
    if (this.#zstd.size > ZSTD_ENGINES_MAX) this.#forgetZstd(oldest);
    return engine;
  }

  /** An engine that failed, or stands in the middle of a frame, is of no further use. */
  #forgetZstd(dictionary: Uint8Array | undefined): void {
    this.#zstd.get(dictionary)?.close();
    this.#zstd.delete(dictionary);
  }

  #run(engine: CodecHandle, member: Uint8Array, from: number, onFailure: () => void): Decoded | undefined {
    let at = from;
    let filled = 0;
    for (;;) {
      if (filled === this.#room.length) {
        if (filled >= ROOM_BYTES_MAX) {
          onFailure();
          return undefined;
        }
        const larger = Buffer.allocUnsafeSlow(this.#room.length * 2);
        this.#room.copy(larger, 0, 0, filled);
        this.#room = larger;
      }
      engine.write(member, at, member.length, this.#room, filled, this.#room.length);
      if (engine.failure !== undefined) {
        onFailure();
        return undefined;
      }
      at += engine.consumed;
      filled += engine.produced;
      if (filled < this.#room.length) return { bytes: Buffer.from(this.#room.subarray(0, filled)), end: at };
    }
  }
}

/**
 * Whether bytes are those that the trailer of a gzip member tells of (RFC 1952, section 2.3.1). A zstd engine sees to
 * its checksum itself.
 */
function isAsSummed(bytes: Uint8Array, member: Buffer, trailerAt: number): boolean {
  if (member.length - trailerAt < GZIP_TRAILER_BYTES) return false;
  const isSize = member.readUInt32LE(trailerAt + 4) === bytes.length;
  return isSize && member.readUInt32LE(trailerAt) === crc32(bytes);
}
