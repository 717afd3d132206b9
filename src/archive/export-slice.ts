/**
 * The slice of an archive that an export takes: the captures a selection means, segment by segment in storage order, with the records that go with
 * them. Sorted outside of memory (I9).
 */
import { fromHex, PinakesError, toHex } from '../base/index.ts';
import type { BlockKey, Segment } from '../catalog/index.ts';
import { type ReadingRecord, type RecordHead, readRecords, sortLines } from '../warc/index.ts';
import { findCompanions } from './companions.ts';
import { SegmentLineage } from './segment-lineage.ts';
import { type Selection, selectCaptures } from './selection.ts';
import { isGone } from './storage-walk.ts';
import type { StreamParts } from './stream.ts';

const ATTEMPTS = 5;

/** A record of the slice, by place. */
export type SliceRecord = {
  readonly offset: number;
  readonly length: number;
  /** Only captures have a kind; the others go with them. */
  readonly kind: string | undefined;
  readonly block: BlockKey | undefined;
};

export type SegmentSlice = { readonly segment: Segment; readonly records: readonly SliceRecord[] };

export type SliceOptions = {
  /** Whether requests, metadata and warcinfo records come along. */
  readonly companions: boolean;
  readonly signal?: AbortSignal | undefined;
};

export async function* sliceOf(
  archive: StreamParts,
  selection: Selection,
  options: SliceOptions,
): AsyncGenerator<SegmentSlice> {
  let number = -1;
  let captures: SliceRecord[] = [];
  for await (const line of sortLines(placeLines(archive, selection), { directory: archive.scratch })) {
    const { segment, record } = parseLine(line);
    if (segment !== number) {
      if (captures.length > 0) yield await segmentSlice(archive, number, captures, options);
      number = segment;
      captures = [];
    }
    captures.push(record);
  }
  if (captures.length > 0) yield await segmentSlice(archive, number, captures, options);
}

async function* placeLines(archive: StreamParts, selection: Selection): AsyncGenerator<string> {
  await using view = await archive.catalog.view();
  for await (const page of selectCaptures(view, selection)) {
    for (const { place, kind, block } of page) {
      const content = block ? `${toHex(block.digest)}~${block.overflow}` : '-';
      const order = `${String(place.segment).padStart(10, '0')} ${String(place.offset).padStart(16, '0')}`;
      yield `${order} ${place.length} ${kind} ${content}`;
    }
  }
}

function parseLine(line: string): { segment: number; record: SliceRecord } {
  const [segment, offset, length, kind, content] = line.split(' ') as [string, string, string, string, string];
  const [hex, overflow] = content.split('~');
  const block = content === '-' ? undefined : { digest: fromHex(hex!)!, overflow: Number(overflow) };
  return { segment: Number(segment), record: { offset: Number(offset), length: Number(length), kind, block } };
}

/** The captures as they stand in the segment now, which compaction may have written anew, and what goes with them. */
async function segmentSlice(
  archive: StreamParts,
  number: number,
  captures: readonly SliceRecord[],
  options: SliceOptions,
): Promise<SegmentSlice> {
  for (let attempt = 1; ; attempt++) {
    const segment = archive.shelf.find(number);
    if (!segment) return segmentSlice(archive, ...(await movedTo(archive, number, captures)), options);
    if (!options.companions) return { segment, records: captures };
    try {
      const companions = await companionsIn(archive, segment, captures, options);
      const records = [...captures, ...companions].sort((a, b) => a.offset - b.offset);
      return { segment, records };
    } catch (error) {
      if (!isGone(error) || attempt >= ATTEMPTS) throw error;
    }
  }
}

/** A record of the slice where it stands now, when its segment was written anew meanwhile; undefined when it was deleted. */
export async function movedRecord(
  archive: StreamParts,
  number: number,
  record: SliceRecord,
): Promise<{ segment: number; record: SliceRecord } | undefined> {
  const lineage = await SegmentLineage.load(archive);
  const now = await lineage.translate(number, record.offset);
  if (!now.isSame) return undefined;
  return { segment: now.segment.number, record: await recordAt(archive, now.segment, now.offset, record) };
}

async function movedTo(
  archive: StreamParts,
  number: number,
  captures: readonly SliceRecord[],
): Promise<[number, SliceRecord[]]> {
  const lineage = await SegmentLineage.load(archive);
  let at = number;
  const moved: SliceRecord[] = [];
  for (const capture of captures) {
    const now = await lineage.translate(number, capture.offset);
    at = now.segment.number;
    if (!now.isSame) continue;
    moved.push(await recordAt(archive, now.segment, now.offset, capture));
  }
  return [at, moved];
}

/** A record that was written anew may have another length and be of another kind. */
async function recordAt(
  archive: StreamParts,
  segment: Segment,
  offset: number,
  capture: SliceRecord,
): Promise<SliceRecord> {
  for await (const record of recordsFrom(archive, segment, offset)) {
    for await (const _ of record.body());
    const kind = capture.kind === undefined ? undefined : record.head.type;
    return { ...capture, offset, length: record.tail?.length ?? capture.length, kind };
  }
  throw new PinakesError('NO_RECORD', { where: `${segment.name}:${offset}` });
}

async function* recordsFrom(
  archive: StreamParts,
  segment: Segment,
  from: number,
  signal?: AbortSignal,
): AsyncGenerator<ReadingRecord> {
  const dictionary = await archive.access.dictionaryOf(segment.number);
  const stream = archive.volumes.get(segment.volume).stream(segment.name, from, segment.bytes);
  yield* readRecords(stream, {
    name: segment.name,
    offset: from,
    dictionary: dictionary && Buffer.from(dictionary),
    signal,
  });
}

async function companionsIn(
  archive: StreamParts,
  segment: Segment,
  captures: readonly SliceRecord[],
  options: SliceOptions,
): Promise<SliceRecord[]> {
  const chosen = new Set(captures.map(({ offset }) => offset));
  const isChosen = (head: RecordHead) => chosen.has(head.offset);
  const found: SliceRecord[] = [];
  const warcinfo = new WarcinfoFinder(isChosen, archive.volumes.linked(segment.volume) === undefined);
  const records = warcinfo.watch(recordsFrom(archive, segment, 0, options.signal));
  for await (const { offset, length } of findCompanions(records, { isChosen, whenDoubtful: true })) {
    found.push({ offset, length, kind: undefined, block: undefined });
  }
  return [...found, ...warcinfo.found];
}

/** Which warcinfo records describe chosen captures: those they name, or the last before them. The first of our own segments tells of the segment only. */
class WarcinfoFinder {
  readonly found: SliceRecord[] = [];
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
    const { head, tail } = last.record;
    if (tail?.length !== undefined)
      this.found.push({ offset: head.offset, length: tail.length, kind: undefined, block: undefined });
  }
}
