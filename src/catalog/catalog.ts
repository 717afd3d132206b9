/**
 * The catalog: captures, blocks and segments by key. The whole catalog can be made again from the segments, so it is
 * never the only copy of anything.
 *
 * The catalog alone decides which writer stored a content first. "Which of these digests are held" is one call, "take
 * this batch" is another, and a batch is taken completely or not at all. The catalog knows nothing of files, volumes or
 * WARC.
 *
 * The key of a capture is (URL key, time, place), and URL keys begin with the host. The key of a block is its digest,
 * and the key of a segment its number.
 */
import type { EpochMs, PinakesError } from '../base/index.ts';
import type { UrlKey } from '../url/index.ts';

/** The place of a record. The length is the length of the compressed member. */
export type Place = { readonly segment: number; readonly offset: number; readonly length: number };

/**
 * SHA-256 of the payload (32 bytes), and a number that distinguishes different contents with the same digest: 0 except
 * after a collision.
 */
export type BlockKey = { readonly digest: Uint8Array; readonly overflow: number };

export type CaptureKind = 'response' | 'revisit' | 'resource' | 'conversion' | 'metadata';

export type Capture = {
  readonly urlKey: UrlKey;
  readonly time: EpochMs;
  readonly place: Place;
  /** As captured; the key is derived from it. */
  readonly url: string;
  readonly kind: CaptureKind;
  readonly collection: number;
  /** HTTP status; 0 when there is none. */
  readonly status: number;
  /** Media type without parameters; empty when unknown. */
  readonly mime: string;
  /** The content; undefined for a revisit whose original is not known, and for a record without a payload. */
  readonly block: BlockKey | undefined;
  /** Distinguishes captures of the same URL and time: 32 bits of a hash of the record's identity. */
  readonly hash: number;
};

/** One distinct content. */
export type Block = {
  readonly key: BlockKey;
  /** Bytes of the payload. */
  readonly size: number;
  /** The record that holds the content. */
  readonly holder: Place;
  /** Number of captures that have this content. */
  readonly references: number;
};

export type SegmentState = 'open' | 'sealed';

export type Segment = {
  readonly number: number;
  readonly volume: string;
  readonly name: string;
  readonly collection: number;
  readonly state: SegmentState;
  /** The length of the segment up to which its records are in the catalog. */
  readonly bytes: number;
  readonly records: number;
  /** Bytes of records that were deleted and not yet compacted away. */
  readonly deadBytes: number;
};

/**
 * Another digest that some record declared for a block, by which revisits of other crawlers may name the block. Only
 * its first 8 bytes are kept: two digests with the same beginning that name the same block are one alias.
 */
export type Alias = { readonly declared: Uint8Array; readonly block: BlockKey };

export type Totals = {
  readonly captures: number;
  readonly blocks: number;
  readonly revisits: number;
  /** Payload bytes as captured: the sum of the sizes of the contents of all captures whose block is held. */
  readonly payloadBytes: number;
  /** Payload bytes of distinct contents. */
  readonly uniquePayloadBytes: number;
};

/**
 * Changes that are made together or not at all: first the removals, then the puts. Of two puts of the same row the last
 * one counts. A capture is identified by URL key, time, segment and offset. Removing a missing row does nothing.
 * Blocks, captures and aliases may be put and removed in any order: a capture or alias keeps naming a block that is not
 * held.
 */
export type CatalogBatch = {
  readonly putCaptures?: readonly Capture[];
  readonly removeCaptures?: readonly Capture[];
  /** Adds blocks or replaces them (for a moved holder). `references` is stored as given. */
  readonly putBlocks?: readonly Block[];
  readonly removeBlocks?: readonly BlockKey[];
  readonly putSegments?: readonly Segment[];
  readonly removeSegments?: readonly number[];
  readonly putAliases?: readonly Alias[];
  readonly removeAliases?: readonly Alias[];
  /** Small values of the archive itself, by name (collections, flags, counters). */
  readonly putNotes?: Readonly<Record<string, string>>;
  readonly removeNotes?: readonly string[];
  /**
   * Whether this batch, and every batch before it, must survive power loss when the call returns. Most batches need
   * not, because the segments are the truth. Every batch survives the death of the process.
   */
  readonly durable?: boolean;
};

/** Captures of a key at a time or, with `timeTo`, in a range of times, both ends inclusive. */
export type CaptureQuestion = Pick<Capture, 'urlKey' | 'time'> & {
  readonly timeTo?: EpochMs;
  /** The most captures to return. */
  readonly limit?: number;
  /**
   * Only captures with this hash. There are few of them even when one moment has very many captures. Not together with
   * a limit.
   */
  readonly ofHash?: number;
  /** Only the capture whose record is at this place. */
  readonly at?: CapturePosition['place'];
};

/** The position of a capture in the order of all captures. */
export type CapturePosition = Pick<Capture, 'urlKey' | 'time'> & { readonly place: Pick<Place, 'segment' | 'offset'> };

export type CaptureRange = {
  /** Half-open range of URL keys, in the order of their bytes. Both absent: all. */
  readonly keyFrom?: string;
  readonly keyTo?: string;
  /** Inclusive times; for a range of one key they bound the scan, else they filter it. */
  readonly timeFrom?: EpochMs;
  readonly timeTo?: EpochMs;
  readonly reverse?: boolean;
  /**
   * Starts after this capture, at which an earlier scan stopped. If the capture is before the range, the whole range is
   * read; if it is after the range, nothing is read.
   */
  readonly after?: CapturePosition;
};

/** The place after all captures of one key and time. */
export const LAST_PLACE: CapturePosition['place'] = {
  segment: Number.MAX_SAFE_INTEGER,
  offset: Number.MAX_SAFE_INTEGER,
};

/** The position after all captures of the key. */
export function behindKey(urlKey: UrlKey): CapturePosition {
  return { urlKey, time: Number.MAX_SAFE_INTEGER, place: LAST_PLACE };
}

/** All captures of one key. A catalog answers such a range faster than others, so it is always written like this. */
export function rangeOfKey(key: UrlKey): { readonly keyFrom: string; readonly keyTo: string } {
  return { keyFrom: key, keyTo: `${key}\0` };
}

/** The key of a range that has all captures of one key; undefined for other ranges. */
export function onlyKeyOf({ keyFrom, keyTo }: CaptureRange): UrlKey | undefined {
  return keyFrom !== undefined && keyTo === `${keyFrom}\0` ? (keyFrom as UrlKey) : undefined;
}

/** All captures of a key are read at once if there are at most this many, as for nearly every key. */
export const FEW_CAPTURES = 32;

/** A read-only view of one instant; later changes are not visible in it. */
export interface CatalogView {
  /** Blocks of these digests with all their overflows, in the order of the digests. Used for deduplication. */
  findBlocks(digests: readonly Uint8Array[]): Promise<Block[][]>;
  getBlocks(keys: readonly BlockKey[]): Promise<(Block | undefined)[]>;
  /**
   * For each digest, candidates: blocks for which some record declared a digest with the same beginning, in order of
   * their keys, at most 256. A declared digest proves nothing; a caller that relies on it must read the content.
   */
  findAliases(declared: readonly Uint8Array[]): Promise<BlockKey[][]>;
  /**
   * Captures in order of key (the bytes of its UTF-8), time and place, in pages, as of the instant when the first page
   * is requested. Keys with the same first 512 bytes may be in another, fixed order; the captures of one key are always
   * together.
   */
  captures(range: CaptureRange, pageSize?: number): AsyncIterable<Capture[]>;
  /**
   * For each question its captures, in order. Equal questions may share one answer, since answers may be long.
   */
  findCaptures(questions: readonly CaptureQuestion[]): Promise<(readonly Capture[])[]>;
  /**
   * All captures of the key in order, if there are at most FEW_CAPTURES; undefined if there are more. Used by replay.
   */
  capturesOf(urlKey: UrlKey): Promise<readonly Capture[] | undefined>;
  /**
   * The capture of the key nearest to the time: the earlier of two equally near captures, and the last of several
   * captures at one time. `notAfter` excludes later captures.
   */
  nearest(urlKey: UrlKey, time: EpochMs, side?: 'either' | 'notAfter'): Promise<Capture | undefined>;
  blocks(pageSize?: number): AsyncIterable<Block[]>;
  segments(): Promise<Segment[]>;
  notes(prefix?: string): Promise<Record<string, string>>;
  /** Like `notes`, but in pages of names and texts, for a prefix with very many notes. */
  notePages(prefix: string): AsyncIterable<[name: string, text: string][]>;
  totals(): Promise<Totals>;
}

/** A damaged file of the catalog. */
export type FileDamage = { readonly file: string; readonly detail: string };

export interface Catalog extends CatalogView {
  /** Number of batches applied so far. While it stays the same, nothing in the catalog changes. */
  readonly batches: number;
  /**
   * The reason why the catalog takes no more changes; undefined while it takes changes. After a failed write only the
   * next opening shows whether the change was made.
   */
  readonly refusal: PinakesError | undefined;
  /**
   * Applies the batch atomically, after all batches of earlier calls. Totals follow from the captures and blocks.
   */
  write(batch: CatalogBatch): Promise<void>;
  view(): Promise<CatalogView & AsyncDisposable>;
  /** Bytes on disk, as far as known. */
  bytes(): Promise<number>;
  /** Reads every byte of the catalog's files, and reports damage. */
  check(): AsyncIterable<FileDamage>;
  /**
   * Empties the catalog for a rebuild, whatever its state. Views of a damaged catalog fail from then on; other views do
   * not change.
   */
  clear(): Promise<void>;
  close(): Promise<void>;
}
