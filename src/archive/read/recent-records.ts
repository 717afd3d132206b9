/**
 * A cache of small decoded records: a style sheet or a logo is read with every page of its site.
 *
 * A place in a segment always holds the same record, so the cache never becomes wrong. A deleted record is not found in
 * the catalog any more, so it is not asked for. A check of what is on disk does not use the cache.
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
  /** By place. */
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

  /** For a rebuild, which may give segments other numbers. */
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
