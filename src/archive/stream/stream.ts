/**
 * Streams: all records of the archive, or the selected ones, each exactly once, from a snapshot that does not move
 * (I8).
 *
 * Storage order delivers records of every type, as fast as they can be read. The orders of URL, of time and of a
 * ranking deliver only captures, each read on its own. A stream can be left at any record and resumed with its cursor,
 * in this process or a later one, after appends, deletions and compactions.
 */
import { type Finding, PinakesError } from '../../base/index.ts';
import type { Capture, Place, Segment } from '../../catalog/index.ts';
import { urlKey } from '../../url/index.ts';
import { type Damage, damageOf, type OutputDamage } from '../damage.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { lookBackOf } from '../read/record-access.ts';
import type { Selection } from '../selection.ts';
import { type CatalogOrder, walkCatalog } from './catalog-walk.ts';
import { BEFORE_RECORD, formatCursor, parseCursor, queryDigest, type StreamPosition } from './cursor.ts';
import { HeadFilter } from './head-filter.ts';
import { Snapshot, type SnapshotSegment } from './snapshot.ts';
import { isGone, StorageWalk, type WalkedRecord } from './storage-walk.ts';
import { StreamedRecord } from './streamed-record.ts';
import type { UrlRanking } from './url-ranking.ts';

/** Captures that are looked up in the catalog together. */
const GROUP_CAPTURES = 64;
/** Members up to this size are read and decoded at once. */
const WHOLE_BYTES_MAX = 1024 * 1024;
const ATTEMPTS = 3;
/**
 * In storage order, the stream yields a cursor after each range of this size without a selected record. So a resumed
 * stream reads at most this many bytes again.
 */
const STRETCH_BYTES = 16 * 1024 * 1024;

export type StreamOrder = 'storage' | CatalogOrder | UrlRanking;

export type StreamQuery = {
  readonly selection?: Selection | undefined;
  readonly order?: StreamOrder | undefined;
  /** The cursor where an earlier stream with the same order and selection stopped. */
  readonly cursor?: string | undefined;
  /** Name of a snapshot to stream, instead of the current state. */
  readonly snapshot?: string | undefined;
  /**
   * In storage order: the cursor at the end of an earlier stream. Only records that were stored after the snapshot of
   * that stream are delivered. So a client follows the archive and reads nothing twice.
   */
  readonly since?: string | undefined;
  /**
   * As WARC, in storage order, for all records or those of a collection: segments are sent without being parsed, as
   * fast as they can be read, with a cursor about every mebibyte.
   */
  readonly wholeSegments?: boolean | undefined;
  /**
   * In storage order: the stream ends at this cursor, which is from another stream with the same selection and
   * snapshot.
   */
  readonly until?: string | undefined;
  /** As WARC: revisits are sent as full records with their payloads, so that no record depends on another one. */
  readonly resolve?: boolean | undefined;
  /**
   * Called with every damaged record, delivered or not. When no head can be read, it is not known whether the record is
   * selected. Segments that are sent without being parsed are not checked for damage.
   */
  readonly onDamage?: ((damage: OutputDamage) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** The snapshot of a stream, and where it begins. */
type StreamView = {
  readonly digest: string;
  readonly snapshot: Snapshot;
  readonly ranking: string | undefined;
  readonly position: StreamPosition | undefined;
  readonly since: Snapshot | undefined;
};

/** The part of a segment that is sent as it is: from `fromBytes` to `endBytes`. */
export type WholePart = SnapshotSegment & { readonly fromBytes: number };

export class RecordStream implements AsyncIterable<StreamedRecord> {
  readonly order: StreamOrder;
  readonly #archive: OpenedArchive;
  readonly #selection: Selection;
  readonly #snapshot: Snapshot;
  readonly #signal: AbortSignal | undefined;
  readonly #onDamage: ((damage: OutputDamage) => void) | undefined;
  readonly #query: string;
  readonly #peeks: boolean;
  readonly #since: Snapshot | undefined;
  readonly #until: StreamPosition | undefined;
  /** The version of the ranking that orders the stream. */
  readonly #ranking: string | undefined;
  #position: StreamPosition | undefined;
  /**
   * The last answer of the catalog for one URL key and time, with the number of batches at that moment. It is kept
   * because one key and time can have more captures than a group.
   */
  #lastMoment: (Moment & { readonly batches: number | undefined }) | undefined;

  private constructor(archive: OpenedArchive, query: StreamQuery, peeks: boolean, view: StreamView) {
    this.#archive = archive;
    this.#since = view.since;
    this.#until = query.until === undefined ? undefined : parseCursor(query.until).position;
    this.#selection = query.selection ?? {};
    this.order = query.order ?? 'storage';
    this.#signal = query.signal;
    this.#onDamage = query.onDamage;
    const { status, mime, query: asked } = this.#selection;
    this.#peeks = peeks || status !== undefined || mime !== undefined || asked !== undefined;
    this.#query = view.digest;
    this.#snapshot = view.snapshot;
    this.#ranking = view.ranking;
    this.#position = view.position;
  }

  /** `peeks`: whether the HTTP heads of records are read. Without them, the stream is faster. */
  static async open(archive: OpenedArchive, query: StreamQuery = {}, peeks = true): Promise<RecordStream> {
    const { selection = {}, order = 'storage' } = query;
    if (order === 'storage' && selection.block)
      throw new PinakesError('BAD_ARGUMENT', {
        where: 'a content key',
        detail: 'a stream of one content needs the order of url, of time or of a ranking',
      });
    const block = selection.block && [Buffer.from(selection.block.digest).toString('hex'), selection.block.overflow];
    const { collection, url, prefix, from, to, mime, status, types } = selection;
    const orderName = typeof order === 'string' ? order : order.name;
    const question: unknown[] = [orderName, collection, url, prefix, block, from, to, mime, status, types];
    // Added to the question only when given, so that older cursors stay valid.
    if (query.since !== undefined) question.push(query.since);
    if (selection.query !== undefined) question.push({ query: selection.query.text });
    const digest = queryDigest(question);
    if (query.since !== undefined && order !== 'storage')
      throw new PinakesError('BAD_ARGUMENT', {
        where: 'since',
        detail: 'new records are streamed in storage order only',
      });
    if (query.until !== undefined && (order !== 'storage' || parseCursor(query.until).query !== digest))
      throw new PinakesError('BAD_ARGUMENT', { where: 'until', detail: 'it comes from another stream' });
    const since =
      query.since === undefined ? undefined : await Snapshot.resume(archive, parseCursor(query.since).snapshot);
    const keep = (version: string | undefined) => (typeof order === 'string' ? undefined : order.keep(version));
    if (query.cursor === undefined) {
      const { snapshots } = archive;
      // The ranking is kept before the snapshot is taken. URLs that are stored in between are not in the ranking, and
      // are delivered at the end.
      const ranking = await keep(undefined);
      const snapshot =
        query.snapshot === undefined
          ? await Snapshot.take(archive)
          : await Snapshot.resume(archive, snapshots.get(query.snapshot).mark);
      // The archive may have been rebuilt after the snapshot of `since` was resumed.
      since?.lineage.assertNumbering();
      return new RecordStream(archive, query, peeks, { digest, snapshot, ranking, position: undefined, since });
    }
    const cursor = parseCursor(query.cursor);
    if (cursor.query !== digest)
      throw new PinakesError('BAD_ARGUMENT', {
        where: 'the cursor',
        detail: 'it comes from a stream with another order or selection',
      });
    const { position } = cursor;
    if (
      (cursor.ranking === undefined) !== (typeof order === 'string') ||
      (cursor.ranking && position && !position.urlKey)
    )
      throw new PinakesError('BAD_ARGUMENT', { where: 'the cursor', detail: 'it is not a cursor of a stream' });
    const ranking = await keep(cursor.ranking);
    const snapshot = await Snapshot.resume(archive, cursor.snapshot);
    return new RecordStream(archive, query, peeks, { digest, snapshot, ranking, position, since });
  }

  /** Where a later stream continues: after the last delivered record, or after later records that are not selected. */
  cursor(): string {
    const ranking = this.#ranking === undefined ? {} : { ranking: this.#ranking };
    return formatCursor({ query: this.#query, snapshot: this.#snapshot.bounds, position: this.#position, ...ranking });
  }

  /** A record is valid until the next one is read. */
  async *[Symbol.asyncIterator](): AsyncGenerator<StreamedRecord> {
    for await (const record of this.steps()) if (record) yield record;
  }

  /** The records with pauses: undefined after a long range without a selected record. Each pause has its own cursor. */
  steps(): AsyncGenerator<StreamedRecord | undefined> {
    return this.order === 'storage' ? this.#inStorageOrder() : this.#inCatalogOrder(this.order);
  }

  /** The cursor for everything before the record at an offset of a segment. */
  cursorBefore(segment: number, offset: number): string {
    const position = { segment, offset, innerOffset: BEFORE_RECORD };
    return formatCursor({ query: this.#query, snapshot: this.#snapshot.bounds, position });
  }

  /** Whether records of the snapshot may have been deleted since it was taken. Such records are not delivered. */
  async mayLack(): Promise<boolean> {
    const { before } = this.#snapshot.bounds;
    return (await this.#snapshot.segments()).some(({ segment }) => segment.number >= before || segment.deadBytes > 0);
  }

  /** The last delivered record; undefined before the first. */
  get position(): StreamPosition | undefined {
    return this.#position;
  }

  /**
   * Segments that can be sent as they are, and the records of the others, with pauses. Only for streams of whole
   * collections in storage order.
   */
  async *parts(
    isWhole: (segment: Segment) => Promise<boolean>,
  ): AsyncGenerator<WholePart | StreamedRecord | undefined> {
    const { lineage } = this.#snapshot;
    const last = this.#until && lineage.originOf(this.#until.segment);
    for (const part of await this.#snapshot.segments()) {
      const { segment, origin } = part;
      const begun = this.#position ? lineage.originOf(this.#position.segment) : -1;
      if (origin < begun || !this.#isWanted(segment)) continue;
      if (last !== undefined && origin > last) return;
      const now = await this.#archive.segmentRegistry.find(segment.number);
      const fromBytes = origin === begun ? offsetBefore(this.#position, segment) : 0;
      const endBytes = origin === last ? offsetBefore(this.#until, segment) : part.endBytes;
      const isUntouched = now !== undefined && now.deadBytes === 0 && (await isWhole(now));
      if (this.#since !== undefined || fromBytes === undefined || endBytes === undefined || !isUntouched) {
        yield* this.#inStorageOrder(origin);
        continue;
      }
      this.#signal?.throwIfAborted();
      const whole = { ...part, fromBytes, endBytes: Math.min(endBytes, part.endBytes) };
      this.#position = { segment: segment.number, offset: whole.endBytes, innerOffset: BEFORE_RECORD };
      if (fromBytes < whole.endBytes) yield whole;
      this.#snapshot.lineage.assertNumbering();
    }
  }

  #isWanted(segment: Segment): boolean {
    const { collection } = this.#selection;
    return collection === undefined || segment.collection === collection;
  }

  async *#inStorageOrder(only?: number): AsyncGenerator<StreamedRecord | undefined> {
    const { collections } = this.#archive;
    const { lineage } = this.#snapshot;
    const walk = new StorageWalk(this.#archive, this.#snapshot, {
      after: this.#position,
      isWanted: (segment) =>
        this.#isWanted(segment) && (only === undefined || lineage.originOf(segment.number) === only),
      signal: this.#signal,
      since: this.#since,
      onUnreadable:
        this.#onDamage &&
        ((segment, finding) => this.#reportDamage(damageOf(segment, [finding], undefined), 'nothing')),
    });
    const filter = new HeadFilter(this.#archive.catalog, this.#selection);
    let last: StreamedRecord | undefined;
    let skipped: WalkedRecord | undefined;
    let stretch = this.#position && stretchOf(this.#position);
    let isFirstOfStretch = false;
    for await (const walked of walk.records()) {
      const { segment, record } = walked;
      // The damage of a record is known when the next one is read.
      this.#reportDamageOf(last);
      if (skipped && skipped.record.damage.length > 0) await this.#reportSkipped(skipped);
      if (skipped && isFirstOfStretch) {
        this.#position = placeOf(skipped);
        yield undefined;
      }
      last = undefined;
      skipped = undefined;
      const begun = stretchOf(placeOf(walked));
      isFirstOfStretch = stretch !== undefined && begun !== stretch;
      stretch = begun;
      if (this.#until && (await this.#isBehindEnd(segment, record.head, this.#until))) return;
      skipped = walked;
      if (!filter.passes(record.head)) continue;
      const collection = await collections.name(segment.collection);
      const streamed = await StreamedRecord.open(segment, collection, record, this.#peeks);
      if (!(await filter.passesMessage(streamed))) continue;
      this.#position = placeOf(walked);
      last = streamed;
      skipped = undefined;
      yield streamed;
    }
    this.#reportDamageOf(last);
    if (skipped && skipped.record.damage.length > 0) await this.#reportSkipped(skipped);
  }

  /**
   * Reports a damaged record that is not selected, since the damage may have changed the fields that the selection
   * compares. A record that the catalog has as a capture is not reported.
   */
  async #reportSkipped({ segment, record: { head, damage } }: WalkedRecord): Promise<void> {
    const { targetUri, time, offset } = head;
    const at = { segment: segment.number, offset };
    const questions = targetUri === undefined || time === undefined ? [] : [{ urlKey: urlKey(targetUri), time, at }];
    const [found = []] = await this.#archive.catalog.findCaptures(questions);
    if (found.length === 0) this.#reportDamage(damageOf(segment, damage, undefined), 'nothing');
  }

  #reportDamageOf(streamed: StreamedRecord | undefined): void {
    this.#reportDamage(streamed?.damage, streamed?.isComplete ? 'all' : 'part');
  }

  #reportDamage(damage: Damage | undefined, comes: OutputDamage['comes']): void {
    if (damage) this.#onDamage?.({ ...damage, comes });
  }

  async #isBehindEnd(
    segment: Segment,
    head: { readonly offset: number; readonly innerOffset: number },
    until: StreamPosition,
  ): Promise<boolean> {
    const { lineage } = this.#snapshot;
    const difference = lineage.originOf(segment.number) - lineage.originOf(until.segment);
    if (difference !== 0) return difference > 0;
    const end = await lineage.translate(until.segment, until.offset);
    if (head.offset !== end.offset) return head.offset > end.offset;
    return !end.isSame || head.innerOffset > until.innerOffset;
  }

  async *#inCatalogOrder(asked: CatalogOrder | UrlRanking): AsyncGenerator<StreamedRecord> {
    await using kept = typeof asked === 'string' ? undefined : await asked.open(this.#ranking!);
    await using view = await this.#archive.catalog.view();
    await this.#snapshot.lineage.refresh();
    const order = kept ?? (asked as CatalogOrder);
    const { scratch } = this.#archive;
    const options = { order, selection: this.#selection, after: this.#position, scratch, signal: this.#signal };
    let group: Capture[] = [];
    for await (const capture of walkCatalog(view, this.#snapshot, options)) {
      group.push(capture);
      if (group.length < GROUP_CAPTURES) continue;
      yield* this.#readGroup(group);
      group = [];
    }
    yield* this.#readGroup(group);
    this.#snapshot.lineage.assertNumbering();
  }

  /** The records of captures, as the catalog has them now. */
  async *#readGroup(group: readonly Capture[]): AsyncGenerator<StreamedRecord> {
    const { catalog } = this.#archive;
    const { batches } = catalog;
    const last = batches !== undefined && this.#lastMoment?.batches === batches ? this.#lastMoment : undefined;
    const moments: Moment[] = last ? [last] : [];
    // Captures of one key and time are consecutive, and are looked up once.
    const asked = group.filter((capture, index) => {
      const before = index === 0 ? last : group[index - 1]!;
      return !before || !isOfMoment(capture, before);
    });
    const found = await catalog.findCaptures(asked.map(({ urlKey, time }) => ({ urlKey, time })));
    this.#snapshot.lineage.assertNumbering();
    for (const [index, { urlKey, time }] of asked.entries())
      moments.push({ urlKey, time, captures: byIdentity(found[index]!) });
    this.#lastMoment = moments.length === 0 ? undefined : { ...moments.at(-1)!, batches };
    let at = 0;
    for (const capture of group) {
      this.#signal?.throwIfAborted();
      while (!isOfMoment(capture, moments[at]!)) at++;
      yield* this.#read(capture, moments[at]!.captures);
    }
  }

  /** The record of a capture at its current place. Nothing when it was deleted. */
  async *#read(capture: Capture, candidates: Moment['captures']): AsyncGenerator<StreamedRecord> {
    let found = candidates;
    for (let attempt = 1; ; attempt++) {
      const now = found.get(identityOf(capture));
      if (!now) return;
      let isBegun = false;
      try {
        for await (const streamed of this.#recordAt(now.place, now.url)) {
          this.#snapshot.lineage.assertNumbering();
          isBegun = true;
          const { segment: number, offset } = now.place;
          this.#position = { segment: number, offset, innerOffset: 0, urlKey: now.urlKey, time: now.time };
          yield streamed;
        }
        return;
      } catch (error) {
        this.#snapshot.lineage.assertNumbering();
        if (isBegun || attempt >= ATTEMPTS || !isGone(error)) throw error;
        const { urlKey, time, hash: ofHash } = capture;
        found = byIdentity((await this.#archive.catalog.findCaptures([{ urlKey, time, ofHash }]))[0]!);
        this.#snapshot.lineage.assertNumbering();
      }
    }
  }

  /** The record at a place: whole when it is small and sound, otherwise in pieces. */
  async *#recordAt(place: Place, url: string): AsyncGenerator<StreamedRecord> {
    const { access, collections, segmentRegistry } = this.#archive;
    const segment = await segmentRegistry.get(place.segment);
    const collection = await collections.name(segment.collection);
    const skipsGaps = this.#onDamage !== undefined;
    if (place.length <= WHOLE_BYTES_MAX) {
      const member = await (skipsGaps ? access.memberIfGiven(place) : access.member(place));
      const record = member && (await access.soundRecord(place, member));
      if (record) {
        record.head.offset = place.offset;
        yield StreamedRecord.ofDecoded(segment, collection, record, place.length);
        return;
      }
    }
    const lost: Finding[] = [];
    const onUnreadable = (finding: Finding) => lost.push(finding);
    const options = { onUnreadable, lookBackBytes: lookBackOf(place), skipsGaps };
    for await (const record of access.records(place, options)) {
      const streamed = await StreamedRecord.open(segment, collection, record, this.#peeks);
      yield streamed;
      // An unread record is read to its end to find its damage.
      if (this.#onDamage) for await (const _ of record.body());
      this.#reportDamageOf(streamed);
      return;
    }
    this.#reportDamage(await access.absenceAt(place, lost, url), 'nothing');
  }
}

/** The captures of one URL key and time, by their identity. */
type Moment = Pick<Capture, 'urlKey' | 'time'> & { readonly captures: ReadonlyMap<string, Capture> };

function isOfMoment(capture: Capture, { urlKey, time }: Pick<Capture, 'urlKey' | 'time'>): boolean {
  return capture.urlKey === urlKey && capture.time === time;
}

function identityOf({ hash, collection }: Capture): string {
  return `${collection} ${hash}`;
}

function byIdentity(captures: readonly Capture[]): Map<string, Capture> {
  return new Map(captures.toReversed().map((capture) => [identityOf(capture), capture]));
}

function placeOf({ segment, record }: WalkedRecord): StreamPosition {
  const { offset, innerOffset } = record.head;
  return { segment: segment.number, offset, innerOffset };
}

function stretchOf({ segment, offset }: StreamPosition): string {
  return `${segment}:${Math.floor(offset / STRETCH_BYTES)}`;
}

/** The offset of a position before a record of this segment. Undefined when records have to be read to find it. */
function offsetBefore(position: StreamPosition | undefined, segment: Segment): number | undefined {
  const isBefore = position?.segment === segment.number && position.innerOffset === BEFORE_RECORD;
  return isBefore ? position.offset : undefined;
}
