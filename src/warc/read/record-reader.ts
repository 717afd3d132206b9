/**
 * Reads records one after another, from a file or any stream of bytes, from an offset on.
 *
 * `readRecords` is the usual way. Its views are valid until the next piece or record is requested. Inner loops in
 * worker threads drive a `RecordCursor` themselves, without a promise per piece.
 */
import { setImmediate } from 'node:timers/promises';
import { type Finding, PinakesError } from '../../base/index.ts';
import type { Coding } from '../member/file-coding.ts';
import type { RecordHead } from '../record/record-head.ts';
import { BlockScanner } from './block-scanner.ts';
import { checksumlessScanOptions, type DigestCheck } from './checksumless-record.ts';
import { FileFeed, type FileFeedOptions } from './file-feed.ts';
import { type FileStart, readFileStart } from './file-start.ts';
import { type Gap, gapFinding } from './gap.ts';
import { RecordCursor, type RecordTail } from './record-cursor.ts';

/**
 * After this many bytes of blocks or skipped bytes, other tasks of the event loop get a turn: one read can inflate to
 * gigabytes.
 */
const UNINTERRUPTED_BYTES_MAX = 8 * 1024 * 1024;

export type ReadOptions = {
  /** Where to begin: the first record is the next one at or after this offset. Only for files. */
  offset?: number;
  /** Where to stop: no byte at or after it is read. Only for files. */
  end?: number;
  /** Name of the input in findings. By default the path of the file. */
  name?: string;
  /** The part of the file that is the WARC, as in a package. Offsets count from its start. */
  range?: { start: number; length: number };
  /** The dictionary of the file's first frame, for a stream that begins after it. */
  dictionary?: Buffer | undefined;
  /** How the input is compressed, for a stream that begins inside a member. */
  coding?: Coding | undefined;
  /** How many of the bytes already read stay in memory, to be searched after damage. For a stream. */
  lookBackBytes?: number | undefined;
  /** The length of a stream, if known: a short stream needs small buffers. */
  inputBytes?: number | undefined;
  onFinding?: ((finding: Finding) => void) | undefined;
  /** Called with damage where no record could be read. Damage of a record is in `ReadingRecord.damage`. */
  onUnreadable?: ((finding: Finding) => void) | undefined;
  /** Called with each record whose member has no checksum. The findings it returns are damage of the record. */
  checkDigests?: DigestCheck | undefined;
  /** Skips bytes of a file that the disk cannot read, and reports them as a finding. Without this they are an error. */
  skipsGaps?: boolean | undefined;
  signal?: AbortSignal | undefined;
};

/** A record that is being read. */
export class ReadingRecord {
  readonly head: RecordHead;
  /** Whether the record is in a gzip member or a zstd frame. */
  readonly isCompressed: boolean;
  /** Whether the member in which the record begins has a checksum. */
  readonly hasChecksum: boolean;
  /** Position of the record in the file. It equals the record's offset, except for a WARC inside a package. */
  readonly filePosition: number;
  /** How the record ended. Set after its body was read or skipped. */
  tail: RecordTail | undefined;
  /** Damage of the record. Complete after its body was read or skipped. */
  readonly damage: Finding[] = [];
  readonly #pieces: () => Promise<Uint8Array | undefined>;

  /** The record that the cursor has just begun. */
  constructor(
    { head, coding, hasChecksum }: RecordCursor,
    fileStart: number,
    pieces: () => Promise<Uint8Array | undefined>,
  ) {
    this.head = head;
    this.isCompressed = coding !== 'none';
    this.hasChecksum = hasChecksum;
    this.filePosition = fileStart + head.offset;
    this.#pieces = pieces;
  }

  /** The block, piece by piece. Each piece is valid until the next one is requested. */
  async *body(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const piece = await this.#pieces();
      if (!piece) return;
      yield piece;
    }
  }

  /** The whole block in memory. Refuses blocks over `bytesMax`. */
  async bytes(bytesMax: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    let total = 0;
    for await (const piece of this.body()) {
      total += piece.length;
      if (total > bytesMax) {
        throw new PinakesError('RECORD_TOO_LARGE', {
          where: `offset ${this.head.offset}`,
          detail: `over ${bytesMax} bytes`,
        });
      }
      parts.push(Buffer.from(piece));
    }
    return Buffer.concat(parts);
  }
}

class StreamFeed {
  /** A stream has no gaps. */
  readonly gap = undefined;
  readonly #iterator: AsyncIterator<Uint8Array>;
  #chunk: Uint8Array = new Uint8Array(0);

  constructor(stream: AsyncIterable<Uint8Array>) {
    this.#iterator = stream[Symbol.asyncIterator]();
  }

  async feed(cursor: RecordCursor): Promise<void> {
    while (this.#chunk.length === 0) {
      const next = await this.#iterator.next();
      if (next.done) {
        cursor.end();
        return;
      }
      this.#chunk = next.value;
    }
    const room = cursor.reserve();
    const bytes = Math.min(room.length, this.#chunk.length);
    room.set(this.#chunk.subarray(0, bytes));
    this.#chunk = this.#chunk.subarray(bytes);
    cursor.commit(bytes);
  }

  async close(): Promise<void> {
    await this.#iterator.return?.();
  }
}

/** All records of a file, or of a stream of its bytes, in order. Unread parts of a record's body are skipped. */
export async function* readRecords(
  source: string | AsyncIterable<Uint8Array>,
  options: ReadOptions = {},
): AsyncGenerator<ReadingRecord> {
  const reader = await RecordReader.open(source, options);
  try {
    for (let record = await reader.next(); record; record = await reader.next()) yield record;
  } finally {
    await reader.close();
  }
}

class RecordReader {
  readonly #name: string;
  readonly #options: ReadOptions;
  /** Read only to begin at an offset or after a gap. */
  #start: FileStart | undefined;
  readonly #feed: FileFeed | StreamFeed;
  #cursor: RecordCursor;
  #record: ReadingRecord | undefined;
  /** Scans the current record, if it is to be checked. */
  #scanner: BlockScanner | undefined;
  /** Damage that belongs to the next record, or to none. */
  #pendingDamage: Finding[] = [];
  #uninterruptedBytes = 0;

  static async open(source: string | AsyncIterable<Uint8Array>, options: ReadOptions): Promise<RecordReader> {
    if (typeof source !== 'string') return new RecordReader(new StreamFeed(source), 'stream', undefined, options);
    const start = options.offset ? readFileStart(source, options.range?.start) : undefined;
    return new RecordReader(await FileFeed.open(source, fedRange(options)), source, start, options);
  }

  private constructor(feed: FileFeed | StreamFeed, name: string, start: FileStart | undefined, options: ReadOptions) {
    this.#feed = feed;
    this.#name = options.name ?? name;
    this.#start = start;
    this.#options = options;
    this.#cursor = this.#cursorAt(options.offset ?? 0);
  }

  #cursorAt(offset: number): RecordCursor {
    const { coding = this.#start?.coding, dictionary = this.#start?.dictionary, lookBackBytes, range } = this.#options;
    const { inputBytes = range?.length } = this.#options;
    return new RecordCursor(this.#name, { offset, coding, dictionary, lookBackBytes, inputBytes });
  }

  async close(): Promise<void> {
    this.#cursor.close();
    await this.#feed.close();
  }

  /** The next record, after the rest of the current one was skipped; undefined at the end. */
  async next(): Promise<ReadingRecord | undefined> {
    while (this.#record && !this.#record.tail) await this.#nextPiece();
    const isOver = (await this.#step()) !== 'record';
    const record = isOver ? undefined : new ReadingRecord(this.#cursor, this.#rangeStart, () => this.#nextPiece());
    this.#record = record;
    if (this.#pendingDamage.length > 0) this.#assignDamage();
    this.#scanner = undefined;
    if (record && !record.hasChecksum && this.#options.checkDigests)
      this.#scanner = new BlockScanner(record.head, checksumlessScanOptions(record.head, 'sha256'));
    return record;
  }

  get #rangeStart(): number {
    return this.#options.range?.start ?? 0;
  }

  async #nextPiece(): Promise<Uint8Array | undefined> {
    const record = this.#record;
    if (!record || record.tail) return undefined;
    if ((await this.#step()) === 'body') {
      this.#scanner?.push(this.#cursor.chunk);
      await this.#letOthersRun();
      return this.#cursor.chunk;
    }
    const cursor = this.#cursor;
    record.tail = cursor.tail;
    // Findings made together with the end of the record belong to this record.
    while (cursor.findings.length > 0 && cursor.step() === 'finding') this.#report(cursor.finding);
    const check = this.#options.checkDigests;
    if (this.#scanner && check)
      record.damage.push(...(await check(record.head, this.#scanner.end(), cursor.tail.isComplete)));
    return undefined;
  }

  async #step(): Promise<'record' | 'body' | 'end' | 'done'> {
    for (;;) {
      this.#options.signal?.throwIfAborted();
      const step = this.#cursor.step();
      if (step === 'need-input') await this.#feed.feed(this.#cursor);
      else if (step === 'finding') this.#report(this.#cursor.finding);
      else if (step === 'skipped') await this.#letOthersRun();
      else if (step === 'done' && this.#feed.gap) this.#skipGap(this.#feed, this.#feed.gap);
      else return step;
    }
  }

  #report(finding: Finding): void {
    this.#options.onFinding?.(finding);
    if (finding.level !== 'error') return;
    if (this.#record?.head.offset === finding.offset) this.#record.damage.push(finding);
    else this.#pendingDamage.push(finding);
  }

  #assignDamage(): void {
    for (const finding of this.#pendingDamage) {
      if (this.#record?.head.offset === finding.offset) this.#record.damage.push(finding);
      else this.#options.onUnreadable?.(finding);
    }
    this.#pendingDamage = [];
  }

  /** Reads the bytes after a gap like another file whose beginning is missing. */
  #skipGap(feed: FileFeed, gap: Gap): void {
    const offset = gap.to - this.#rangeStart;
    this.#report(gapFinding(this.#name, { from: gap.from - this.#rangeStart, to: offset }));
    this.#start ??= readFileStart(feed.path, this.#rangeStart);
    this.#cursor.close();
    this.#cursor = this.#cursorAt(offset);
    feed.skipGap();
  }

  /** Counts the current chunk, and lets other tasks run after many bytes. */
  async #letOthersRun(): Promise<void> {
    this.#uninterruptedBytes += this.#cursor.chunk.length;
    if (this.#uninterruptedBytes < UNINTERRUPTED_BYTES_MAX) return;
    this.#uninterruptedBytes = 0;
    await setImmediate();
  }
}

function fedRange({ offset = 0, end, range, skipsGaps = false }: ReadOptions): FileFeedOptions {
  const start = range?.start ?? 0;
  const length = Math.min(end ?? Number.POSITIVE_INFINITY, range?.length ?? Number.POSITIVE_INFINITY);
  return { from: start + offset, to: start + length, skipsGaps };
}
