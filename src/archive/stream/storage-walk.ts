/**
 * Walks over the records of a snapshot in storage order: segment after segment, each read from front to back.
 *
 * Compaction may replace a segment meanwhile. The walk notices that before it delivers the next record, and continues
 * in the replacement after the last delivered record (I8). Records that were deleted meanwhile are not delivered, and
 * neither are their concurrent records. When the archive is rebuilt meanwhile, the walk ends with CURSOR_EXPIRED.
 */
import { type Finding, PinakesError } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import type { ReadingRecord } from '../../warc/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { findConcurrent, isCaptureType } from '../read/concurrent-records.ts';
import { problemFinding } from '../verify-problem.ts';
import type { StreamPosition } from './cursor.ts';
import type { Snapshot, SnapshotSegment } from './snapshot.ts';

/** The walk fails when a segment disappears this many times in succession. */
const ATTEMPTS = 5;

export type WalkedRecord = { readonly segment: Segment; readonly record: ReadingRecord };

export type WalkOptions = {
  /** The last delivered record. */
  readonly after?: StreamPosition | undefined;
  readonly isWanted?: (segment: Segment) => boolean;
  readonly signal?: AbortSignal | undefined;
  /** An earlier snapshot whose records the client has. They are not delivered again. */
  readonly since?: Snapshot | undefined;
  /** Called with damage where no record could be read. */
  readonly onUnreadable?: ((segment: Segment, finding: Finding) => void) | undefined;
};

export class StorageWalk {
  readonly #archive: OpenedArchive;
  readonly #snapshot: Snapshot;
  readonly #options: WalkOptions;
  /** The last delivered record. */
  #position: StreamPosition | undefined;

  constructor(archive: OpenedArchive, snapshot: Snapshot, options: WalkOptions = {}) {
    this.#archive = archive;
    this.#snapshot = snapshot;
    this.#options = options;
    this.#position = options.after;
  }

  async *records(): AsyncGenerator<WalkedRecord> {
    const { lineage } = this.#snapshot;
    // The lineage is refreshed, since replacements that were swapped in after the snapshot was opened would be skipped
    // otherwise.
    await lineage.refresh();
    const begun = this.#position ? lineage.originOf(this.#position.segment) : 0;
    for (const part of await this.#snapshot.segments()) {
      if (part.origin < begun || this.#options.isWanted?.(part.segment) === false) continue;
      yield* this.#segment(part);
    }
    lineage.assertNumbering();
  }

  /** The rest of one segment, through all of its replacements. */
  async *#segment({ origin, segment }: SnapshotSegment): AsyncGenerator<WalkedRecord> {
    const { lineage } = this.#snapshot;
    let failures = 0;
    for (;;) {
      lineage.assertNumbering();
      const position = this.#position;
      const isBegun = position !== undefined && lineage.originOf(position.segment) === origin;
      try {
        const start = isBegun
          ? await lineage.translate(position.segment, position.offset)
          : await this.#beginning(await this.#current(segment, origin), origin);
        let isOver = true;
        for await (const record of this.#read(start.segment, start.offset)) {
          lineage.assertNumbering();
          if (!(await this.#archive.segmentRegistry.find(start.segment.number))) {
            isOver = false;
            break;
          }
          const { offset, innerOffset } = record.head;
          if (start.isSame && isBegun && offset === start.offset && innerOffset <= position.innerOffset) continue;
          this.#position = { segment: start.segment.number, offset, innerOffset };
          failures = 0;
          yield { segment: start.segment, record };
        }
        if (isOver) return;
      } catch (error) {
        if (!isGone(error) || ++failures >= ATTEMPTS) throw error;
      }
      await lineage.refresh();
    }
  }

  /** Where reading of a segment begins: after the records that were delivered before. */
  async #beginning(segment: Segment, origin: number): Promise<{ segment: Segment; offset: number; isSame: boolean }> {
    const { since } = this.#options;
    if (since === undefined || origin >= since.bounds.before) return { segment, offset: 0, isSame: false };
    // The lineage lacks a replacement that was swapped in after the lineage was loaded.
    if (since.lineage.originOf(segment.number) !== origin) await since.lineage.refresh();
    return { segment, offset: await since.endOf(segment), isSame: false };
  }

  async #current(segment: Segment, origin: number): Promise<Segment> {
    const { lineage } = this.#snapshot;
    const same = await this.#archive.segmentRegistry.find(segment.number);
    if (same) return same;
    await lineage.refresh();
    const current = (await lineage.byOrigin()).get(origin);
    if (!current) throw new PinakesError('CURSOR_EXPIRED', { detail: `${segment.name} is no longer there` });
    return current;
  }

  async *#read(segment: Segment, from: number): AsyncGenerator<ReadingRecord> {
    const end = await this.#snapshot.endOf(segment);
    if (from >= end) return;
    let deadBytes = segment.deadBytes;
    let dead = await this.#deadOf(segment);
    const expected = from === 0 && end === segment.bytes ? segment.records : 0;
    let found = 0;
    let isDamaged = false;
    const onUnreadable = (finding: Finding) => {
      isDamaged = true;
      if (!dead.has(finding.offset)) this.#options.onUnreadable?.(segment, finding);
    };
    for await (const record of this.#recordsOf(segment, from, end, onUnreadable)) {
      found++;
      const now = (await this.#archive.segmentRegistry.find(segment.number))?.deadBytes;
      if (now !== undefined && now !== deadBytes) {
        deadBytes = now;
        dead = await this.#deadOf(segment);
      }
      if (!dead.has(record.head.offset)) yield record;
    }
    // In other writers' files NULs are padding, so only the count shows that records are missing.
    if (found < expected && !isDamaged) {
      const message = `${expected - found} of its ${expected} records cannot be found`;
      onUnreadable(problemFinding('record-damaged', segment.name, 0, message));
    }
  }

  #recordsOf(
    segment: Segment,
    from: number,
    end: number,
    onUnreadable?: (finding: Finding) => void,
  ): AsyncGenerator<ReadingRecord> {
    const { signal, onUnreadable: callback } = this.#options;
    // Without a callback for missing records, the walk has to fail at a gap.
    const skipsGaps = callback !== undefined;
    return this.#archive.access.recordsIn(segment, from, end, { signal, onUnreadable, skipsGaps });
  }

  /** Offsets of the deleted captures of a segment and of their concurrent records. */
  async #deadOf(segment: Segment): Promise<ReadonlySet<number>> {
    const dead = await this.#archive.tombstones.read(segment);
    if (dead.size === 0) return dead;
    const all = new Set(dead);
    const rule = {
      isChosen: (head: { offset: number; type: string }) => isCaptureType(head.type) && dead.has(head.offset),
      whenDoubtful: false,
    };
    for await (const { offset } of findConcurrent(this.#recordsOf(segment, 0, segment.bytes), rule)) all.add(offset);
    return all;
  }
}

export function isGone(error: unknown): boolean {
  return error instanceof PinakesError && (error.code === 'OBJECT_MISSING' || error.code === 'CONTENT_MISSING');
}
