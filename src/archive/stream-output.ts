/**
 * A stream as bytes: WARC, every record in a gzip member of its own, or JSON lines that tell of the records.
 *
 * Records of gzip segments go out as the members they are stored in, neighbours together; records of other segments are packed anew, the records
 * themselves unchanged (I4). A piece with a cursor ends with a whole record: who has everything up to it goes on from there.
 */
import type { Segment } from '../catalog/index.ts';
import { MemberEncoder, RECORD_TRAILER } from '../warc/index.ts';
import { isWarcGzip, RepackedRecord } from './repacked-record.ts';
import { isGone } from './storage-walk.ts';
import { RecordStream, type StreamParts, type StreamQuery } from './stream.ts';
import type { StreamedRecord } from './streamed-record.ts';

const RUN_BYTES_MAX = 1024 * 1024;
const ATTEMPTS = 5;

export type StreamPiece = {
  /** Good until the next piece is asked for. */
  readonly bytes: Uint8Array;
  /** Where the stream goes on behind these bytes; only at the end of a record. */
  readonly cursor?: string;
};

/** Members that follow one another in a segment. */
type Run = { readonly segment: Segment; readonly from: number; to: number };

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
      const stream = await RecordStream.open(this.#archive, { ...this.#query, cursor: this.#cursor });
      this.#cursor ??= stream.cursor();
      const before = this.#cursor;
      try {
        yield* this.#runs(stream);
        return;
      } catch (error) {
        failures = this.#cursor === before ? failures + 1 : 0;
        if (!isGone(error) || failures >= ATTEMPTS) throw error;
      }
    }
  }

  async *#runs(stream: RecordStream): AsyncGenerator<StreamPiece> {
    let run: Run | undefined;
    let runCursor = '';
    for await (const record of stream) {
      const { segment, head } = record;
      const isPlain = isWarcGzip(segment);
      if (
        run &&
        (run.segment !== segment || run.to !== head.offset || run.to - run.from >= RUN_BYTES_MAX || !isPlain)
      ) {
        yield* this.#copy(run, runCursor);
        run = undefined;
      }
      const cursor = stream.cursor();
      if (!isPlain) {
        yield* this.#encode(record, cursor);
        continue;
      }
      const length = (await record.finish()) ?? 0;
      run ??= { segment, from: head.offset, to: head.offset };
      run.to = head.offset + length;
      runCursor = cursor;
    }
    if (run) yield* this.#copy(run, runCursor);
  }

  async *#copy({ segment, from, to }: Run, cursor: string): AsyncGenerator<StreamPiece> {
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

  async *#encode(record: StreamedRecord, cursor: string): AsyncGenerator<StreamPiece> {
    const { newId, scratch } = this.#archive;
    const source = { head: record.head, body: () => record.block() };
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

/** One JSON object a record, with a cursor each. */
export async function* streamRecords(
  archive: StreamParts,
  query: StreamQuery = {},
): AsyncGenerator<{ line: string; cursor: string }> {
  const stream = await RecordStream.open(archive, query);
  for await (const record of stream) {
    const cursor = stream.cursor();
    await record.finish();
    yield { line: JSON.stringify(describe(record)), cursor };
  }
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
    payloadBytes: record.payloadBytes,
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
