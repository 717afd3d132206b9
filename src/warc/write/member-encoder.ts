/**
 * Puts records into members, one record per member: gzip, zstd with or without a dictionary, or uncompressed.
 *
 * gzip members have no name, no time and no extra field, so that equal records give equal bytes. zstd frames have
 * content size, checksum and, with a dictionary, its id, as the proposed standard for `.warc.zst` requires. The
 * dictionary is in the file's first frame, compressed as a zstd frame. The standard also allows it uncompressed, but
 * gowarc reads only the compressed form.
 */
import { constants, crc32, zstdCompressSync } from 'node:zlib';
import { assert, ZSTD_DICTIONARY_BYTES_MAX } from '../../base/index.ts';
import { type CodecHandle, deflateRawHandle, zstdCompressHandle } from '../member/codec-handle.ts';
import type { Coding } from '../member/file-coding.ts';

const GZIP_HEAD = Buffer.from([0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0, 3]);
/**
 * Size of the output buffer of a compressor. A zstd engine holds back at most one block of 128 KiB, so this is enough
 * to end a frame.
 */
const PIECE_BYTES = 256 * 1024;
const SMALL_RECORD_BYTES = 64 * 1024;

export type EncoderOptions = {
  readonly coding: Coding;
  /** gzip 0 to 9 (6), zstd 1 to 19 (3). */
  readonly level?: number | undefined;
  /** For zstd: a formal dictionary. */
  readonly dictionary?: Uint8Array | undefined;
};

export class MemberEncoder {
  readonly coding: Coding;
  readonly #level: number;
  readonly #dictionary: Uint8Array | undefined;
  #engine: CodecHandle | undefined;
  readonly #room = Buffer.allocUnsafeSlow(2 * PIECE_BYTES);

  constructor(options: EncoderOptions) {
    this.coding = options.coding;
    this.#level = options.level ?? (options.coding === 'zstd' ? 3 : 6);
    this.#dictionary = options.dictionary;
    assert(options.dictionary === undefined || options.coding === 'zstd', 'only zstd takes a dictionary');
  }

  close(): void {
    this.#engine?.close();
    this.#engine = undefined;
  }

  /** The bytes at the beginning of the file, before its first record: the dictionary, or nothing. */
  fileStart(): Uint8Array {
    if (!this.#dictionary) return new Uint8Array(0);
    const packed = zstdCompressSync(this.#dictionary, { params: { [constants.ZSTD_c_checksumFlag]: 1 } });
    // Readers limit the size of a dictionary. A dictionary that does not compress must not grow beyond that limit.
    const content = packed.length > ZSTD_DICTIONARY_BYTES_MAX ? this.#dictionary : packed;
    const head = Buffer.alloc(8);
    head.writeUInt32LE(0x184d2a5d, 0);
    head.writeUInt32LE(content.length, 4);
    return Buffer.concat([head, content]);
  }

  /** One member with the parts, in order. */
  encode(parts: readonly Uint8Array[]): Uint8Array {
    if (this.coding === 'none') return Buffer.concat(parts);
    if (this.coding === 'gzip') return this.#gzipWhole(parts);
    // In one call, so that the frame head can contain the content size.
    const whole = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    this.#engine ??= this.#zstdEngine(undefined);
    return this.#endFrame(this.#engine, whole);
  }

  /** One member for a record that is too large for memory. Its exact length must be given in advance. */
  async *encodeStream(parts: AsyncIterable<Uint8Array>, totalBytes: number): AsyncGenerator<Uint8Array> {
    if (this.coding === 'none') {
      // Copied, like the output of an engine: a reader's part is valid only until the next part is read.
      for await (const part of parts) yield Buffer.from(part);
      return;
    }
    if (this.coding === 'zstd') {
      yield* this.#zstdStream(parts, totalBytes);
      return;
    }
    const engine = this.#gzipEngine();
    let crc = 0;
    let size = 0;
    yield GZIP_HEAD;
    for await (const part of parts) {
      crc = crc32(part, crc);
      size += part.length;
      yield* this.#drain(engine, part, constants.Z_NO_FLUSH);
    }
    yield* this.#drain(engine, new Uint8Array(0), constants.Z_FINISH);
    yield gzipTrailer(crc, size);
  }

  #gzipWhole(parts: readonly Uint8Array[]): Uint8Array {
    const engine = this.#gzipEngine();
    const size = parts.reduce((sum, part) => sum + part.length, 0);
    // A call into the engine costs as much as compressing a small record. So the parts of a small record are compressed
    // in one call, and the output fits into one buffer.
    if (size <= SMALL_RECORD_BYTES)
      return this.#gzipSmall(engine, parts.length === 1 ? parts[0]! : Buffer.concat(parts, size));
    const encoded: Uint8Array[] = [GZIP_HEAD];
    let crc = 0;
    for (const [index, piece] of parts.entries()) {
      crc = crc32(piece, crc);
      const flush = index === parts.length - 1 ? constants.Z_FINISH : constants.Z_NO_FLUSH;
      encoded.push(...this.#drain(engine, piece, flush));
    }
    encoded.push(gzipTrailer(crc, size));
    return Buffer.concat(encoded);
  }

  #gzipSmall(engine: CodecHandle, record: Uint8Array): Uint8Array {
    const room = this.#room;
    room.set(GZIP_HEAD);
    engine.write(record, 0, record.length, room, GZIP_HEAD.length, room.length, constants.Z_FINISH);
    assert(
      engine.failure === undefined && engine.consumed === record.length,
      'a small record is compressed in one call',
    );
    const end = GZIP_HEAD.length + engine.produced;
    room.writeUInt32LE(crc32(record), end);
    room.writeUInt32LE(record.length, end + 4);
    return Buffer.from(room.subarray(0, end + 8));
  }

  #gzipEngine(): CodecHandle {
    this.#engine ??= deflateRawHandle({ level: this.#level });
    this.#engine.reset();
    return this.#engine;
  }

  #zstdEngine(totalBytes: number | undefined): CodecHandle {
    return zstdCompressHandle({
      params: { [constants.ZSTD_c_compressionLevel]: this.#level, [constants.ZSTD_c_checksumFlag]: 1 },
      ...(totalBytes !== undefined && { pledgedSrcSize: totalBytes }),
      ...(this.#dictionary && { dictionary: Buffer.from(this.#dictionary) }),
    });
  }

  async *#zstdStream(parts: AsyncIterable<Uint8Array>, totalBytes: number): AsyncGenerator<Uint8Array> {
    const engine = this.#zstdEngine(totalBytes);
    try {
      for await (const part of parts) yield* this.#drain(engine, part, constants.ZSTD_e_continue);
      yield this.#endFrame(engine, new Uint8Array(0));
    } finally {
      engine.close();
    }
  }

  /**
   * The rest of a frame, in one call: an engine that is called again after the end of its frame begins another frame.
   */
  #endFrame(engine: CodecHandle, input: Uint8Array): Uint8Array {
    const roomBytes = input.length + (input.length >>> 7) + PIECE_BYTES;
    const room = roomBytes <= this.#room.length ? this.#room : Buffer.allocUnsafeSlow(roomBytes);
    engine.write(input, 0, input.length, room, 0, room.length, constants.ZSTD_e_end);
    assert(engine.failure === undefined, `compressing failed: ${engine.failure}`);
    assert(engine.consumed === input.length && engine.produced < room.length, 'a zstd frame ends in one call');
    return Buffer.from(room.subarray(0, engine.produced));
  }

  /** All output of the engine for this input. Each piece is a copy. */
  *#drain(engine: CodecHandle, input: Uint8Array, flush: number): Generator<Uint8Array> {
    let at = 0;
    const room = this.#room;
    for (;;) {
      engine.write(input, at, input.length, room, 0, room.length, flush);
      assert(engine.failure === undefined, `compressing failed: ${engine.failure}`);
      at += engine.consumed;
      if (engine.produced > 0) yield Buffer.from(room.subarray(0, engine.produced));
      if (engine.produced < room.length && at === input.length) return;
    }
  }
}

function gzipTrailer(crc: number, size: number): Uint8Array {
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc, 0);
  trailer.writeUInt32LE(size % 2 ** 32, 4);
  return trailer;
}
