/** The rows of segments that a commit reads and changes: each is read once and written once. */
import type { Segment } from '../catalog.ts';
import type { RowWriter } from '../row-bytes.ts';
import { numberKey, TABLE } from '../table.ts';
import type { Operations } from './level-database.ts';
import { readSegment, writeSegment } from './segment-codec.ts';

export class SegmentRows {
  readonly #read: (key: Buffer) => Buffer | undefined;
  readonly #rows = new Map<number, Segment | undefined>();
  readonly #changed = new Set<number>();

  constructor(read: (key: Buffer) => Buffer | undefined) {
    this.#read = read;
  }

  get(number: number): Segment | undefined {
    if (this.#rows.has(number)) return this.#rows.get(number);
    const key = numberKey(TABLE.segments, number);
    const value = this.#read(key);
    const segment = value && readSegment(key, value);
    this.#rows.set(number, segment);
    return segment;
  }

  /** Changes a row; undefined removes it. */
  set(number: number, segment: Segment | undefined): void {
    this.#rows.set(number, segment);
    this.#changed.add(number);
  }

  finish(operations: Operations, writer: RowWriter): void {
    for (const number of this.#changed) {
      const key = numberKey(TABLE.segments, number);
      const segment = this.#rows.get(number);
      if (!segment) {
        operations.del(key);
        continue;
      }
      writeSegment(writer, segment);
      operations.put(key, writer.finish());
    }
  }
}
