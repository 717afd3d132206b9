/** A record on its way out: what is known of it before its block is read, and its block, to be read once. */
import type { Segment } from '../catalog/index.ts';
import { BlockScanner, type HttpHead, type ReadingRecord, type RecordHead } from '../warc/index.ts';
import { bareMime } from './record-facts.ts';

export class StreamedRecord {
  readonly segment: Segment;
  /** Name of the collection. */
  readonly collection: string;
  readonly head: RecordHead;
  /** Head of the HTTP message in the block. */
  readonly http: HttpHead | undefined;
  readonly #record: ReadingRecord;
  readonly #held: readonly Uint8Array[];
  readonly #rest: AsyncGenerator<Uint8Array>;
  #payloadBytes = 0;

  private constructor(
    segment: Segment,
    collection: string,
    record: ReadingRecord,
    http: HttpHead | undefined,
    held: readonly Uint8Array[],
    rest: AsyncGenerator<Uint8Array>,
  ) {
    this.segment = segment;
    this.collection = collection;
    this.#record = record;
    this.head = record.head;
    this.http = http;
    this.#held = held;
    this.#rest = rest;
  }

  /** Reads as much of the block as the HTTP head in it takes. */
  static async open(segment: Segment, collection: string, record: ReadingRecord): Promise<StreamedRecord> {
    const scanner = new BlockScanner(record.head, {});
    const held: Uint8Array[] = [];
    const body = record.body();
    while (!scanner.isHeadKnown) {
      const next = await body.next();
      if (next.done) break;
      scanner.push(next.value);
      // A piece is good until the next is asked for; the last one is handed on before that happens.
      if (!scanner.isHeadKnown) held.push(Buffer.from(next.value));
      else held.push(next.value);
    }
    const http = scanner.isHeadKnown ? scanner.http : scanner.end().http;
    return new StreamedRecord(segment, collection, record, http, held, body);
  }

  get status(): number {
    return this.http?.status ?? 0;
  }

  get mime(): string {
    const { head, http } = this;
    return bareMime((http ? http.get('content-type') : (head.get('arc-mime') ?? head.contentType)) ?? '');
  }

  /** The block in pieces, each good until the next is asked for. To be asked for once. */
  async *block(): AsyncGenerator<Uint8Array> {
    for (const piece of this.#held) yield piece;
    yield* this.#rest;
  }

  /** The payload in pieces: the body without transfer coding, content coding kept. Instead of the block. */
  async *payload(): AsyncGenerator<Uint8Array> {
    let held: Uint8Array[] = [];
    const scanner = new BlockScanner(this.head, { onPayload: (bytes) => held.push(Buffer.from(bytes)) });
    for await (const piece of this.block()) {
      scanner.push(piece);
      yield* held;
      held = [];
    }
    scanner.end();
    yield* held;
  }

  /** Reads what is left of the block, and says how long the record is in its segment; undefined when it shares its member with others. */
  async finish(): Promise<number | undefined> {
    const scanner = new BlockScanner(this.head, {});
    for await (const piece of this.block()) scanner.push(piece);
    this.#payloadBytes = scanner.end().payloadBytes;
    return this.#record.tail?.length;
  }

  /** Bytes of the payload, once the record was finished. */
  get payloadBytes(): number {
    return this.#payloadBytes;
  }

  /** Whether the record has a member of its own and is all there, once its block was read. */
  get isWhole(): boolean {
    return this.#record.tail?.complete === true && this.#record.tail.length !== undefined;
  }

  /** Bytes of the record in its segment, once its block was read. */
  get length(): number | undefined {
    return this.#record.tail?.length;
  }
}
