/**
 * The form of zstd frames (RFC 8878), and of files as the proposed `.warc.zst` standard defines them:
 *
 * ```
 *   [5d 2a 4d 18 size(4) dictionary]   frame frame ...             one record per frame, or several frames a record
 *   frame = 28 b5 2f fd  descriptor  [window] [dictionary id] [content size]  blocks...  [checksum(4)]
 *   block = 3 bytes: last(1 bit) type(2 bits) size(21 bits), then size bytes, or 1 byte when the type is RLE
 * ```
 * The dictionary is stored as it is, or inside one zstd frame. The end of a frame is found by walking its block heads.
 * The end that the decoder reports is not used, because it differs between versions of Node.
 */
import { constants, zstdDecompressSync } from 'node:zlib';
import { ZSTD_DICTIONARY_BYTES_MAX, ZSTD_WINDOW_LOG_MAX } from '../../base/index.ts';
import { looksLikeRecord, RECORD_START_BYTES } from '../record/record-start.ts';
import { type CodecHandle, zstdDecompressHandle } from './codec-handle.ts';

export const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
const DICTIONARY_FRAME_MAGIC = 0x184d2a5d;
/** The lower four bits of the first byte can have any value. */
const SKIPPABLE_MAGIC = [0x50, 0x2a, 0x4d, 0x18];
const FRAME_HEAD_BYTES_MAX = 18;
/**
 * A decoder may need a whole block before it returns output. Blocks are at most 128 KiB, and a record begins in the
 * first.
 */
export const ZSTD_PROBE_BYTES = 128 * 1024 + FRAME_HEAD_BYTES_MAX + 3;

export type ZstdFrameHead = { readonly length: number; readonly dictionaryId: number; readonly hasChecksum: boolean };

/** Reads the frame head at `at`; 'short' when more bytes are needed; undefined when there is no frame head. */
export function parseFrameHead(bytes: Buffer, at: number, end: number): ZstdFrameHead | 'short' | undefined {
  for (let i = 0; i < 4 && at + i < end; i++) if (bytes[at + i] !== ZSTD_MAGIC[i]) return undefined;
  if (end - at < 5) return 'short';
  const descriptor = bytes[at + 4]!;
  if (descriptor & 0x08) return undefined;
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const dictionaryIdBytes = [0, 1, 2, 4][descriptor & 3]!;
  const contentSizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6]!;
  const dictionaryIdAt = at + 5 + (isSingleSegment ? 0 : 1);
  const length = dictionaryIdAt - at + dictionaryIdBytes + contentSizeBytes;
  if (end - at < length) return 'short';
  const dictionaryId = dictionaryIdBytes ? bytes.readUIntLE(dictionaryIdAt, dictionaryIdBytes) : 0;
  return { length, dictionaryId, hasChecksum: (descriptor & 0x04) !== 0 };
}

/** Size of the skippable frame at `at`, with its head; 'short' and undefined as for `parseFrameHead`. */
export function skippableLength(bytes: Buffer, at: number, end: number): number | 'short' | undefined {
  for (let i = 0; i < 4 && at + i < end; i++) {
    const byte = i === 0 ? bytes[at]! & 0xf0 : bytes[at + i];
    if (byte !== SKIPPABLE_MAGIC[i]) return undefined;
  }
  return end - at < 8 ? 'short' : 8 + bytes.readUInt32LE(at + 4);
}

/**
 * The dictionary in the first frame of a file, given the beginning of the file; 'short' when the beginning does not
 * hold the whole dictionary.
 */
export function dictionaryOfFile(start: Buffer): Buffer | 'short' | undefined {
  if (start.length < 8) return start.length > 0 && start[0] === 0x5d ? 'short' : undefined;
  if (start.readUInt32LE(0) !== DICTIONARY_FRAME_MAGIC) return undefined;
  const size = start.readUInt32LE(4);
  if (size > ZSTD_DICTIONARY_BYTES_MAX) return undefined;
  if (start.length < 8 + size) return 'short';
  const content = Buffer.from(start.subarray(8, 8 + size));
  try {
    const isCompressed = content.subarray(0, 4).equals(ZSTD_MAGIC);
    const options = { maxOutputLength: ZSTD_DICTIONARY_BYTES_MAX };
    const dictionary = isCompressed ? zstdDecompressSync(content, options) : content;
    openZstdDecoder(dictionary).close();
    return dictionary;
  } catch {
    // Not a frame and not a dictionary: the file is read as a file without a dictionary.
    return undefined;
  }
}

/** Walks the blocks of one frame, to find out which bytes of the input belong to it. */
export class FrameWalk {
  hasEnded = false;
  #due: 'block-head' | 'block' | 'checksum' = 'block-head';
  #left = 0;
  readonly #hasChecksum: boolean;
  #isLast = false;
  readonly #held: number[] = [];

  constructor(head: ZstdFrameHead) {
    this.#hasChecksum = head.hasChecksum;
  }

  /** Index past the last byte in [from, end) that belongs to the frame. */
  advance(bytes: Uint8Array, from: number, end: number): number {
    let at = from;
    while (at < end && !this.hasEnded) {
      if (this.#due === 'block-head') {
        this.#held.push(bytes[at++]!);
        if (this.#held.length === 3) this.#readBlockHead();
        continue;
      }
      const taken = Math.min(this.#left, end - at);
      at += taken;
      this.#left -= taken;
      if (this.#left === 0) this.#next();
    }
    return at;
  }

  #readBlockHead(): void {
    const word = this.#held[0]! | (this.#held[1]! << 8) | (this.#held[2]! << 16);
    this.#held.length = 0;
    this.#isLast = (word & 1) === 1;
    const type = (word >> 1) & 3;
    this.#left = type === 1 ? 1 : word >> 3;
    this.#due = 'block';
    if (this.#left === 0) this.#next();
  }

  #next(): void {
    if (this.#due === 'checksum' || (this.#isLast && !this.#hasChecksum)) {
      this.hasEnded = true;
    } else if (this.#isLast) {
      this.#due = 'checksum';
      this.#left = 4;
    } else {
      this.#due = 'block-head';
    }
  }
}

/** Whether the frame at `at` decodes to the beginning of a record. */
export function beginsRecordFrame(dictionary: Buffer | undefined, bytes: Uint8Array, at: number, end: number): boolean {
  const engine = openZstdDecoder(dictionary);
  const sample = Buffer.alloc(RECORD_START_BYTES);
  engine.write(bytes, at, Math.min(end, at + ZSTD_PROBE_BYTES), sample, 0, sample.length);
  engine.close();
  return engine.failure === undefined && looksLikeRecord(sample, 0, engine.produced);
}

export function openZstdDecoder(dictionary: Buffer | undefined): CodecHandle {
  return zstdDecompressHandle({
    params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX },
    ...(dictionary && { dictionary }),
  });
}
