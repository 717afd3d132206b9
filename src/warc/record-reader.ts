/**
 * Ways to read records: one after another from a file or any stream of bytes, from an offset on, or a single one.
 *
 * `readRecords` is for everybody; the views it hands out are good until the next one is asked for. `FileFeed` is for inner loops that drive
 * a cursor themselves, in worker threads, without a promise per piece.
 */
import { closeSync, readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { type Finding, fileError, openToRead, PinakesError, READ_CHUNK_BYTES } from '../base/index.ts';
import { type Coding, sniffCoding } from './file-coding.ts';
import { RecordCursor, type RecordTail } from './record-cursor.ts';
import type { RecordHead } from './record-head.ts';
import { dictionaryOfFile } from './zstd-frame.ts';

/** Fills a cursor from a range of a file, synchronously. */
export class FileFeed {
  readonly #path: string;
  readonly #descriptor: number;
  #position: number;
  readonly #to: number;

  constructor(path: string, from = 0, to = Number.POSITIVE_INFINITY) {
    this.#path = path;
    this.#descriptor = openToRead(path);
    this.#position = from;
    this.#to = to;
  }

  /** Where in the file the next bytes come from. */
  get position(): number {
    return this.#position;
  }

  feed(cursor: RecordCursor): void {
    const room = cursor.reserve();
    const wanted = Math.min(room.length, READ_CHUNK_BYTES, this.#to - this.#position);
    const bytes = wanted > 0 ? this.#read(room, wanted) : 0;
    if (bytes === 0) {
      cursor.end();
      return;
    }
    this.#position += bytes;
    cursor.commit(bytes);
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #read(room: Uint8Array, wanted: number): number {
    try {
      return readSync(this.#descriptor, room, 0, wanted, this.#position);
    } catch (cause) {
      throw fileError(cause, this.#path);
    }
  }
}

export type FileStart = { readonly coding: Coding; readonly dictionary: Buffer | undefined };

/** What the first bytes of a file say about the rest: needed by readers that begin further on. */
export function readFileStart(path: string, position = 0): FileStart {
  const descriptor = openToRead(path);
  try {
    let start = Buffer.alloc(64 * 1024);
    start = start.subarray(0, readSync(descriptor, start, 0, start.length, position));
    if (sniffCoding(start, false) === undefined) {
      start = Buffer.alloc(READ_CHUNK_BYTES);
      start = start.subarray(0, readSync(descriptor, start, 0, start.length, position));
    }
    const coding = sniffCoding(start, true)!;
    if (coding !== 'zstd') return { coding, dictionary: undefined };
    let dictionary = dictionaryOfFile(start);
    if (dictionary === 'short' && start.length >= 8) {
      const whole = Buffer.alloc(8 + start.readUInt32LE(4));
      dictionary = dictionaryOfFile(whole.subarray(0, readSync(descriptor, whole, 0, whole.length, position)));
    }
    return { coding, dictionary: Buffer.isBuffer(dictionary) ? dictionary : undefined };
  } catch (cause) {
    throw fileError(cause, path);
  } finally {
    closeSync(descriptor);
  }
}

/** After so many bytes of blocks, or of none, others have their turn: those that inflate out of one read can be gigabytes. */
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
  signal?: AbortSignal | undefined;
};

/** A record while it is being read. */
export class ReadingRecord {
  readonly head: RecordHead;
  /** Whether it stands in a gzip member or a zstd frame. */
  readonly isCompressed: boolean;
  /** Where in the file it begins; the same as its offset, except for a file inside a package. */
  readonly filePosition: number;
  /** How the record ended, once its body was read or passed over. */
  tail: RecordTail | undefined;
  /** What is damaged of it, or cut short; all of it once its body was read or passed over. */
  readonly damage: Finding[] = [];
  readonly #pieces: () => Promise<Uint8Array | undefined>;

  constructor(
    head: RecordHead,
    isCompressed: boolean,
    fileStart: number,
    pieces: () => Promise<Uint8Array | undefined>,
  ) {
    this.head = head;
    this.isCompressed = isCompressed;
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
  /** Puts the next bytes into the cursor, or ends it. */
  feed(cursor: RecordCursor): Promise<void>;
  close(): Promise<void>;
}

class HandleFeed implements ByteFeed {
  readonly #path: string;
  readonly #handle: FileHandle;
  #position: number;
  readonly #to: number;

  constructor(path: string, handle: FileHandle, from: number, to: number) {
    this.#path = path;
    this.#handle = handle;
    this.#position = from;
    this.#to = to;
  }

  async feed(cursor: RecordCursor): Promise<void> {
    const room = cursor.reserve();
    const wanted = Math.min(room.length, READ_CHUNK_BYTES, this.#to - this.#position);
    const bytes = wanted > 0 ? await this.#read(room, wanted) : 0;
    this.#position += bytes;
    if (bytes === 0) cursor.end();
    else cursor.commit(bytes);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  async #read(room: Uint8Array, wanted: number): Promise<number> {
    try {
      return (await this.#handle.read(room, 0, wanted, this.#position)).bytesRead;
    } catch (cause) {
      throw fileError(cause, this.#path);
    }
  }
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
  const cursor = new RecordCursor(name, {
    offset,
    coding: options.coding ?? start?.coding,
    dictionary: options.dictionary ?? start?.dictionary,
    lookBackBytes: options.lookBackBytes,
    inputBytes: options.inputBytes ?? options.range?.length,
  });
  const feed = isFile ? await openFeed(source, offset, options) : new StreamFeed(source);
  let record: ReadingRecord | undefined;
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
      else return step;
    }
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
      await giveTurns();
      return cursor.chunk;
    }
    record.tail = cursor.tail;
    // What was found together with the end of the record belongs to it.
    while (cursor.findings.length > 0 && cursor.step() === 'finding') tell(cursor.finding);
    return undefined;
  };

  try {
    for (;;) {
      while (record && !record.tail) await piece();
      const isOver = (await next()) !== 'record';
      record = isOver
        ? undefined
        : new ReadingRecord(cursor.head, cursor.coding !== 'none', options.range?.start ?? 0, piece);
      if (loose.length > 0) settle(record);
      if (!record) return;
      yield record;
    }
  } finally {
    cursor.close();
    await feed.close();
  }
}

async function openFeed(path: string, offset: number, { end, range }: ReadOptions): Promise<ByteFeed> {
  const start = range?.start ?? 0;
  const to = start + Math.min(end ?? Number.POSITIVE_INFINITY, range?.length ?? Number.POSITIVE_INFINITY);
  try {
    return new HandleFeed(path, await open(path, 'r'), start + offset, to);
  } catch (cause) {
    throw fileError(cause, path);
  }
}
