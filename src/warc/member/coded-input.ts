/**
 * The bytes of a file, decoded. They come in one coding from beginning to end, which the first of them tell; but files
 * that were joined go on in another one, and then decoded positions begin anew. No I/O: the caller fills the input.
 */
import { READ_CHUNK_BYTES, RESYNC_WINDOW_BYTES } from '../../base/index.ts';
import { ByteWindow } from './byte-window.ts';
import type { CursorOptions } from './cursor-options.ts';
import { type Coding, codingOf, recordCodingAt, sniffCoding } from './file-coding.ts';
import { GZIP_MAGIC, GzipSource } from './gzip-member.ts';
import { IdentitySource } from './identity-source.ts';
import { type FindingSink, type Member, type MemberSource, memberAt, memberBefore } from './member-source.ts';
import { ZSTD_MAGIC, ZstdSource } from './zstd-frame.ts';

const ROOM_BYTES_MIN = 4 * 1024;

export class CodedInput {
  /** What was decoded; there once the coding is known. */
  out!: ByteWindow;
  /** That of the bytes at hand. */
  coding: Coding | undefined;
  /** That of the file's first bytes. */
  fileCoding: Coding | undefined;
  isIdentity = false;
  /** Nothing more will come in this coding. */
  isOver = false;
  /** The coding in which the file goes on then. */
  following: Coding | undefined;
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

  /** Offset in the file of a decoded position; in a compressed file, that of its member. */
  offsetOf(position: number): number {
    return this.isIdentity ? position : this.memberAt(position).offset;
  }

  /** Forgets the members that end at or before the position. */
  dropMembers(position: number): void {
    const { members } = this;
    while (members.length > 1 && members[1]!.from <= position) members.shift();
  }

  /** Room to put the next bytes of the file into. */
  reserve(): Uint8Array {
    if (!this.#source) return this.#sniffed.subarray(this.#sniffedBytes);
    const { input } = this.#source;
    input.reserve(this.#roomBytes);
    return input.buffer.subarray(input.end);
  }

  /** That many bytes were put into the room. */
  commit(bytes: number): void {
    if (this.#source) {
      this.#source.input.end += bytes;
      return;
    }
    this.#sniffedBytes += bytes;
    this.#sniff(this.#sniffedBytes === this.#sniffed.length);
  }

  /** The file has no more bytes. */
  end(): void {
    this.#isEnded = true;
    if (!this.#source) this.#sniff(true);
    this.#source!.inputEnded = true;
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
    this.#source.inputEnded = this.#isEnded;
    this.coding = coding;
    this.isIdentity = coding === 'none';
    this.out = this.isIdentity ? this.#source.input : new ByteWindow(0, 2 * this.#roomBytes);
    return this.#source.input;
  }

  /** Goes on in another coding, from where the one at hand has come to. */
  goOnIn(coding: Coding): void {
    const { input } = this.#source!;
    // The file may come back to it.
    if (this.#source instanceof ZstdSource) this.#dictionary = this.#source.dictionary;
    this.#source!.close();
    this.#open(coding, input.position, false).push(input.buffer.subarray(input.read, input.end));
    this.isOver = false;
    this.following = undefined;
  }

  /** Decodes until that many bytes are unread; false when input is needed first, or when it is over. */
  fill(bytes: number): boolean {
    while (this.out.available < bytes) {
      // What the file begins with counts again where another coding meets anything that is no record: its own are
      // looked for behind damage.
      if (this.#source!.isSearching && this.coding !== this.fileCoding) {
        this.following = this.fileCoding;
        this.isOver = true;
        return false;
      }
      const result = this.#source!.pull(this.out);
      if (result === 'data') continue;
      const other = result === 'other' ? this.#recordCoding() : undefined;
      if (result === 'other' && other === undefined) {
        this.#source!.passOver();
        continue;
      }
      this.following = other === 'short' ? undefined : other;
      this.isOver = result === 'end' || this.following !== undefined;
      return false;
    }
    return true;
  }

  /** Bytes of the file that were decoded. */
  get decodedBytes(): number {
    return this.#source!.input.position - (this.#options.offset ?? 0);
  }

  leaveMember(): void {
    this.#source!.leaveMember(this.out);
  }

  /** Whether something compressed begins in the midst of bytes that are not. */
  isCompressedAt(index: number): boolean {
    return this.isIdentity && codingOf(this.out.buffer.subarray(index, Math.min(index + 4, this.out.end))) !== 'none';
  }

  /** Whether a head that broke off runs on into a member of the file. */
  holdsMember(head: Buffer): boolean {
    return head.includes(this.fileCoding === 'gzip' ? GZIP_MAGIC : ZSTD_MAGIC);
  }

  /**
   * The coding of the compressed record that begins at the read position of bytes that are not; 'short' when more input
   * is needed to tell.
   */
  compressedRecord(): Coding | 'short' | undefined {
    return this.isCompressedAt(this.out.read) ? this.#recordCoding() : undefined;
  }

  #recordCoding(): Coding | 'short' | undefined {
    const { input } = this.#source!;
    return recordCodingAt(input.buffer, input.read, input.end, this.#isEnded);
  }
}
