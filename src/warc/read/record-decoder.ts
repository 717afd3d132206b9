/**
 * Decodes one record from its member, both in memory: the fast way for random reads. The engines are reused. The
 * results belong to the caller.
 *
 * Only sound records are returned: a member with a wrong checksum is not decoded here. To read what is left of a
 * damaged record, and what is wrong with it, use `readRecords`.
 */
import { constants, crc32 } from 'node:zlib';
import { view, ZSTD_WINDOW_LOG_MAX } from '../../base/index.ts';
import { type CodecHandle, inflateRawHandle, zstdDecompressHandle } from '../member/codec-handle.ts';
import { codingOf } from '../member/file-coding.ts';
import { GZIP_TRAILER_BYTES, gzipHeadLength } from '../member/gzip-member.ts';
import { RECORD_TRAILER } from '../record/new-record.ts';
import { headEnd, parseWarcHead, type RecordHead } from '../record/record-head.ts';
import { isWarcStart } from '../record/record-start.ts';
import { RecordStartDecoder } from './record-start-decoder.ts';

const ROOM_BYTES_START = 256 * 1024;
/** A member that decodes to more than this is not decoded in one call: a small member can decode to gigabytes (I9). */
const ROOM_BYTES_MAX = 16 * 1024 * 1024;
/** Engines for zstd members, one for each dictionary. When there are more, the least recently used engine is closed. */
const ZSTD_ENGINES_MAX = 8;
/** How much of a record is decoded to find its head. */
const HEAD_ROOM_BYTES = 8 * 1024;

/** The decoded bytes of a member, and where in the member its compressed data ends. */
type Decoded = { readonly bytes: Buffer; readonly end: number };

export type DecodedRecord = {
  readonly head: RecordHead;
  readonly block: Uint8Array;
  /** Whether head and trailer follow the standard, so that other readers can read on after the record. */
  readonly isSound: boolean;
};

export class RecordDecoder {
  #inflater: CodecHandle | undefined;
  #starts: RecordStartDecoder | undefined;
  readonly #zstd = new Map<Uint8Array | undefined, CodecHandle>();
  #room = Buffer.allocUnsafeSlow(ROOM_BYTES_START);

  close(): void {
    this.#inflater?.close();
    this.#starts?.close();
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
   * The head of the WARC record that begins a member, from the member's first bytes; undefined when these do not
   * contain the whole head.
   */
  decodeHead(start: Uint8Array): RecordHead | undefined {
    this.#starts ??= new RecordStartDecoder(HEAD_ROOM_BYTES);
    return this.#starts.decode(start)?.head;
  }

  /**
   * The decoded bytes of a gzip member or a zstd frame, or a copy of uncompressed bytes. Undefined when the member is
   * incomplete, its checksum is wrong, or it decodes to more than fits into memory.
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
    return inflated && matchesTrailer(inflated.bytes, view(member), inflated.end) ? inflated.bytes : undefined;
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

  /** An engine that failed, or stopped in the middle of a frame, cannot be used again. */
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
 * Whether the bytes match the checksum and the size in the trailer of their gzip member (RFC 1952, section 2.3.1). A
 * zstd engine verifies its checksum itself.
 */
function matchesTrailer(bytes: Uint8Array, member: Buffer, trailerAt: number): boolean {
  if (member.length - trailerAt < GZIP_TRAILER_BYTES) return false;
  const isSize = member.readUInt32LE(trailerAt + 4) === bytes.length;
  return isSize && member.readUInt32LE(trailerAt) === crc32(bytes);
}
