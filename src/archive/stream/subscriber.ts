/**
 * One client of a stream, which shares the reading of records with other clients.
 *
 * A client that begins late may join the other clients at their place. It then reads from this place to the end, and
 * after that from the beginning to this place, so that it gets each record exactly once (I8). Its cursors contain the
 * join:
 *
 * ```
 *   cursor                  in order, or not joined
 *   cursor~join~1           on the way from where it joined to the end
 *   cursor~join~2           on the way from the beginning to where it joined
 * ```
 * A client that joins gets the snapshot of the others: the archive as it was when they began, at most JOIN_AGE_MS_MAX
 * ago.
 */
import { assert, PinakesError } from '../../base/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { type ChunkPlace, isSameSnapshot, placeAt, placeBehind } from './chunk-place.ts';
import { comparePositions, formatCursor, parseCursor, type StreamPosition } from './cursor.ts';
import type { HubQuery, ScanClient, ScanHub } from './scan-hub.ts';
import { RecordStream } from './stream.ts';
import { chunksOf, type StreamChunk } from './stream-chunk.ts';

/** A client joins others only while their snapshot is younger than this. */
const JOIN_AGE_MS_MAX = 3600 * 1000;

type Leg = 'all' | 'to the end' | 'to the join';
type Course = {
  readonly place: ChunkPlace;
  readonly join: string | undefined;
  readonly leg: Leg;
  readonly beganMs: number;
  readonly mayLack?: boolean;
};

export type SubscriberOptions = {
  /** Whether to join others at their place. Otherwise records are delivered from the beginning, in storage order. */
  readonly joins?: boolean;
  /** Aborted when the client leaves. Nothing more is delivered, and reading that no other client needs is aborted. */
  readonly signal?: AbortSignal;
};

export class Subscriber implements ScanClient, AsyncDisposable {
  readonly wanted: HubQuery;
  readonly join: string | undefined;
  /** When the stream of this snapshot began. */
  readonly beganMs: number;
  /** For a resumed stream: whether records of its snapshot may have been deleted since. */
  readonly mayLack: boolean;
  place: ChunkPlace;
  #leg: Leg;
  readonly #hub: ScanHub;
  readonly #signal: AbortSignal | undefined;
  /** The last part before the join. This client reads it alone when compaction has replaced the segment of the join. */
  #stretch: AsyncGenerator<StreamChunk> | undefined;

  private constructor(hub: ScanHub, wanted: HubQuery, course: Course, signal: AbortSignal | undefined) {
    this.#hub = hub;
    this.#signal = signal;
    this.wanted = wanted;
    this.join = course.join;
    this.beganMs = course.beganMs;
    this.mayLack = course.mayLack === true;
    this.place = course.place;
    this.#leg = course.leg;
  }

  static async open(
    archive: OpenedArchive,
    hub: ScanHub,
    wanted: HubQuery,
    { joins = false, signal }: SubscriberOptions = {},
  ): Promise<Subscriber> {
    const course = await courseOf(archive, hub, wanted, joins);
    const stream = new Subscriber(hub, wanted, course, signal);
    signal?.throwIfAborted();
    hub.enter(stream);
    // Disposing of the stream reports what cannot be closed.
    signal?.addEventListener('abort', () => void hub.leave(stream).catch(() => {}), { once: true });
    return stream;
  }

  /** Whether the client has not returned to the beginning yet. */
  get isOnFirstWay(): boolean {
    return this.#leg !== 'to the join';
  }

  /** The cursor with which a later stream continues. Inside of a large record, it is the cursor before the record. */
  cursor(): string {
    const { cursor } = this.place;
    return this.join === undefined ? cursor : `${cursor}~${this.join}~${this.#leg === 'to the join' ? 2 : 1}`;
  }

  /** The next chunk; undefined at the end. After a chunk with a cursor, `cursor()` is the position after it. */
  async next(): Promise<StreamChunk | undefined> {
    for (;;) {
      this.#signal?.throwIfAborted();
      if (this.#leg === 'to the join' && this.#isAtJoin()) return undefined;
      const chunk = this.#stretch ? await this.#ofStretch() : await this.#hub.next(this);
      if (!chunk) {
        if (this.#leg !== 'to the end') return undefined;
        this.#beginAnew();
        continue;
      }
      const place = placeBehind(this.place, chunk);
      if (this.#leg === 'to the join' && !this.#stretch && !this.#isBeforeJoin(place, chunk)) {
        this.#stretch = this.#openStretch();
        continue;
      }
      this.place = place;
      return chunk;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stretch?.return(undefined);
    await this.#hub.leave(this);
  }

  #beginAnew(): void {
    const { query, snapshot } = this.place.parsed;
    this.#leg = 'to the join';
    this.place = placeAt(formatCursor({ query, snapshot, position: undefined }));
  }

  #joinPosition(): StreamPosition {
    assert(this.join !== undefined, 'only a client that joined returns to the join');
    const { position } = parseCursor(this.join);
    assert(position !== undefined, 'a client never joins at the very beginning');
    return position;
  }

  #isAtJoin(): boolean {
    return this.place.cursor === this.join && !this.place.inner;
  }

  /** Whether all of a chunk is before the join. */
  #isBeforeJoin({ parsed }: ChunkPlace, chunk: StreamChunk): boolean {
    // A part of a large record. The record begins before the join, so its parts are before the join too.
    if (chunk.cursor === undefined) return true;
    const { position } = parsed;
    if (!position) return false;
    const join = this.#joinPosition();
    return (comparePositions(position, join) || position.innerOffset - join.innerOffset) <= 0;
  }

  #openStretch(): AsyncGenerator<StreamChunk> {
    const { format, query } = this.wanted;
    const { cursor, inner } = this.place;
    if (inner) {
      const detail = 'a record was moved while it was being sent; continue from the last cursor';
      throw new PinakesError('OBJECT_CHANGED', { where: 'a stream', detail });
    }
    const pieces = format.open({ ...query, cursor, until: this.join, signal: this.#signal });
    return chunksOf(pieces, cursor);
  }

  async #ofStretch(): Promise<StreamChunk | undefined> {
    const next = await this.#stretch!.next();
    return next.done ? undefined : next.value;
  }
}

async function courseOf(archive: OpenedArchive, hub: ScanHub, wanted: HubQuery, joins: boolean): Promise<Course> {
  const { query } = wanted;
  const beganMs = archive.clock();
  if (query.cursor !== undefined) {
    const [cursor = '', join, leg] = query.cursor.split('~');
    const place = placeAt(cursor);
    // An invalid cursor is reported at once, and not in the middle of a reply.
    const stream = await RecordStream.open(archive, { ...query, cursor, until: join });
    const mayLack = await stream.mayLack();
    if (join === undefined) return { place, join, leg: 'all', beganMs, mayLack };
    const isOfOneStream = isSameSnapshot(placeAt(join).parsed, place.parsed) && placeAt(join).parsed.position;
    if (!isOfOneStream || (leg !== '1' && leg !== '2'))
      throw new PinakesError('BAD_ARGUMENT', { where: 'the cursor', detail: 'it is not a cursor of a stream' });
    return { place, join, leg: leg === '2' ? 'to the join' : 'to the end', beganMs, mayLack };
  }
  const place = placeAt((await RecordStream.open(archive, query)).cursor());
  const joined =
    joins && query.snapshot === undefined ? subscriberToJoin(hub, wanted, place, archive.clock()) : undefined;
  if (!joined) return { place, join: undefined, leg: 'all', beganMs };
  const isAtStart = joined.place.parsed.position === undefined;
  return {
    place: placeAt(joined.place.cursor),
    join: isAtStart ? undefined : joined.place.cursor,
    leg: isAtStart ? 'all' : 'to the end',
    beganMs: joined.beganMs,
  };
}

/**
 * The client to join: the client that is farthest among those that read the snapshot with the most clients of this
 * stream.
 */
function subscriberToJoin(
  hub: ScanHub,
  { format }: HubQuery,
  { parsed }: ChunkPlace,
  nowMs: number,
): Subscriber | undefined {
  const oldestMs = nowMs - JOIN_AGE_MS_MAX;
  const others = [...hub.clients].filter(
    (client): client is Subscriber =>
      client instanceof Subscriber &&
      client.isOnFirstWay &&
      client.wanted.format.name === format.name &&
      client.wanted.query.snapshot === undefined &&
      client.place.parsed.query === parsed.query &&
      client.beganMs >= oldestMs,
  );
  const readersOf = (one: Subscriber) => others.filter((other) => isSameSnapshot(one.place.parsed, other.place.parsed));
  return others
    .map((client) => ({ client, readers: readersOf(client).length, ...(client.place.parsed.position ?? START) }))
    .sort((a, b) => b.readers - a.readers || comparePositions(b, a))[0]?.client;
}

const START = { root: '', sequence: -1, offset: 0 };
