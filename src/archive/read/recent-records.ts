/**
 * A cache of small decoded records, such as a style sheet or a logo, which is read with every page of its site.
 *
 * The same offset of a segment always holds the same record, so the cache never becomes wrong, even if others change
 * the archive. Segments are known by name, since a rebuild may give them other numbers. Readers find places in the
 * catalog, which no longer has deleted records. Verification reads the disk and does not use the cache.
 */
import { LruCache } from '../../base/index.ts';
import type { WholeRecord } from './content-copies.ts';

const BYTES_MAX = 32 * 1024 * 1024;
/** Larger records are decoded again each time, since a few of them would replace all others. */
const RECORD_BYTES_MAX = 128 * 1024;
/** The memory of a record in addition to its block. */
const OVERHEAD_BYTES = 1024;

export class RecentRecords {
  /** The records by the number of their segment here and their offset. */
  readonly #records: LruCache<string, WholeRecord>;
  /** Numbers of segments by name, since a short key takes less time. */
  readonly #numbers = new Map<string, number>();

  constructor(bytesMax = BYTES_MAX) {
    this.#records = new LruCache(bytesMax, bytesOf);
  }

  get(segmentName: string, offset: number): WholeRecord | undefined {
    return this.#records.get(this.#keyOf(segmentName, offset));
  }

  keep(segmentName: string, offset: number, record: WholeRecord): void {
    if (bytesOf(record) <= RECORD_BYTES_MAX) this.#records.keep(this.#keyOf(segmentName, offset), record);
  }

  forget(): void {
    this.#records.clear();
  }

  #keyOf(segmentName: string, offset: number): string {
    const number = this.#numbers.get(segmentName) ?? this.#numbers.size;
    this.#numbers.set(segmentName, number);
    return `${number}:${offset}`;
  }
}

function bytesOf({ block }: WholeRecord): number {
  return block.length + OVERHEAD_BYTES;
}
