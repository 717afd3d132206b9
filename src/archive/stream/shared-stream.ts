/**
 * One client's way through a stream whose reading it shares.
 *
 * A client that comes late may join where the others are. It then goes from there to the end, and after that from the
 * beginning to where it joined; each record comes exactly once (I8). Its cursors say where it joined:
 *
 * ```
 *   cursor                  in order, or not joined
 *   cursor~join~1           on the way from where it joined to the end
 *   cursor~join~2           on the way from the beginning to where it joined
 * ```
 * A client that joins gets the snapshot that the others read: the archive as it was when they began, within the
 * last hour.
 */
import { assert, PinakesError } from '../../base/index.ts';
import { SegmentLineage } from '../segment/segment-lineage.ts';
import { formatCursor, parseCursor, type StreamPosition } from './cursor.ts';
import { isSameSnapshot, type ParcelPlace, placeAt, placeBehind } from './parcel-place.ts';
import { RecordStream } from './stream.ts';
import { type Parcel, parcelsOf } from './stream-parcel.ts';
import type { ParcelClient, SharedQuery, StreamSharing } from './stream-share.ts';

/** Others are joined only while their snapshot is younger than this. */
const JOIN_AGE_MS_MAX = 3600 * 1000;

type Leg = 'all' | 'to the end' | 'to the join';
type Course = {
  readonly place: ParcelPlace;
  readonly join: string | undefined;
  readonly leg: Leg;
  readonly beganMs: number;
  readonly mayLack?: boolean;
};

export type SharedStreamOptions = {
  /** Whether to join others where they are; otherwise records come from the beginning, in storage order. */
  readonly joins?: boolean;
  /** Aborted when the client leaves: what is being read for it alone is broken off, and nothing more comes. */
  readonly signal?: AbortSignal;
};

export class SharedStream implements ParcelClient, AsyncDisposable {
  readonly wanted: SharedQuery;
  readonly join: string | undefined;
  /** When the stream of this snapshot began. */
  readonly beganMs: number;
  /** Taken up again: whether records of its snapshot may have been deleted since. */
  readonly mayLack: boolean;
  place: ParcelPlace;
  #leg: Leg;
  readonly #sharing: StreamSharing;
  readonly #signal: AbortSignal | undefined;
  /** On the last stretch before the join, when compaction has moved it: a reading of this client's own. */
  #stretch: AsyncGenerator<Parcel> | undefined;
  #lineage: SegmentLineage | undefined;

  private constructor(sharing: StreamSharing, wanted: SharedQuery, course: Course, signal: AbortSignal | undefined) {
    this.#sharing = sharing;
    this.#signal = signal;
    this.wanted = wanted;
    this.join = course.join;
    this.beganMs = course.beganMs;
    this.mayLack = course.mayLack === true;
    this.place = course.place;
    this.#leg = course.leg;
  }

  static async open(
    sharing: StreamSharing,
    wanted: SharedQuery,
    { joins = false, signal }: SharedStreamOptions = {},
  ): Promise<SharedStream> {
    const stream = new SharedStream(sharing, wanted, await courseOf(sharing, wanted, joins), signal);
    signal?.throwIfAborted();
    sharing.enter(stream);
    // What cannot be closed is told to whoever disposes of the stream.
    signal?.addEventListener('abort', () => void sharing.leave(stream).catch(() => {}), { once: true });
    return stream;
  }

  /** Whether it has not come back to the beginning. */
  get isOnFirstWay(): boolean {
    return this.#leg !== 'to the join';
  }

  /** Where a later stream goes on. Inside of a large record it is the cursor before it. */
  cursor(): string {
    const { cursor } = this.place;
    return this.join === undefined ? cursor : `${cursor}~${this.join}~${this.#leg === 'to the join' ? 2 : 1}`;
  }

  /** The next parcel; undefined at the end. Behind one that has a cursor, `cursor()` is where it goes on. */
  async next(): Promise<Parcel | undefined> {
    for (;;) {
      this.#signal?.throwIfAborted();
      if (this.#leg === 'to the join' && this.#isAtJoin()) return undefined;
      const parcel = this.#stretch ? await this.#ofStretch() : await this.#sharing.next(this);
      if (!parcel) {
        if (this.#leg !== 'to the end') return undefined;
        this.#beginAnew();
        continue;
      }
      const place = placeBehind(this.place, parcel);
      if (this.#leg === 'to the join' && !this.#stretch && !(await this.#isBeforeJoin(place, parcel))) {
        this.#stretch = this.#openStretch();
        continue;
      }
      this.place = place;
      return parcel;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stretch?.return(undefined);
    await this.#sharing.leave(this);
  }

  #beginAnew(): void {
    const { query, snapshot } = this.place.parsed;
    this.#leg = 'to the join';
    this.place = placeAt(formatCursor({ query, snapshot, position: undefined }));
  }

  #joinPosition(): StreamPosition {
    assert(this.join !== undefined, 'only who joined comes back to the join');
    const { position } = parseCursor(this.join);
    assert(position !== undefined, 'nobody joins at the very beginning');
    return position;
  }

  #isAtJoin(): boolean {
    return this.place.cursor === this.join && !this.place.inner;
  }

  /**
   * Whether all of a parcel certainly stands before the join. Numbers of segments that are not known yet are high, so
   * that doubt says no.
   */
  async #isBeforeJoin({ parsed }: ParcelPlace, parcel: Parcel): Promise<boolean> {
    const join = this.#joinPosition();
    // While the segment of the join stands, offsets in it mean what they meant.
    if (!this.#sharing.archive.shelf.find(join.segment)) return false;
    // A part of a record: the record follows a place before the join, so it is not behind it.
    if (parcel.cursor === undefined) return true;
    const { position } = parsed;
    if (!position) return false;
    this.#lineage ??= await SegmentLineage.load(this.#sharing.archive);
    if (position.segment !== join.segment)
      return this.#lineage.originOf(position.segment) < this.#lineage.originOf(join.segment);
    if (position.offset !== join.offset) return position.offset < join.offset;
    return position.innerOffset <= join.innerOffset;
  }

  #openStretch(): AsyncGenerator<Parcel> {
    const { format, query } = this.wanted;
    const { cursor, inner } = this.place;
    if (inner) {
      const detail = 'a record was moved while it was being sent; go on from the last cursor';
      throw new PinakesError('OBJECT_CHANGED', { where: 'a stream', detail });
    }
    const pieces = format.open(this.#sharing.archive, { ...query, cursor, until: this.join, signal: this.#signal });
    return parcelsOf(pieces, cursor);
  }

  async #ofStretch(): Promise<Parcel | undefined> {
    const next = await this.#stretch!.next();
    return next.done ? undefined : next.value;
  }
}

async function courseOf(sharing: StreamSharing, wanted: SharedQuery, joins: boolean): Promise<Course> {
  const { query } = wanted;
  const beganMs = sharing.archive.clock();
  if (query.cursor !== undefined) {
    const [cursor = '', join, leg] = query.cursor.split('~');
    const place = placeAt(cursor);
    // What is wrong with a cursor is told at once, not in the middle of an answer.
    const stream = await RecordStream.open(sharing.archive, { ...query, cursor, until: join });
    const mayLack = await stream.mayLack();
    if (join === undefined) return { place, join, leg: 'all', beganMs, mayLack };
    const isOfOneStream = isSameSnapshot(placeAt(join).parsed, place.parsed) && placeAt(join).parsed.position;
    if (!isOfOneStream || (leg !== '1' && leg !== '2'))
      throw new PinakesError('BAD_ARGUMENT', { where: 'the cursor', detail: 'it is not one that a stream gave out' });
    return { place, join, leg: leg === '2' ? 'to the join' : 'to the end', beganMs, mayLack };
  }
  const place = placeAt((await RecordStream.open(sharing.archive, query)).cursor());
  const joined = joins && query.snapshot === undefined ? headOf(sharing, wanted, place) : undefined;
  if (!joined) return { place, join: undefined, leg: 'all', beganMs };
  const isAtStart = joined.place.parsed.position === undefined;
  return {
    place: placeAt(joined.place.cursor),
    join: isAtStart ? undefined : joined.place.cursor,
    leg: isAtStart ? 'all' : 'to the end',
    beganMs: joined.beganMs,
  };
}

/** Of those who read the same, whom to join: in the snapshot that most of them read, the one who is farthest. */
function headOf(sharing: StreamSharing, { format }: SharedQuery, { parsed }: ParcelPlace): SharedStream | undefined {
  const oldestMs = sharing.archive.clock() - JOIN_AGE_MS_MAX;
  const others = [...sharing.clients].filter(
    (client): client is SharedStream =>
      client instanceof SharedStream &&
      client.isOnFirstWay &&
      client.wanted.format.name === format.name &&
      client.wanted.query.snapshot === undefined &&
      client.place.parsed.query === parsed.query &&
      client.beganMs >= oldestMs,
  );
  const readersOf = (one: SharedStream) =>
    others.filter((other) => isSameSnapshot(one.place.parsed, other.place.parsed));
  return others
    .map((client) => ({ client, readers: readersOf(client).length, ...(client.place.parsed.position ?? START) }))
    .sort((a, b) => b.readers - a.readers || b.segment - a.segment || b.offset - a.offset)[0]?.client;
}

const START = { segment: -1, offset: 0 };
