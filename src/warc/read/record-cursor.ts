/**
 * Reads the records of a file, one step at a time, without doing any I/O: the caller fills the input and asks for the
 * next step.
 *
 * ```
 *   need-input -> reserve(), fill, commit(n) or end()
 *   finding    -> .finding                                  something is wrong here; reading goes on (I10)
 *   record     -> .head                                     a record begins
 *   body       -> .chunk                                    the next bytes of its block; valid until the next step
 *   end        -> .tail                                     the record ends
 *   skipped    -> .chunk                                    bytes that belong to no record; a long run takes many steps
 *   done                                                    there is nothing more
 * ```
 * Memory is bounded whatever the file contains (I9): heads are limited, bodies pass in pieces, and at most
 * RESYNC_WINDOW_BYTES of what was read are kept, to be searched after damage.
 */
import { type Finding, fromLatin1, LF, RECORD_HEAD_BYTES_MAX, RESYNC_WINDOW_BYTES } from '../../base/index.ts';
import type { ByteWindow } from '../member/byte-window.ts';
import { CodedInput } from '../member/coded-input.ts';
import type { CursorOptions } from '../member/cursor-options.ts';
import type { Coding } from '../member/file-coding.ts';
import type { FindingSink } from '../member/member-source.ts';
import { countedBytes, type FindingCode, warcFinding } from '../record/finding-catalogue.ts';
import { arcHead, type HeadFault, headEnd, parseWarcHead, type RecordHead } from '../record/record-head.ts';
import { couldBeUrl, findRecord } from '../record/record-search.ts';
import {
  ARC_LINE_BYTES_MAX,
  type ArcLine,
  arcVersionOf,
  isWarcStart,
  lineEnds,
  looksLikeRecord,
  parseArcLine,
  RECORD_START_BYTES,
} from '../record/record-start.ts';
import { RecordResync } from './record-resync.ts';

export type Step = 'need-input' | 'finding' | 'record' | 'body' | 'end' | 'skipped' | 'done';

export type RecordTail = {
  /** Bytes of the block that the file has. */
  readonly bodyBytes: number;
  /** Whether the file has the whole block. */
  readonly isComplete: boolean;
  /**
   * Bytes that the record takes in the file, with its trailer. Undefined when the record shares a member with others,
   * when its member is damaged, or when the file begins in another coding.
   */
  readonly length: number | undefined;
  /**
   * Whether the file ends inside the record's member. Bytes appended to the file would be read as the rest of that
   * member.
   */
  readonly isTorn: boolean;
  /** Decoded bytes of the line ends after the block. */
  readonly trailerBytes: number;
  /**
   * Whether the trailer is exactly the two line ends of the standard, and no other bytes follow before the next record
   * or member.
   */
  readonly isTrailerSound: boolean;
  /** Whether the record spans several compressed members. Most other readers stop inside such a record. */
  readonly spansMembers: boolean;
};

const TRAILER_BYTES = 4;
const ARC_TRAILER_BYTES_MAX = 2;
/** A longer run of line ends after a record is not a trailer. */
const TRAILER_BYTES_MAX = 64 * 1024;
const WARC_START_BYTES = 16;
/**
 * Wrong lengths can cause this many bytes to be read again, plus the number of bytes read so far. So a file with many
 * wrong lengths cannot hold up a reader.
 */
const REREAD_BYTES_MIN = 16 * RESYNC_WINDOW_BYTES;

export class RecordCursor {
  readonly file: string;
  finding!: Finding;
  head!: RecordHead;
  chunk!: Uint8Array;
  tail!: RecordTail;

  /** Whether the member in which the record begins has a checksum. */
  hasChecksum = false;

  /** Findings to be returned by the next steps. */
  readonly findings: Finding[] = [];
  readonly #input: CodedInput;
  readonly #resync: RecordResync;

  #state: 'between' | 'head' | 'body' | 'tail' | 'resync' | 'done' = 'between';
  /** Decoded positions of the current record. */
  #recordAt = 0;
  #bodyAt = 0;
  #left = 0;
  #isLengthKnown = true;
  #isCut = false;
  #arcVersion: string | undefined;
  /** Where the block of the last record ended. */
  #endedAt = -1;
  #isSharedReported = false;
  /** The last border between two members that the current record crosses. */
  #crossedAt = 0;
  #spansMembers = false;
  /** Bytes of the current head that were searched for its end. */
  #headScannedBytes = 0;
  /** The last head that was given up has no empty line before this position. */
  #endlessTo = 0;
  #rereadBytes = 0;

  constructor(file: string, options: CursorOptions = {}) {
    this.file = file;
    const report: FindingSink = (code, offset, detail) => this.#report(code, offset, detail);
    this.#input = new CodedInput(options, report);
    this.#resync = new RecordResync(this.#input, report);
    if (options.seek && this.#input.isIdentity) this.#beginResync(this.#out.position, true);
  }

  close(): void {
    this.#input.close();
  }

  /** How the current record is compressed. Known after the first bytes. Nearly always the same for the whole file. */
  get coding(): Coding | undefined {
    return this.#input.coding;
  }

  /** Returns a buffer for the next bytes of the file. */
  reserve(): Uint8Array {
    return this.#input.reserve();
  }

  /** Called after the caller has put this many bytes into the buffer. */
  commit(bytes: number): void {
    this.#input.commit(bytes);
  }

  /** Called when the file has no more bytes. */
  end(): void {
    this.#input.end();
  }

  step(): Step {
    for (;;) {
      const finding = this.findings.shift();
      if (finding) {
        this.finding = finding;
        return 'finding';
      }
      if (this.#state === 'done') return 'done';
      if (!this.#input.coding) return 'need-input';
      const step = this.#advance();
      if (step === undefined) continue;
      // The findings made in a step are returned after this step, but before `done`.
      if (step === 'done' && this.findings.length > 0) continue;
      return step;
    }
  }

  #advance(): Step | undefined {
    switch (this.#state) {
      case 'between':
        return this.#between();
      case 'head':
        return this.#readHead();
      case 'body':
        return this.#readBody();
      case 'tail':
        return this.#readTail();
      case 'resync':
        return this.#readToNextRecord();
      case 'done':
        return 'done';
    }
  }

  #report(code: FindingCode, offset: number, detail?: string): void {
    this.findings.push(warcFinding(code, this.file, offset, detail));
  }

  get #out(): ByteWindow {
    return this.#input.out;
  }

  #between(): Step | undefined {
    const out = this.#out;
    out.retainFrom(out.position, 0);
    if (!this.#input.fill(1)) {
      if (this.#input.nextCoding) return this.#switchCoding(this.#input.nextCoding);
      return this.#input.isOver ? (this.#state = 'done') : 'need-input';
    }
    const blank = lineEnds(out.buffer, out.read, out.end);
    if (blank === out.available) {
      this.#resync.skipAll(blank);
      this.chunk = this.#resync.chunk;
      return 'skipped';
    }
    out.consume(blank);
    this.#input.dropMembers(out.position);
    if (!this.#input.fill(WARC_START_BYTES) && !this.#input.isOver) return 'need-input';
    this.#recordAt = out.position;
    this.#crossedAt = out.position;
    this.#spansMembers = false;
    this.#headScannedBytes = Math.max(0, this.#endlessTo - out.position);
    if (isWarcStart(out.buffer, out.read, out.end)) {
      this.#state = 'head';
      return undefined;
    }
    const other = this.#input.compressedRecord();
    if (other === 'short') return 'need-input';
    return other ? this.#switchCoding(other) : this.#readArcLine();
  }

  /** The following bytes are in another coding. */
  #switchCoding(coding: Coding): undefined {
    if (coding !== this.#input.fileCoding && this.#endedAt >= 0)
      this.#report('coding-changed', this.head.offset, coding);
    this.#input.switchCoding(coding);
    this.#endedAt = -1;
    this.#endlessTo = 0;
    this.#state = 'between';
  }

  #readArcLine(): Step | undefined {
    const out = this.#out;
    const border = this.#nextBorder();
    const stop = border === undefined ? out.end : out.indexOfPosition(border);
    let lineEnd = out.buffer.subarray(0, stop).indexOf(LF, out.read);
    const isOpen = lineEnd < 0 && border === undefined && out.available < ARC_LINE_BYTES_MAX;
    if (isOpen && couldBeUrl(out.buffer[out.read]!)) {
      if (!this.#input.fill(out.available + 1) && !this.#input.isOver) return 'need-input';
      if (!this.#input.isOver) return undefined;
      lineEnd = out.end;
    }
    const line = lineEnd < 0 ? undefined : parseArcLine(fromLatin1(out.buffer, out.read, lineEnd).replace(/\r$/, ''));
    if (!line) {
      this.#beginResync(out.position, false);
      return undefined;
    }
    const lineBytes = Math.min(lineEnd + 1, out.end) - out.read;
    if (/^filedesc:/i.test(line.url)) {
      if (!this.#input.fill(lineBytes + 3) && !this.#input.isOver) return 'need-input';
      const at = out.read + lineBytes;
      this.#arcVersion = arcVersionOf(fromLatin1(out.buffer, at, Math.min(at + 3, out.end)));
    }
    return this.#beginArcRecord(line, lineBytes);
  }

  #beginArcRecord(line: ArcLine, lineBytes: number): Step {
    const out = this.#out;
    const faults: HeadFault[] = [];
    const bytes = Buffer.from(out.buffer.subarray(out.read, out.read + lineBytes));
    this.#arcVersion ??= line.version === 2 ? '2' : '1';
    this.#beginRecord(arcHead(line, this.#arcVersion, bytes, faults), faults, lineBytes);
    return 'record';
  }

  #readHead(): Step | undefined {
    const out = this.#out;
    const border = this.#nextBorder();
    const stop = border === undefined ? out.end : out.indexOfPosition(border);
    const limit = Math.min(stop, out.read + RECORD_HEAD_BYTES_MAX);
    const end = headEnd(out.buffer, out.read + this.#headScannedBytes, limit);
    if (end >= 0) return this.#takeHead(end - out.read);
    const bytes = stop - out.read;
    if (bytes >= RECORD_HEAD_BYTES_MAX) return this.#giveUpHead(limit);
    const lineAt = out.buffer.subarray(0, stop).lastIndexOf(LF) + 1;
    this.#headScannedBytes = Math.max(this.#headScannedBytes, lineAt - out.read);
    if (border === undefined) {
      if (this.#input.fill(bytes + 1)) return undefined;
      if (!this.#input.isOver) return 'need-input';
    } else {
      const crossing = this.#crossBorder(border);
      if (crossing === 'need-input') return crossing;
      if (crossing === 'crossed') return undefined;
    }
    return this.#takeHead(bytes, 'head-truncated');
  }

  /**
   * A record may begin inside a head that was given up, so the search continues there. The lines up to `#endlessTo` are
   * not searched again for the end of a head, and nothing is reported a second time.
   */
  #giveUpHead(limit: number): undefined {
    const out = this.#out;
    const isReported = this.#recordAt < this.#endlessTo;
    this.#endlessTo = out.base + out.buffer.subarray(0, limit).lastIndexOf(LF) + 1;
    const detail = `longer than ${RECORD_HEAD_BYTES_MAX} bytes`;
    if (!isReported) this.#report('head-unreadable', this.#input.offsetOf(this.#recordAt), detail);
    this.#beginResync(this.#recordAt + 1, true);
    return undefined;
  }

  #takeHead(bytes: number, fault?: FindingCode): Step | undefined {
    const out = this.#out;
    const headBytes = Buffer.from(out.buffer.subarray(out.read, out.read + bytes));
    if (this.#isOutsideMembers && this.#input.containsMember(headBytes)) {
      this.#beginResync(this.#recordAt + 1, true);
      return undefined;
    }
    if (fault) this.#report(fault, this.#input.offsetOf(this.#recordAt));
    const faults: HeadFault[] = [];
    const head = parseWarcHead(headBytes, faults);
    this.#beginRecord(head, faults, bytes);
    return 'record';
  }

  /** Where the current member of the record ends, if that is known. */
  #nextBorder(): number | undefined {
    const to = this.#input.isIdentity ? undefined : this.#input.memberAt(this.#crossedAt).to;
    return to !== undefined && to > this.#crossedAt ? to : undefined;
  }

  /**
   * Whether the current record continues after the end of a member. It does not continue after damage, before another
   * record, or at the end of the data.
   */
  #crossBorder(border: number): 'crossed' | 'cut' | 'need-input' {
    const out = this.#out;
    const before = border - out.position;
    if (!this.#input.fill(before + RECORD_START_BYTES) && !this.#input.isOver) return 'need-input';
    if (out.available === before || this.#input.memberBefore(border).isDamaged) return 'cut';
    if (looksLikeRecord(out.buffer, out.read + before, out.end)) return 'cut';
    this.#crossedAt = border;
    if (!this.#spansMembers) this.#report('record-spans-members', this.#input.offsetOf(this.#recordAt));
    this.#spansMembers = true;
    return 'crossed';
  }

  #beginRecord(head: RecordHead, faults: readonly HeadFault[], headBytes: number): void {
    const out = this.#out;
    const member = this.#input.memberAt(this.#recordAt);
    this.hasChecksum = member.hasChecksum;
    head.offset = this.#input.offsetOf(this.#recordAt);
    head.innerOffset = this.#input.isIdentity ? 0 : this.#recordAt - member.from;
    if (head.innerOffset > 0 && !this.#isSharedReported && this.#endedAt > member.from) {
      this.#isSharedReported = true;
      this.#report('member-shared', head.offset);
    }
    for (const fault of faults) this.#report(fault.code, head.offset, fault.detail);
    out.consume(headBytes);
    out.retainFrom(this.#recordAt, RESYNC_WINDOW_BYTES);
    this.head = head;
    this.#bodyAt = out.position;
    this.#isCut = false;
    this.#isLengthKnown = head.contentLength !== undefined;
    // Without a length, the block of a compressed record reaches to the end of its member. Without a length, an
    // uncompressed block counts as empty.
    this.#left = head.contentLength ?? (this.#input.isIdentity ? 0 : Number.POSITIVE_INFINITY);
    this.#state = 'body';
  }

  #readBody(): Step | undefined {
    const out = this.#out;
    if (this.#left === 0) {
      this.#state = 'tail';
      return undefined;
    }
    if (!this.#input.fill(1)) return this.#input.isOver ? this.#endEarly() : 'need-input';
    const border = this.#nextBorder();
    if (border === out.position) {
      const crossing = this.#isLengthKnown ? this.#crossBorder(border) : 'cut';
      if (crossing === 'need-input') return crossing;
      return crossing === 'cut' ? this.#endEarly() : undefined;
    }
    const withinMember = border === undefined ? out.available : Math.min(out.available, border - out.position);
    const bytes = Math.min(withinMember, this.#left);
    this.chunk = out.buffer.subarray(out.read, out.read + bytes);
    this.#left -= bytes;
    out.consume(bytes);
    out.retainFrom(this.#bodyAt, this.#input.lookBackBytes);
    this.#input.dropMembers(out.keptPosition);
    return 'body';
  }

  /** The block is shorter than its declared length: its member or the input ends, or there is damage. */
  #endEarly(): undefined {
    this.#isCut = this.#isLengthKnown;
    this.#state = 'tail';
    return undefined;
  }

  #readTail(): Step | undefined {
    if (this.#isCut) return this.#endTruncated();
    const out = this.#out;
    const member = this.#input.isIdentity
      ? undefined
      : this.#input.memberBefore(Math.max(out.position, this.#recordAt + 1));
    const isKnown = () => (member ? member.to !== undefined : this.#input.isOver);
    const stop = () => (member?.to === undefined ? out.end : out.indexOfPosition(member.to));
    let trailer = lineEnds(out.buffer, out.read, stop());
    // Read the whole trailer, and enough after it to decide whether a record begins there.
    while (!isKnown() && trailer <= TRAILER_BYTES_MAX) {
      const followingBytes = out.available - trailer;
      const isClean = trailer === TRAILER_BYTES && followingBytes >= WARC_START_BYTES;
      if (isClean && isWarcStart(out.buffer, out.read + trailer, out.end)) break;
      if (followingBytes >= RECORD_START_BYTES) break;
      if (!this.#input.fill(out.available + 1) && !this.#input.isOver) return 'need-input';
      trailer = lineEnds(out.buffer, out.read, stop());
    }
    const at = out.read + trailer;
    const isOver = at === stop() && isKnown();
    const isFollowed = !isOver && (looksLikeRecord(out.buffer, at, stop()) || this.#input.isCompressedAt(at));
    // An ARC record may have a wrong length when another record follows after anything but one line end. A length that
    // is too long by one turns the next URL into `ttp://`.
    const isDoubtful = this.head.format === 'arc' && (trailer > ARC_TRAILER_BYTES_MAX || out.buffer[at - 1] !== LF);
    if (isOver || (isFollowed && !isDoubtful)) {
      const isClean = this.head.format === 'arc' || (trailer === TRAILER_BYTES && out.buffer[out.read] === 0x0d);
      if (!isClean) this.#report('trailer-missing', this.head.offset);
      return this.#endRecord(trailer, isOver ? member?.length : undefined, isClean);
    }
    if (this.#arcVersion && !this.#input.fill(trailer + ARC_LINE_BYTES_MAX) && !this.#input.isOver) return 'need-input';
    return this.#endMisplaced(trailer, isFollowed);
  }

  #endRecord(trailerBytes: number, memberLength: number | undefined, isTrailerSound = false): Step {
    const out = this.#out;
    const bodyBytes = out.position - this.#bodyAt;
    this.#endedAt = out.position;
    out.consume(trailerBytes);
    const standsAlone = memberLength !== undefined && this.head.innerOffset === 0;
    const last = this.#input.isIdentity
      ? undefined
      : this.#input.memberBefore(Math.max(out.position, this.#recordAt + 1));
    // A record that crosses several members takes the bytes of all of them.
    const length = this.#input.isIdentity
      ? out.position - this.#recordAt
      : standsAlone
        ? last?.length && last.offset + last.length - this.head.offset
        : undefined;
    this.tail = {
      bodyBytes,
      isComplete: !this.#isCut && this.#isLengthKnown,
      length: this.coding === this.#input.fileCoding ? length : undefined,
      isTorn: last?.length !== undefined && last.isDamaged,
      trailerBytes,
      isTrailerSound,
      spansMembers: this.#spansMembers,
    };
    this.#state = 'between';
    return 'end';
  }

  /** The bytes after the block are not a record: its length is wrong, or they are damaged. */
  #endMisplaced(trailerBytes: number, isFollowed: boolean): Step {
    const out = this.#out;
    const step = this.#endRecord(0, undefined);
    if (this.#isLengthKnown && this.#goBack()) {
      this.tail = { ...this.tail, isComplete: false };
      return step;
    }
    if (isFollowed) {
      if (trailerBytes === 0) this.#report('trailer-missing', this.head.offset);
      return step;
    }
    const isNul = out.buffer[out.read + trailerBytes] === 0;
    const isGarbageAfterTrailer = trailerBytes >= TRAILER_BYTES || isNul;
    if (!isGarbageAfterTrailer && this.#isLengthKnown) this.#reportLength('content-length-short');
    out.consume(trailerBytes);
    this.#beginResync(out.position, !isGarbageAfterTrailer && this.#isLengthKnown);
    return step;
  }

  #endTruncated(): Step {
    const out = this.#out;
    const border = out.position;
    const member = this.#input.isIdentity ? undefined : this.#input.memberBefore(Math.max(border, this.#recordAt + 1));
    const step = this.#endRecord(0, member?.length);
    if (member?.isDamaged || this.#goBack()) return step;
    const missing = `${countedBytes(this.#left)} ${this.#left === 1 ? 'is' : 'are'} missing`;
    if (this.#input.isIdentity) this.#report('record-truncated', this.head.offset, missing);
    else this.#reportLength('content-length-long', missing);
    return step;
  }

  /**
   * Goes back to the first record that begins inside the block just read. If there is one, the declared length is too
   * long.
   */
  #goBack(): boolean {
    const out = this.#out;
    const from = out.indexOfPosition(Math.max(this.#bodyAt, out.keptPosition));
    const found = this.#isOutsideMembers
      ? from
      : findRecord(out.buffer.subarray(0, out.end), from, out.read, this.#arcVersion !== undefined);
    if (found < 0) return false;
    const again = out.read - found;
    if (this.#rereadBytes + again > REREAD_BYTES_MIN + out.position) return false;
    this.#rereadBytes += again;
    out.seek(out.base + found);
    if (this.#isOutsideMembers) {
      this.#reportLength(this.#isCut ? 'content-length-long' : 'content-length-short');
      this.#switchCoding(this.#input.fileCoding!);
    } else this.#reportLength('content-length-long', `a record begins ${countedBytes(again)} before its end`);
    return true;
  }

  /**
   * Whether the current record is uncompressed in a file of members. At the first damage, the search goes on for
   * members.
   */
  get #isOutsideMembers(): boolean {
    return this.#input.isIdentity && this.#input.fileCoding !== 'none';
  }

  /** The lengths of ARC version blocks are so often wrong that this is only a note. */
  #reportLength(code: FindingCode, detail?: string): void {
    this.#report(this.head.type === 'filedesc' ? 'arc-length-adjusted' : code, this.head.offset, detail);
  }

  /** Skipped bytes that belong to a record already reported are not reported again. */
  #beginResync(from: number, isReported: boolean): void {
    const out = this.#out;
    this.#resync.begin(out.position, isReported ? undefined : this.#input.offsetOf(out.position));
    if (from !== out.position) out.seek(from);
    this.#state = 'resync';
    if (this.#isOutsideMembers) this.#switchCoding(this.#input.fileCoding!);
  }

  #readToNextRecord(): Step | undefined {
    const step = this.#resync.step();
    this.chunk = this.#resync.chunk;
    if (step !== 'found') return step;
    this.#state = 'between';
    return undefined;
  }
}
