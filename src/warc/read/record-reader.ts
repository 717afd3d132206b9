/**
 * Reads records one after another, from a file or any stream of bytes, from an offset on.
 *
 * `readRecords` is the usual way. Its views are valid until the next piece or record is asked for. Inner loops in
 * worker threads drive a `RecordCursor` themselves, without a promise per piece.
 */
import { setImmediate } from 'node:timers/promises';
import { type Finding, PinakesError } from '../../base/index.ts';
import type { Coding } from '../member/file-coding.ts';
import type { RecordHead } from '../record/record-head.ts';
import { BlockScanner } from './block-scanner.ts';
import { checksumlessScanOptions, type DigestCheck } from './checksumless-record.ts';
import { FileFeed, type FileFeedOptions } from './file-feed.ts';
import { readFileStart } from './file-start.ts';
import { type Gap, gapFinding } from './gap.ts';
import { RecordCursor, type RecordTail } from './record-cursor.ts';

/**
 * After this many bytes of blocks, or of no record, other tasks of the event loop get a turn: one read can inflate to
 * gigabytes.
 */
const UNBROKEN_BYTES_MAX = 8 * 1024 * 1024;

export type ReadOptions = {
  /** Where to begin: the first record is the next one at or after this offset. Only for files. */
  offset?: number;
  /** Where to stop: no byte at or after it is read. Only for files. */
  end?: number;
  /** Name of the input in findings, when it is not that of the file. */
  name?: string;
  /** The part of the file that is the WARC, as in a package. Offsets count from its start. */
  range?: { start: number; length: number };
  /** The dictionary of the file's first frame, for a stream that begins after it. */
  dictionary?: Buffer | undefined;
  /** How the input is compressed, for a stream that begins inside a member. */
  coding?: Coding | undefined;
  /** How many bytes that were read stay in memory, to be searched after damage. For a stream. */
  lookBackBytes?: number | undefined;
  /** The length of a stream, where that is known: a short one needs small buffers. */
  inputBytes?: number | undefined;
  onFinding?: ((finding: Finding) => void) | undefined;
  /** Called with damage where no record could be read. Damage of a record is in its `damage`. */
  onUnreadable?: ((finding: Finding) => void) | undefined;
  /** Called with each record whose member has no checksum. The findings it returns are damage of the record. */
  checkDigests?: DigestCheck | undefined;
  /** Skips bytes of a file that the disk cannot read, and reports them as a finding. Without this they are an error. */
  passesGaps?: boolean | undefined;
  signal?: AbortSignal | undefined;
};

/** A record that is being read. */
export class ReadingRecord {
  readonly head: RecordHead;
  /** Whether it is in a gzip member or a zstd frame. */
  readonly isCompressed: boolean;
  /** Whether the member in which it begins has a checksum. */
  readonly hasChecksum: boolean;
  /** Where in the file it begins. This is its offset, except for a file inside a package. */
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

  /** The block, piece by piece. Each piece is valid until the next is asked for. */
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

interface ByteFeed {
  /** The bytes that the disk cannot read, so that the cursor was ended before them. */
  readonly gap?: Gap | undefined;
  skipGap?(): void;
  /** Puts the next bytes into the cursor, or ends it. */
  feed(cursor: RecordCursor): Promise<void>;
  close(): Promise<void>;
}

class StreamFeed implements ByteFeed {
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
  const isFile = typeof source === 'string';
  const name = options.name ?? (isFile ? source : 'stream');
  const offset = options.offset ?? 0;
  const start = isFile && offset > 0 ? readFileStart(source, options.range?.start) : undefined;
  const reading = {
    dictionary: options.dictionary ?? start?.dictionary,
    lookBackBytes: options.lookBackBytes,
    inputBytes: options.inputBytes ?? options.range?.length,
  };
  let cursor = new RecordCursor(name, { ...reading, offset, coding: options.coding ?? start?.coding });
  const feed: ByteFeed = isFile ? await FileFeed.open(source, fedRange(offset, options)) : new StreamFeed(source);
  let record: ReadingRecord | undefined;
  /** Scans the current record, if it is to be checked. */
  let scanner: BlockScanner | undefined;
  /** Damage that belongs to the next record, or to none. */
  let loose: Finding[] = [];
  let unbrokenBytes = 0;

  const report = (finding: Finding): void => {
    options.onFinding?.(finding);
    if (finding.level !== 'error') return;
    if (record?.head.offset === finding.offset) record.damage.push(finding);
    else loose.push(finding);
  };
  const settle = (next: ReadingRecord | undefined): void => {
    for (const finding of loose) {
      if (next?.head.offset === finding.offset) next.damage.push(finding);
      else options.onUnreadable?.(finding);
    }
    loose = [];
  };
  const next = async (): Promise<'record' | 'body' | 'end' | 'done'> => {
    for (;;) {
      options.signal?.throwIfAborted();
      const step = cursor.step();
      if (step === 'need-input') await feed.feed(cursor);
      else if (step === 'finding') report(cursor.finding);
      else if (step === 'skipped') await takeTurns();
      else if (step === 'done' && isFile && feed.gap) skipGap(source, feed.gap);
      else return step;
    }
  };
  /** Reads the bytes after a gap like another file without its beginning. */
  const skipGap = (path: string, { from, to }: Gap): void => {
    const base = options.range?.start ?? 0;
    report(gapFinding(name, { from: from - base, to: to - base }));
    const fileStart = start ?? readFileStart(path, base);
    const { dictionary = fileStart.dictionary } = reading;
    const coding = options.coding ?? fileStart.coding;
    cursor.close();
    cursor = new RecordCursor(name, { ...reading, offset: to - base, coding, dictionary });
    feed.skipGap?.();
  };
  /** Counts the current chunk, and lets other tasks run when it is their turn. */
  const takeTurns = async (): Promise<void> => {
    unbrokenBytes += cursor.chunk.length;
    if (unbrokenBytes < UNBROKEN_BYTES_MAX) return;
    unbrokenBytes = 0;
    await setImmediate();
  };
  const piece = async (): Promise<Uint8Array | undefined> => {
    if (!record || record.tail) return undefined;
    if ((await next()) === 'body') {
      scanner?.push(cursor.chunk);
      await takeTurns();
      return cursor.chunk;
    }
    record.tail = cursor.tail;
    // Findings made together with the end of the record belong to it.
    while (cursor.findings.length > 0 && cursor.step() === 'finding') report(cursor.finding);
    if (scanner)
      record.damage.push(...(await options.checkDigests!(record.head, scanner.end(), cursor.tail.isComplete)));
    return undefined;
  };

  try {
    for (;;) {
      while (record && !record.tail) await piece();
      const isOver = (await next()) !== 'record';
      record = isOver ? undefined : new ReadingRecord(cursor, options.range?.start ?? 0, piece);
      if (loose.length > 0) settle(record);
      if (!record) return;
      const needsCheck = options.checkDigests !== undefined && !cursor.hasChecksum;
      scanner = needsCheck ? new BlockScanner(record.head, checksumlessScanOptions(record.head, 'sha256')) : undefined;
      yield record;
    }
  } finally {
    cursor.close();
    await feed.close();
  }
}

function fedRange(offset: number, { end, range, passesGaps = false }: ReadOptions): FileFeedOptions {
  const start = range?.start ?? 0;
  const length = Math.min(end ?? Number.POSITIVE_INFINITY, range?.length ?? Number.POSITIVE_INFINITY);
  return { from: start + offset, to: start + length, passesGaps };
}
