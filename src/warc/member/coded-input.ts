/**
 * The decoded bytes of a file. A file usually has one coding from beginning to end, which its first bytes show. Files
 * that were joined can change to another coding, and then decoded positions start at 0 again. No I/O: the caller fills
 * the input.
 */
import { READ_CHUNK_BYTES, RESYNC_WINDOW_BYTES } from '../../base/index.ts';
import { ByteWindow } from './byte-window.ts';
import type { CursorOptions } from './cursor-options.ts';
import { type Coding, codingOf, recordCodingAt, sniffCoding } from './file-coding.ts';
import { GZIP_MAGIC } from './gzip-member.ts';
import { GzipSource } from './gzip-source.ts';
import { IdentitySource } from './identity-source.ts';
import { type FindingSink, type Member, type MemberSource, memberAt, memberBefore } from './member-source.ts';
import { ZSTD_MAGIC } from './zstd-frame.ts';
import { ZstdSource } from './zstd-source.ts';

const ROOM_BYTES_MIN = 4 * 1024;

export class CodedInput {
  /** The decoded bytes. Set as soon as the coding is known. */
  out!: ByteWindow;
  /** The coding of the current bytes. */
  coding: Coding | undefined;
  /** The coding of the file's first bytes. */
  fileCoding: Coding | undefined;
  isIdentity = false;
  /** True when there are no more bytes in this coding. */
  isOver = false;
  /** When `isOver` is set: the coding of the following bytes, if there are any. */
  nextCoding: Coding | undefined;
  readonly lookBackBytes: number;
  readonly #options: CursorOptions;
  readonly #report: FindingSink;
  readonly #roomBytes: number;
  #source: MemberSource | undefined;
  #sniffed: Buffer;
  #sniffedBytes = 0;
  #isEnded = false;
  #dictionary: Buffer | undefined;

  constructor(options: CursorOptions, report: FindingSink) {
    this.#options = options;
    this.#report = report;
    this.#dictionary = options.dictionary;
    this.lookBackBytes = options.lookBackBytes ?? RESYNC_WINDOW_BYTES;
    this.#roomBytes = Math.max(ROOM_BYTES_MIN, Math.min(READ_CHUNK_BYTES, options.inputBytes ?? READ_CHUNK_BYTES));
    this.#sniffed = Buffer.allocUnsafeSlow(options.coding ? 0 : this.#roomBytes);
    if (options.coding) this.#start(options.coding);
  }

  close(): void {
    this.#source?.close();
  }

  get members(): Member[] {
    return this.#source!.members;
  }

  memberAt(position: number): Member {
    return memberAt(this.members, position);
  }

  memberBefore(position: number): Member {
    return memberBefore(this.members, position);
  }

  /** The offset in the file of a decoded position. In a compressed file, that is the offset of its member. */
  offsetOf(position: number): number {
    return this.isIdentity ? position : this.memberAt(position).offset;
  }

  /** Drops the members that end at or before the position. */
  dropMembers(position: number): void {
    const { members } = this;
    while (members.length > 1 && members[1]!.from <= position) members.shift();
  }

  /** Returns a buffer for the next bytes of the file. */
  reserve(): Uint8Array {
    if (!this.#source) return this.#sniffed.subarray(this.#sniffedBytes);
    const { input } = this.#source;
    input.reserve(this.#roomBytes);
    return input.buffer.subarray(input.end);
  }

  /** Called after the caller has put this many bytes into the buffer. */
  commit(bytes: number): void {
    if (this.#source) {
      this.#source.input.end += bytes;
      return;
    }
    this.#sniffedBytes += bytes;
    this.#sniff(this.#sniffedBytes === this.#sniffed.length);
  }

  /** Called when the file has no more bytes. */
  end(): void {
    this.#isEnded = true;
    if (!this.#source) this.#sniff(true);
    this.#source!.isInputEnded = true;
  }

  #sniff(isAll: boolean): void {
    const coding = sniffCoding(this.#sniffed.subarray(0, this.#sniffedBytes), isAll);
    if (coding) this.#start(coding);
  }

  #start(coding: Coding): void {
    const { offset = 0, seek = false, offsetCoding = coding } = this.#options;
    this.fileCoding = coding;
    this.#open(offsetCoding, offset, seek).push(this.#sniffed.subarray(0, this.#sniffedBytes));
    this.#sniffed = Buffer.alloc(0);
  }

  #open(coding: Coding, offset: number, seek: boolean): ByteWindow {
    const windowBytes = 4 * this.#roomBytes;
    const options = { offset, seek, lookBackBytes: this.lookBackBytes, windowBytes };
    if (coding === 'gzip') this.#source = new GzipSource(this.#report, options);
    else if (coding === 'zstd')
      this.#source = new ZstdSource(this.#report, { ...options, dictionary: this.#dictionary });
    else this.#source = new IdentitySource(offset, windowBytes);
    this.#source.isInputEnded = this.#isEnded;
    this.coding = coding;
    this.isIdentity = coding === 'none';
    this.out = this.isIdentity ? this.#source.input : new ByteWindow(0, 2 * this.#roomBytes);
    return this.#source.input;
  }

  /** Decodes the following bytes in another coding. */
  switchCoding(coding: Coding): void {
    const { input } = this.#source!;
    // A later part of the file may be in zstd again.
    if (this.#source instanceof ZstdSource) this.#dictionary = this.#source.dictionary;
    this.#source!.close();
    this.#open(coding, input.position, false).push(input.buffer.subarray(input.read, input.end));
    this.isOver = false;
    this.nextCoding = undefined;
  }

  /**
   * Decodes until `bytes` decoded bytes are unread. Returns false when more input is needed, or when this coding ends.
   */
  fill(bytes: number): boolean {
    while (this.out.available < bytes) {
      // A part whose coding differs from the beginning of the file ends at the first bytes that are not a record. After
      // damage, records are searched for in the coding of the file.
      if (this.#source!.isSearching && this.coding !== this.fileCoding) {
        this.nextCoding = this.fileCoding;
        this.isOver = true;
        return false;
      }
      const result = this.#source!.pull(this.out);
      if (result === 'data') continue;
      const other = result === 'other' ? this.#recordCoding() : undefined;
      if (result === 'other' && other === undefined) {
        this.#source!.searchNext();
        continue;
      }
      this.nextCoding = other === 'short' ? undefined : other;
      this.isOver = result === 'end' || this.nextCoding !== undefined;
      return false;
    }
    return true;
  }

  /** The number of bytes of the file that were decoded. */
  get decodedBytes(): number {
    return this.#source!.input.position - (this.#options.offset ?? 0);
  }

  leaveMember(): void {
    this.#source!.leaveMember(this.out);
  }

  /** Whether compressed data begins at this index of bytes that are not compressed. */
  isCompressedAt(index: number): boolean {
    return this.isIdentity && codingOf(this.out.buffer.subarray(index, Math.min(index + 4, this.out.end))) !== 'none';
  }

  /** Whether these bytes of an incomplete head contain the beginning of a member. */
  containsMember(head: Buffer): boolean {
    return head.includes(this.fileCoding === 'gzip' ? GZIP_MAGIC : ZSTD_MAGIC);
  }

  /**
   * The coding of a compressed record that begins at the read position of uncompressed bytes; undefined when no record
   * begins there; 'short' when more input is needed to decide.
   */
  compressedRecord(): Coding | 'short' | undefined {
    return this.isCompressedAt(this.out.read) ? this.#recordCoding() : undefined;
  }

  #recordCoding(): Coding | 'short' | undefined {
    const { input } = this.#source!;
    return recordCodingAt(input.buffer, input.read, input.end, this.#isEnded);
  }
}
