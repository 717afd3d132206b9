/**
 * Feeds a range of a file to a cursor. The feed ends the cursor before bytes that the disk cannot read. Another cursor
 * can continue after this gap.
 *
 * `SyncFileFeed` is for inner loops in worker threads, which drive a cursor without a promise for each read. `FileFeed`
 * waits for its reads, so that its thread can do other work. `FileRange` decides for both what to read: it yields each
 * read, and is passed the number of bytes that were read.
 */
import { closeSync, fstatSync, readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { fileError, isEio, openToRead, READ_CHUNK_BYTES, sectorRest } from '../../base/index.ts';
import { endOfGap, type Gap, gapToEnd } from './gap.ts';
import type { RecordCursor } from './record-cursor.ts';

type Read = { readonly into: Uint8Array; readonly length: number; readonly position: number };

/**
 * Reads to make, one after the other. The caller passes back the number of bytes of each; undefined when the disk
 * cannot read them.
 */
type Reads<Result> = Generator<Read, Result, number | undefined>;

class FileRange {
  /** Where in the file the next bytes come from. */
  position: number;
  gap: Gap | undefined;
  readonly #path: string;
  readonly #descriptor: number;
  readonly #to: number;
  /** Up to this position, sectors are read one by one, because a larger read failed. */
  #carefulTo = 0;

  constructor(path: string, descriptor: number, from: number, to: number) {
    this.#path = path;
    this.#descriptor = descriptor;
    this.position = from;
    this.#to = to;
  }

  /** Reads the next bytes of the range. Returns 0 at the end of the range and before a gap. */
  *next(room: Uint8Array): Reads<number> {
    const wanted = Math.min(room.length, READ_CHUNK_BYTES, this.#to - this.position);
    const bytes = wanted > 0 ? yield* this.#read(room, wanted) : 0;
    this.position += bytes;
    return bytes;
  }

  *#read(into: Uint8Array, length: number): Reads<number> {
    const { position } = this;
    if (position >= this.#carefulTo) {
      const bytes = yield { into, length, position };
      if (bytes !== undefined) return bytes;
      this.#carefulTo = position + READ_CHUNK_BYTES;
    }
    const bytes = yield { into, length: Math.min(length, sectorRest(position)), position };
    if (bytes !== undefined) return bytes;
    this.gap = yield* gapAt(this.#path, this.#descriptor, position, this.#to);
    return 0;
  }

  skipGap(): void {
    if (this.gap) this.position = this.gap.to;
    this.gap = undefined;
  }
}

function* gapAt(path: string, descriptor: number, from: number, to = Number.POSITIVE_INFINITY): Reads<Gap | undefined> {
  const end = Math.min(to, fstatSync(descriptor).size);
  const into = Buffer.alloc(1);
  const search = endOfGap(from, end);
  let step = search.next();
  while (!step.done) {
    const bytes = yield { into, length: 1, position: step.value };
    step = search.next(bytes !== undefined);
  }
  return step.value === undefined ? gapToEnd(path, from, end) : { from, to: step.value };
}

/** The gap that begins at a position of a file; undefined at the end of the file. */
export function findGap(path: string, descriptor: number, from: number): Gap | undefined {
  return readAll(descriptor, gapAt(path, descriptor, from));
}

function readAll<Result>(descriptor: number, reads: Reads<Result>): Result {
  let step = reads.next();
  while (!step.done) {
    const { into, length, position } = step.value;
    step = reads.next(readIfPossible(descriptor, into, length, position));
  }
  return step.value;
}

/** Returns how many bytes were read; undefined when the disk cannot read them. */
export function readIfPossible(
  descriptor: number,
  into: Uint8Array,
  length: number,
  position: number,
): number | undefined {
  try {
    return readSync(descriptor, into, 0, length, position);
  } catch (cause) {
    if (!isEio(cause)) throw cause;
    return undefined;
  }
}

export class SyncFileFeed {
  readonly #path: string;
  readonly #descriptor: number;
  readonly #range: FileRange;

  constructor(path: string, from: number) {
    this.#path = path;
    this.#descriptor = openToRead(path);
    this.#range = new FileRange(path, this.#descriptor, from, Number.POSITIVE_INFINITY);
  }

  get position(): number {
    return this.#range.position;
  }

  /** The unreadable bytes before which the feed ended the cursor. */
  get gap(): Gap | undefined {
    return this.#range.gap;
  }

  feed(cursor: RecordCursor): void {
    let bytes: number;
    try {
      bytes = readAll(this.#descriptor, this.#range.next(cursor.reserve()));
    } catch (cause) {
      throw fileError(cause, this.#path);
    }
    if (bytes === 0) cursor.end();
    else cursor.commit(bytes);
  }

  skipGap(): void {
    this.#range.skipGap();
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

export type FileFeedOptions = {
  readonly from: number;
  readonly to: number;
  /** Whether bytes that the disk cannot read are a gap. Otherwise they are an error. */
  readonly skipsGaps: boolean;
};

export class FileFeed {
  readonly path: string;
  readonly #handle: FileHandle;
  readonly #range: FileRange;
  readonly #skipsGaps: boolean;

  private constructor(path: string, handle: FileHandle, { from, to, skipsGaps }: FileFeedOptions) {
    this.path = path;
    this.#handle = handle;
    this.#range = new FileRange(path, handle.fd, from, to);
    this.#skipsGaps = skipsGaps;
  }

  static async open(path: string, options: FileFeedOptions): Promise<FileFeed> {
    try {
      return new FileFeed(path, await open(path, 'r'), options);
    } catch (cause) {
      throw fileError(cause, path);
    }
  }

  get gap(): Gap | undefined {
    return this.#range.gap;
  }

  async feed(cursor: RecordCursor): Promise<void> {
    const bytes = await this.#next(cursor.reserve());
    if (bytes === 0) cursor.end();
    else cursor.commit(bytes);
  }

  async #next(room: Uint8Array): Promise<number> {
    try {
      const reads = this.#range.next(room);
      let step = reads.next();
      while (!step.done) step = reads.next(await this.#readIfPossible(step.value));
      return step.value;
    } catch (cause) {
      throw fileError(cause, this.path);
    }
  }

  async #readIfPossible({ into, length, position }: Read): Promise<number | undefined> {
    try {
      return (await this.#handle.read(into, 0, length, position)).bytesRead;
    } catch (cause) {
      if (!this.#skipsGaps || !isEio(cause)) throw cause;
      return undefined;
    }
  }

  skipGap(): void {
    this.#range.skipGap();
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}
