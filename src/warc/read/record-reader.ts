/**
 * Ways to read records: one after another from a file or any stream of bytes, from an offset on, or a single one.
 *
 * `readRecords` is for everybody; the views it hands out are good until the next one is asked for. `FileFeed` is for
 * inner loops that drive a cursor themselves, in worker threads, without a promise per piece.
 */
import { setImmediate } from 'node:timers/promises';
import { type Finding, PinakesError } from '../../base/index.ts';
import type { Coding } from '../member/file-coding.ts';
import type { RecordHead } from '../record/record-head.ts';
import { BlockScanner } from './block-scanner.ts';
import { FileFeed, type FileFeedOptions } from './file-feed.ts';
import { readFileStart } from './file-start.ts';
import { type Gap, gapFinding } from './gap.ts';
import { RecordCursor, type RecordTail } from './record-cursor.ts';
import { type UnsummedCheck, unsummedWants } from './unsummed-record.ts';

/**
 * After so many bytes of blocks, or of none, others have their turn: those that inflate out of one read can be
 * gigabytes.
 */
const UNBROKEN_BYTES_MAX = 8 * 1024 * 1024;

export type ReadOptions = {
  /** Where to begin; the next record at or after it is the first. Only for files. */
  offset?: number;
  /** Where to stop: no byte at or after it is read. Only for files. */
  end?: number;
  /** Name of the input in findings, when it is not that of the file. */
  name?: string;
  /** The part of the file that is the WARC, as in a package; offsets count from its start. */
  range?: { start: number; length: number };
  /** The dictionary of the file's first frame, for a stream that begins after it. */
  dictionary?: Buffer | undefined;
  /** How the input is compressed, for a stream that begins inside of a member. */
  coding?: Coding | undefined;
  /** How much of what was read stays in memory, for the search after damage; for a stream. */
  lookBackBytes?: number | undefined;
  /** How much will come of a stream, where that is known: little needs little room. */
  inputBytes?: number | undefined;
  onFinding?: ((finding: Finding) => void) | undefined;
  /** What is damaged where no record could be read; what is damaged of a record, the record tells itself. */
  onUnreadable?: ((finding: Finding) => void) | undefined;
  /** Asked about each record whose member has no checksum; what it finds is damage of the record. */
  checkUnsummed?: UnsummedCheck | undefined;
  /** For those who tell of findings: bytes of a file that the disk does not give are passed over, and are one. */
  passesGaps?: boolean | undefined;
  signal?: AbortSignal | undefined;
};

/** A record while it is being read. */
export class ReadingRecord {
  readonly head: RecordHead;
  /** Whether it stands in a gzip member or a zstd frame. */
  readonly isCompressed: boolean;
  /** Whether the member in which it begins has a checksum. */
  readonly isSummed: boolean;
  /** Where in the file it begins; the same as its offset, except for a file inside a package. */
  readonly filePosition: number;
  /** How the record ended, once its body was read or passed over. */
  tail: RecordTail | undefined;
  /** What is damaged of it, or cut short; all of it once its body was read or passed over. */
  readonly damage: Finding[] = [];
  readonly #pieces: () => Promise<Uint8Array | undefined>;

  /** The one that the cursor has come to. */
  constructor(
    { head, coding, isSummed }: RecordCursor,
    fileStart: number,
    pieces: () => Promise<Uint8Array | undefined>,
  ) {
    this.head = head;
    this.isCompressed = coding !== 'none';
    this.isSummed = isSummed;
    this.filePosition = fileStart + head.offset;
    this.#pieces = pieces;
  }

  /** The block, piece by piece; each piece is good until the next is asked for. */
  async *body(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const piece = await this.#pieces();
      if (!piece) return;
      yield piece;
    }
  }

  /** The whole block in memory; refuses blocks over `bytesMax`. */
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
  /** What the disk did not give, so that the cursor was ended before it. */
  readonly gap?: Gap | undefined;
  passGap?(): void;
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

/** All records of a file, or of a stream of its bytes, in order. What is not read of a record's body is passed over. */
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
  /** Of the record, when it is to be checked. */
  let scanner: BlockScanner | undefined;
  /** Damage that belongs to the record that comes next, or to none. */
  let loose: Finding[] = [];
  let unbrokenBytes = 0;

  const tell = (finding: Finding): void => {
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
      else if (step === 'finding') tell(cursor.finding);
      else if (step === 'skipped') await giveTurns();
      else if (step === 'done' && isFile && feed.gap) passGap(source, feed.gap);
      else return step;
    }
  };
  /** What is behind it is read as another file would be, of which the beginning is missing. */
  const passGap = (path: string, { from, to }: Gap): void => {
    const base = options.range?.start ?? 0;
    tell(gapFinding(name, { from: from - base, to: to - base }));
    const fileStart = start ?? readFileStart(path, base);
    const { dictionary = fileStart.dictionary } = reading;
    const coding = options.coding ?? fileStart.coding;
    cursor.close();
    cursor = new RecordCursor(name, { ...reading, offset: to - base, coding, dictionary });
    feed.passGap?.();
  };
  /** Of the chunk at hand. */
  const giveTurns = async (): Promise<void> => {
    unbrokenBytes += cursor.chunk.length;
    if (unbrokenBytes < UNBROKEN_BYTES_MAX) return;
    unbrokenBytes = 0;
    await setImmediate();
  };
  const piece = async (): Promise<Uint8Array | undefined> => {
    if (!record || record.tail) return undefined;
    if ((await next()) === 'body') {
      scanner?.push(cursor.chunk);
      await giveTurns();
      return cursor.chunk;
    }
    record.tail = cursor.tail;
    // What was found together with the end of the record belongs to it.
    while (cursor.findings.length > 0 && cursor.step() === 'finding') tell(cursor.finding);
    if (scanner)
      record.damage.push(...(await options.checkUnsummed!(record.head, scanner.end(), cursor.tail.complete)));
    return undefined;
  };

  try {
    for (;;) {
      while (record && !record.tail) await piece();
      const isOver = (await next()) !== 'record';
      record = isOver ? undefined : new ReadingRecord(cursor, options.range?.start ?? 0, piece);
      if (loose.length > 0) settle(record);
      if (!record) return;
      const isToCheck = options.checkUnsummed !== undefined && !cursor.isSummed;
      scanner = isToCheck ? new BlockScanner(record.head, unsummedWants(record.head, 'sha256')) : undefined;
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
