/**
 * Reads the records at given offsets of a file, one after another through a single cursor, as if the file contained
 * nothing else. A new cursor for every record would cost more than reading the record. Synchronous, for worker threads;
 * memory is bounded for records of any size (I9).
 *
 * For a span whose bytes are not one complete record any more, `onRecord` is called with undefined, and the next span
 * is read with a new cursor.
 */
import { closeSync, readSync } from 'node:fs';
import { openToRead, readingFile } from '../../base/index.ts';
import {
  type BlockFacts,
  BlockScanner,
  type BlockScanOptions,
  type FileStart,
  RecordCursor,
  type RecordHead,
  readFileStart,
} from '../../warc/index.ts';

export type Span = { readonly offset: number; readonly length: number };

export type SpanRecord = { readonly head: RecordHead; readonly facts: BlockFacts };

export type SpanVisit = {
  /** Chooses what to compute from the block of a record. */
  readonly wants: (index: number, head: RecordHead) => BlockScanOptions;
  readonly onRecord: (index: number, record: SpanRecord | undefined) => void;
};

export class SpanReader {
  readonly path: string;
  readonly start: FileStart;
  readonly #descriptor: number;

  constructor(path: string) {
    this.path = path;
    this.start = readFileStart(path);
    this.#descriptor = openToRead(path);
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
  }

  /** Visits the records of the spans in their order. */
  read(spans: readonly Span[], visit: SpanVisit): void {
    for (let next = 0; next < spans.length; ) {
      next = this.#walk(spans, next, spans.length, visit);
      // The error is at or after this span. Reading the span alone shows whether it is damaged itself.
      if (next < spans.length && this.#walk(spans, next, next + 1, visit) === next) visit.onRecord(next, undefined);
      next++;
    }
  }

  /** Visits spans [from, to) up to the first that may be damaged, and returns its index; `to` when all are sound. */
  #walk(spans: readonly Span[], from: number, to: number, visit: SpanVisit): number {
    const { coding, dictionary } = this.start;
    const cursor = new RecordCursor(this.path, { offset: spans[from]!.offset, coding, dictionary });
    const feed = new SpanFeed(this.#descriptor, this.path, spans.slice(from, to));
    let at = from;
    let scanner: BlockScanner | undefined;
    // A record is passed on only when the next one starts, because an error at its end is reported after it.
    let ended: SpanRecord | undefined;
    const settle = () => {
      if (ended) visit.onRecord(at++, ended);
      ended = undefined;
    };
    try {
      for (;;) {
        switch (cursor.step()) {
          case 'need-input':
            feed.feed(cursor);
            break;
          case 'finding':
            if (cursor.finding.level === 'error') return at;
            break;
          case 'record':
            settle();
            if (at >= to) return at;
            scanner = new BlockScanner(cursor.head, visit.wants(at, cursor.head));
            break;
          case 'body':
            scanner!.push(cursor.chunk);
            break;
          case 'end':
            // A record must end where its span ends. Otherwise replacing it would remove other bytes, or leave some.
            if (!cursor.tail.isComplete || cursor.tail.length !== spans[at]!.length) return at;
            ended = { head: cursor.head, facts: scanner!.end() };
            break;
          case 'done':
            settle();
            return at;
        }
      }
    } finally {
      cursor.close();
    }
  }
}

/** Feeds a cursor with the bytes of the spans, joined end to end. */
class SpanFeed {
  readonly #descriptor: number;
  readonly #path: string;
  readonly #spans: readonly Span[];
  #index = 0;
  #position: number;

  constructor(descriptor: number, path: string, spans: readonly Span[]) {
    this.#descriptor = descriptor;
    this.#path = path;
    this.#spans = spans;
    this.#position = spans[0]!.offset;
  }

  feed(cursor: RecordCursor): void {
    const room = cursor.reserve();
    let filled = 0;
    while (filled < room.length) {
      const span = this.#spans[this.#index];
      if (!span) break;
      const wanted = Math.min(room.length - filled, span.offset + span.length - this.#position);
      const bytes = wanted > 0 ? this.#read(room, filled, wanted) : 0;
      filled += bytes;
      this.#position += bytes;
      if (bytes < wanted) {
        this.#index = this.#spans.length;
        break;
      }
      if (this.#position < span.offset + span.length) continue;
      this.#index++;
      this.#position = this.#spans[this.#index]?.offset ?? 0;
    }
    if (filled > 0) cursor.commit(filled);
    else cursor.end();
  }

  #read(room: Uint8Array, at: number, wanted: number): number {
    return readingFile(this.#path, () => readSync(this.#descriptor, room, at, wanted, this.#position));
  }
}
