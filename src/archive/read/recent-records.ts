/**
 * A cache of small decoded records, such as a style sheet or a logo, which is read with every page of its site.
 *
 * A place in a segment always holds the same record, so the cache never becomes wrong. Readers find places in the
 * catalog, which no longer has deleted records. Verification reads the disk and does not use the cache.
 */
import { LruCache } from '../../base/index.ts';
import type { Place } from '../../catalog/index.ts';
import type { WholeRecord } from './record-access.ts';

const BYTES_MAX = 32 * 1024 * 1024;
/** Larger records are decoded again each time, since a few of them would replace all others. */
const RECORD_BYTES_MAX = 128 * 1024;
/** The memory of a record in addition to its block. */
const OVERHEAD_BYTES = 1024;

export class RecentRecords {
  /** The records by their place. */
  readonly #records: LruCache<string, WholeRecord>;

  constructor(bytesMax = BYTES_MAX) {
    this.#records = new LruCache(bytesMax, bytesOf);
  }

  get(place: Place): WholeRecord | undefined {
    return this.#records.get(keyOf(place));
  }

  keep(place: Place, record: WholeRecord): void {
    if (bytesOf(record) <= RECORD_BYTES_MAX) this.#records.keep(keyOf(place), record);
  }

  /** Called for a rebuild, which may give segments other numbers. */
  forget(): void {
    this.#records.clear();
  }
}

function keyOf({ segment, offset }: Place): string {
  return `${segment}:${offset}`;
}

function bytesOf({ blockBytes }: WholeRecord): number {
  return blockBytes + OVERHEAD_BYTES;
}
