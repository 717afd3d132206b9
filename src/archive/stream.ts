/**
 * Streams: all records of the archive, or those that a selection means, each exactly once, from a snapshot that does not move (I8).
 *
 * In storage order come records of every type, as fast as they can be read. In the order of URL or time come captures only, each read on its own. A stream
 * can be left at any record and taken up again with its cursor, in this process or a later one, after appends, deletions and compactions.
 */
import { PinakesError } from '../base/index.ts';
import type { Capture, Place, Segment } from '../catalog/index.ts';
import { isInRanges, urlKey } from '../url/index.ts';
import { RecordDecoder, type RecordHead } from '../warc/index.ts';
import type { ArchiveParts } from './archive-parts.ts';
import { type CatalogOrder, walkCatalog } from './catalog-walk.ts';
import { isCaptureType } from './companions.ts';
import { formatCursor, parseCursor, queryDigest, type StreamPosition } from './cursor.ts';
import { keyRanges, type Selection } from './selection.ts';
import { Snapshot, type SnapshotSegment } from './snapshot.ts';
import { isGone, StorageWalk } from './storage-walk.ts';
import { StreamedRecord } from './streamed-record.ts';

/** Captures that the catalog is asked about together. */
const GROUP_CAPTURES = 64;
/** Members up to this size are read and decoded at once. */
const WHOLE_BYTES_MAX = 1024 * 1024;
const ATTEMPTS = 3;

export type StreamOrder = 'storage' | CatalogOrder;

export type StreamQuery = {
  readonly selection?: Selection | undefined;
  readonly order?: StreamOrder | undefined;
  /** Where an earlier stream of the same question stopped. */
  readonly cursor?: string | undefined;
  /**
   * As WARC, in storage order, of everything or of collections: segments go out without being looked into, as fast as they can be read. Cursors then come at
   * the ends of segments only.
   */
  readonly wholeSegments?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type StreamParts = ArchiveParts & {
  /** Where sorting may write. */
  readonly scratch: string;
};

export class RecordStream implements AsyncIterable<StreamedRecord> {
  readonly order: StreamOrder;
  readonly #archive: StreamParts;
  readonly #selection: Selection;
  readonly #snapshot: Snapshot;
  readonly #signal: AbortSignal | undefined;
  readonly #query: string;
  readonly #peeks: boolean;
  readonly #decoder = new RecordDecoder();
  #position: StreamPosition | undefined;

  private constructor(
    archive: StreamParts,
    query: StreamQuery,
    peeks: boolean,
    digest: string,
    snapshot: Snapshot,
    position: StreamPosition | undefined,
  ) {
    this.#archive = archive;
    this.#selection = query.selection ?? {};
    this.order = query.order ?? 'storage';
    this.#signal = query.signal;
    this.#peeks = peeks || this.#selection.status !== undefined || this.#selection.mime !== undefined;
    this.#query = digest;
    this.#snapshot = snapshot;
    this.#position = position;
  }

  /** `peeks`: whether records come with the HTTP heads that stand in them; without, they come faster. */
  static async open(archive: StreamParts, query: StreamQuery = {}, peeks = true): Promise<RecordStream> {
    const { selection = {}, order = 'storage' } = query;
    if (order === 'storage' && selection.block)
      throw new PinakesError('BAD_ARGUMENT', {
        where: 'a content key',
        detail: 'streams of one content come in the order of url or time',
      });
    const block = selection.block && [Buffer.from(selection.block.digest).toString('hex'), selection.block.overflow];
    const { collection, url, prefix, from, to, mime, status, types } = selection;
    const digest = queryDigest([order, collection, url, prefix, block, from, to, mime, status, types]);
    if (query.cursor === undefined)
      return new RecordStream(archive, query, peeks, digest, await Snapshot.take(archive), undefined);
    const cursor = parseCursor(query.cursor);
    if (cursor.query !== digest)
      throw new PinakesError('BAD_ARGUMENT', {
        where: 'the cursor',
        detail: 'it comes from a stream with another order or selection',
      });
    const snapshot = await Snapshot.resume(archive, cursor.snapshot);
    return new RecordStream(archive, query, peeks, digest, snapshot, cursor.position);
  }

  /** Where a later stream goes on: behind the record that was handed out last. */
  cursor(): string {
    return formatCursor({ query: this.#query, snapshot: this.#snapshot.mark, position: this.#position });
  }

  /** A record is good until the next is asked for. */
  [Symbol.asyncIterator](): AsyncGenerator<StreamedRecord> {
    return this.order === 'storage' ? this.#inStorageOrder() : this.#inCatalogOrder(this.order);
  }

  /** Segments that can go out as they are, and the records of those that cannot. Only for streams of whole collections in storage order. */
  async *parts(isWhole: (segment: Segment) => boolean): AsyncGenerator<SnapshotSegment | StreamedRecord> {
    const { lineage } = this.#snapshot;
    for (const part of await this.#snapshot.segments()) {
      const { segment, origin, endBytes } = part;
      const begun = this.#position ? lineage.originOf(this.#position.segment) : 0;
      if (origin < begun || !this.#isWanted(segment)) continue;
      if (origin === begun || segment.deadBytes > 0 || !isWhole(segment)) {
        yield* this.#inStorageOrder(origin);
        continue;
      }
      this.#signal?.throwIfAborted();
      this.#position = { segment: segment.number, offset: endBytes, innerOffset: 0 };
      yield part;
    }
  }

  #isWanted(segment: Segment): boolean {
    const { collection } = this.#selection;
    return collection === undefined || segment.collection === collection;
  }

  async *#inStorageOrder(only?: number): AsyncGenerator<StreamedRecord> {
    const { collections } = this.#archive;
    const { lineage } = this.#snapshot;
    const walk = new StorageWalk(this.#archive, this.#snapshot, {
      after: this.#position,
      isWanted: (segment) =>
        this.#isWanted(segment) && (only === undefined || lineage.originOf(segment.number) === only),
      signal: this.#signal,
    });
    const filter = new HeadFilter(this.#selection);
    for await (const { segment, record } of walk.records()) {
      if (!filter.passes(record.head)) continue;
      const collection = collections.name(segment.collection);
      const streamed = await StreamedRecord.open(segment, collection, record, this.#peeks);
      if (!filter.passesMessage(streamed)) continue;
      const { offset, innerOffset } = record.head;
      this.#position = { segment: segment.number, offset, innerOffset };
      yield streamed;
    }
  }

  async *#inCatalogOrder(order: CatalogOrder): AsyncGenerator<StreamedRecord> {
    await using view = await this.#archive.catalog.view();
    await this.#snapshot.lineage.refresh();
    const options = { order, selection: this.#selection, after: this.#position, scratch: this.#archive.scratch };
    let group: Capture[] = [];
    try {
      for await (const capture of walkCatalog(view, this.#snapshot, options)) {
        group.push(capture);
        if (group.length < GROUP_CAPTURES) continue;
        yield* this.#readGroup(group);
        group = [];
      }
      yield* this.#readGroup(group);
    } finally {
      this.#decoder.close();
    }
  }

  /** The records of captures, as the catalog knows them by now. */
  async *#readGroup(group: readonly Capture[]): AsyncGenerator<StreamedRecord> {
    const found = await this.#archive.catalog.findCaptures(group);
    for (const [index, capture] of group.entries()) {
      this.#signal?.throwIfAborted();
      yield* this.#read(capture, found[index]!);
    }
  }

  /** The record of a capture, wherever it stands; nothing when it was deleted. */
  async *#read(capture: Capture, candidates: readonly Capture[]): AsyncGenerator<StreamedRecord> {
    let found = candidates;
    for (let attempt = 1; ; attempt++) {
      const now = found.find((other) => other.hash === capture.hash && other.collection === capture.collection);
      if (!now) return;
      let isBegun = false;
      try {
        for await (const streamed of this.#recordAt(now.place)) {
          isBegun = true;
          const { segment: number, offset } = now.place;
          this.#position = { segment: number, offset, innerOffset: 0, urlKey: now.urlKey, time: now.time };
          yield streamed;
          return;
        }
        return;
      } catch (error) {
        if (isBegun || attempt >= ATTEMPTS || !isGone(error)) throw error;
        found = (await this.#archive.catalog.findCaptures([capture]))[0]!;
      }
    }
  }

  /** The record at a place: at once when it is small, in pieces otherwise. */
  async *#recordAt(place: Place): AsyncGenerator<StreamedRecord> {
    const { access, collections, shelf } = this.#archive;
    const segment = shelf.get(place.segment);
    const collection = collections.name(segment.collection);
    if (place.length <= WHOLE_BYTES_MAX) {
      const dictionary = await access.dictionaryOf(place.segment);
      const record = this.#decoder.decode(await access.member(place), dictionary);
      if (record) {
        record.head.offset = place.offset;
        yield StreamedRecord.ofDecoded(segment, collection, record, place.length);
        return;
      }
    }
    for await (const record of access.records(place)) {
      record.head.offset = place.offset;
      yield await StreamedRecord.open(segment, collection, record, this.#peeks);
      return;
    }
  }
}

/** The selection, asked of records as they stand in segments. What is no capture has neither status nor media type to be chosen by. */
class HeadFilter {
  readonly #selection: Selection;
  readonly #ranges: { from: string; to: string }[] | undefined;

  constructor(selection: Selection) {
    this.#selection = selection;
    const isBounded = selection.url !== undefined || selection.prefix !== undefined;
    this.#ranges = isBounded
      ? keyRanges(selection).map(({ keyFrom, keyTo }) => ({ from: keyFrom!, to: keyTo! }))
      : undefined;
  }

  passes(head: RecordHead): boolean {
    const { from, to, types, status, mime } = this.#selection;
    if (types !== undefined && !types.includes(head.type)) return false;
    if ((status !== undefined || mime !== undefined) && !isCaptureType(head.type)) return false;
    if (from !== undefined || to !== undefined) {
      const { time } = head;
      if (time === undefined || time < (from ?? time) || time > (to ?? time)) return false;
    }
    if (!this.#ranges) return true;
    return head.targetUri !== undefined && isInRanges(urlKey(head.targetUri), this.#ranges);
  }

  passesMessage(record: StreamedRecord): boolean {
    const { status, mime } = this.#selection;
    return (status === undefined || record.status === status) && (mime === undefined || record.mime === mime);
  }
}
