/**
 * Walks over the records of a snapshot in storage order: root segment after root segment, each read from front to back
 * in the segments that have its records now. There are several when records of it were moved to other volumes; these
 * are read side by side, and their records are merged in the order of the root.
 *
 * Compaction may replace those segments meanwhile, records may move between them, and a rebuild may give them other
 * numbers. The walk notices that before it delivers the next record, and continues after the root place of the last
 * delivered record (I8). Records that were deleted meanwhile are not delivered, and neither are their concurrent
 * records. Records that compaction added to a segment, its warcinfo and its runs, have no root place and are not
 * delivered.
 *
 * A record that moved is dead where it was. So whenever dead records are looked up, the walk checks afterwards that it
 * reads all segments of the root: the row of a new segment is in the catalog before the first record moves to it.
 */
import { type Finding, PinakesError } from '../../base/index.ts';
import type { RootSegment, Segment } from '../../catalog/index.ts';
import {
  endIn,
  isDeletionSegment,
  type RootPlace,
  type RootPlaces,
  type Runs,
  rootsOf,
  type SnapshotBounds,
} from '../../ledger/index.ts';
import type { ReadingRecord } from '../../warc/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { findConcurrent, isCaptureType } from '../read/concurrent-records.ts';
import { deletedOffsets } from '../segment/deleted-records.ts';
import { problemFinding } from '../verify-problem.ts';
import { comparePositions, type StreamPosition } from './cursor.ts';
import { rootPlacesOf } from './snapshot.ts';

/** The walk fails when a segment disappears this many times in succession. */
const ATTEMPTS = 5;

export type WalkedRecord = { readonly segment: Segment; readonly record: ReadingRecord; readonly place: RootPlace };

export type WalkOptions = {
  /** The last delivered record. */
  readonly after?: StreamPosition | undefined;
  /** Where the records of segments are. Read anew without it. */
  readonly places?: RootPlaces;
  /** Only the records of this root segment. */
  readonly only?: RootSegment | undefined;
  readonly isWanted?: (segment: Segment) => boolean;
  readonly signal?: AbortSignal | undefined;
  /** An earlier snapshot whose records the client has. They are not delivered again. */
  readonly since?: SnapshotBounds | undefined;
  /** Called with damage where no record could be read. */
  readonly onUnreadable?: ((segment: Segment, finding: Finding) => void) | undefined;
};

export class StorageWalk {
  readonly #archive: OpenedArchive;
  readonly #bounds: SnapshotBounds;
  readonly #options: WalkOptions;
  /** The last delivered record. */
  #position: StreamPosition | undefined;
  #places: RootPlaces | undefined;

  constructor(archive: OpenedArchive, bounds: SnapshotBounds, options: WalkOptions = {}) {
    this.#archive = archive;
    this.#bounds = bounds;
    this.#options = options;
    this.#position = options.after;
    this.#places = options.places;
  }

  async *records(): AsyncGenerator<WalkedRecord> {
    const { only, isWanted } = this.#options;
    const places = this.#places ?? (await rootPlacesOf(this.#archive));
    this.#places = places;
    assertOrder(places, this.#position);
    for (const root of only ? [only] : places.roots()) {
      if (isBefore(root, this.#position) || endIn(this.#bounds, root) === 0) continue;
      if (isDeletionSegment(root)) continue;
      const [segment] = places.root(root.name)?.segments ?? [];
      if (segment && isWanted?.(segment) === false) continue;
      yield* this.#root(root);
    }
  }

  /** The rest of one root, through all segments that get its records meanwhile. */
  async *#root(root: RootSegment): AsyncGenerator<WalkedRecord> {
    let failures = 0;
    for (;;) {
      const places = this.#places!;
      const segments = places.root(root.name)?.segments ?? [];
      // All records of the root were deleted.
      if (segments.length === 0) return;
      try {
        let isOver = true;
        for await (const walked of this.#merged(root, segments, places)) {
          if (!walked || !(await this.#areThere(segments))) {
            isOver = false;
            break;
          }
          const { record, place } = walked;
          const { innerOffset } = record.head;
          if (this.#isDelivered(place, innerOffset)) continue;
          this.#position = { root: root.name, sequence: root.sequence, offset: place.offset, innerOffset };
          failures = 0;
          yield walked;
        }
        if (isOver) return;
      } catch (error) {
        if (!isGone(error) || ++failures >= ATTEMPTS) throw error;
      }
      this.#places = await rootPlacesOf(this.#archive);
    }
  }

  /** The records of a root in its order. Undefined: other segments have records of it now. */
  async *#merged(
    root: RootSegment,
    segments: readonly Segment[],
    places: RootPlaces,
  ): AsyncGenerator<WalkedRecord | undefined> {
    const known: ReadonlySet<number> = new Set(segments.map(({ number }) => number));
    const readers = segments.map((segment) => this.#walkedIn(root, segment, places, known));
    if (readers.length === 1) {
      yield* readers[0]!;
      return;
    }
    try {
      const heads = new Map<(typeof readers)[number], WalkedRecord>();
      const advance = async (reader: (typeof readers)[number]) => {
        heads.delete(reader);
        const { done, value } = await reader.next();
        if (!done && value) heads.set(reader, value);
        return done === true || value !== undefined;
      };
      for (const reader of readers)
        if (!(await advance(reader))) {
          yield undefined;
          return;
        }
      while (heads.size > 0) {
        const [reader, first] = [...heads].reduce((one, other) => (isEarlier(other[1], one[1]) ? other : one));
        yield first;
        if (await advance(reader)) continue;
        yield undefined;
        return;
      }
    } finally {
      for (const reader of readers) await reader.return(undefined);
    }
  }

  /** The records of a root in one segment. */
  async *#walkedIn(
    root: RootSegment,
    segment: Segment,
    places: RootPlaces,
    known: ReadonlySet<number>,
  ): AsyncGenerator<WalkedRecord | undefined> {
    const runs = await places.runsOf(segment);
    for await (const record of this.#read(segment, runs, root, known)) {
      if (!record) {
        yield undefined;
        return;
      }
      const place = runs.rootOf(record.head.offset);
      if (place?.root === root.name) yield { segment, record, place };
    }
  }

  async #areThere(segments: readonly Segment[]): Promise<boolean> {
    for (const segment of segments) if (!(await this.#isThere(segment))) return false;
    return true;
  }

  /** Whether segments that the walk does not read have records of the root. */
  async #hasOthers(root: RootSegment, known: ReadonlySet<number>): Promise<boolean> {
    const rows = await this.#archive.catalog.segments();
    return rows.some(
      (row) => row.bytes > 0 && !known.has(row.number) && rootsOf(row).some(({ name }) => name === root.name),
    );
  }

  /** After a rebuild, a number may be that of another segment. */
  async #isThere({ number, name }: Segment): Promise<boolean> {
    return (await this.#archive.segmentRegistry.find(number))?.name === name;
  }

  #isDelivered({ root, offset }: RootPlace, innerOffset: number): boolean {
    const position = this.#position;
    if (position?.root !== root || offset > position.offset) return false;
    return offset < position.offset || innerOffset <= position.innerOffset;
  }

  /** The records of a root in a segment, from the first one on that may not have been delivered. */
  async *#read(
    segment: Segment,
    runs: Runs,
    root: RootSegment,
    known: ReadonlySet<number>,
  ): AsyncGenerator<ReadingRecord | undefined> {
    const { since } = this.#options;
    const position = this.#position?.root === root.name ? this.#position.offset : 0;
    const begun = Math.max(position, since ? endIn(since, root) : 0);
    const section = runs.sectionOf(root.name);
    const start = begun === 0 ? section : runs.currentOf(root.name, begun);
    if (!section || !start) return;
    const to = section.next ?? segment.bytes;
    const last = endIn(this.#bounds, root);
    const end = Number.isFinite(last) ? (runs.currentOf(root.name, last)?.offset ?? to) : to;
    yield* this.#readRange(root, known, segment, start.offset, end);
  }

  async *#readRange(
    root: RootSegment,
    known: ReadonlySet<number>,
    segment: Segment,
    from: number,
    end: number,
  ): AsyncGenerator<ReadingRecord | undefined> {
    if (from >= end) return;
    let deadBytes = segment.deadBytes;
    let dead = await this.#deadOf(segment);
    if (dead.size > 0 && (await this.#hasOthers(root, known))) {
      yield undefined;
      return;
    }
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
        if (await this.#hasOthers(root, known)) {
          yield undefined;
          return;
        }
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
    const dead = await deletedOffsets(this.#archive, segment);
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

/**
 * Fails where a root has another place in the order of segments than a cursor says. The file does not say its sequence
 * number, and the catalog that knew it was lost.
 */
export function assertOrder(places: RootPlaces, position: StreamPosition | undefined): void {
  const root = position && places.root(position.root);
  if (root && root.sequence !== position.sequence)
    throw new PinakesError('CURSOR_EXPIRED', { detail: `since ${root.name} has another place among the segments` });
}

/** Whether all records of a root are before the position. */
export function isBefore({ name, sequence }: RootSegment, position: StreamPosition | undefined): boolean {
  return position !== undefined && comparePositions({ root: name, sequence, offset: position.offset }, position) < 0;
}

function isEarlier({ record: one, place: a }: WalkedRecord, { record: other, place: b }: WalkedRecord): boolean {
  return a.offset < b.offset || (a.offset === b.offset && one.head.innerOffset < other.head.innerOffset);
}

export function isGone(error: unknown): boolean {
  return error instanceof PinakesError && (error.code === 'OBJECT_MISSING' || error.code === 'CONTENT_MISSING');
}
