/**
 * Searches for the next record after damage, at the start of each member and of each line, and skips the bytes before
 * that record.
 */
import { LF, RESYNC_WINDOW_BYTES } from '../../base/index.ts';
import type { CodedInput } from '../member/coded-input.ts';
import type { FindingSink } from '../member/member-source.ts';
import { countedBytes } from '../record/finding-catalogue.ts';
import { WARC_MAGIC } from '../record/record-search.ts';
import { isWarcHead, lineEnds, looksLikeRecord, RECORD_START_BYTES } from '../record/record-start.ts';

/**
 * Limit of the member bytes that are searched without finding a record: a fixed number, plus 64 for each byte of the
 * file. It is needed because a few bytes can unpack to gigabytes. Damage to ordinary files stays far below it.
 */
const SKIPPED_BYTES_MIN = 16 * RESYNC_WINDOW_BYTES;
const SKIPPED_BYTES_EACH = 64;

export class RecordResync {
  /** The bytes that the last step skipped. */
  chunk!: Uint8Array;
  readonly #input: CodedInput;
  readonly #report: FindingSink;
  /** Decoded position where the skipped bytes began. */
  #from = 0;
  /**
   * Offset in the file at which skipped bytes are reported; undefined when they are part of a record already reported.
   */
  #offset: number | undefined;
  #areNul = false;
  #bytesInMembers = 0;

  constructor(input: CodedInput, report: FindingSink) {
    this.#input = input;
    this.#report = report;
  }

  /** Begins at the read position. Skipped bytes are reported at `offset`, if one is given. */
  begin(skippedFrom: number, offset: number | undefined): void {
    this.#from = skippedFrom;
    this.#offset = offset;
    this.#areNul = offset !== undefined;
  }

  /** `found` means that the read position is at a record or at the end. */
  step(): 'need-input' | 'skipped' | 'found' {
    const { out } = this.#input;
    if (!this.#input.fill(RECORD_START_BYTES + 1) && !this.#input.isOver) return 'need-input';
    if (out.available === 0) return this.#end();
    this.#input.dropMembers(out.position);
    const stop = this.#input.isOver ? out.end : out.end - RECORD_START_BYTES;
    let at = out.read;
    while (at < stop) {
      if (this.#isRecordAt(at)) {
        this.#skip(at - out.read);
        return this.#end();
      }
      if (out.buffer[at] !== 0) this.#areNul = false;
      at = this.#nextCandidate(at + 1, stop);
    }
    const step = this.skipAll(Math.min(at, out.end) - out.read);
    return this.#input.isOver && out.available === 0 ? this.#end() : step;
  }

  #isRecordAt(at: number): boolean {
    const { out, isIdentity } = this.#input;
    const position = out.base + at;
    const isInside = position > this.#from;
    const isMemberStart = !isIdentity && this.#input.memberAt(position).from === position && isInside;
    const isLineStart = at > 0 && out.buffer[at - 1] === LF && isInside;
    const isLikely = isMemberStart || isLineStart || (this.#areNul && isInside);
    return isLikely ? looksLikeRecord(out.buffer, at, out.end) : isWarcHead(out.buffer, at, out.end);
  }

  /**
   * The next index where a line that is not empty, a member or a WARC head begins. While all skipped bytes are NUL: the
   * next byte that is not NUL.
   */
  #nextCandidate(from: number, stop: number): number {
    const { out, isIdentity } = this.#input;
    if (this.#areNul) {
      let at = from;
      while (at < stop && out.buffer[at] === 0) at++;
      return at;
    }
    const region = out.buffer.subarray(0, out.end);
    if (!isIdentity && this.#hasSkippedEnough) return this.#nextMember(from, stop);
    const lf = region.indexOf(LF, from - 1);
    const afterLf = lf < 0 ? stop : Math.min(lf + 1, stop);
    const line = afterLf + lineEnds(out.buffer, afterLf, stop);
    const magic = region.subarray(0, line + WARC_MAGIC.length).indexOf(WARC_MAGIC, from);
    const next = magic < 0 ? line : Math.min(magic, line);
    return isIdentity ? next : this.#nextMember(from, next);
  }

  /** The next index where a member begins, or else `next`. */
  #nextMember(from: number, next: number): number {
    const { out, members } = this.#input;
    const member = members.find(({ from: start }) => start > out.base + from - 1);
    return member ? Math.min(next, Math.max(from, out.indexOfPosition(member.from))) : next;
  }

  /** Whether the rest of each member is skipped without a search. */
  get #hasSkippedEnough(): boolean {
    return this.#bytesInMembers > SKIPPED_BYTES_MIN + SKIPPED_BYTES_EACH * this.#input.decodedBytes;
  }

  /** Skips bytes in which no record begins. */
  skipAll(bytes: number): 'skipped' {
    this.#skip(bytes);
    const { out, isIdentity, members } = this.#input;
    const isInside = !isIdentity && members.at(-1)!.from < out.position;
    if (isInside && this.#hasSkippedEnough) this.#input.leaveMember();
    return 'skipped';
  }

  #skip(bytes: number): void {
    const { out, isIdentity } = this.#input;
    if (!isIdentity) this.#bytesInMembers += bytes;
    this.chunk = out.buffer.subarray(out.read, out.read + bytes);
    out.consume(bytes);
    // One byte is kept: whether a line begins at the read position depends on the byte before it.
    out.retainFrom(out.position - 1, 1);
  }

  #end(): 'found' {
    const skipped = this.#input.out.position - this.#from;
    if (skipped > 0 && this.#offset !== undefined)
      this.#report(this.#areNul ? 'padding-skipped' : 'garbage-skipped', this.#offset, countedBytes(skipped));
    return 'found';
  }
}
