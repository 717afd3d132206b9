/**
 * Sharing of scans: clients that want the same records at the same time are given the same chunks, read once.
 *
 * A chunk is asked for by the place before it. Who asks first has it read; who asks meanwhile waits for the same
 * reading; who comes a little later finds it in memory. Nobody waits for anybody: memory is bounded as a whole, and
 * what no longer fits is forgotten, first what no client is still to come by, then what the next client to come by has
 * farthest to go to. What is on its way into a socket takes its room until it is out, so it is not forgotten before. A
 * client that has fallen behind that far has its chunks read again, and shares them with whoever is as far behind as
 * it is.
 *
 * Exactly once (I8) does not depend on any of this: what a place is followed by is the same whoever reads it.
 */
import { bytesAhead, type ChunkPlace, keyOf, piecesBehind, placeBehind } from './chunk-place.ts';
import type { StreamQuery } from './stream.ts';
import { chunksOf, type StreamChunk } from './stream-chunk.ts';
import type { StreamPiece } from './stream-output.ts';

/** With what the program itself takes, below 300 MB. Enough that each of some sixty clients can be at another place. */
const BYTES_MAX = 64 * 1024 * 1024;
/** What no client is still to come by is kept for those that begin a moment later, and no longer. */
const PASSED_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Room is made by so much of the whole at once: of chunks without bytes there may be very many, and all are looked at.
 */
const ROOM_PART = 1 / 64;

/** What a chunk takes besides its bytes, of which it may have none. */
const CHUNK_ROOM_BYTES = 1024;

/** How the records of a stream become bytes. Streams share when the name is the same. */
export type StreamFormat = {
  readonly name: string;
  open(query: StreamQuery): AsyncIterable<StreamPiece>;
};

/** What a client wants; the cursor stands in its place. */
export type HubQuery = { readonly format: StreamFormat; readonly query: StreamQuery };

/** Somebody who takes chunks, and where they are. */
export type ScanClient = { readonly wanted: HubQuery; place: ChunkPlace };

/** A reading under way, for whoever wants to go on where it stands. */
type Source = { readonly chunks: AsyncGenerator<StreamChunk>; readonly reading: AbortController };

type Link = {
  readonly format: string;
  readonly place: ChunkPlace;
  readonly source: Source;
  readonly chunk: Promise<StreamChunk | undefined>;
  /** Undefined while it is being read, and for the end, which takes no room. */
  found: StreamChunk | undefined;
  isRead: boolean;
  /** Nobody has asked for it yet. */
  isAhead: boolean;
};

export class ScanHub {
  readonly #bytesMax: number;
  readonly #passedBytesMax: number;
  readonly #clients = new Set<ScanClient>();
  /** What each is sending, or has sent last. */
  readonly #sending = new Map<ScanClient, StreamChunk | undefined>();
  readonly #links = new Map<string, Link>();
  /** Those that stand at a place. */
  readonly #sources = new Map<string, Source>();
  #bytes = 0;
  /** How many bytes there may be until room is made. */
  #roomyBytes: number;

  constructor(options: { readonly bytesMax?: number } = {}) {
    this.#bytesMax = options.bytesMax ?? BYTES_MAX;
    this.#passedBytesMax = Math.min(PASSED_BYTES_MAX, this.#bytesMax);
    this.#roomyBytes = this.#passedBytesMax;
  }

  get clients(): ReadonlySet<ScanClient> {
    return this.#clients;
  }

  /** Bytes that are kept for clients to come by. */
  get heldBytes(): number {
    return this.#bytes;
  }

  enter(client: ScanClient): void {
    this.#clients.add(client);
  }

  async leave(client: ScanClient): Promise<void> {
    this.#clients.delete(client);
    this.#sending.delete(client);
    this.#roomyBytes = this.#passedBytesMax;
    this.#breakOff();
    if (this.#clients.size > 0) return;
    for (const [key, link] of this.#links) if (link.isRead) this.#forget(key, link);
    await this.#closeSources(0);
  }

  /** What follows the place that a client is at; undefined at the end. */
  async next(client: ScanClient): Promise<StreamChunk | undefined> {
    const { wanted, place } = client;
    this.#sending.delete(client);
    const key = keyOf(wanted.format.name, place);
    const known = this.#links.get(key);
    const link = known ?? this.#begin(wanted, place, key);
    if (!known || link.isAhead) void this.#readAhead(wanted, place, link);
    const chunk = await link.chunk;
    if (this.#clients.has(client)) this.#sending.set(client, chunk);
    return chunk;
  }

  #begin(wanted: HubQuery, place: ChunkPlace, key: string, isAhead = false): Link {
    const source = this.#sources.get(key) ?? this.#open(wanted, place);
    this.#sources.delete(key);
    const chunk = this.#read(source, wanted, place);
    const link: Link = { format: wanted.format.name, place, source, chunk, found: undefined, isRead: false, isAhead };
    this.#links.set(key, link);
    const isKnown = () => this.#links.get(key) === link;
    chunk.then(
      (found) => isKnown() && this.#keep(key, link, found),
      () => isKnown() && this.#links.delete(key),
    );
    return link;
  }

  /**
   * Ends the readings that nobody waits for any more. One that finds nothing would else go through the whole archive
   * for nobody.
   */
  #breakOff(): void {
    for (const [key, link] of this.#links) {
      if (link.isRead || (link.isAhead ? this.#isNeeded(link) : this.#isAwaited(key, link))) continue;
      this.#links.delete(key);
      link.source.reading.abort();
    }
  }

  #isAwaited(key: string, { format }: Link): boolean {
    for (const { wanted, place } of this.#clients)
      if (wanted.format.name === format && keyOf(format, place) === key) return true;
    return false;
  }

  /** While a client takes a chunk, the one behind it is read; not when memory is dear. */
  async #readAhead(wanted: HubQuery, place: ChunkPlace, link: Link): Promise<void> {
    link.isAhead = false;
    const chunk = await link.chunk.catch(() => undefined);
    if (!chunk || this.#clients.size === 0 || this.#bytes > this.#bytesMax / 2) return;
    const next = placeBehind(place, chunk);
    const key = keyOf(wanted.format.name, next);
    if (!this.#links.has(key)) this.#begin(wanted, next, key, true);
  }

  #keep(key: string, link: Link, chunk: StreamChunk | undefined): void {
    if (this.#clients.size === 0) {
      this.#links.delete(key);
      return;
    }
    link.isRead = true;
    link.found = chunk;
    this.#bytes += roomOf(chunk);
    if (this.#bytes > this.#roomyBytes) this.#makeRoom(link);
  }

  /**
   * Forgets what nobody is still to come by, beyond a little of it, and then what is farthest from who comes by next,
   * until the rest fits.
   */
  #makeRoom(newest: Link): void {
    const sending = new Set(this.#sending.values());
    const held = [...this.#links].flatMap(([key, link]) =>
      link === newest || link.found === undefined || sending.has(link.found)
        ? []
        : [{ key, link, away: this.#bytesAway(link) }],
    );
    // Two that nobody comes by are as far away as each other, though their difference is no number.
    held.sort((a, b) => b.away - a.away || 0);
    const part = this.#bytesMax * ROOM_PART;
    const neededBytesMax = this.#bytes > this.#bytesMax ? this.#bytesMax - part : this.#bytesMax;
    for (const { key, link, away } of held) {
      if (this.#bytes <= (away === Number.POSITIVE_INFINITY ? this.#passedBytesMax : neededBytesMax)) break;
      this.#forget(key, link);
    }
    this.#roomyBytes = Math.min(this.#bytesMax, Math.max(this.#passedBytesMax, this.#bytes + part));
  }

  #isNeeded(link: Link): boolean {
    return this.#bytesAway(link) < Number.POSITIVE_INFINITY;
  }

  /**
   * How far the next client to come by is. Compaction may lead to a wrong guess, which costs a reading and nothing
   * else.
   */
  #bytesAway({ format, place }: Link): number {
    let least = Number.POSITIVE_INFINITY;
    for (const { wanted, place: at } of this.#clients)
      if (wanted.format.name === format) least = Math.min(least, bytesAhead(place, at));
    return least;
  }

  #forget(key: string, link: Link): void {
    this.#links.delete(key);
    this.#bytes -= roomOf(link.found);
  }

  async #read(source: Source, wanted: HubQuery, place: ChunkPlace): Promise<StreamChunk | undefined> {
    const { chunks, reading } = source;
    let next: IteratorResult<StreamChunk>;
    try {
      next = await chunks.next();
    } catch (error) {
      await chunks.return(undefined);
      throw error;
    }
    if (next.done) return undefined;
    const nextKey = keyOf(wanted.format.name, placeBehind(place, next.value));
    const isOver = this.#clients.size === 0 || reading.signal.aborted;
    if (isOver || this.#sources.has(nextKey)) await chunks.return(undefined);
    else this.#sources.set(nextKey, source);
    await this.#closeSources(this.#clients.size + 1);
    return next.value;
  }

  /** Closes those that have stood longest, but for so many. */
  async #closeSources(most: number): Promise<void> {
    while (this.#sources.size > most) {
      const [oldest] = this.#sources;
      this.#sources.delete(oldest![0]);
      await oldest![1].chunks.return(undefined);
    }
  }

  #open({ format, query }: HubQuery, { cursor, inner }: ChunkPlace): Source {
    // The reading is everybody's: only when the last of them has left does it end.
    const reading = new AbortController();
    const pieces = format.open({ ...query, cursor, signal: reading.signal });
    return { chunks: chunksOf(inner ? piecesBehind(pieces, inner) : pieces, cursor), reading };
  }
}

function roomOf(chunk: StreamChunk | undefined): number {
  return chunk ? chunk.bytes + CHUNK_ROOM_BYTES : 0;
}
