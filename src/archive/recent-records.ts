/**
 * Small records that were retrieved lately, decoded: a style sheet or a logo is asked for with every page of its site.
 *
 * A place in a segment holds one record for ever, so nothing that is kept here can turn false; what was deleted is not found in the catalog any more, and so is
 * not asked for. Whoever wants to know what is on disk, as a check does, does not ask here.
 */
import type { Place } from '../catalog/index.ts';
import type { WholeRecord } from './record-access.ts';

const BYTES_MAX = 32 * 1024 * 1024;
/** Larger records are decoded again each time: a few of them would drive out all others. */
const RECORD_BYTES_MAX = 128 * 1024;
/** What a record takes besides its block. */
const OVERHEAD_BYTES = 1024;

export class RecentRecords {
  readonly #bytesMax: number;
  /** By place; in order of use, the least recent first. */
  readonly #records = new Map<string, WholeRecord>();
  #bytes = 0;

  constructor(bytesMax = BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  get(place: Place): WholeRecord | undefined {
    const key = keyOf(place);
    const record = this.#records.get(key);
    if (record) {
      this.#records.delete(key);
      this.#records.set(key, record);
    }
    return record;
  }

  keep(place: Place, record: WholeRecord): void {
    const key = keyOf(place);
    if (bytesOf(record) > RECORD_BYTES_MAX || this.#records.has(key)) return;
    this.#records.set(key, record);
    this.#bytes += bytesOf(record);
    for (const [oldestKey, oldest] of this.#records) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#records.delete(oldestKey);
      this.#bytes -= bytesOf(oldest);
    }
  }

  /** For a rebuild, which may give segments other numbers. */
  forget(): void {
    this.#records.clear();
    this.#bytes = 0;
  }
}

function keyOf({ segment, offset }: Place): string {
  return `${segment}:${offset}`;
}

function bytesOf({ blockBytes }: WholeRecord): number {
  return blockBytes + OVERHEAD_BYTES;
}
