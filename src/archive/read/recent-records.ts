/**
 * Small records that were retrieved lately, decoded: a style sheet or a logo is asked for with every page of its site.
 *
 * A place in a segment holds one record for ever, so nothing that is kept here can turn false; what was deleted is not
 * found in the catalog any more, and so is not asked for. Whoever wants to know what is on disk, as a check does, does
 * not ask here.
 */
import { LruCache } from '../../base/index.ts';
import type { Place } from '../../catalog/index.ts';
import type { WholeRecord } from './record-access.ts';

const BYTES_MAX = 32 * 1024 * 1024;
/** Larger records are decoded again each time: a few of them would drive out all others. */
const RECORD_BYTES_MAX = 128 * 1024;
/** What a record takes besides its block. */
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
