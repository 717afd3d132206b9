/**
 * Compares payloads byte by byte, which decides whether two records with the same digest have the same content (I7). An
 * original of ordinary size is held in memory while its duplicates are read. A larger original is read again in
 * parallel with each duplicate, so that memory is bounded (I9).
 */
import { closeSync, readSync } from 'node:fs';
import { equal, openToRead, PinakesError, readingFile } from '../../base/index.ts';
import { BlockScanner, RecordCursor, readFileStart } from '../../warc/index.ts';
import { type Span, SpanReader } from './span-reader.ts';

const MEMORY_BYTES_MAX = 16 * 1024 * 1024;

export type PayloadPlace = Span & { readonly file: string };

export type PayloadComparison = {
  readonly original: PayloadPlace;
  readonly payloadBytes: number | null;
  readonly duplicates: readonly PayloadPlace[];
};

/** `unreadable`: one of the two records is not complete any more. */
export type ComparisonVerdict = 'same' | 'different' | 'unreadable';

export function comparePayloads({ original, payloadBytes, duplicates }: PayloadComparison): ComparisonVerdict[] {
  let held: Uint8Array | undefined;
  try {
    if (payloadBytes === null || payloadBytes <= MEMORY_BYTES_MAX) held = payloadOf(original, MEMORY_BYTES_MAX);
  } catch (error) {
    if (!(error instanceof PinakesError)) throw error;
    return duplicates.map(() => 'unreadable');
  }
  return duplicates.map((duplicate) => {
    try {
      return held ? compareWith(held, duplicate) : compareInParallel(original, duplicate);
    } catch (error) {
      if (error instanceof PinakesError) return 'unreadable';
      throw error;
    }
  });
}

function payloadOf(place: PayloadPlace, bytesMax: number): Uint8Array | undefined {
  const parts: Uint8Array[] = [];
  let total = 0;
  const isWhole = readPayload(place, (bytes) => {
    total += bytes.length;
    if (total <= bytesMax) parts.push(Buffer.from(bytes));
  });
  return isWhole && total <= bytesMax ? Buffer.concat(parts) : undefined;
}

function compareWith(held: Uint8Array, place: PayloadPlace): ComparisonVerdict {
  let at = 0;
  let isSame = true;
  const isWhole = readPayload(place, (bytes) => {
    isSame &&= equal(held.subarray(at, at + bytes.length), bytes);
    at += bytes.length;
  });
  if (!isWhole) return 'unreadable';
  return isSame && at === held.length ? 'same' : 'different';
}

/** Passes the payload on piece by piece, and returns whether the record was complete. */
function readPayload(place: PayloadPlace, onPayload: (bytes: Uint8Array) => void): boolean {
  using reader = new SpanReader(place.file);
  let isWhole = false;
  reader.read([place], {
    wants: () => ({ onPayload }),
    onRecord: (_, record) => {
      isWhole = record !== undefined;
    },
  });
  return isWhole;
}

function compareInParallel(original: PayloadPlace, duplicate: PayloadPlace): ComparisonVerdict {
  using left = new PayloadPuller(original);
  using right = new PayloadPuller(duplicate);
  let [a, b] = [left.next(), right.next()];
  while (a && b) {
    const bytes = Math.min(a.length, b.length);
    if (!equal(a.subarray(0, bytes), b.subarray(0, bytes))) return 'different';
    a = bytes < a.length ? a.subarray(bytes) : left.next();
    b = bytes < b.length ? b.subarray(bytes) : right.next();
  }
  if (!left.isUsable || !right.isUsable) return 'unreadable';
  return a === b ? 'same' : 'different';
}

/** Reads a payload piece by piece on request. */
class PayloadPuller {
  /** Whether no error was found so far. */
  isUsable = true;
  readonly #descriptor: number;
  readonly #place: PayloadPlace;
  readonly #cursor: RecordCursor;
  #position: number;
  #scanner: BlockScanner | undefined;
  #pieces: Uint8Array[] = [];
  #isOver = false;

  constructor(place: PayloadPlace) {
    this.#place = place;
    this.#position = place.offset;
    const { coding, dictionary } = readFileStart(place.file);
    this.#descriptor = openToRead(place.file);
    this.#cursor = new RecordCursor(place.file, { offset: place.offset, coding, dictionary });
  }

  [Symbol.dispose](): void {
    this.#cursor.close();
    closeSync(this.#descriptor);
  }

  next(): Uint8Array | undefined {
    while (this.#pieces.length === 0 && !this.#isOver) this.#step();
    return this.#pieces.shift();
  }

  #step(): void {
    const cursor = this.#cursor;
    switch (cursor.step()) {
      case 'need-input':
        this.#feed();
        break;
      case 'finding':
        if (cursor.finding.level === 'error') this.isUsable = false;
        break;
      case 'record':
        this.#isOver = this.#scanner !== undefined;
        this.#scanner ??= new BlockScanner(cursor.head, {
          onPayload: (bytes) => this.#pieces.push(Buffer.from(bytes)),
        });
        break;
      case 'body':
        this.#scanner?.push(cursor.chunk);
        break;
      case 'end':
        this.#scanner?.end();
        if (!cursor.tail.isComplete) this.isUsable = false;
        break;
      case 'done':
        this.#isOver = true;
        break;
    }
  }

  #feed(): void {
    const room = this.#cursor.reserve();
    const wanted = Math.min(room.length, this.#place.offset + this.#place.length - this.#position);
    readingFile(this.#place.file, () => {
      const bytes = wanted > 0 ? readSync(this.#descriptor, room, 0, wanted, this.#position) : 0;
      this.#position += bytes;
      if (bytes > 0) this.#cursor.commit(bytes);
      else this.#cursor.end();
    });
  }
}
