/**
 * A stream as bytes: WARC with every record in a gzip member of its own, or JSON lines that describe the records.
 *
 * Records of gzip segments are sent as the members that are stored, consecutive ones together. Records of other
 * segments are compressed anew, with the records themselves unchanged (I4). A piece with a cursor ends with a whole
 * record. A client that has received this piece can continue with the cursor. The first piece has only a cursor and no
 * bytes, so that even a stream that breaks off at once continues in the same snapshot. Pieces without bytes also follow
 * long ranges without a selected record.
 */
import { EMPTY, PinakesError, RESYNC_WINDOW_BYTES, utf8 } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import { MemberEncoder, recordStream, type StreamedBlock } from '../../warc/index.ts';
import { isBadSector } from '../damage.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { SegmentCut } from '../segment/segment-cut.ts';
import { isWarcGzip, type RecordSource, RepackedRecord } from './repacked-record.ts';
import { expandRevisit } from './revisit-expansion.ts';
import { isGone } from './storage-walk.ts';
import { RecordStream, type StreamQuery, type WholePart } from './stream.ts';
import { StreamedRecord } from './streamed-record.ts';

/**
 * Segments are cut at the first record in each cell of this size, wherever a stream began. So streams of the same
 * records have the same cursors.
 */
const CELL_BYTES = 1024 * 1024;
/** How much is read after the edge of a cell to find the beginning of a record. */
const CUT_SEARCH_BYTES = 64 * 1024;
const ATTEMPTS = 5;

/** The cell of an offset. */
export function cellOf(offset: number): number {
  return Math.floor(offset / CELL_BYTES);
}

export type StreamPiece = {
  /** Valid until the next piece is read. */
  readonly bytes: Uint8Array;
  /** Whether the bytes stay valid and belong to the receiver. */
  readonly isOwn?: boolean;
  /** Where the stream continues after these bytes. Absent inside of a record. */
  readonly cursor?: string;
};

/** Bytes of a segment up to the offset `end`. A record ends after the first `cut` bytes. */
type CutPiece = { readonly bytes: Uint8Array; readonly cut: number | undefined; readonly end: number };

/** Consecutive members of a segment. */
type Run = { readonly segment: Segment; readonly from: number; readonly to: number; readonly cursor: string };

function cellEnd(offset: number): number {
  return (cellOf(offset) + 1) * CELL_BYTES;
}

function changed({ name }: Segment): PinakesError {
  return new PinakesError('OBJECT_CHANGED', { where: name, detail: 'it is shorter than the catalog says' });
}

export async function* streamWarc(archive: OpenedArchive, query: StreamQuery = {}): AsyncGenerator<StreamPiece> {
  const output = new WarcOutput(archive, query);
  try {
    for await (const piece of output.pieces()) {
      output.isInRecord = piece.cursor === undefined;
      yield piece;
    }
  } finally {
    output.close();
  }
}

class WarcOutput {
  readonly #archive: OpenedArchive;
  readonly #query: StreamQuery;
  readonly #encoder = new MemberEncoder({ coding: 'gzip' });
  readonly #cut: SegmentCut;
  /** Whether the last piece ended inside of a record. */
  isInRecord = false;
  /** The position after the pieces that were sent. */
  #cursor: string | undefined;
  #run: Run | undefined;
  /** The cell of the last record of the run. */
  #cell = '';
  #last: { readonly record: StreamedRecord; readonly cursor: string } | undefined;

  constructor(archive: OpenedArchive, query: StreamQuery) {
    this.#archive = archive;
    this.#query = query;
    this.#cut = new SegmentCut(archive);
    this.#cursor = query.cursor;
  }

  close(): void {
    this.#encoder.close();
    this.#cut[Symbol.dispose]();
  }

  /**
   * If the segment of a run disappears before the run is read, the records are looked up again: none of them was sent.
   */
  async *pieces(): AsyncGenerator<StreamPiece> {
    for (let failures = 0; ; ) {
      const stream = await RecordStream.open(this.#archive, { ...this.#query, cursor: this.#cursor }, false);
      if (this.#cursor === undefined) {
        this.#cursor = stream.cursor();
        yield { bytes: EMPTY, cursor: this.#cursor };
      }
      const before = this.#cursor;
      try {
        if (!(yield* this.#runs(stream))) return;
        failures = 0;
      } catch (error) {
        this.#run = undefined;
        this.#last = undefined;
        failures = this.#cursor === before ? failures + 1 : 0;
        // The next attempt reports unreadable bytes as a gap, or can read them again.
        const isPassed = isGone(error) || (this.#query.onDamage !== undefined && isBadSector(error));
        if (!isPassed || this.isInRecord || failures >= ATTEMPTS) throw error;
      }
    }
  }

  /** Returns whether the rest of the stream has to be opened again. */
  async *#runs(stream: RecordStream): AsyncGenerator<StreamPiece, boolean> {
    const isWhole = async (segment: Segment) => isWarcGzip(segment) && (await this.#archive.access.isOwn(segment));
    for await (const part of this.#isOfWholes() ? stream.parts(isWhole) : stream.steps()) {
      // The length of a record is known when the next one is read.
      yield* this.#settle();
      if (!part) {
        yield* this.#endRun();
        this.#cursor = stream.cursor();
        yield { bytes: EMPTY, cursor: this.#cursor };
        continue;
      }
      const cursor = stream.cursor();
      const isRecord = part instanceof StreamedRecord;
      if (isRecord && isWarcGzip(part.segment) && !this.#isToExpand(part)) {
        this.#last = { record: part, cursor };
        continue;
      }
      yield* this.#endRun();
      if (!isRecord) {
        if (!(yield* this.#copyWhole(part, stream))) return true;
      } else if (!this.#isToExpand(part) || !(yield* this.#expand(part, cursor))) yield* this.#encode(part, cursor);
    }
    yield* this.#settle();
    yield* this.#endRun();
    return false;
  }

  /** Adds the last record to the run, or sends it on its own when it cannot be copied as it is. */
  async *#settle(): AsyncGenerator<StreamPiece> {
    const last = this.#last;
    if (!last) return;
    this.#last = undefined;
    const { record, cursor } = last;
    const { segment, head, length } = record;
    const follows = this.#run?.segment === segment && this.#run.to === head.offset;
    if (!follows) yield* this.#endRun();
    const cell = `${segment.number}:${cellOf(head.offset)}`;
    const isLastOfRun = cell !== this.#cell;
    this.#cell = cell;
    if (length === undefined || !record.isWhole) {
      yield* this.#endRun();
      yield* this.#encodeAgain(record, cursor);
      return;
    }
    this.#run = { segment, from: this.#run?.from ?? head.offset, to: head.offset + length, cursor };
    if (isLastOfRun) yield* this.#endRun();
  }

  async *#endRun(): AsyncGenerator<StreamPiece> {
    const run = this.#run;
    this.#run = undefined;
    if (run) yield* this.#copy(run);
  }

  #isOfWholes(): boolean {
    const { wholeSegments, resolve, order = 'storage', selection = {} } = this.#query;
    const { collection: _, ...others } = selection;
    const isFiltered = Object.values(others).some((value) => value !== undefined);
    return wholeSegments === true && resolve !== true && order === 'storage' && !isFiltered;
  }

  async *#copy({ segment, from, to, cursor }: Run): AsyncGenerator<StreamPiece> {
    if (to - from <= 2 * CELL_BYTES) {
      const bytes = await this.#read(segment, from, to);
      this.#cursor = cursor;
      yield { bytes, cursor, isOwn: true };
      return;
    }
    let left = to - from;
    for await (const bytes of this.#archive.stores.get(segment.volume).stream(segment, from, to)) {
      left -= bytes.length;
      if (left > 0) yield { bytes };
      else {
        this.#cursor = cursor;
        yield { bytes, cursor };
      }
    }
  }

  /**
   * Sends a segment as it is, with a cursor in each cell. Returns whether all of it was sent. It stops when something
   * in the segment is deleted meanwhile.
   */
  async *#copyWhole(part: WholePart, stream: RecordStream): AsyncGenerator<StreamPiece, boolean> {
    const { segment, fromBytes, endBytes } = part;
    let held: Uint8Array = EMPTY;
    for (let at = fromBytes, goal = cellEnd(at); ; goal = cellEnd(at - held.length)) {
      const end = Math.min(endBytes, Math.max(goal, at) + CUT_SEARCH_BYTES);
      // Nothing is sent before all bytes up to the cut are read. When the segment disappears now, it is looked up again
      // from the last cursor.
      const bytes = await this.#read(segment, at, end);
      const cut = end === endBytes ? end : await this.#cut.find(segment, bytes, at, goal);
      const large = cut === undefined ? this.#largeRecord(segment, end, endBytes) : undefined;
      const first = await large?.next();
      if (held.length > 0) yield { bytes: held, isOwn: true };
      const isOwn = large === undefined;
      let rest: CutPiece = { bytes, cut: cut === undefined ? undefined : cut - at, end };
      while (rest.cut === undefined) {
        yield { bytes: rest.bytes, isOwn: rest.bytes === bytes };
        // This piece is valid until the next one is read.
        const next = rest.bytes === bytes ? first : await large!.next();
        if (!next || next.done) throw changed(segment);
        rest = next.value;
      }
      at = rest.end;
      const cutAt = at - (rest.bytes.length - rest.cut);
      // A copy, so that these few bytes do not keep the large buffer in memory.
      held = Buffer.from(rest.bytes.subarray(rest.cut));
      this.#cursor = cutAt === endBytes ? stream.cursor() : stream.cursorBefore(part, cutAt);
      yield { bytes: rest.bytes.subarray(0, rest.cut), cursor: this.#cursor, isOwn };
      await large?.return(undefined);
      if (cutAt === endBytes) return true;
      const now = await this.#archive.segmentRegistry.find(segment.number);
      if (now?.name !== segment.name || now.deadBytes > 0) return false;
    }
  }

  /** The rest of a record that extends far beyond its cell, from one open file, up to a piece with a cut. */
  async *#largeRecord(segment: Segment, from: number, to: number): AsyncGenerator<CutPiece> {
    let at = from;
    for await (const bytes of this.#archive.stores.get(segment.volume).stream(segment, from, to)) {
      const end = at + bytes.length;
      const cut = end === to ? end : await this.#cut.find(segment, bytes, at, at);
      yield { bytes, cut: cut === undefined ? undefined : cut - at, end };
      at = end;
    }
  }

  async #read(segment: Segment, from: number, to: number): Promise<Uint8Array> {
    const range = { offset: from, length: to - from };
    const [bytes] = await this.#archive.stores.get(segment.volume).read(segment, [range]);
    if (bytes!.length === range.length) return bytes!;
    throw changed(segment);
  }

  #isToExpand({ head }: StreamedRecord): boolean {
    return this.#query.resolve === true && head.type === 'revisit';
  }

  /** Sends a revisit as a full record. False when it has to stay a revisit. */
  async *#expand(record: StreamedRecord, cursor: string): AsyncGenerator<StreamPiece, boolean> {
    const source = await expandRevisit(this.#archive, record);
    if (!source) return false;
    yield* this.#encodeStream(source, cursor);
    return true;
  }

  /** Sends a record that cannot be copied as it is: it was read to its end and is truncated, or shares its member. */
  async *#encodeAgain({ segment, head }: StreamedRecord, cursor: string): AsyncGenerator<StreamPiece> {
    const place = { segment: segment.number, offset: head.offset, length: segment.bytes - head.offset };
    const options = { lookBackBytes: RESYNC_WINDOW_BYTES, skipsGaps: this.#query.onDamage !== undefined };
    for await (const record of this.#archive.access.records(place, options)) {
      if (record.head.innerOffset < head.innerOffset) continue;
      yield* this.#encodeSource({ head, body: () => record.body() }, cursor);
      return;
    }
  }

  async *#encode(record: StreamedRecord, cursor: string): AsyncGenerator<StreamPiece> {
    yield* this.#encodeSource({ head: record.head, body: () => record.block() }, cursor);
  }

  async *#encodeSource(source: RecordSource, cursor: string): AsyncGenerator<StreamPiece> {
    const { newId, scratch } = this.#archive;
    // A stream contains records as they are stored, odd ones too, so that a resumed stream has the same bytes.
    await using packed = await RepackedRecord.take(source, { newId, scratch, asItIs: true });
    yield* this.#encodeStream(recordStream(packed.head, packed.block), cursor);
  }

  async *#encodeStream({ pieces, length }: StreamedBlock, cursor: string): AsyncGenerator<StreamPiece> {
    let held: Uint8Array | undefined;
    for await (const bytes of this.#encoder.encodeStream(pieces, length)) {
      if (held) yield { bytes: held };
      held = bytes;
    }
    this.#cursor = cursor;
    if (held) yield { bytes: held, cursor };
  }
}

/** Reads the payload of a record, and returns further fields for its line. */
export type LineExtension = (record: StreamedRecord) => Promise<Readonly<Record<string, unknown>>>;

/** One JSON object and one cursor for each record. */
export async function* streamJson(
  archive: OpenedArchive,
  query: StreamQuery = {},
  extend?: LineExtension,
): AsyncGenerator<StreamPiece> {
  const stream = await RecordStream.open(archive, query);
  yield { bytes: EMPTY, cursor: stream.cursor() };
  for await (const record of stream.steps()) {
    const cursor = stream.cursor();
    if (!record) {
      yield { bytes: EMPTY, cursor };
      continue;
    }
    const line = extend ? await extend(record) : { payloadBytes: await record.payloadBytes() };
    yield {
      bytes: utf8(`${JSON.stringify({ ...describe(record), ...line, ...damageOf(record) })}\n`),
      cursor,
      isOwn: true,
    };
  }
}

/** The damage of a record in its line, as far as the block was read. */
function damageOf({ damage, isComplete }: StreamedRecord): Record<string, unknown> {
  if (!damage) return {};
  return { damage: { code: damage.code, message: damage.message, comes: isComplete ? 'all' : 'part' } };
}

/** The fields of a line, without those that the record does not have. */
function describe(record: StreamedRecord): Record<string, unknown> {
  const { head, segment } = record;
  const text = (name: string) => head.get(name);
  return {
    type: head.type,
    url: head.targetUri,
    date: head.date,
    id: head.recordId,
    collection: record.collection,
    status: record.status || undefined,
    mime: record.mime || undefined,
    payloadDigest: text('warc-payload-digest'),
    refersTo: text('warc-refers-to'),
    refersToUrl: text('warc-refers-to-target-uri'),
    refersToDate: text('warc-refers-to-date'),
    concurrentTo: text('warc-concurrent-to'),
    segment: segment.name,
    volume: segment.volume,
    offset: head.offset,
    length: record.length,
  };
}
