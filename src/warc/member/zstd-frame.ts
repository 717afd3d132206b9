/**
 * zstd files frame by frame (RFC 8878), as the proposed `.warc.zst` standard lays them out.
 *
 * ```
 *   [5d 2a 4d 18 size(4) dictionary]   frame frame ...             one record per frame, or several frames a record
 *   frame = 28 b5 2f fd  descriptor  [window] [dictionary id] [content size]  blocks...  [checksum(4)]
 *   block = 3 bytes: last(1 bit) type(2 bits) size(21 bits), then size bytes, or 1 byte when the type is RLE
 * ```
 * The dictionary stands bare or inside one zstd frame. Frame ends are found by walking the block heads, never by
 * asking the decoder, whose answer differs between versions of Node.
 */
import { constants, zstdDecompressSync } from 'node:zlib';
import {
  READ_CHUNK_BYTES,
  RESYNC_WINDOW_BYTES,
  ZSTD_DICTIONARY_BYTES_MAX,
  ZSTD_WINDOW_LOG_MAX,
} from '../../base/index.ts';
import { looksLikeRecord, RECORD_START_BYTES } from '../record/record-start.ts';
import { ByteWindow } from './byte-window.ts';
import { type CodecHandle, decodePrefix, zstdDecompressHandle } from './codec-handle.ts';
import type { FindingSink, Member, MemberSource, PullResult } from './member-source.ts';
import { SkippedBytes } from './skipped-bytes.ts';

export const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
const DICTIONARY_FRAME_MAGIC = 0x184d2a5d;
/** The first byte ends in any four bits. */
const SKIPPABLE_MAGIC = [0x50, 0x2a, 0x4d, 0x18];
const FRAME_HEAD_BYTES_MAX = 18;
const OUTPUT_BYTES = 256 * 1024;
/**
 * A frame may hold back its output until a whole block has come in: blocks are at most 128 KiB, and records begin in
 * the first.
 */
const PROBE_INPUT_BYTES = 128 * 1024 + FRAME_HEAD_BYTES_MAX + 3;

export type ZstdFrameHead = { readonly length: number; readonly dictionaryId: number; readonly hasChecksum: boolean };

/** Reads a frame head at `at`; 'short' when more bytes are needed, undefined when there is none. */
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

/** Size of the skippable frame at `at`, head included; 'short' or undefined as above. */
function skippableLength(bytes: Buffer, at: number, end: number): number | 'short' | undefined {
  for (let i = 0; i < 4 && at + i < end; i++) {
    const byte = i === 0 ? bytes[at]! & 0xf0 : bytes[at + i];
    if (byte !== SKIPPABLE_MAGIC[i]) return undefined;
  }
  return end - at < 8 ? 'short' : 8 + bytes.readUInt32LE(at + 4);
}

/**
 * The dictionary in the first frame of a file, whose beginning is given; 'short' when the beginning is too short to
 * hold it.
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
    openDecoder(dictionary).close();
    return dictionary;
  } catch {
    // Neither a frame nor a dictionary: the file is read as one that brings none.
    return undefined;
  }
}

/** Counts through the blocks of one frame and says how many of the bytes at hand belong to it. */
class FrameWalk {
  ended = false;
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
    while (at < end && !this.ended) {
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
      this.ended = true;
    } else if (this.#isLast) {
      this.#due = 'checksum';
      this.#left = 4;
    } else {
      this.#due = 'block-head';
    }
  }
}

export class ZstdFrames implements MemberSource {
  readonly input: ByteWindow;
  inputEnded = false;
  readonly members: Member[] = [];
  readonly #report: FindingSink;
  readonly #start: number;
  #dictionary: Buffer | undefined;
  #decoder: CodecHandle | undefined;
  #state: 'between' | 'frame' | 'resync' = 'between';
  readonly #lookBackBytes: number;
  readonly #outputBytes: number;
  #walk: FrameWalk | undefined;
  #member: Member | undefined;
  /** File position up to which the input belongs to the frame at hand. */
  #frameTo = 0;
  /** Where a skippable frame begins and ends. */
  #skipFrom = 0;
  #skipTo = 0;
  readonly #skipped: SkippedBytes;

  /**
   * `dictionary`: of the file's first frame, for readers that begin further on; `seek`: begin with the first record
   * after the offset.
   */
  constructor(
    offset: number,
    report: FindingSink,
    dictionary?: Buffer,
    seek = false,
    lookBackBytes = RESYNC_WINDOW_BYTES,
    windowBytes = 4 * READ_CHUNK_BYTES,
  ) {
    this.#lookBackBytes = lookBackBytes;
    this.input = new ByteWindow(offset, windowBytes);
    this.#outputBytes = Math.min(OUTPUT_BYTES, windowBytes);
    this.#skipped = new SkippedBytes(this.input, report, seek ? Number.POSITIVE_INFINITY : offset);
    if (seek) this.#state = 'resync';
    this.#report = report;
    this.#start = offset;
    this.#dictionary = dictionary;
  }

  /** The one that was given, or that the file brought. */
  get dictionary(): Buffer | undefined {
    return this.#dictionary;
  }

  close(): void {
    this.#decoder?.close();
  }

  pull(output: ByteWindow): PullResult {
    if (this.#state === 'frame') return this.#decode(output);
    return this.#state === 'between' ? this.#begin(output) : this.#resync(output);
  }

  #begin(output: ByteWindow): PullResult {
    const { input } = this;
    while (input.position < this.#skipTo && input.available > 0) {
      input.consume(Math.min(input.available, this.#skipTo - input.position));
    }
    input.retainFrom(input.position, 0);
    if (input.available === 0) return this.inputEnded ? this.#end() : 'need-input';
    const skippable = skippableLength(input.buffer, input.read, input.end);
    if (typeof skippable === 'number') return this.#skipFrame(skippable);
    const head = parseFrameHead(input.buffer, input.read, input.end);
    if (skippable === 'short' || head === 'short') {
      if (!this.inputEnded) return 'need-input';
      this.#report('member-truncated', input.position, 'inside its head');
      return this.#search(input.position + 1, input.endPosition);
    }
    return head === undefined ? 'other' : this.#open(head, output);
  }

  get isSearching(): boolean {
    return this.#state === 'resync';
  }

  leaveMember(output: ByteWindow): void {
    if (!this.#member) return;
    this.#report('member-endless', this.#member.offset);
    this.#decoder?.close();
    this.#decoder = undefined;
    this.#close(output, true, undefined);
    this.#search(this.input.position, Number.POSITIVE_INFINITY);
  }

  passOver(): void {
    this.#search(this.input.position, this.input.position);
  }

  #end(): PullResult {
    if (this.input.position < this.#skipTo)
      this.#report('member-truncated', this.#skipFrom, 'inside a skippable frame');
    this.#skipTo = 0;
    return 'end';
  }

  #skipFrame(length: number): PullResult {
    const { input } = this;
    if (input.position === this.#start && this.#start === 0) {
      const dictionary = dictionaryOfFile(input.buffer.subarray(input.read, input.end));
      if (dictionary === 'short' && !this.inputEnded) return 'need-input';
      if (Buffer.isBuffer(dictionary)) this.#dictionary = dictionary;
    }
    this.#skipFrom = input.position;
    this.#skipTo = input.position + length;
    return 'data';
  }

  #open(head: ZstdFrameHead, output: ByteWindow): PullResult {
    const { input } = this;
    const dictionaryId = this.#dictionaryId();
    if (head.dictionaryId !== 0 && head.dictionaryId !== dictionaryId) {
      const detail = `it asks for ${head.dictionaryId}, the file has ${dictionaryId || 'none'}`;
      this.#report('zstd-dictionary-missing', input.position, detail);
    }
    this.#member = {
      offset: input.position,
      from: output.endPosition,
      to: undefined,
      length: undefined,
      isSummed: head.hasChecksum,
      damaged: false,
    };
    this.members.push(this.#member);
    this.#walk = new FrameWalk(head);
    this.#frameTo = input.position + head.length;
    this.#state = 'frame';
    return this.#decode(output);
  }

  #dictionaryId(): number {
    const dictionary = this.#dictionary;
    const isFormal = dictionary && dictionary.length > 8 && dictionary.readUInt32LE(0) === 0xec30a437;
    return isFormal ? dictionary.readUInt32LE(4) : 0;
  }

  /**
   * An engine between frames needs no reset, and would forget its dictionary by one; after a failure a fresh one takes
   * its place.
   */
  #openEngine(): CodecHandle {
    return openDecoder(this.#dictionary);
  }

  #decode(output: ByteWindow): PullResult {
    const { input } = this;
    const walk = this.#walk!;
    this.#decoder ??= this.#openEngine();
    const decoder = this.#decoder;
    const walkFrom = input.indexOfPosition(this.#frameTo);
    if (walkFrom < input.end) this.#frameTo = input.base + walk.advance(input.buffer, walkFrom, input.end);
    const inputTo = Math.min(input.end, input.indexOfPosition(this.#frameTo));
    output.reserve(this.#outputBytes);
    const at = output.end;
    const room = Math.min(output.buffer.length, at + OUTPUT_BYTES);
    decoder.write(input.buffer, input.read, inputTo, output.buffer, at, room);
    if (decoder.failure !== undefined) return this.#fail(output, decoder.failure);
    input.consume(decoder.consumed);
    output.end = at + decoder.produced;
    input.retainFrom(this.#member!.offset, this.#lookBackBytes);
    if (output.end === room) return 'data';
    if (walk.ended && input.position === this.#frameTo) {
      this.#close(output, false, input.position - this.#member!.offset);
      return 'data';
    }
    if (decoder.produced > 0) return 'data';
    if (!this.inputEnded) return 'need-input';
    return this.#truncate(output);
  }

  /**
   * A damaged block head can make a frame seem to run to the end of the file, so frames are looked for inside it too.
   */
  #truncate(output: ByteWindow): PullResult {
    const member = this.#member!;
    const { input } = this;
    this.#report('member-truncated', member.offset);
    this.#decoder?.close();
    this.#decoder = undefined;
    this.#close(output, true, input.endPosition - member.offset);
    return this.#search(Math.max(member.offset + 1, input.keptPosition), input.endPosition);
  }

  #fail(output: ByteWindow, message: string): PullResult {
    const member = this.#member!;
    const { input } = this;
    this.#report('member-damaged', member.offset, message);
    this.#decoder?.close();
    this.#decoder = undefined;
    if (member.offset >= input.keptPosition) {
      const decoded = output.endPosition - member.from;
      const start = input.indexOfPosition(member.offset);
      const emit = (bytes: Uint8Array) => output.push(bytes);
      decodePrefix(() => this.#openEngine(), input.buffer, start, input.end, decoded, emit);
    }
    this.#close(output, true, undefined);
    return this.#search(Math.max(member.offset + 1, input.keptPosition), Number.POSITIVE_INFINITY);
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

  /** Looks for the next frame; bytes before `toldTo` were told of already. */
  #search(from: number, toldTo: number): PullResult {
    this.#skipped.begin(from, toldTo);
    this.#state = 'resync';
    return 'data';
  }

  #resync(output: ByteWindow): PullResult {
    const { input } = this;
    for (;;) {
      const candidate = input.buffer.subarray(0, input.end).indexOf(ZSTD_MAGIC, input.read);
      if (candidate < 0) {
        const keep = this.inputEnded ? 0 : ZSTD_MAGIC.length - 1;
        this.#skipped.skip(Math.max(0, input.available - keep));
        if (!this.inputEnded) return 'need-input';
        this.#skipped.tell();
        this.#state = 'between';
        return 'end';
      }
      this.#skipped.skip(candidate - input.read);
      if (input.available < PROBE_INPUT_BYTES && !this.inputEnded) return 'need-input';
      const head = parseFrameHead(input.buffer, input.read, input.end);
      const isFrame = head !== 'short' && head !== undefined;
      if (isFrame && beginsRecordFrame(this.#dictionary, input.buffer, input.read, input.end)) {
        this.#skipped.tell();
        return this.#open(head, output);
      }
      this.#skipped.skip(1);
    }
  }
}

/** Whether the frame at `at` decodes to the beginning of a record. */
export function beginsRecordFrame(dictionary: Buffer | undefined, bytes: Uint8Array, at: number, end: number): boolean {
  const engine = openDecoder(dictionary);
  const sample = Buffer.alloc(RECORD_START_BYTES);
  engine.write(bytes, at, Math.min(end, at + PROBE_INPUT_BYTES), sample, 0, sample.length);
  engine.close();
  return engine.failure === undefined && looksLikeRecord(sample, 0, engine.produced);
}

function openDecoder(dictionary: Buffer | undefined): CodecHandle {
  return zstdDecompressHandle({
    params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX },
    ...(dictionary && { dictionary }),
  });
}
