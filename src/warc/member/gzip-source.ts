/** Decodes gzip files member by member, with the exact offset and length of each. */
import { crc32 } from 'node:zlib';
import type { ByteWindow } from './byte-window.ts';
import { type CodecHandle, decodePrefix, inflateRawHandle } from './codec-handle.ts';
import { CompressedSource, type CompressedSourceOptions } from './compressed-source.ts';
import {
  beginsRecordMember,
  GZIP_FLAGS_RESERVED,
  GZIP_HEAD_BYTES_MAX,
  GZIP_MAGIC,
  GZIP_PROBE_BYTES,
  GZIP_TRAILER_BYTES,
  gzipHeadLength,
} from './gzip-member.ts';
import type { FindingSink, PullResult } from './member-source.ts';

export class GzipSource extends CompressedSource {
  readonly #inflater: CodecHandle = inflateRawHandle();
  #prober: CodecHandle | undefined;
  #isInTrailer = false;
  #crc = 0;

  constructor(report: FindingSink, options: CompressedSourceOptions = {}) {
    super(GZIP_MAGIC, report, options);
  }

  close(): void {
    this.#inflater.close();
    this.#prober?.close();
  }

  protected begin(output: ByteWindow): PullResult {
    const { input } = this;
    input.retainFrom(input.position, 0);
    if (input.available === 0) return this.isInputEnded ? 'end' : 'need-input';
    const length = gzipHeadLength(input.buffer, input.read, input.end);
    if (length < 0) return 'other';
    if (length === 0) return this.isInputEnded ? this.truncateHead() : 'need-input';
    const flags = input.buffer[input.read + 3]!;
    if (flags & GZIP_FLAGS_RESERVED) this.report('gzip-flags-reserved', input.position);
    this.beginMember(output, true);
    input.consume(length);
    this.#inflater.reset();
    this.#isInTrailer = false;
    this.#crc = 0;
    return this.decode(output);
  }

  protected decode(output: ByteWindow): PullResult {
    if (this.#isInTrailer) return this.#readTrailer(output);
    const { input } = this;
    const inflater = this.#inflater;
    const roomLeft = this.write(inflater, input.end, output);
    if (roomLeft === undefined) return this.fail(output, inflater.failure!);
    const { produced } = inflater;
    if (produced > 0) this.#crc = crc32(output.buffer.subarray(output.end - produced, output.end), this.#crc);
    // An engine that stops with input and room left has reached the end of its stream. There is no other sign of it.
    if (input.available > 0 && roomLeft > 0) {
      this.#isInTrailer = true;
      return this.#readTrailer(output);
    }
    if (produced > 0 || input.available > 0) return 'data';
    return this.isInputEnded ? this.truncate(output) : 'need-input';
  }

  protected decodeDamaged(at: number, skippedBytes: number, emit: (bytes: Uint8Array) => void): void {
    const { buffer, end } = this.input;
    decodePrefix(inflateRawHandle, buffer, at + gzipHeadLength(buffer, at, end), end, skippedBytes, emit);
  }

  #readTrailer(output: ByteWindow): PullResult {
    const { input } = this;
    if (input.available < GZIP_TRAILER_BYTES) return this.isInputEnded ? this.truncate(output) : 'need-input';
    const { offset, from } = this.member!;
    const isSum = input.buffer.readUInt32LE(input.read) === this.#crc;
    const isSize = input.buffer.readUInt32LE(input.read + 4) === (output.endPosition - from) % 2 ** 32;
    if (!isSum || !isSize) {
      const next = input.read + GZIP_TRAILER_BYTES;
      if (input.end - next < GZIP_MAGIC.length && !this.isInputEnded) return 'need-input';
      // True before the end of the file, before a member, and before a member that the end of the file cuts off.
      const isFollowed = gzipHeadLength(input.buffer, next, input.end) >= 0;
      const isSwallowing = !isSum && !isSize && this.#containsMember(offset);
      // The data is too long or too short, or a byte of its trailer is missing.
      if (!isFollowed || isSwallowing) {
        this.report('member-damaged', offset, 'no trailer where the data ends');
        return this.abandon(output);
      }
    }
    if (!isSum) this.report('gzip-crc', offset);
    if (!isSize) this.report('gzip-length', offset);
    input.consume(GZIP_TRAILER_BYTES);
    this.endMember(output, false, input.position - offset);
    return 'data';
  }

  /** Whether the bytes of the member at this offset contain another member in which a record begins. */
  #containsMember(offset: number): boolean {
    const { input } = this;
    const region = input.buffer.subarray(0, input.read);
    let at = input.indexOfPosition(Math.max(offset + 1, input.keptPosition));
    for (;;) {
      at = region.indexOf(GZIP_MAGIC, at);
      if (at < 0) return false;
      const head = gzipHeadLength(region, at, region.length);
      if (head > 0 && this.#beginsRecord(region, at + head, region.length)) return true;
      at++;
    }
  }

  protected probe(): boolean | 'need-input' {
    const { input } = this;
    const head = gzipHeadLength(input.buffer, input.read, input.end);
    if (head < 0) return false;
    const isEnough = input.available >= GZIP_PROBE_BYTES + Math.max(head, 10) || this.isInputEnded;
    if (!isEnough) return 'need-input';
    if (head === 0) return input.available > GZIP_HEAD_BYTES_MAX || this.isInputEnded ? false : 'need-input';
    return this.#beginsRecord(input.buffer, input.read + head, input.end);
  }

  #beginsRecord(bytes: Uint8Array, at: number, end: number): boolean {
    this.#prober ??= inflateRawHandle();
    return beginsRecordMember(this.#prober, bytes, at, end);
  }
}
