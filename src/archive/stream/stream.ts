/**
 * Streams: all records of the archive, or the selected ones, each exactly once, from a snapshot that does not move
 * (I8).
 *
 * Storage order delivers records of every type, as fast as they can be read. The orders of URL, of time and of a
 * ranking deliver only captures, each read on its own. A stream can be left at any record and resumed with its cursor,
 * in this process or a later one, after appends, deletions and compactions.
 */
import { type Finding, PinakesError } from '../../base/index.ts';
import type { Capture, Place, RootSegment, Segment } from '../../catalog/index.ts';
import {
  endIn,
  isDeletionSegment,
  type RootPlaces,
  type RootWithSegments,
  type SnapshotBounds,
  sequenceOf,
} from '../../ledger/index.ts';
import { urlKey } from '../../url/index.ts';
import { type Damage, damageOf, type OutputDamage } from '../damage.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { lookBackOf } from '../read/record-access.ts';
import type { Selection } from '../selection.ts';
import { type CatalogOrder, type WalkedCapture, walkCatalog } from './catalog-walk.ts';
import {
  BEFORE_RECORD,
  comparePositions,
  formatCursor,
  parseCursor,
  queryDigest,
  type StreamPosition,
} from './cursor.ts';
import { HeadFilter } from './head-filter.ts';
import { boundsOfNamed } from './named-snapshots.ts';
import { rootPlacesOf, takeSnapshot } from './snapshot.ts';
import { assertOrder, isBefore, isGone, StorageWalk, type WalkedRecord } from './storage-walk.ts';
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
  readonly snapshot: SnapshotBounds;
  readonly ranking: string | undefined;
  readonly position: StreamPosition | undefined;
  readonly since: SnapshotBounds | undefined;
};

/** The part of a segment that is sent as it is: from `fromBytes` to `endBytes`. All its records are of one root. */
export type WholePart = {
  readonly root: RootSegment;
  readonly segment: Segment;
  readonly fromBytes: number;
  readonly endBytes: number;
};

export class RecordStream implements AsyncIterable<StreamedRecord> {
  readonly order: StreamOrder;
  readonly #archive: OpenedArchive;
  readonly #selection: Selection;
  readonly #snapshot: SnapshotBounds;
  readonly #signal: AbortSignal | undefined;
  readonly #onDamage: ((damage: OutputDamage) => void) | undefined;
  readonly #query: string;
  readonly #peeks: boolean;
  readonly #since: SnapshotBounds | undefined;
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
    const since = query.since === undefined ? undefined : parseCursor(query.since).snapshot;
    const keep = (version: string | undefined) => (typeof order === 'string' ? undefined : order.keep(version));
    if (query.cursor === undefined) {
      const { snapshots } = archive;
      // The ranking is kept before the snapshot is taken. URLs that are stored in between are not in the ranking, and
      // are delivered at the end.
      const ranking = await keep(undefined);
      const snapshot =
        query.snapshot === undefined
          ? await takeSnapshot(archive)
          : boundsOfNamed(snapshots.get(query.snapshot), await rootPlacesOf(archive));
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
    return new RecordStream(archive, query, peeks, { digest, snapshot: cursor.snapshot, ranking, position, since });
  }

  /** Where a later stream continues: after the last delivered record, or after later records that are not selected. */
  cursor(): string {
    const ranking = this.#ranking === undefined ? {} : { ranking: this.#ranking };
    return formatCursor({ query: this.#query, snapshot: this.#snapshot, position: this.#position, ...ranking });
  }

  /** A record is valid until the next one is read. */
  async *[Symbol.asyncIterator](): AsyncGenerator<StreamedRecord> {
    for await (const record of this.steps()) if (record) yield record;
  }

  /** The records with pauses: undefined after a long range without a selected record. Each pause has its own cursor. */
  steps(): AsyncGenerator<StreamedRecord | undefined> {
    return this.order === 'storage' ? this.#inStorageOrder() : this.#inCatalogOrder(this.order);
  }

  /** The cursor for everything before the record at an offset of a part. */
  cursorBefore(part: WholePart, offset: number): string {
    return formatCursor({ query: this.#query, snapshot: this.#snapshot, position: positionBefore(part, offset) });
  }

  /** Whether records of the snapshot may have been deleted since it was taken. Such records are not delivered. */
  async mayLack(): Promise<boolean> {
    const places = await rootPlacesOf(this.#archive);
    const { before } = this.#snapshot;
    if (places.segments().some((segment) => segment.roots && sequenceOf(segment) >= before)) return true;
    return places.roots().some((root) => {
      if (endIn(this.#snapshot, root) === 0) return false;
      return root.segments.some(({ deadBytes }) => deadBytes > 0);
    });
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
    const places = await rootPlacesOf(this.#archive);
    assertOrder(places, this.#position);
    for (const root of places.roots()) {
      if (isBefore(root, this.#position) || endIn(this.#snapshot, root) === 0) continue;
      if (!this.#isWanted(root.segments[0]!)) continue;
      const { name, sequence } = root;
      if (this.#until && comparePositions({ root: name, sequence, offset: 0 }, this.#until) > 0) return;
      this.#signal?.throwIfAborted();
      const whole = await this.#wholePart(root, places, isWhole);
      if (!whole) {
        yield* this.#inStorageOrder(root, places);
        continue;
      }
      this.#position = positionBefore(whole, whole.endBytes);
      if (whole.fromBytes < whole.endBytes) yield whole;
    }
  }

  /** Undefined: the records of the root have to be read one by one. */
  async #wholePart(
    root: RootWithSegments,
    places: RootPlaces,
    isWhole: (segment: Segment) => Promise<boolean>,
  ): Promise<WholePart | undefined> {
    const [segment, ...others] = root.segments as [Segment, ...Segment[]];
    if (others.length > 0) return undefined;
    const now = await this.#archive.segmentRegistry.find(segment.number);
    const isUntouched = now?.name === segment.name && now.deadBytes === 0 && (await isWhole(now));
    if (this.#since !== undefined || !isUntouched) return undefined;
    // Compaction writes records of its own to a replacement.
    const runs = await places.runsOf(segment).catch((error: unknown) => {
      if (!isGone(error)) throw error;
    });
    if (runs?.sectionOf(root.name)?.offset !== 0) return undefined;
    const end = Math.min(segment.bytes, endIn(this.#snapshot, root));
    const fromBytes = offsetBefore(this.#position, root) ?? 0;
    const untilBytes = offsetBefore(this.#until, root) ?? end;
    if (fromBytes < 0 || untilBytes < 0) return undefined;
    return { root, segment, fromBytes, endBytes: Math.min(end, untilBytes) };
  }

  #isWanted(segment: Segment): boolean {
    const { collection } = this.#selection;
    if (isDeletionSegment(segment)) return false;
    return collection === undefined || segment.collection === collection;
  }

  async *#inStorageOrder(only?: RootWithSegments, places?: RootPlaces): AsyncGenerator<StreamedRecord | undefined> {
    const { collections } = this.#archive;
    const walk = new StorageWalk(this.#archive, this.#snapshot, {
      after: this.#position,
      only,
      ...(places && { places }),
      isWanted: (segment) => this.#isWanted(segment),
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
        this.#position = positionOf(skipped);
        yield undefined;
      }
      last = undefined;
      skipped = undefined;
      const begun = stretchOf(positionOf(walked));
      isFirstOfStretch = stretch !== undefined && begun !== stretch;
      stretch = begun;
      if (this.#until && isAfter(positionOf(walked), this.#until)) return;
      skipped = walked;
      if (!filter.passes(record.head)) continue;
      const collection = await collections.name(segment.collection);
      const streamed = await StreamedRecord.open(segment, collection, record, this.#peeks);
      if (!(await filter.passesMessage(streamed))) continue;
      this.#position = positionOf(walked);
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

  /** After a rebuild, the walk begins again after the last delivered record. */
  async *#inCatalogOrder(asked: CatalogOrder | UrlRanking): AsyncGenerator<StreamedRecord> {
    await using kept = typeof asked === 'string' ? undefined : await asked.open(this.#ranking!);
    const order = kept ?? (asked as CatalogOrder);
    const { scratch, segmentRegistry } = this.#archive;
    for (;;) {
      // A catalog that is being rebuilt does not have all captures.
      assertOrder(await rootPlacesOf(this.#archive), this.#position);
      const { rebuilds } = segmentRegistry;
      const isRebuilt = () => segmentRegistry.rebuilds !== rebuilds;
      await using view = await this.#archive.catalog.longView();
      if (isRebuilt()) continue;
      this.#lastMoment = undefined;
      const options = { order, selection: this.#selection, after: this.#position, scratch, signal: this.#signal };
      let group: WalkedCapture[] = [];
      for await (const walked of walkCatalog(view, this.#snapshot, options)) {
        group.push(walked);
        if (group.length < GROUP_CAPTURES) continue;
        yield* this.#readGroup(group, isRebuilt);
        if (isRebuilt()) break;
        group = [];
      }
      if (isRebuilt()) continue;
      yield* this.#readGroup(group, isRebuilt);
      if (!isRebuilt()) return;
    }
  }

  /** The records of captures, as the catalog has them now. Ends early when the archive is rebuilt meanwhile. */
  async *#readGroup(group: readonly WalkedCapture[], isRebuilt: () => boolean): AsyncGenerator<StreamedRecord> {
    const { catalog } = this.#archive;
    const { batches } = catalog;
    const last = batches !== undefined && this.#lastMoment?.batches === batches ? this.#lastMoment : undefined;
    const moments: Moment[] = last ? [last] : [];
    const captures = group.map(({ capture }) => capture);
    // Captures of one key and time are consecutive, and are looked up once.
    const asked = captures.filter((capture, index) => {
      const before = index === 0 ? last : captures[index - 1]!;
      return !before || !isOfMoment(capture, before);
    });
    const found = await catalog.findCaptures(asked.map(({ urlKey, time }) => ({ urlKey, time })));
    for (const [index, { urlKey, time }] of asked.entries())
      moments.push({ urlKey, time, captures: byIdentity(found[index]!) });
    this.#lastMoment = moments.length === 0 ? undefined : { ...moments.at(-1)!, batches };
    let at = 0;
    for (const walked of group) {
      this.#signal?.throwIfAborted();
      while (!isOfMoment(walked.capture, moments[at]!)) at++;
      if (isRebuilt()) return;
      yield* this.#read(walked, moments[at]!.captures, isRebuilt);
    }
  }

  /** The record of a capture at its current place. Nothing when it was deleted. */
  async *#read(
    { capture, place }: WalkedCapture,
    candidates: Moment['captures'],
    isRebuilt: () => boolean,
  ): AsyncGenerator<StreamedRecord> {
    let found = candidates;
    for (let attempt = 1; ; attempt++) {
      const now = found.get(identityOf(capture));
      if (!now) return;
      let isBegun = false;
      try {
        for await (const streamed of this.#recordAt(now.place, now.url)) {
          // The segment has another number, and this may be a record of another one.
          if (!isBegun && isRebuilt()) return;
          isBegun = true;
          const { root, sequence, offset } = place;
          this.#position = { root, sequence, offset, innerOffset: 0, urlKey: now.urlKey, time: now.time };
          yield streamed;
        }
        return;
      } catch (error) {
        if (!isBegun && isRebuilt()) return;
        if (isBegun || attempt >= ATTEMPTS || !isGone(error)) throw error;
        const { urlKey, time, hash: ofHash } = capture;
        found = byIdentity((await this.#archive.catalog.findCaptures([{ urlKey, time, ofHash }]))[0]!);
        if (isRebuilt()) return;
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

function positionOf({ record, place }: WalkedRecord): StreamPosition {
  const { root, sequence, offset } = place;
  return { root, sequence, offset, innerOffset: record.head.innerOffset };
}

function positionBefore({ root: { name, sequence } }: WholePart, offset: number): StreamPosition {
  return { root: name, sequence, offset, innerOffset: BEFORE_RECORD };
}

function isAfter(one: StreamPosition, other: StreamPosition): boolean {
  return (comparePositions(one, other) || one.innerOffset - other.innerOffset) > 0;
}

function stretchOf({ root, offset }: StreamPosition): string {
  return `${root}:${Math.floor(offset / STRETCH_BYTES)}`;
}

/**
 * The offset of a position before a record of this root. Undefined for a position in another root, and -1 when records
 * have to be read to find it.
 */
function offsetBefore(position: StreamPosition | undefined, { name }: RootWithSegments): number | undefined {
  if (position?.root !== name) return undefined;
  return position.innerOffset === BEFORE_RECORD ? position.offset : -1;
}
