/**
 * gzip files member by member (RFC 1952), with the exact place and length of each.
 *
 * ```
 *   1f 8b 08 FLG  MTIME(4)  XFL OS  [XLEN(2) extra] [name 00] [comment 00] [HCRC(2)]  deflate...  CRC32(4) ISIZE(4)
 * ```
 * After damage the next member is the next `1f 8b 08` that inflates to the beginning of a record: the search starts
 * one byte after the damaged member's own start, because a broken head or deflate stream can swallow the members that
 * follow it before it fails, ends in the wrong place, or runs to the end of the file.
 */
import { crc32 } from 'node:zlib';
import { READ_CHUNK_BYTES, RESYNC_WINDOW_BYTES } from '../../base/index.ts';
import { looksLikeRecord, RECORD_START_BYTES } from '../record/record-start.ts';
import { ByteWindow } from './byte-window.ts';
import { type CodecHandle, decodePrefix, inflateRawHandle } from './codec-handle.ts';
import type { FindingSink, Member, MemberSource, PullResult } from './member-source.ts';
import { SkippedBytes } from './skipped-bytes.ts';

export const GZIP_MAGIC = Buffer.from([0x1f, 0x8b, 0x08]);
const FLAG_HCRC = 2;
const FLAG_EXTRA = 4;
const FLAG_NAME = 8;
const FLAG_COMMENT = 16;
const FLAGS_RESERVED = 0xe0;
export const GZIP_TRAILER_BYTES = 8;
/** A member whose head is longer than this is taken for garbage: names and comments are short. */
const HEAD_BYTES_MAX = 64 * 1024 + 4096;
/** How much decoded room is offered to the inflater at once. */
const OUTPUT_BYTES = 256 * 1024;
/** How much of a candidate is inflated to see whether a record begins in it. */
const PROBE_INPUT_BYTES = 4096;

/** Length of the gzip head at `at`; 0 when more bytes are needed to tell; -1 when there is none. */
export function gzipHeadLength(bytes: Uint8Array, at: number, end: number): number {
  for (let i = 0; i < GZIP_MAGIC.length && at + i < end; i++) if (bytes[at + i] !== GZIP_MAGIC[i]) return -1;
  if (end - at < 10) return 0;
  const flags = bytes[at + 3]!;
  let next = at + 10;
  if (flags & FLAG_EXTRA) {
    if (end - next < 2) return 0;
    next += 2 + (bytes[next]! | (bytes[next + 1]! << 8));
  }
  for (const flag of [FLAG_NAME, FLAG_COMMENT]) {
    if (!(flags & flag)) continue;
    if (next >= end) return 0;
    const nul = bytes.subarray(0, end).indexOf(0, next);
    if (nul < 0) return end - at > HEAD_BYTES_MAX ? -1 : 0;
    next = nul + 1;
  }
  if (flags & FLAG_HCRC) next += 2;
  return next <= end ? next - at : 0;
}

export class GzipMembers implements MemberSource {
  readonly input: ByteWindow;
  inputEnded = false;
  readonly members: Member[] = [];
  readonly #inflater: CodecHandle = inflateRawHandle();
  #prober: CodecHandle | undefined;
  readonly #report: FindingSink;
  readonly #lookBackBytes: number;
  readonly #outputBytes: number;
  #state: 'between' | 'deflate' | 'trailer' | 'resync' = 'between';
  #member: Member | undefined;
  #crc = 0;
  #inflatedBytes = 0;
  readonly #skipped: SkippedBytes;

  /** `seek`: the offset is anywhere in the file, and reading begins with the first record after it. */
  constructor(
    offset: number,
    report: FindingSink,
    seek = false,
    lookBackBytes = RESYNC_WINDOW_BYTES,
    windowBytes = 4 * READ_CHUNK_BYTES,
  ) {
    this.#lookBackBytes = lookBackBytes;
    this.input = new ByteWindow(offset, windowBytes);
    this.#outputBytes = Math.min(OUTPUT_BYTES, windowBytes);
    this.#report = report;
    this.#skipped = new SkippedBytes(this.input, report, seek ? Number.POSITIVE_INFINITY : offset);
    if (seek) this.#state = 'resync';
  }

  close(): void {
    this.#inflater.close();
    this.#prober?.close();
  }

  pull(output: ByteWindow): PullResult {
    switch (this.#state) {
      case 'between':
        return this.#begin(output);
      case 'deflate':
        return this.#inflate(output);
      case 'trailer':
        return this.#finish(output);
      case 'resync':
        return this.#resync(output);
    }
  }

  #begin(output: ByteWindow): PullResult {
    const { input } = this;
    input.retainFrom(input.position, 0);
    if (input.available === 0) return this.inputEnded ? 'end' : 'need-input';
    const length = gzipHeadLength(input.buffer, input.read, input.end);
    if (length > 0) {
      this.#open(length, output);
      return this.#inflate(output);
    }
    if (length === 0 && !this.inputEnded) return 'need-input';
    if (length === 0) {
      this.#report('member-truncated', input.position, 'inside its head');
      return this.#search(input.position + 1, input.endPosition);
    }
    return 'other';
  }

  get isSearching(): boolean {
    return this.#state === 'resync';
  }

  leaveMember(output: ByteWindow): void {
    if (!this.#member) return;
    this.#report('member-endless', this.#member.offset);
    this.#close(output, true, undefined);
    this.#search(this.input.position, Number.POSITIVE_INFINITY);
  }

  passOver(): void {
    this.#search(this.input.position, this.input.position);
  }

  #open(headLength: number, output: ByteWindow): void {
    const { input } = this;
    const flags = input.buffer[input.read + 3]!;
    if (flags & FLAGS_RESERVED) this.#report('gzip-flags-reserved', input.position);
    this.#member = {
      offset: input.position,
      from: output.endPosition,
      to: undefined,
      length: undefined,
      isSummed: true,
      damaged: false,
    };
    this.members.push(this.#member);
    input.consume(headLength);
    this.#inflater.reset();
    this.#crc = 0;
    this.#inflatedBytes = 0;
    this.#state = 'deflate';
  }

  #inflate(output: ByteWindow): PullResult {
    const { input } = this;
    const inflater = this.#inflater;
    output.reserve(this.#outputBytes);
    const at = output.end;
    const room = Math.min(output.buffer.length, at + OUTPUT_BYTES);
    inflater.write(input.buffer, input.read, input.end, output.buffer, at, room);
    if (inflater.failure !== undefined) return this.#fail(output, inflater.failure);
    input.consume(inflater.consumed);
    if (inflater.produced > 0) {
      output.end = at + inflater.produced;
      this.#crc = crc32(output.buffer.subarray(at, output.end), this.#crc);
      this.#inflatedBytes += inflater.produced;
    }
    input.retainFrom(this.#member!.offset, this.#lookBackBytes);
    const roomLeft = room - output.end;
    // The stream has ended when the engine stops with both input and room to spare; it says so in no other way.
    if (input.available > 0 && roomLeft > 0) {
      this.#state = 'trailer';
      return this.#finish(output);
    }
    if (inflater.produced > 0) return 'data';
    if (input.available > 0) return 'data';
    if (!this.inputEnded) return 'need-input';
    return this.#truncate(output);
  }

  #truncate(output: ByteWindow): PullResult {
    const member = this.#member!;
    const { input } = this;
    this.#report('member-truncated', member.offset);
    this.#close(output, true, input.endPosition - member.offset);
    return this.#search(Math.max(member.offset + 1, input.keptPosition), input.endPosition);
  }

  #fail(output: ByteWindow, message: string): PullResult {
    const member = this.#member!;
    const { input } = this;
    this.#report('member-damaged', member.offset, message);
    if (member.offset >= input.keptPosition) {
      const start = input.indexOfPosition(member.offset);
      const head = gzipHeadLength(input.buffer, start, input.end);
      const emit = (bytes: Uint8Array) => output.push(bytes);
      decodePrefix(inflateRawHandle, input.buffer, start + head, input.end, this.#inflatedBytes, emit);
    }
    this.#close(output, true, undefined);
    return this.#search(Math.max(member.offset + 1, input.keptPosition), Number.POSITIVE_INFINITY);
  }

  /** The trailer of the member stands in the input, or will once more has been read. */
  #finish(output: ByteWindow): PullResult {
    const { input } = this;
    if (input.available < GZIP_TRAILER_BYTES) {
      if (!this.inputEnded) return 'need-input';
      return this.#truncate(output);
    }
    const member = this.#member!;
    const isSum = input.buffer.readUInt32LE(input.read) === this.#crc;
    const isSize = input.buffer.readUInt32LE(input.read + 4) === this.#inflatedBytes % 2 ** 32;
    if (!isSum || !isSize) {
      const next = input.read + GZIP_TRAILER_BYTES;
      if (input.end - next < GZIP_MAGIC.length && !this.inputEnded) return 'need-input';
      // By nothing, by a member, or by what the end of the file left of one.
      const isFollowed = gzipHeadLength(input.buffer, next, input.end) >= 0;
      const isSwallowing = !isSum && !isSize && this.#holdsMember();
      if (!isFollowed || isSwallowing) return this.#misplace(output);
    }
    if (!isSum) this.#report('gzip-crc', member.offset);
    if (!isSize) this.#report('gzip-length', member.offset);
    input.consume(GZIP_TRAILER_BYTES);
    this.#close(output, false, input.position - member.offset);
    return 'data';
  }

  /** Whether a member in which a record begins stands among the bytes of the member at hand. */
  #holdsMember(): boolean {
    const { input } = this;
    const region = input.buffer.subarray(0, input.read);
    let at = input.indexOfPosition(Math.max(this.#member!.offset + 1, input.keptPosition));
    for (;;) {
      at = region.indexOf(GZIP_MAGIC, at);
      if (at < 0) return false;
      const head = gzipHeadLength(region, at, region.length);
      this.#prober ??= inflateRawHandle();
      if (head > 0 && beginsRecordMember(this.#prober, region, at + head, region.length)) return true;
      at++;
    }
  }

  /**
   * The data ends, but not before a trailer of its own: it is too long or too short, or the trailer has lost a byte to
   * the next member.
   */
  #misplace(output: ByteWindow): PullResult {
    const member = this.#member!;
    this.#report('member-damaged', member.offset, 'no trailer where the data ends');
    this.#close(output, true, undefined);
    return this.#search(Math.max(member.offset + 1, this.input.keptPosition), Number.POSITIVE_INFINITY);
  }

  #close(output: ByteWindow, damaged: boolean, length: number | undefined): void {
    const member = this.#member!;
    member.to = output.endPosition;
    member.length = length;
    member.damaged = damaged;
    if (member.to === member.from) this.members.pop();
    this.#member = undefined;
    this.#state = 'between';
  }

  /** Looks for the next member; bytes before `toldTo` were told of already. */
  #search(from: number, toldTo: number): PullResult {
    this.#skipped.begin(from, toldTo);
    this.#state = 'resync';
    return 'data';
  }

  #resync(output: ByteWindow): PullResult {
    const { input } = this;
    for (;;) {
      const candidate = input.buffer.subarray(0, input.end).indexOf(GZIP_MAGIC, input.read);
      if (candidate < 0) {
        const keep = this.inputEnded ? 0 : GZIP_MAGIC.length - 1;
        this.#skipped.skip(Math.max(0, input.available - keep));
        if (!this.inputEnded) return 'need-input';
        this.#skipped.tell();
        this.#state = 'between';
        return 'end';
      }
      this.#skipped.skip(candidate - input.read);
      const verdict = this.#probe();
      if (verdict === 'need-input') return 'need-input';
      if (verdict === 'member') {
        this.#skipped.tell();
        input.retainFrom(input.position, 0);
        this.#open(gzipHeadLength(input.buffer, input.read, input.end), output);
        return 'data';
      }
      this.#skipped.skip(1);
    }
  }

  /** Whether the candidate at the read position is a member in which a record begins. */
  #probe(): 'member' | 'nothing' | 'need-input' {
    const { input } = this;
    const head = gzipHeadLength(input.buffer, input.read, input.end);
    if (head < 0) return 'nothing';
    const enough = input.available >= PROBE_INPUT_BYTES + Math.max(head, 10) || this.inputEnded;
    if (!enough) return 'need-input';
    if (head === 0) return input.available > HEAD_BYTES_MAX || this.inputEnded ? 'nothing' : 'need-input';
    this.#prober ??= inflateRawHandle();
    return beginsRecordMember(this.#prober, input.buffer, input.read + head, input.end) ? 'member' : 'nothing';
  }
}

/** Whether the deflate stream at `at` inflates to the beginning of a record. */
export function beginsRecordMember(prober: CodecHandle, bytes: Uint8Array, at: number, end: number): boolean {
  const sample = Buffer.alloc(RECORD_START_BYTES);
  prober.reset();
  prober.write(bytes, at, Math.min(end, at + PROBE_INPUT_BYTES), sample, 0, sample.length);
  return prober.failure === undefined && looksLikeRecord(sample, 0, prober.produced);
}
