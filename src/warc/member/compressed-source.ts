/**
 * Reads the members of gzip and zstd files one after the other, and finds the next member after damage.
 *
 * The search goes from magic number to magic number, and ends at the first member that decodes to the beginning of a
 * record. It starts one byte after the start of the damaged member, because a damaged head or block can swallow the
 * members that follow: decoding can fail late, end in the wrong place, or run to the end of the file.
 */
import { READ_CHUNK_BYTES, RESYNC_WINDOW_BYTES } from '../../base/index.ts';
import { countedBytes } from '../record/finding-catalogue.ts';
import { ByteWindow } from './byte-window.ts';
import type { CodecHandle } from './codec-handle.ts';
import type { FindingSink, Member, MemberSource, PullResult } from './member-source.ts';

/** How much room for decoded bytes is offered to the decoder at once. */
const OUTPUT_BYTES = 256 * 1024;

export type CompressedSourceOptions = {
  /** Offset in the file of the first byte of input. */
  readonly offset?: number;
  /**
   * Whether the offset can be anywhere in the file. Reading then begins with the first record after it, and skipped
   * bytes are not reported.
   */
  readonly seek?: boolean;
  /** How much of the input is kept, to search it after damage. */
  readonly lookBackBytes?: number;
  readonly windowBytes?: number;
};

export abstract class CompressedSource implements MemberSource {
  readonly input: ByteWindow;
  isInputEnded = false;
  readonly members: Member[] = [];
  isSearching: boolean;
  protected readonly report: FindingSink;
  /** The member that is being decoded. */
  protected member: Member | undefined;
  readonly #magic: Buffer;
  readonly #lookBackBytes: number;
  readonly #outputBytes: number;
  /** File position of the first skipped byte that is not part of a reported member. */
  #skippedFrom: number;
  #areSkippedNul = false;

  constructor(magic: Buffer, report: FindingSink, options: CompressedSourceOptions) {
    const { offset = 0, seek = false, windowBytes = 4 * READ_CHUNK_BYTES } = options;
    this.#magic = magic;
    this.report = report;
    this.#lookBackBytes = options.lookBackBytes ?? RESYNC_WINDOW_BYTES;
    this.input = new ByteWindow(offset, windowBytes);
    this.#outputBytes = Math.min(OUTPUT_BYTES, windowBytes);
    this.isSearching = seek;
    this.#skippedFrom = seek ? Number.POSITIVE_INFINITY : offset;
  }

  /** Opens the member at the read position. */
  protected abstract begin(output: ByteWindow): PullResult;

  /** Decodes the next bytes of the open member. */
  protected abstract decode(output: ByteWindow): PullResult;

  /** Whether the magic number at the read position begins a member in which a record begins. */
  protected abstract probe(): boolean | 'need-input';

  /**
   * Emits what can be decoded of the damaged member at this index of the input, after its first `skippedBytes` bytes.
   */
  protected abstract decodeDamaged(at: number, skippedBytes: number, emit: (bytes: Uint8Array) => void): void;

  abstract close(): void;

  pull(output: ByteWindow): PullResult {
    if (this.isSearching) return this.#continueSearch(output);
    return this.member ? this.decode(output) : this.begin(output);
  }

  leaveMember(output: ByteWindow): void {
    if (!this.member) return;
    this.report('member-endless', this.member.offset);
    this.endMember(output, true, undefined);
    this.#search(this.input.position, Number.POSITIVE_INFINITY);
  }

  searchNext(): void {
    this.#search(this.input.position, this.input.position);
  }

  protected beginMember(output: ByteWindow, hasChecksum: boolean): void {
    const { position: offset } = this.input;
    const from = output.endPosition;
    this.member = { offset, from, to: undefined, length: undefined, hasChecksum, isDamaged: false };
    this.members.push(this.member);
  }

  protected endMember(output: ByteWindow, isDamaged: boolean, length: number | undefined): void {
    const member = this.member!;
    member.to = output.endPosition;
    member.length = length;
    member.isDamaged = isDamaged;
    if (member.to === member.from) this.members.pop();
    this.member = undefined;
  }

  /** Decodes input up to an index; returns how much of the offered room is left, undefined when the decoder failed. */
  protected write(decoder: CodecHandle, inputTo: number, output: ByteWindow): number | undefined {
    const { input } = this;
    output.reserve(this.#outputBytes);
    const at = output.end;
    const room = Math.min(output.buffer.length, at + OUTPUT_BYTES);
    decoder.write(input.buffer, input.read, inputTo, output.buffer, at, room);
    if (decoder.failure !== undefined) return undefined;
    input.consume(decoder.consumed);
    output.end = at + decoder.produced;
    input.retainFrom(this.member!.offset, this.#lookBackBytes);
    return room - output.end;
  }

  /** The file ends inside the head of a member. */
  protected truncateHead(): PullResult {
    const { position, endPosition } = this.input;
    this.report('member-truncated', position, 'inside its head');
    return this.#search(position + 1, endPosition);
  }

  /** The file ends inside the member. Other members may be inside this one, when a damaged head made it too long. */
  protected truncate(output: ByteWindow): PullResult {
    const { offset } = this.member!;
    const { endPosition } = this.input;
    this.report('member-truncated', offset);
    return this.abandon(output, endPosition - offset, endPosition);
  }

  /** The member does not decode any further. */
  protected fail(output: ByteWindow, message: string): PullResult {
    const { input } = this;
    const { offset, from } = this.member!;
    this.report('member-damaged', offset, message);
    if (offset >= input.keptPosition) {
      const emit = (bytes: Uint8Array) => output.push(bytes);
      this.decodeDamaged(input.indexOfPosition(offset), output.endPosition - from, emit);
    }
    return this.abandon(output);
  }

  /** Ends a damaged member, and searches for the next one. */
  protected abandon(output: ByteWindow, length?: number, reportedTo = Number.POSITIVE_INFINITY): PullResult {
    const { offset } = this.member!;
    this.endMember(output, true, length);
    return this.#search(Math.max(offset + 1, this.input.keptPosition), reportedTo);
  }

  /** Searches for the next member; bytes before `reportedTo` were part of a reported member. */
  #search(from: number, reportedTo: number): PullResult {
    this.#skippedFrom = reportedTo;
    this.#areSkippedNul = from === reportedTo;
    this.input.seek(from);
    this.isSearching = true;
    return 'data';
  }

  #continueSearch(output: ByteWindow): PullResult {
    const { input } = this;
    for (;;) {
      const candidate = input.buffer.subarray(0, input.end).indexOf(this.#magic, input.read);
      if (candidate < 0) {
        const keptBytes = this.isInputEnded ? 0 : this.#magic.length - 1;
        this.#skip(Math.max(0, input.available - keptBytes));
        if (!this.isInputEnded) return 'need-input';
        this.#endSearch();
        return 'end';
      }
      this.#skip(candidate - input.read);
      const isMember = this.probe();
      if (isMember === 'need-input') return isMember;
      if (isMember) {
        this.#endSearch();
        return this.begin(output);
      }
      this.#skip(1);
    }
  }

  #skip(bytes: number): void {
    const { input } = this;
    for (let i = 0; i < bytes && this.#areSkippedNul; i++)
      if (input.buffer[input.read + i] !== 0) this.#areSkippedNul = false;
    input.consume(bytes);
    input.retainFrom(input.position, 0);
  }

  /** Skipped bytes that are all NUL are padding: a disk leaves NULs where nothing was written. */
  #endSearch(): void {
    this.isSearching = false;
    const skippedBytes = this.input.position - this.#skippedFrom;
    if (skippedBytes <= 0) return;
    const code = this.#areSkippedNul ? 'padding-skipped' : 'garbage-skipped';
    this.report(code, this.#skippedFrom, countedBytes(skippedBytes));
  }
}
