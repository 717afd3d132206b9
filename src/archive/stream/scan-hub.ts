/**
 * Sharing of scans: clients that read the same records at the same time get the same chunks, which are read once.
 *
 * A chunk is requested by the place before it. The first request for a chunk starts reading it. Requests during the
 * reading wait for it, and requests soon afterwards find the chunk in memory. Clients never wait for each other: the
 * chunks of all clients share one memory limit, and chunks beyond it are forgotten. Chunks that no client will reach
 * are forgotten first, then the chunks that are farthest ahead of the nearest client. A chunk that is being sent takes
 * up its memory in any case, so it is kept until it is sent. For a client that has fallen far behind, chunks are read
 * again and shared with clients at about the same place.
 *
 * Exactly-once delivery (I8) does not depend on this: the bytes after a place are the same for every reader.
 */
import { bytesAhead, type ChunkPlace, keyOf, piecesBehind, placeBehind } from './chunk-place.ts';
import type { StreamQuery } from './stream.ts';
import { chunksOf, type StreamChunk } from './stream-chunk.ts';
import type { StreamPiece } from './stream-output.ts';

/** Keeps the whole program below 300 MB. Enough for about sixty clients at different places. */
const BYTES_MAX = 64 * 1024 * 1024;
/** The limit for chunks that no present client will reach. They are kept for clients that begin a moment later. */
const UNREACHED_BYTES_MAX = 8 * 1024 * 1024;

/**
 * The share of BYTES_MAX that is freed at once. All chunks are examined each time, and there may be very many chunks
 * without bytes, so memory is not freed for each single chunk.
 */
const ROOM_PART = 1 / 64;

/** The memory of a chunk in addition to its bytes, which may be empty. */
const CHUNK_ROOM_BYTES = 1024;

/** How the records of a stream become bytes. Streams with the same name share chunks. */
export type StreamFormat = {
  readonly name: string;
  open(query: StreamQuery): AsyncIterable<StreamPiece>;
};

/** The stream that a client requests. Its cursor is in the `place` of the client, and not in the query. */
export type HubQuery = { readonly format: StreamFormat; readonly query: StreamQuery };

/** A client and the place that it has reached. */
export type ScanClient = { readonly wanted: HubQuery; place: ChunkPlace };

/** A scan in progress, which can continue from its place. */
type Scan = { readonly chunks: AsyncGenerator<StreamChunk>; readonly reading: AbortController };

type Link = {
  readonly format: string;
  readonly place: ChunkPlace;
  readonly scan: Scan;
  readonly chunk: Promise<StreamChunk | undefined>;
  /** The chunk that was read. Undefined while it is being read, and at the end of the stream. */
  found: StreamChunk | undefined;
  isRead: boolean;
  /** Whether the chunk is read ahead and was not requested yet. */
  isAhead: boolean;
};

export class ScanHub {
  readonly #bytesMax: number;
  readonly #unreachedBytesMax: number;
  readonly #clients = new Set<ScanClient>();
  /** The chunk that each client is sending, or has sent last. */
  readonly #sending = new Map<ScanClient, StreamChunk | undefined>();
  readonly #links = new Map<string, Link>();
  /** Scans that wait at a place. */
  readonly #scans = new Map<string, Scan>();
  #bytes = 0;
  /** Memory is freed when the chunks take up more bytes than this. */
  #freeAboveBytes: number;

  constructor(options: { readonly bytesMax?: number } = {}) {
    this.#bytesMax = options.bytesMax ?? BYTES_MAX;
    this.#unreachedBytesMax = Math.min(UNREACHED_BYTES_MAX, this.#bytesMax);
    this.#freeAboveBytes = this.#unreachedBytesMax;
  }

  get clients(): ReadonlySet<ScanClient> {
    return this.#clients;
  }

  /** Bytes that are kept for clients. */
  get heldBytes(): number {
    return this.#bytes;
  }

  enter(client: ScanClient): void {
    this.#clients.add(client);
  }

  async leave(client: ScanClient): Promise<void> {
    this.#clients.delete(client);
    this.#sending.delete(client);
    this.#freeAboveBytes = this.#unreachedBytesMax;
    this.#abortUnneeded();
    if (this.#clients.size > 0) return;
    for (const [key, link] of this.#links) if (link.isRead) this.#forget(key, link);
    await this.#closeScans(0);
  }

  /** The chunk after the place of a client. Undefined at the end. */
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
    const scan = this.#scans.get(key) ?? this.#open(wanted, place);
    this.#scans.delete(key);
    const chunk = this.#read(scan, wanted, place);
    const link: Link = { format: wanted.format.name, place, scan, chunk, found: undefined, isRead: false, isAhead };
    this.#links.set(key, link);
    const isKnown = () => this.#links.get(key) === link;
    chunk.then(
      (found) => isKnown() && this.#keep(key, link, found),
      () => isKnown() && this.#links.delete(key),
    );
    return link;
  }

  /**
   * Aborts scans that no client waits for. A scan that selects nothing would otherwise read the whole archive for no
   * client.
   */
  #abortUnneeded(): void {
    for (const [key, link] of this.#links) {
      if (link.isRead || (link.isAhead ? this.#isNeeded(link) : this.#isAwaited(key, link))) continue;
      this.#links.delete(key);
      link.scan.reading.abort();
    }
  }

  #isAwaited(key: string, { format }: Link): boolean {
    for (const { wanted, place } of this.#clients)
      if (wanted.format.name === format && keyOf(format, place) === key) return true;
    return false;
  }

  /** While a client sends a chunk, the next one is read, unless memory is short. */
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
    if (this.#bytes > this.#freeAboveBytes) this.#makeRoom(link);
  }

  /**
   * Forgets chunks that no client will reach, except the newest few, and then the chunks that are farthest ahead of the
   * nearest client, until the rest fits.
   */
  #makeRoom(newest: Link): void {
    const sending = new Set(this.#sending.values());
    const held = [...this.#links].flatMap(([key, link]) =>
      link === newest || link.found === undefined || sending.has(link.found)
        ? []
        : [{ key, link, away: this.#bytesAway(link) }],
    );
    // Two unreachable chunks are equally far away. The difference of their distances is NaN, which `|| 0` replaces.
    held.sort((a, b) => b.away - a.away || 0);
    const part = this.#bytesMax * ROOM_PART;
    const neededBytesMax = this.#bytes > this.#bytesMax ? this.#bytesMax - part : this.#bytesMax;
    for (const { key, link, away } of held) {
      if (this.#bytes <= (away === Number.POSITIVE_INFINITY ? this.#unreachedBytesMax : neededBytesMax)) break;
      this.#forget(key, link);
    }
    this.#freeAboveBytes = Math.min(this.#bytesMax, Math.max(this.#unreachedBytesMax, this.#bytes + part));
  }

  #isNeeded(link: Link): boolean {
    return this.#bytesAway(link) < Number.POSITIVE_INFINITY;
  }

  /** How many bytes the nearest client is behind the chunk. */
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

  async #read(scan: Scan, wanted: HubQuery, place: ChunkPlace): Promise<StreamChunk | undefined> {
    const { chunks, reading } = scan;
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
    if (isOver || this.#scans.has(nextKey)) await chunks.return(undefined);
    else this.#scans.set(nextKey, scan);
    await this.#closeScans(this.#clients.size + 1);
    return next.value;
  }

  /** Closes the scans that have waited longest, until this many are left. */
  async #closeScans(most: number): Promise<void> {
    while (this.#scans.size > most) {
      const [oldest] = this.#scans;
      this.#scans.delete(oldest![0]);
      await oldest![1].chunks.return(undefined);
    }
  }

  #open({ format, query }: HubQuery, { cursor, inner }: ChunkPlace): Scan {
    // The scan belongs to all of its clients, so it ends only when the last of them has left.
    const reading = new AbortController();
    const pieces = format.open({ ...query, cursor, signal: reading.signal });
    return { chunks: chunksOf(inner ? piecesBehind(pieces, inner) : pieces, cursor), reading };
  }
}

function roomOf(chunk: StreamChunk | undefined): number {
  return chunk ? chunk.bytes + CHUNK_ROOM_BYTES : 0;
}
