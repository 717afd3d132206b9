/**
 * For each segment the highest offset of any capture put so far. A capture beyond it is certainly new and need not be
 * looked up. Records are catalogued in the order of their segment, so nearly all captures are beyond it.
 *
 *     'h'  segment (ordered)  ->  the highest offset of any capture put so far, plus one (varint)
 *
 * The offset is written in the same batch as the captures that raised it, and never falls, whatever is removed.
 */
import type { Place } from '../catalog.ts';
import { RowReader, RowWriter } from '../row-bytes.ts';
import { numberKey, TABLE } from '../table.ts';
import type { Operations } from './level-database.ts';

export class HighWater {
  readonly #read: (key: Buffer) => Buffer | undefined;
  readonly #marks = new Map<number, number>();
  readonly #raised = new Set<number>();

  constructor(read: (key: Buffer) => Buffer | undefined) {
    this.#read = read;
  }

  /** Whether the place is beyond every capture put so far. If so, raises the offset to it. */
  raise(place: Place): boolean {
    const mark = this.#marks.get(place.segment) ?? this.#stored(place.segment);
    if (place.offset < mark) return false;
    this.#marks.set(place.segment, place.offset + 1);
    this.#raised.add(place.segment);
    return true;
  }

  finish(operations: Operations): void {
    const writer = new RowWriter();
    for (const segment of this.#raised) {
      writer.varint(this.#marks.get(segment)!);
      operations.put(numberKey(TABLE.highWater, segment), writer.finish());
    }
  }

  #stored(segment: number): number {
    const row = this.#read(numberKey(TABLE.highWater, segment));
    const mark = row ? new RowReader(row).varint() : 0;
    this.#marks.set(segment, mark);
    return mark;
  }
}
