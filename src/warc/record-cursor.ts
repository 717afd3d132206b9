/**
 * Walks the records of a file, one step at a time, without doing any I/O: the caller fills the input and asks for the next step.
 *
 * ```
 *   need-input -> reserve(), fill, commit(n) or end()
 *   finding    -> .finding                                  something is wrong here; reading goes on (I10)
 *   record     -> .head                                     a record begins
 *   body       -> .chunk                                    the next bytes of its block; the view is good until the next step
 *   end        -> .tail                                     the record is over
 *   done                                                    nothing more will come
 * ```
 * Memory is bounded whatever the file holds (I9): heads are limited, bodies pass in pieces, and at most RESYNC_WINDOW_BYTES of what was read
 * is kept to look back into after damage.
 */
import {
  assert,
  type Finding,
  fromLatin1,
  LF,
  READ_CHUNK_BYTES,
  RECORD_HEAD_BYTES_MAX,
  RESYNC_WINDOW_BYTES,
} from '../base/index.ts';
import { ByteWindow } from './byte-window.ts';
import { type FindingCode, findingOf } from './finding-catalogue.ts';
import { GzipMembers } from './gzip-member.ts';
import { IdentitySource } from './identity-source.ts';
import type { Member, MemberSource } from './member-source.ts';
import { arcHead, type HeadFault, headEnd, parseWarcHead, type RecordHead } from './record-head.ts';
import {
  ARC_LINE_BYTES_MAX,
  type ArcLine,
  isWarcStart,
  looksLikeRecord,
  parseArcLine,
  RECORD_START_BYTES,
} from './record-start.ts';
import { ZstdFrames } from './zstd-frame.ts';

export type Coding = 'gzip' | 'zstd' | 'none';

export type Step = 'need-input' | 'finding' | 'record' | 'body' | 'end' | 'done';

export type RecordTail = {
  /** Bytes of the block that were there. */
  readonly bodyBytes: number;
  /** Whether the whole block was there. */
  readonly complete: boolean;
  /** Bytes the record takes in the file, trailer included; undefined when it shares a member with the record after it. */
  readonly length: number | undefined;
  /** Decoded bytes of the line ends after the block. */
  readonly trailerBytes: number;
};

export type CursorOptions = {
  /** Where in the file the input begins. */
  offset?: number;
  /** The offset is anywhere in the file: begin, without complaint, with the first record after it. Needs `coding`. */
  seek?: boolean;
  /** Told by the first bytes when not given. */
  coding?: Coding | undefined;
  /** The dictionary of the file's first frame, when the input begins after it. */
  dictionary?: Buffer | undefined;
};

const CRLFCRLF = Buffer.from('\r\n\r\n');
const WARC_MAGIC = Buffer.from('WARC/');
const WARC_START_BYTES = 16;

export function codingOf(start: Uint8Array): Coding {
  if (start[0] === 0x1f && start[1] === 0x8b) return 'gzip';
  if (start[0] === 0x28 && start[1] === 0xb5 && start[2] === 0x2f && start[3] === 0xfd) return 'zstd';
  if (((start[0] ?? 0) & 0xf0) === 0x50 && start[1] === 0x2a && start[2] === 0x4d && start[3] === 0x18) return 'zstd';
  return 'none';
}

export class RecordCursor {
  readonly file: string;
  finding!: Finding;
  head!: RecordHead;
  chunk!: Uint8Array;
  tail!: RecordTail;

  /** How the file is compressed; known once its first bytes are. */
  coding: Coding | undefined;
  readonly #options: CursorOptions;
  readonly #findings: Finding[] = [];
  #source: MemberSource | undefined;
  #out!: ByteWindow;
  #isIdentity = false;
  #sniffed = Buffer.alloc(READ_CHUNK_BYTES);
  #sniffedBytes = 0;
  #inputEnded = false;

  #state: 'between' | 'head' | 'body' | 'tail' | 'resync' | 'done' = 'between';
  /** Decoded positions of the record at hand. */
  #recordAt = 0;
  #bodyAt = 0;
  #left = 0;
  #lengthKnown = true;
  #isCut = false;
  #arcVersion: string | undefined;
  #sharedToldOf = false;
  #spanToldOf = false;
  /** Decoded position where the skipped bytes began. */
  #skippedFrom = 0;
  /** Skipped bytes that were part of a record already told of are not told of again. */
  #skipIsSilent = false;
  #skippedAreNul = false;

  constructor(file: string, options: CursorOptions = {}) {
    this.file = file;
    this.#options = options;
    if (options.coding) this.#start(options.coding);
  }

  close(): void {
    this.#source?.close();
  }

  /** Room to put the next bytes of the file into. */
  reserve(): Uint8Array {
    if (!this.#source) return this.#sniffed.subarray(this.#sniffedBytes);
    const { input } = this.#source;
    input.reserve(READ_CHUNK_BYTES);
    return input.buffer.subarray(input.end);
  }

  /** That many bytes were put into the room. */
  commit(bytes: number): void {
    if (this.#source) {
      this.#source.input.end += bytes;
      return;
    }
    this.#sniffedBytes += bytes;
    if (this.#sniffedBytes >= 4) this.#start(codingOf(this.#sniffed));
  }

  /** The file has no more bytes. */
  end(): void {
    this.#inputEnded = true;
    if (!this.#source) this.#start(codingOf(this.#sniffed.subarray(0, this.#sniffedBytes)));
    this.#source!.inputEnded = true;
  }

  #start(coding: Coding): void {
    const offset = this.#options.offset ?? 0;
    const report = (code: FindingCode, at: number, detail?: string) => this.#report(code, at, detail);
    const seek = this.#options.seek ?? false;
    if (coding === 'gzip') this.#source = new GzipMembers(offset, report, seek);
    else if (coding === 'zstd') this.#source = new ZstdFrames(offset, report, this.#options.dictionary, seek);
    else this.#source = new IdentitySource(offset);
    this.coding = coding;
    this.#isIdentity = coding === 'none';
    this.#out = this.#isIdentity ? this.#source.input : new ByteWindow(0, 2 * READ_CHUNK_BYTES);
    if (seek && this.#isIdentity) this.#beginResync(this.#out.position, true);
    this.#source.inputEnded = this.#inputEnded;
    if (this.#sniffedBytes > 0) this.#source.input.push(this.#sniffed.subarray(0, this.#sniffedBytes));
    this.#sniffed = Buffer.alloc(0);
  }

  step(): Step {
    for (;;) {
      const finding = this.#findings.shift();
      if (finding) {
        this.finding = finding;
        return 'finding';
      }
      if (this.#state === 'done') return 'done';
      if (!this.#source) return 'need-input';
      const step = this.#advance();
      if (step === undefined) continue;
      // Findings made on the way stand before the step they led to, except that a record's own begin and end keep their place.
      if (step === 'done' && this.#findings.length > 0) continue;
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
        return this.#resync();
      case 'done':
        return 'done';
    }
  }

  #report(code: FindingCode, offset: number, detail?: string): void {
    this.#findings.push(findingOf(code, this.file, offset, detail));
  }

  /** The member that the decoded position stands in; at a border, the one that begins there. */
  #memberAt(position: number): Member {
    const { members } = this.#source!;
    let at = members.length - 1;
    while (at > 0 && members[at]!.from > position) at--;
    const member = members[at];
    assert(member, 'a decoded byte stands in some member');
    return member;
  }

  /** The member that holds the byte before the position, which is where a body or a head that ends here came from. */
  #memberBefore(position: number): Member {
    const { members } = this.#source!;
    let at = members.length - 1;
    while (at > 0 && members[at]!.from >= position) at--;
    return members[at]!;
  }

  #offsetOf(position: number): number {
    return this.#isIdentity ? position : this.#memberAt(position).offset;
  }

  #dropMembers(position: number): void {
    const { members } = this.#source!;
    while (members.length > 1 && members[1]!.from <= position) members.shift();
  }

  /** Pulls until that many bytes are unread; false when input is needed first or when no more will come (then `#ended`). */
  #ended = false;
  #fill(bytes: number): boolean {
    while (this.#out.available < bytes) {
      const result = this.#source!.pull(this.#out);
      if (result === 'data') continue;
      this.#ended = result === 'end';
      return false;
    }
    return true;
  }

  #between(): Step | undefined {
    const out = this.#out;
    out.retainFrom(out.position, 0);
    if (!this.#fill(1)) return this.#ended ? this.#finish() : 'need-input';
    while (out.available > 0 && isLineEnd(out.buffer[out.read]!)) out.consume(1);
    if (out.available === 0) return undefined;
    this.#dropMembers(out.position);
    if (!this.#fill(WARC_START_BYTES) && !this.#ended) return 'need-input';
    this.#spanToldOf = false;
    if (isWarcStart(out.buffer, out.read, out.end)) {
      this.#recordAt = out.position;
      this.#state = 'head';
      return undefined;
    }
    return this.#readArcLine();
  }

  #finish(): Step {
    this.#state = 'done';
    return 'done';
  }

  #readArcLine(): Step | undefined {
    const out = this.#out;
    let lineEnd = out.buffer.subarray(0, out.end).indexOf(LF, out.read);
    if (lineEnd < 0 && out.available < ARC_LINE_BYTES_MAX && couldBeUrl(out.buffer[out.read]!)) {
      if (!this.#fill(out.available + 1) && !this.#ended) return 'need-input';
      if (!this.#ended) return undefined;
      lineEnd = out.end;
    }
    const line = lineEnd < 0 ? undefined : parseArcLine(fromLatin1(out.buffer, out.read, lineEnd).replace(/\r$/, ''));
    if (!line) {
      this.#beginResync(out.position, false);
      return undefined;
    }
    if (/^filedesc:/i.test(line.url)) {
      const wanted = lineEnd + 1 - out.read + 4;
      if (!this.#fill(wanted) && !this.#ended) return 'need-input';
      const at = out.read + wanted - 4;
      this.#arcVersion = arcVersionOf(fromLatin1(out.buffer, at, Math.min(at + 3, out.end)));
    }
    return this.#beginArcRecord(line, Math.min(lineEnd + 1, out.end) - out.read);
  }

  #beginArcRecord(line: ArcLine, lineBytes: number): Step {
    const out = this.#out;
    this.#recordAt = out.position;
    const faults: HeadFault[] = [];
    const bytes = Buffer.from(out.buffer.subarray(out.read, out.read + lineBytes));
    this.#arcVersion ??= line.version === 2 ? '2' : '1';
    this.#beginRecord(arcHead(line, this.#arcVersion, bytes, faults), faults, lineBytes);
    return 'record';
  }

  #readHead(): Step | undefined {
    const out = this.#out;
    let end = headEnd(out.buffer, out.read, out.end);
    if (end < 0) {
      if (out.available > RECORD_HEAD_BYTES_MAX) {
        this.#report('head-unreadable', this.#offsetOf(this.#recordAt), `longer than ${RECORD_HEAD_BYTES_MAX} bytes`);
        this.#beginResync(this.#recordAt + 1, true);
        return undefined;
      }
      const before = out.available;
      if (!this.#fill(before + 1) && !this.#ended) return 'need-input';
      const border = this.#memberBefore(this.#recordAt + before).to;
      const isNewRecord = () => looksLikeRecord(out.buffer, out.read + before, out.end);
      if (!this.#ended && border !== this.#recordAt + before) return undefined;
      if (!this.#ended && !this.#fill(before + RECORD_START_BYTES) && !this.#ended) return 'need-input';
      if (!this.#ended && !isNewRecord()) return this.#spanned();
      this.#report('head-truncated', this.#offsetOf(this.#recordAt));
      end = out.read + before;
    }
    const length = end - out.read;
    const faults: HeadFault[] = [];
    const head = parseWarcHead(Buffer.from(out.buffer.subarray(out.read, end)), faults);
    this.#beginRecord(head, faults, length);
    return 'record';
  }

  #spanned(): undefined {
    if (!this.#spanToldOf && !this.#isIdentity) this.#report('record-spans-members', this.#offsetOf(this.#recordAt));
    this.#spanToldOf = true;
    return undefined;
  }

  #beginRecord(head: RecordHead, faults: readonly HeadFault[], headBytes: number): void {
    const out = this.#out;
    const member = this.#memberAt(this.#recordAt);
    head.offset = this.#offsetOf(this.#recordAt);
    head.innerOffset = this.#isIdentity ? 0 : this.#recordAt - member.from;
    if (head.innerOffset > 0 && !this.#sharedToldOf && !isOnlyLineEnds(out, member.from, this.#recordAt)) {
      this.#sharedToldOf = true;
      this.#report('member-shared', head.offset);
    }
    for (const fault of faults) this.#report(fault.code, head.offset, fault.detail);
    out.consume(headBytes);
    out.retainFrom(this.#recordAt, RESYNC_WINDOW_BYTES);
    this.head = head;
    this.#bodyAt = out.position;
    this.#isCut = false;
    this.#lengthKnown = head.contentLength !== undefined;
    // Without a length the block of a compressed record goes to the end of its member; that of an uncompressed one is unknown.
    this.#left = head.contentLength ?? (this.#isIdentity ? 0 : Number.POSITIVE_INFINITY);
    this.#state = 'body';
  }

  #readBody(): Step | undefined {
    const out = this.#out;
    if (this.#left === 0) {
      this.#state = 'tail';
      return undefined;
    }
    if (out.available === 0) {
      const border = out.position;
      if (!this.#fill(1)) {
        if (!this.#ended) return 'need-input';
        return this.#cutShort();
      }
      if (this.#isIdentity) return undefined;
      const ended = this.#memberBefore(border);
      if (ended.to !== border) return undefined;
      if (ended.damaged || !this.#lengthKnown) return this.#cutShort();
      if (!this.#fill(RECORD_START_BYTES) && !this.#ended) return 'need-input';
      if (looksLikeRecord(out.buffer, out.read, out.end)) return this.#cutShort();
      return this.#spanned();
    }
    const border = this.#isIdentity ? undefined : this.#memberAt(out.position).to;
    const withinMember = border === undefined ? out.available : Math.min(out.available, border - out.position);
    const bytes = Math.min(withinMember, this.#left);
    this.chunk = out.buffer.subarray(out.read, out.read + bytes);
    this.#left -= bytes;
    out.consume(bytes);
    out.retainFrom(this.#bodyAt, RESYNC_WINDOW_BYTES);
    return 'body';
  }

  /** The block ends before its length says so: at the end of its member, of the input, or at damage. */
  #cutShort(): undefined {
    this.#isCut = this.#lengthKnown;
    this.#state = 'tail';
    return undefined;
  }

  #readTail(): Step | undefined {
    if (this.#isCut) return this.#endCut();
    const out = this.#out;
    const bodyEnd = out.position;
    const member = this.#isIdentity ? undefined : this.#memberBefore(Math.max(bodyEnd, this.#recordAt + 1));
    // The whole trailer, and enough of what follows to tell whether a record begins there.
    while (member ? member.to === undefined : !this.#ended) {
      if (member && out.available >= CRLFCRLF.length + RECORD_START_BYTES) break;
      if (!member && out.available >= CRLFCRLF.length + ARC_LINE_BYTES_MAX) break;
      if (!member && this.#tailIsClean(bodyEnd)) break;
      if (!this.#fill(out.available + 1)) {
        if (!this.#ended) return 'need-input';
        break;
      }
    }
    const stop = member?.to === undefined ? out.end : Math.min(out.end, out.indexOfPosition(member.to));
    let at = out.read;
    while (at < stop && isLineEnd(out.buffer[at]!)) at++;
    const trailer = at - out.read;
    const isClean = this.head.format === 'arc' || (trailer === 4 && out.buffer[out.read] === 0x0d);
    if (at === stop && (member ? member.to !== undefined : this.#ended)) {
      if (!isClean) this.#report('trailer-missing', this.head.offset);
      return this.#endRecord(trailer, member?.length);
    }
    if (looksLikeRecord(out.buffer, at, stop)) {
      if (!isClean) this.#report('trailer-missing', this.head.offset);
      return this.#endRecord(trailer, undefined);
    }
    return this.#endMisplaced(trailer, stop);
  }

  #tailIsClean(bodyEnd: number): boolean {
    const out = this.#out;
    const at = out.indexOfPosition(bodyEnd) + CRLFCRLF.length;
    return out.end - at >= WARC_START_BYTES && isWarcStart(out.buffer, at, out.end);
  }

  #endRecord(trailerBytes: number, memberLength: number | undefined): Step {
    const out = this.#out;
    const bodyBytes = out.position - this.#bodyAt;
    out.consume(trailerBytes);
    const standsAlone = this.#isIdentity || (memberLength !== undefined && this.head.innerOffset === 0);
    const length = this.#isIdentity ? out.position - this.#recordAt : memberLength;
    const spans = !this.#isIdentity && this.#memberAt(this.#recordAt).offset !== this.head.offset;
    this.tail = {
      bodyBytes,
      complete: !this.#isCut && this.#lengthKnown,
      length: standsAlone && !spans ? this.#spannedLength(length) : undefined,
      trailerBytes,
    };
    this.#state = 'between';
    return 'end';
  }

  /** A record that goes over several members takes the bytes of all of them. */
  #spannedLength(length: number | undefined): number | undefined {
    if (this.#isIdentity || length === undefined) return length;
    const last = this.#memberBefore(Math.max(this.#out.position, this.#recordAt + 1));
    return last.offset + (last.length ?? 0) - this.head.offset;
  }

  /** What follows the block is no record: its length is wrong, or the bytes behind it are. */
  #endMisplaced(trailerBytes: number, stop: number): Step {
    const out = this.#out;
    const bodyEnd = out.position;
    const step = this.#endRecord(0, undefined);
    const from = Math.max(this.#bodyAt, out.keptPosition);
    const earlier = this.#lengthKnown ? this.#candidate(from, bodyEnd) : -1;
    const offset = this.head.offset;
    if (earlier >= 0) {
      this.#report('content-length-long', offset, `a record begins ${bodyEnd - earlier} bytes before its end`);
      this.tail = { ...this.tail, complete: false };
      out.seek(earlier);
      return step;
    }
    const isNul = out.buffer[out.read + trailerBytes] === 0;
    const isGarbageAfterTrailer = trailerBytes >= CRLFCRLF.length || isNul;
    if (!isGarbageAfterTrailer && this.#lengthKnown) this.#report('content-length-short', offset);
    out.seek(Math.min(out.base + stop, bodyEnd + trailerBytes));
    this.#beginResync(out.position, !isGarbageAfterTrailer && this.#lengthKnown);
    return step;
  }

  #endCut(): Step {
    const out = this.#out;
    const border = out.position;
    const member = this.#isIdentity ? undefined : this.#memberBefore(Math.max(border, this.#recordAt + 1));
    const step = this.#endRecord(0, member?.length);
    const from = Math.max(this.#bodyAt, out.keptPosition);
    const earlier = this.#candidate(from, border);
    const missing = `${this.#left} bytes are missing`;
    if (earlier >= 0 && (this.#isIdentity || !member?.damaged)) {
      this.#report('content-length-long', this.head.offset, `a record begins ${border - earlier} bytes before its end`);
      out.seek(earlier);
    } else if (this.#isIdentity) {
      this.#report('record-truncated', this.head.offset, missing);
    } else if (!member?.damaged) {
      this.#report('content-length-long', this.head.offset, missing);
    }
    return step;
  }

  /** Decoded position of the first record that seems to begin on a line of its own in [from, to), or -1. */
  #candidate(from: number, to: number): number {
    const out = this.#out;
    const start = out.indexOfPosition(from);
    const end = out.indexOfPosition(to);
    if (this.head.format === 'arc') return this.#arcCandidate(start, end);
    const region = out.buffer.subarray(0, out.end);
    for (let at = region.indexOf(WARC_MAGIC, start); at >= 0 && at < end; at = region.indexOf(WARC_MAGIC, at + 1)) {
      if (at > 0 && region[at - 1] === LF && isWarcStart(region, at, out.end)) return out.base + at;
    }
    return -1;
  }

  #arcCandidate(start: number, end: number): number {
    const out = this.#out;
    const region = out.buffer.subarray(0, out.end);
    for (let lf = region.indexOf(LF, start); lf >= 0 && lf < end; lf = region.indexOf(LF, lf + 1)) {
      const lineEnd = region.indexOf(LF, lf + 1);
      if (lineEnd < 0) return -1;
      if (lineEnd - lf > ARC_LINE_BYTES_MAX || !couldBeUrl(region[lf + 1]!)) continue;
      if (parseArcLine(fromLatin1(region, lf + 1, lineEnd).replace(/\r$/, ''))) return out.base + lf + 1;
    }
    return -1;
  }

  #beginResync(from: number, silent: boolean): void {
    const out = this.#out;
    this.#skippedFrom = out.position;
    this.#skipIsSilent = silent;
    this.#skippedAreNul = !silent;
    if (from !== out.position) out.seek(from);
    this.#state = 'resync';
  }

  /** Looks for the next record: at the start of each member and of each line. */
  #resync(): Step | undefined {
    const out = this.#out;
    if (!this.#fill(RECORD_START_BYTES) && !this.#ended) return 'need-input';
    if (out.available === 0) return this.#endResync();
    this.#dropMembers(out.position);
    const stop = this.#ended ? out.end : out.end - WARC_START_BYTES;
    let at = out.read;
    while (at < stop) {
      const position = out.base + at;
      const isMemberStart =
        !this.#isIdentity && this.#memberAt(position).from === position && position > this.#skippedFrom;
      const isLineStart = at > 0 && out.buffer[at - 1] === LF && position > this.#skippedFrom;
      const isAfterNul = this.#skippedAreNul && position > this.#skippedFrom;
      if ((isMemberStart || isLineStart || isAfterNul) && looksLikeRecord(out.buffer, at, out.end)) {
        this.#skipTo(at);
        return this.#endResync();
      }
      if (out.buffer[at] !== 0) this.#skippedAreNul = false;
      at = this.#nextInteresting(at + 1, stop);
    }
    this.#skipTo(Math.max(at, out.read));
    return this.#ended && out.available === 0 ? this.#endResync() : undefined;
  }

  /** The next index where a line or a member begins; every index while only NULs were seen. */
  #nextInteresting(from: number, stop: number): number {
    if (this.#skippedAreNul) return from;
    const out = this.#out;
    const lf = out.buffer.subarray(0, stop).indexOf(LF, from - 1);
    const line = lf < 0 ? stop : lf + 1;
    if (this.#isIdentity) return line;
    const next = this.#source!.members.find((member) => member.from > out.base + from - 1);
    return next ? Math.min(line, Math.max(from, out.indexOfPosition(next.from))) : line;
  }

  #skipTo(index: number): void {
    const out = this.#out;
    out.consume(Math.min(index, out.end) - out.read);
    // One byte is kept: whether a line begins at the read position shows in the byte before it.
    out.retainFrom(out.position - 1, 1);
  }

  #endResync(): Step | undefined {
    const skipped = this.#out.position - this.#skippedFrom;
    if (skipped > 0 && !this.#skipIsSilent) {
      const code = this.#skippedAreNul ? 'padding-skipped' : 'garbage-skipped';
      const offset = this.#isIdentity ? this.#skippedFrom : (this.#source!.members[0]?.offset ?? 0);
      this.#report(code, offset, `${skipped} bytes`);
    }
    this.#state = 'between';
    return undefined;
  }
}

function isLineEnd(byte: number): boolean {
  return byte === 0x0d || byte === LF;
}

function couldBeUrl(byte: number): boolean {
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}

function isOnlyLineEnds(window: ByteWindow, from: number, to: number): boolean {
  if (from < window.keptPosition) return false;
  for (let at = from; at < to; at++) if (!isLineEnd(window.buffer[window.indexOfPosition(at)]!)) return false;
  return true;
}

function arcVersionOf(versionBlock: string): string {
  if (versionBlock.startsWith('2')) return '2';
  return versionBlock.startsWith('1 1') ? '1.1' : '1';
}
