/** Decodes zstd files frame by frame, with the exact offset and length of each. */
import type { ByteWindow } from './byte-window.ts';
import { type CodecHandle, decodePrefix } from './codec-handle.ts';
import { CompressedSource, type CompressedSourceOptions } from './compressed-source.ts';
import type { FindingSink, PullResult } from './member-source.ts';
import {
  beginsRecordFrame,
  dictionaryOfFile,
  FrameWalk,
  openZstdDecoder,
  parseFrameHead,
  skippableLength,
  ZSTD_MAGIC,
  ZSTD_PROBE_BYTES,
  type ZstdFrameHead,
} from './zstd-frame.ts';

export class ZstdSource extends CompressedSource {
  readonly #start: number;
  #dictionary: Buffer | undefined;
  /** The engine is not reset between frames: it needs no reset, and a reset would remove its dictionary. */
  #decoder: CodecHandle | undefined;
  #walk: FrameWalk | undefined;
  /** File position up to which the input belongs to the open frame. */
  #frameTo = 0;
  /** Where a skippable frame begins and ends. */
  #skipFrom = 0;
  #skipTo = 0;

  /** `dictionary` is the dictionary in the file's first frame, for readers that begin after this frame. */
  constructor(
    report: FindingSink,
    options: CompressedSourceOptions & { readonly dictionary?: Buffer | undefined } = {},
  ) {
    super(ZSTD_MAGIC, report, options);
    this.#start = options.offset ?? 0;
    this.#dictionary = options.dictionary;
  }

  /** The dictionary that the caller gave or that the file contains. */
  get dictionary(): Buffer | undefined {
    return this.#dictionary;
  }

  close(): void {
    this.#decoder?.close();
  }

  protected begin(output: ByteWindow): PullResult {
    const { input } = this;
    while (input.position < this.#skipTo && input.available > 0) {
      input.consume(Math.min(input.available, this.#skipTo - input.position));
    }
    input.retainFrom(input.position, 0);
    if (input.available === 0) return this.isInputEnded ? this.#end() : 'need-input';
    const skippable = skippableLength(input.buffer, input.read, input.end);
    if (typeof skippable === 'number') return this.#skipFrame(skippable);
    const head = parseFrameHead(input.buffer, input.read, input.end);
    if (skippable === 'short' || head === 'short') return this.isInputEnded ? this.truncateHead() : 'need-input';
    return head === undefined ? 'other' : this.#open(head, output);
  }

  #end(): PullResult {
    if (this.input.position < this.#skipTo) this.report('member-truncated', this.#skipFrom, 'inside a skippable frame');
    this.#skipTo = 0;
    return 'end';
  }

  #skipFrame(length: number): PullResult {
    const { input } = this;
    if (input.position === this.#start && this.#start === 0) {
      const dictionary = dictionaryOfFile(input.buffer.subarray(input.read, input.end));
      if (dictionary === 'short' && !this.isInputEnded) return 'need-input';
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
      this.report('zstd-dictionary-missing', input.position, detail);
    }
    this.beginMember(output, head.hasChecksum);
    this.#walk = new FrameWalk(head);
    this.#frameTo = input.position + head.length;
    return this.decode(output);
  }

  #dictionaryId(): number {
    const dictionary = this.#dictionary;
    const isFormal = dictionary && dictionary.length > 8 && dictionary.readUInt32LE(0) === 0xec30a437;
    return isFormal ? dictionary.readUInt32LE(4) : 0;
  }

  protected decode(output: ByteWindow): PullResult {
    const { input } = this;
    const walk = this.#walk!;
    this.#decoder ??= openZstdDecoder(this.#dictionary);
    const walkFrom = input.indexOfPosition(this.#frameTo);
    if (walkFrom < input.end) this.#frameTo = input.base + walk.advance(input.buffer, walkFrom, input.end);
    const inputTo = Math.min(input.end, input.indexOfPosition(this.#frameTo));
    const roomLeft = this.write(this.#decoder, inputTo, output);
    if (roomLeft === undefined) return this.fail(output, this.#decoder.failure!);
    if (roomLeft === 0) return 'data';
    if (walk.hasEnded && input.position === this.#frameTo) {
      this.endMember(output, false, input.position - this.member!.offset);
      return 'data';
    }
    if (this.#decoder.produced > 0) return 'data';
    return this.isInputEnded ? this.truncate(output) : 'need-input';
  }

  protected decodeDamaged(at: number, skippedBytes: number, emit: (bytes: Uint8Array) => void): void {
    const { buffer, end } = this.input;
    decodePrefix(() => openZstdDecoder(this.#dictionary), buffer, at, end, skippedBytes, emit);
  }

  /** After damage a new engine is opened, since a failed engine cannot be used again. */
  protected override endMember(output: ByteWindow, isDamaged: boolean, length: number | undefined): void {
    if (isDamaged) {
      this.#decoder?.close();
      this.#decoder = undefined;
    }
    super.endMember(output, isDamaged, length);
  }

  protected probe(): boolean | 'need-input' {
    const { input } = this;
    if (input.available < ZSTD_PROBE_BYTES && !this.isInputEnded) return 'need-input';
    const isFrame = typeof parseFrameHead(input.buffer, input.read, input.end) === 'object';
    return isFrame && beginsRecordFrame(this.#dictionary, input.buffer, input.read, input.end);
  }
}
