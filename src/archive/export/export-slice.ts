/**
 * The slice of an archive that is exported: the selected captures, segment by segment in storage order, with their
 * concurrent records. The slice is sorted outside of memory (I9).
 *
 * To find the concurrent records, segments are read from front to back. This also shows the state of each record, so
 * copying does not have to examine the records again.
 */
import { type Finding, fromHex, toHex } from '../../base/index.ts';
import type { BlockKey, Segment } from '../../catalog/index.ts';
import { type RootPlace, RootPlaces } from '../../ledger/index.ts';
import { type ReadingRecord, type RecordHead, sortLines } from '../../warc/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { type ConcurrentRecord, findConcurrent } from '../read/concurrent-records.ts';
import { deletedOffsets } from '../segment/deleted-records.ts';
import { type Selection, selectCaptures } from '../selection.ts';
import { rootPlacesOf } from '../stream/snapshot.ts';
import { isGone } from '../stream/storage-walk.ts';

const ATTEMPTS = 5;

/** A record of the slice, by its place. */
export type SliceRecord = {
  readonly offset: number;
  readonly length: number;
  /** The kind of a capture. Undefined for other records, which go with captures. */
  readonly kind: string | undefined;
  readonly block: BlockKey | undefined;
  /** Where the record was first written to. Undefined for the records that describe only the segment. */
  readonly root: Pick<RootPlace, 'root' | 'offset'> | undefined;
  /** Undefined while the record is unread. */
  readonly state?: RecordState;
};

/** The state of a record that was read to its end. */
export type RecordState = {
  /** Whether the record is complete, in a member of its own, and valid by the standard, so that it can be copied. */
  readonly isWhole: boolean;
  readonly url: string | undefined;
  readonly damage: readonly Finding[];
};

/** The state of an undamaged record, as most are. */
export const SOUND: RecordState = { isWhole: true, url: undefined, damage: [] };

export function stateOf({ head, tail, damage }: ReadingRecord, length: number): RecordState {
  const isWhole = tail?.isComplete === true && !tail.isTorn && tail.length === length;
  const isSound = head.form === 'sound' && tail?.isTrailerSound === true && !tail.spansMembers;
  return { isWhole: isWhole && isSound, url: head.targetUri, damage };
}

export type SegmentSlice = {
  readonly segment: Segment;
  readonly records: readonly SliceRecord[];
  /** Damage where no record can be read. It is not known whether the lost records belong to the slice. */
  readonly unreadable: readonly Finding[];
};

export type SliceOptions = {
  /** Whether requests, metadata and warcinfo records are included. */
  readonly concurrentRecords: boolean;
  readonly signal?: AbortSignal | undefined;
};

export async function* sliceOf(
  archive: OpenedArchive,
  selection: Selection,
  options: SliceOptions,
): AsyncGenerator<SegmentSlice> {
  let number = -1;
  let captures: SliceRecord[] = [];
  for await (const line of sortLines(placeLines(archive, selection), { directory: archive.scratch })) {
    const { segment, record } = parseLine(line);
    if (segment !== number) {
      yield* segmentSlice(archive, number, captures, options);
      number = segment;
      captures = [];
    }
    captures.push(record);
  }
  yield* segmentSlice(archive, number, captures, options);
}

async function* placeLines(archive: OpenedArchive, selection: Selection): AsyncGenerator<string> {
  await using view = await archive.catalog.longView();
  const places = await RootPlaces.load(view);
  for await (const page of selectCaptures(view, selection)) {
    for (const { place, kind, block } of page) {
      const root = await places.rootOf(place);
      const content = block ? `${toHex(block.digest)}~${block.overflow}` : '-';
      const order = `${String(place.segment).padStart(10, '0')} ${String(place.offset).padStart(16, '0')}`;
      yield `${order} ${place.length} ${kind} ${content} ${root?.offset ?? ''} ${root?.root ?? ''}`;
    }
  }
}

function parseLine(line: string): { segment: number; record: SliceRecord } {
  const [segment, offset, length, kind, content, rootOffset, ...words] = line.split(' ');
  // The name of a file that is used in place may have blanks.
  const name = words.join(' ');
  const root = name === '' ? undefined : { root: name, offset: Number(rootOffset) };
  const [hex, overflow] = content!.split('~');
  const block = content === '-' ? undefined : { digest: fromHex(hex!)!, overflow: Number(overflow) };
  return { segment: Number(segment), record: { offset: Number(offset), length: Number(length), kind, block, root } };
}

/**
 * The captures at their current places, since compaction may have replaced the segment, and their concurrent records.
 * Nothing when all of the captures were deleted.
 */
async function* segmentSlice(
  archive: OpenedArchive,
  number: number,
  captures: readonly SliceRecord[],
  options: SliceOptions,
): AsyncGenerator<SegmentSlice> {
  for (let attempt = 1; captures.length > 0; attempt++) {
    const segment = await archive.segmentRegistry.find(number);
    if (!segment) {
      for (const [now, moved] of await movedTo(archive, captures)) yield* segmentSlice(archive, now, moved, options);
      return;
    }
    if (!options.concurrentRecords) {
      yield { segment, records: captures, unreadable: [] };
      return;
    }
    let slice: SegmentSlice;
    try {
      slice = await withRoots(archive, await walkedSlice(archive, segment, captures, options));
    } catch (error) {
      if (!isGone(error) || attempt >= ATTEMPTS) throw error;
      continue;
    }
    yield slice;
    return;
  }
}

/** The slice with the root places of concurrent records. */
async function withRoots(archive: OpenedArchive, slice: SegmentSlice): Promise<SegmentSlice> {
  const runs = await archive.runs.of(archive.catalog, slice.segment);
  const records = slice.records.map((record) => ({ ...record, root: record.root ?? runs.rootOf(record.offset) }));
  return { ...slice, records };
}

/** A record of the slice at its current place, after its segment was replaced. Undefined when it was deleted. */
export async function movedRecord(
  archive: OpenedArchive,
  record: SliceRecord,
): Promise<{ segment: number; record: SliceRecord } | undefined> {
  const places = await rootPlacesOf(archive);
  const found = record.root ? await places.currentOf(record.root.root, record.root.offset) : [];
  const now = found.findLast(({ isSame }) => isSame);
  if (!now) return undefined;
  return { segment: now.segment.number, record: await recordAt(archive, now.segment, now.offset, record) };
}

/** The segments with these captures now. Records of one segment may have moved to several. */
async function movedTo(
  archive: OpenedArchive,
  captures: readonly SliceRecord[],
): Promise<ReadonlyMap<number, SliceRecord[]>> {
  const moved = new Map<number, SliceRecord[]>();
  for (const capture of captures) {
    const now = await movedRecord(archive, capture);
    if (!now) continue;
    const records = moved.get(now.segment) ?? [];
    records.push(now.record);
    moved.set(now.segment, records);
  }
  return moved;
}

/** Reads the record at a place, since a record that was written anew may have another length and another type. */
async function recordAt(
  archive: OpenedArchive,
  segment: Segment,
  offset: number,
  capture: SliceRecord,
): Promise<SliceRecord> {
  for await (const record of recordsFrom(archive, segment, offset)) {
    if (record.head.offset !== offset) break;
    for await (const _ of record.body());
    const kind = capture.kind === undefined ? undefined : record.head.type;
    const length = record.tail?.length ?? capture.length;
    return { ...capture, offset, length, kind, state: stateOf(record, length) };
  }
  return { ...capture, offset };
}

function recordsFrom(
  archive: OpenedArchive,
  segment: Segment,
  from: number,
  options: { readonly signal?: AbortSignal | undefined; readonly onUnreadable?: (finding: Finding) => void } = {},
): AsyncGenerator<ReadingRecord> {
  return archive.access.recordsIn(segment, from, segment.bytes, { ...options, skipsGaps: true });
}

/** The captures of a segment with their concurrent records, and the state of all these records. */
async function walkedSlice(
  archive: OpenedArchive,
  segment: Segment,
  captures: readonly SliceRecord[],
  { signal }: SliceOptions,
): Promise<SegmentSlice> {
  const chosen = new Map(captures.map((capture) => [capture.offset, capture]));
  const isChosen = (head: RecordHead) => chosen.has(head.offset);
  const notable = new Map<number, RecordState>();
  const unmet = new Set(chosen.keys());
  const lost: Finding[] = [];
  const warcinfo = new WarcinfoFinder(isChosen, await archive.access.isOwn(segment));
  async function* watched(): AsyncGenerator<ReadingRecord> {
    const onUnreadable = (finding: Finding) => lost.push(finding);
    for await (const record of recordsFrom(archive, segment, 0, { signal, onUnreadable })) {
      yield record;
      const { offset } = record.head;
      unmet.delete(offset);
      const state = stateOf(record, chosen.get(offset)?.length ?? record.tail?.length ?? 0);
      if (!state.isWhole || state.damage.length > 0) notable.set(offset, state);
    }
  }
  const found: ConcurrentRecord[] = [];
  const rule = { isChosen, whenDoubtful: true, onUnlinked: (damage: Finding) => lost.push(damage) };
  for await (const concurrentRecord of findConcurrent(warcinfo.watch(watched()), rule)) found.push(concurrentRecord);
  const concurrentRecords = [...found, ...warcinfo.found].map(({ offset, length = segment.bytes - offset }) => {
    return { offset, length, kind: undefined, block: undefined, root: undefined };
  });
  const gone = new Set([...unmet, ...lost.map(({ offset }) => offset)]);
  const records = [...captures, ...concurrentRecords]
    .sort((a, b) => a.offset - b.offset)
    .map((record) => (gone.has(record.offset) ? record : { ...record, state: notable.get(record.offset) ?? SOUND }));
  const dead = lost.length > 0 ? await deletedOffsets(archive, segment) : gone;
  const unreadable = lost.filter(({ offset }) => !dead.has(offset) && !chosen.has(offset));
  return { segment, records, unreadable };
}

/**
 * Finds the warcinfo records that describe chosen captures: the last one before each capture. In the archive's own
 * segments, the first warcinfo record describes only the segment.
 */
class WarcinfoFinder {
  readonly found: ConcurrentRecord[] = [];
  readonly #isChosen: (head: RecordHead) => boolean;
  readonly #isOurs: boolean;
  #last: { record: ReadingRecord; isTaken: boolean } | undefined;

  constructor(isChosen: (head: RecordHead) => boolean, isOurs: boolean) {
    this.#isChosen = isChosen;
    this.#isOurs = isOurs;
  }

  async *watch(records: AsyncIterable<ReadingRecord>): AsyncGenerator<ReadingRecord> {
    let isFirst = true;
    for await (const record of records) {
      yield record;
      const { head } = record;
      if (head.type === 'warcinfo') this.#last = isFirst && this.#isOurs ? undefined : { record, isTaken: false };
      else if (this.#last && !this.#last.isTaken && this.#isChosen(head)) this.#take(this.#last);
      isFirst = false;
    }
  }

  #take(last: { record: ReadingRecord; isTaken: boolean }): void {
    last.isTaken = true;
    const { head, tail, damage } = last.record;
    if (tail?.length !== undefined || damage.length > 0)
      this.found.push({ offset: head.offset, length: tail?.length, type: head.type });
  }
}
