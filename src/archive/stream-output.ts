/**
 * A stream as bytes: WARC, every record in a gzip member of its own, or JSON lines that tell of the records.
 *
 * Records of gzip segments go out as the members they are stored in, neighbours together; records of other segments are packed anew, the records
 * themselves unchanged (I4). A piece with a cursor ends with a whole record: who has everything up to it goes on from there. The first piece has no bytes, only
 * the cursor of the beginning: with it even a stream that breaks off at once goes on in the same snapshot.
 */
import { EMPTY, utf8 } from '../base/index.ts';
import type { Segment } from '../catalog/index.ts';
import { MemberEncoder, RECORD_TRAILER } from '../warc/index.ts';
import { isWarcGzip, type RecordSource, RepackedRecord } from './repacked-record.ts';
import { isGone } from './storage-walk.ts';
import { RecordStream, type StreamParts, type StreamQuery } from './stream.ts';
import { StreamedRecord } from './streamed-record.ts';

const RUN_BYTES_MAX = 1024 * 1024;
const ATTEMPTS = 5;

export type StreamPiece = {
  /** Good until the next piece is asked for. */
  readonly bytes: Uint8Array;
  /** Where the stream goes on behind these bytes; only at the end of a record. */
  readonly cursor?: string;
};

/** Members that follow one another in a segment. */
type Run = { readonly segment: Segment; readonly from: number; readonly to: number; readonly cursor: string };

export async function* streamWarc(archive: StreamParts, query: StreamQuery = {}): AsyncGenerator<StreamPiece> {
  const output = new WarcOutput(archive, query);
  try {
    yield* output.pieces();
  } finally {
    output.close();
  }
}

class WarcOutput {
  readonly #archive: StreamParts;
  readonly #query: StreamQuery;
  readonly #encoder = new MemberEncoder({ coding: 'gzip' });
  /** Behind what went out. */
  #cursor: string | undefined;
  #run: Run | undefined;
  #last: { readonly record: StreamedRecord; readonly cursor: string } | undefined;

  constructor(archive: StreamParts, query: StreamQuery) {
    this.#archive = archive;
    this.#query = query;
    this.#cursor = query.cursor;
  }

  close(): void {
    this.#encoder.close();
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
        yield* this.#runs(stream);
        return;
      } catch (error) {
        this.#run = undefined;
        this.#last = undefined;
        failures = this.#cursor === before ? failures + 1 : 0;
        if (!isGone(error) || failures >= ATTEMPTS) throw error;
      }
    }
  }

  async *#runs(stream: RecordStream): AsyncGenerator<StreamPiece> {
    // What others wrote may end in half a record; only segments of our own are known to be whole.
    const isWhole = (segment: Segment) => isWarcGzip(segment) && !this.#archive.volumes.linked(segment.volume);
    for await (const part of this.#isOfWholes() ? stream.parts(isWhole) : stream) {
      // How long a record is, is known when the next one comes.
      yield* this.#settle();
      const cursor = stream.cursor();
      if (part instanceof StreamedRecord && isWarcGzip(part.segment)) {
        this.#last = { record: part, cursor };
        continue;
      }
      yield* this.#endRun();
      if (part instanceof StreamedRecord) yield* this.#encode(part, cursor);
      else yield* this.#copy({ segment: part.segment, from: 0, to: part.endBytes, cursor });
    }
    yield* this.#settle();
    yield* this.#endRun();
  }

  /** Puts the last record into the run, or sends it on its own when it cannot go as it lies. */
  async *#settle(): AsyncGenerator<StreamPiece> {
    const last = this.#last;
    if (!last) return;
    this.#last = undefined;
    const { record, cursor } = last;
    const { segment, head, length } = record;
    const follows = this.#run?.segment === segment && this.#run.to === head.offset;
    if (!follows || this.#run!.to - this.#run!.from >= RUN_BYTES_MAX) yield* this.#endRun();
    if (length === undefined || !record.isWhole) {
      yield* this.#endRun();
      yield* this.#encodeAgain(record, cursor);
      return;
    }
    this.#run = { segment, from: this.#run?.from ?? head.offset, to: head.offset + length, cursor };
  }

  async *#endRun(): AsyncGenerator<StreamPiece> {
    const run = this.#run;
    this.#run = undefined;
    if (run) yield* this.#copy(run);
  }

  #isOfWholes(): boolean {
    const { wholeSegments, order = 'storage', selection = {} } = this.#query;
    const { collection: _, ...others } = selection;
    const isFiltered = Object.values(others).some((value) => value !== undefined);
    return wholeSegments === true && order === 'storage' && !isFiltered;
  }

  async *#copy({ segment, from, to, cursor }: Run): AsyncGenerator<StreamPiece> {
    const volume = this.#archive.volumes.get(segment.volume);
    if (to - from <= 2 * RUN_BYTES_MAX) {
      const [bytes] = await volume.read([{ name: segment.name, offset: from, length: to - from }]);
      this.#cursor = cursor;
      yield { bytes: bytes!, cursor };
      return;
    }
    let left = to - from;
    for await (const bytes of volume.stream(segment.name, from, to)) {
      left -= bytes.length;
      if (left > 0) yield { bytes };
      else {
        this.#cursor = cursor;
        yield { bytes, cursor };
      }
    }
  }

  /** A record that was read to its end and turned out to be cut short, or to share its member: it cannot go as it lies. */
  async *#encodeAgain({ segment, head }: StreamedRecord, cursor: string): AsyncGenerator<StreamPiece> {
    const length = segment.bytes - head.offset;
    for await (const record of this.#archive.access.records({ segment: segment.number, offset: head.offset, length })) {
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
    await using packed = await RepackedRecord.take(source, { newId, scratch });
    const { head, block } = packed;
    const total = head.length + block.length + RECORD_TRAILER.length;
    async function* whole(): AsyncGenerator<Uint8Array> {
      yield head;
      yield* block.pieces;
      yield RECORD_TRAILER;
    }
    let held: Uint8Array | undefined;
    for await (const bytes of this.#encoder.encodeStream(whole(), total)) {
      if (held) yield { bytes: held };
      held = bytes;
    }
    this.#cursor = cursor;
    if (held) yield { bytes: held, cursor };
  }
}

/** One JSON object a line for each record, with a cursor each. */
export async function* streamJson(archive: StreamParts, query: StreamQuery = {}): AsyncGenerator<StreamPiece> {
  const stream = await RecordStream.open(archive, query);
  yield { bytes: EMPTY, cursor: stream.cursor() };
  for await (const record of stream) {
    const cursor = stream.cursor();
    const payloadBytes = await record.payloadBytes();
    yield { bytes: utf8(`${JSON.stringify(describe(record, payloadBytes))}\n`), cursor };
  }
}

/** What a line says of a record; left out where the record does not have it. */
function describe(record: StreamedRecord, payloadBytes: number): Record<string, unknown> {
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
    payloadBytes,
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
