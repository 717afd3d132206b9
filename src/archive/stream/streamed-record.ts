/** A record in a stream: its head, and its block, which can be read once. */
import { bareMime, type Finding } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import { CAPTURE_ID_FIELD, recordHash } from '../../ledger/index.ts';
import {
  BlockScanner,
  type DecodedRecord,
  type HttpHead,
  type ReadingRecord,
  type RecordHead,
  type RecordTail,
} from '../../warc/index.ts';
import { type Damage, damageOf } from '../damage.ts';
import { payloadOfBlock } from '../read/block-payload.ts';

/** How a record ends in its segment. Known after the record was read. */
type Ending = Pick<RecordTail, 'length' | 'isComplete' | 'isTorn'>;

export class StreamedRecord {
  readonly segment: Segment;
  /** Name of the collection. */
  readonly collection: string;
  readonly head: RecordHead;
  /** Head of the HTTP message in the block. */
  readonly http: HttpHead | undefined;
  readonly #pieces: AsyncIterable<Uint8Array>;
  readonly #ending: () => Ending | undefined;
  readonly #findings: readonly Finding[];

  private constructor(
    source: { readonly segment: Segment; readonly collection: string; readonly head: RecordHead },
    http: HttpHead | undefined,
    pieces: AsyncIterable<Uint8Array>,
    ending: () => Ending | undefined,
    findings: readonly Finding[],
  ) {
    this.segment = source.segment;
    this.collection = source.collection;
    this.head = source.head;
    this.http = http;
    this.#pieces = pieces;
    this.#ending = ending;
    this.#findings = findings;
  }

  /** Reads the block up to the end of its HTTP head, or nothing of it when `peeks` is false. */
  static async open(
    segment: Segment,
    collection: string,
    record: ReadingRecord,
    peeks = true,
  ): Promise<StreamedRecord> {
    const { head } = record;
    const ending = () => record.tail;
    const body = record.body();
    const scanner = new BlockScanner(head, {});
    if (!peeks || scanner.isHeadKnown)
      return new StreamedRecord({ segment, collection, head }, undefined, body, ending, record.damage);
    const held: Uint8Array[] = [];
    while (!scanner.isHeadKnown) {
      const next = await body.next();
      if (next.done) break;
      scanner.push(next.value);
      // A piece is valid until the next one is read. The last piece is passed on before that.
      held.push(scanner.isHeadKnown ? next.value : Buffer.from(next.value));
    }
    const http = scanner.isHeadKnown ? scanner.http : scanner.end().http;
    return new StreamedRecord({ segment, collection, head }, http, joined(held, body), ending, record.damage);
  }

  /** A sound record that is completely in memory. */
  static ofDecoded(segment: Segment, collection: string, record: DecodedRecord, length: number): StreamedRecord {
    const { head, block } = record;
    const scanner = new BlockScanner(head, {});
    if (block.length > 0) scanner.push(block);
    const { http } = scanner.end();
    const ending = { length, isComplete: true, isTorn: false };
    return new StreamedRecord({ segment, collection, head }, http, joined([block], undefined), () => ending, []);
  }

  get status(): number {
    return this.http?.status ?? 0;
  }

  get mime(): string {
    const { head, http } = this;
    return bareMime((http ? http.get('content-type') : (head.get('arc-mime') ?? head.contentType)) ?? '');
  }

  /**
   * Distinguishes the capture of this record from others of the same URL and time, even after the record is moved.
   * Undefined for ARC records, which do not have ids.
   */
  get captureHash(): number | undefined {
    const id = this.head.get(CAPTURE_ID_FIELD) ?? this.head.recordId;
    return id === undefined ? undefined : recordHash(id);
  }

  /** The block in pieces, each valid until the next one is read. To be called once. */
  block(): AsyncIterable<Uint8Array> {
    return this.#pieces;
  }

  /** The payload in pieces: the body without transfer coding and with its content coding. Called instead of `block`. */
  payload(): AsyncGenerator<Uint8Array> {
    return payloadOfBlock(this.head, this.block());
  }

  /** Reads the block to its end, and returns the number of bytes of its payload. Called instead of `block`. */
  async payloadBytes(): Promise<number> {
    const scanner = new BlockScanner(this.head, {});
    for await (const piece of this.block()) scanner.push(piece);
    return scanner.end().payloadBytes;
  }

  /**
   * Whether the record has a member of its own, and record and member are complete. Known when the block was read, or
   * when the next record was requested.
   */
  get isWhole(): boolean {
    return this.isComplete && this.length !== undefined && !this.#ending()!.isTorn;
  }

  /** Whether the block is complete. Known at the same time as `isWhole`. */
  get isComplete(): boolean {
    return this.#ending()?.isComplete === true;
  }

  /** The damage of the record. Known at the same time as `isWhole`. */
  get damage(): Damage | undefined {
    return damageOf(this.segment, this.#findings, this.head.targetUri);
  }

  /**
   * Bytes of the record in its segment. Known at the same time as `isWhole`. Undefined when the record shares its
   * member.
   */
  get length(): number | undefined {
    return this.#ending()?.length;
  }
}

async function* joined(
  held: readonly Uint8Array[],
  rest: AsyncIterable<Uint8Array> | undefined,
): AsyncGenerator<Uint8Array> {
  yield* held;
  if (rest) yield* rest;
}
