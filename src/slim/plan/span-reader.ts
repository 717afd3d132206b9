/**
 * Reads chosen records of a file: those at given offsets, one after another through a single cursor, as if the file
 * held nothing else. A new cursor for every record would cost more than the record. Synchronous, for worker threads;
 * memory is bounded whatever the records hold (I9).
 *
 * A span whose bytes are not one whole record any more is told as undefined, and the next one is read with a fresh
 * cursor.
 */
import { closeSync, readSync } from 'node:fs';
import { fileError, openToRead } from '../../base/index.ts';
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
  /** What the block of a record is looked into for. */
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

  close(): void {
    closeSync(this.#descriptor);
  }

  /** Visits the record of every span, in their order. */
  read(spans: readonly Span[], visit: SpanVisit): void {
    for (let next = 0; next < spans.length; ) {
      next = this.#walk(spans, next, spans.length, visit);
      // Something is wrong at or after this one; read alone, it shows whether it is at fault itself.
      if (next < spans.length && this.#walk(spans, next, next + 1, visit) === next) visit.onRecord(next, undefined);
      next++;
    }
  }

  /** Visits spans [from, to) until one of them may be wrong, and says which; `to` when all were right. */
  #walk(spans: readonly Span[], from: number, to: number, visit: SpanVisit): number {
    const { coding, dictionary } = this.start;
    const cursor = new RecordCursor(this.path, { offset: spans[from]!.offset, coding, dictionary });
    const feed = new SpanFeed(this.#descriptor, this.path, spans.slice(from, to));
    let at = from;
    let scanner: BlockScanner | undefined;
    // A record is handed out only when the next one begins: what is wrong with its end is told after it.
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
            // One that ends elsewhere than its span would be taken away with what stands beside it, or in part.
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

/** The bytes of the spans, end to end. */
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
    try {
      return readSync(this.#descriptor, room, at, wanted, this.#position);
    } catch (cause) {
      throw fileError(cause, this.#path);
    }
  }
}
