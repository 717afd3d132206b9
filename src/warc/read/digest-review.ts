/**
 * Reads a record a second time, and hashes everything that its digests may cover, to find out whether one of them is
 * wrong. Few records need it.
 */

import type { CursorOptions } from '../member/cursor-options.ts';
import type { FindingCode } from '../record/finding-catalogue.ts';
import { BlockScanner } from './block-scanner.ts';
import { digestMismatches, verdictScanOptions } from './digest-verdict.ts';
import { SyncFileFeed } from './file-feed.ts';
import { RecordCursor } from './record-cursor.ts';

export class DigestReview {
  readonly #feed: SyncFileFeed;
  readonly #cursor: RecordCursor;
  #scanner: BlockScanner | undefined;

  /** `offset` is the offset of the record. */
  constructor(path: string, options: CursorOptions & { readonly offset: number }) {
    this.#feed = new SyncFileFeed(path, options.offset);
    this.#cursor = new RecordCursor(path, { ...options, lookBackBytes: 0 });
  }

  close(): void {
    this.#cursor.close();
    this.#feed.close();
  }

  /** Returns the findings about the digests; undefined when there is more to read after `bytesMax` bytes. */
  next(bytesMax: number): FindingCode[] | undefined {
    const cursor = this.#cursor;
    for (let bytes = 0; bytes < bytesMax; ) {
      switch (cursor.step()) {
        case 'need-input':
          this.#feed.feed(cursor);
          break;
        case 'record':
          this.#scanner = new BlockScanner(cursor.head, verdictScanOptions(cursor.head));
          break;
        case 'body':
          this.#scanner!.push(cursor.chunk);
          bytes += cursor.chunk.length;
          break;
        case 'end':
          return digestMismatches(cursor.head, this.#scanner!.end(), cursor.tail.isComplete);
        case 'done':
          return [];
      }
    }
    return undefined;
  }
}
