/**
 * A stream as bytes: WARC, every record in a gzip member of its own, or JSON lines that tell of the records.
 *
 * Records of gzip segments go out as the members they are stored in, neighbours together; records of other segments are
 * packed anew, the records themselves unchanged (I4). A piece with a cursor ends with a whole record: who has
 * everything up to it goes on from there. The first piece has no bytes, only the cursor of the beginning: with it even
 * a stream that breaks off at once goes on in the same snapshot. So have pieces behind stretches in which nothing is
 * meant.
 */
import { EMPTY, PinakesError, RESYNC_WINDOW_BYTES, utf8 } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import { MemberEncoder, RECORD_TRAILER } from '../../warc/index.ts';
import { isBadSector } from '../damage.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { SegmentCut } from '../segment/segment-cut.ts';
import { isWarcGzip, type RecordSource, RepackedRecord } from './repacked-record.ts';
import { expandRevisit } from './revisit-expansion.ts';
import { isGone } from './storage-walk.ts';
import { RecordStream, type StreamQuery, type WholePart } from './stream.ts';
import { StreamedRecord } from './streamed-record.ts';

/**
 * Segments are cut where the first record begins in each cell of this size, wherever a stream began: so streams of the
 * same records come to the same cursors.
 */
const CELL_BYTES = 1024 * 1024;
/** Behind the edge of a cell, so far is read at once in the hope that a record begins there. */
const CUT_SEARCH_BYTES = 64 * 1024;
const ATTEMPTS = 5;

/** The cell that an offset lies in. */
export function cellOf(offset: number): number {
  return Math.floor(offset / CELL_BYTES);
}

export type StreamPiece = {
  /** Good until the next piece is asked for. */
  readonly bytes: Uint8Array;
  /** The bytes are nobody else's, and stay good. */
  readonly isOwn?: boolean;
  /** Where the stream goes on behind these bytes; only at the end of a record. */
  readonly cursor?: string;
};

/** Bytes of a segment that end at `end`; `cut` tells after how many of them a record ends. */
type CutPiece = { readonly bytes: Uint8Array; readonly cut: number | undefined; readonly end: number };

/** Members that follow one another in a segment. */
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
  /** Whether what went out last was not the end of a record. */
  isInRecord = false;
  /** Behind what went out. */
  #cursor: string | undefined;
  #run: Run | undefined;
  /** Where the last record of the run began. */
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

  /** A run whose segment vanished before it could be read is looked for anew; nothing of it had gone out. */
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
        // What was read a moment ago and is not given now is told of as a gap, or comes after all.
        const isPassed = isGone(error) || (this.#query.onDamage !== undefined && isBadSector(error));
        if (!isPassed || this.isInRecord || failures >= ATTEMPTS) throw error;
      }
    }
  }

  /** Says whether the rest has to be asked for anew. */
  async *#runs(stream: RecordStream): AsyncGenerator<StreamPiece, boolean> {
    const isWhole = async (segment: Segment) => isWarcGzip(segment) && (await this.#archive.access.isOwn(segment));
    for await (const part of this.#isOfWholes() ? stream.parts(isWhole) : stream.steps()) {
      // How long a record is, is known when the next one comes.
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

  /** Puts the last record into the run, or sends it on its own when it cannot go as it lies. */
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
    for await (const bytes of this.#archive.volumes.get(segment.volume).stream(segment.name, from, to)) {
      left -= bytes.length;
      if (left > 0) yield { bytes };
      else {
        this.#cursor = cursor;
        yield { bytes, cursor };
      }
    }
  }

  /**
   * A segment as it lies, with a cursor in each cell. Says whether it went out whole; it does not when something in it
   * was deleted meanwhile.
   */
  async *#copyWhole(
    { segment, fromBytes, endBytes }: WholePart,
    stream: RecordStream,
  ): AsyncGenerator<StreamPiece, boolean> {
    let held: Uint8Array = EMPTY;
    for (let at = fromBytes, goal = cellEnd(at); ; goal = cellEnd(at - held.length)) {
      const end = Math.min(endBytes, Math.max(goal, at) + CUT_SEARCH_BYTES);
      // Nothing goes out before what belongs to it is in hand: a segment that vanishes now is looked for anew from the
      // last cursor.
      const bytes = await this.#read(segment, at, end);
      const cut = end === endBytes ? end : await this.#cut.find(segment, bytes, at, goal);
      const large = cut === undefined ? this.#largeRecord(segment, end, endBytes) : undefined;
      const first = await large?.next();
      if (held.length > 0) yield { bytes: held, isOwn: true };
      const isOwn = large === undefined;
      let rest: CutPiece = { bytes, cut: cut === undefined ? undefined : cut - at, end };
      while (rest.cut === undefined) {
        yield { bytes: rest.bytes, isOwn: rest.bytes === bytes };
        // The piece in hand is good until the next is asked for.
        const next = rest.bytes === bytes ? first : await large!.next();
        if (!next || next.done) throw changed(segment);
        rest = next.value;
      }
      at = rest.end;
      const cutAt = at - (rest.bytes.length - rest.cut);
      // A copy, so that these few bytes do not keep all the others in memory.
      held = Buffer.from(rest.bytes.subarray(rest.cut));
      this.#cursor = cutAt === endBytes ? stream.cursor() : stream.cursorBefore(segment.number, cutAt);
      yield { bytes: rest.bytes.subarray(0, rest.cut), cursor: this.#cursor, isOwn };
      await large?.return(undefined);
      if (cutAt === endBytes) return true;
      if (this.#archive.segmentRegistry.find(segment.number)?.deadBytes !== 0) return false;
    }
  }

  /**
   * What is left of a record that goes far beyond its cell, from one open file; up to a piece in which it can be cut.
   */
  async *#largeRecord(segment: Segment, from: number, to: number): AsyncGenerator<CutPiece> {
    let at = from;
    for await (const bytes of this.#archive.volumes.get(segment.volume).stream(segment.name, from, to)) {
      const end = at + bytes.length;
      const cut = end === to ? end : await this.#cut.find(segment, bytes, at, at);
      yield { bytes, cut: cut === undefined ? undefined : cut - at, end };
      at = end;
    }
  }

  async #read(segment: Segment, from: number, to: number): Promise<Uint8Array> {
    const range = { name: segment.name, offset: from, length: to - from };
    const [bytes] = await this.#archive.volumes.get(segment.volume).read([range]);
    if (bytes!.length === range.length) return bytes!;
    throw changed(segment);
  }

  #isToExpand({ head }: StreamedRecord): boolean {
    return this.#query.resolve === true && head.type === 'revisit';
  }

  /** A revisit as a full record; false when it has to stay one. */
  async *#expand(record: StreamedRecord, cursor: string): AsyncGenerator<StreamPiece, boolean> {
    const source = await expandRevisit(this.#archive, record);
    if (!source) return false;
    yield* this.#encodeStream(source.pieces, source.length, cursor);
    return true;
  }

  /**
   * A record that was read to its end and turned out to be cut short, or to share its member: it cannot go as it lies.
   */
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
    // A stream gives records as they are stored, odd ones too: one that is taken up again says the same.
    await using packed = await RepackedRecord.take(source, { newId, scratch, asItIs: true });
    const { head, block } = packed;
    const total = head.length + block.length + RECORD_TRAILER.length;
    async function* whole(): AsyncGenerator<Uint8Array> {
      yield head;
      yield* block.pieces;
      yield RECORD_TRAILER;
    }
    yield* this.#encodeStream(whole(), total, cursor);
  }

  async *#encodeStream(pieces: AsyncIterable<Uint8Array>, total: number, cursor: string): AsyncGenerator<StreamPiece> {
    let held: Uint8Array | undefined;
    for await (const bytes of this.#encoder.encodeStream(pieces, total)) {
      if (held) yield { bytes: held };
      held = bytes;
    }
    this.#cursor = cursor;
    if (held) yield { bytes: held, cursor };
  }
}

/** Reads the payload of a record, and gives what its line is to say besides what is known without. */
export type LineExtension = (record: StreamedRecord) => Promise<Readonly<Record<string, unknown>>>;

/** One JSON object a line for each record, with a cursor each. */
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

/** What a line says of a record that is damaged, as far as its block was read. */
function damageOf({ damage, isComplete }: StreamedRecord): Record<string, unknown> {
  if (!damage) return {};
  return { damage: { code: damage.code, message: damage.message, comes: isComplete ? 'all' : 'part' } };
}

/** What a line says of a record; left out where the record does not have it. */
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
