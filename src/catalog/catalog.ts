/**
 * The catalog: captures, blocks and segments by key. All of it can be made again from the segments; none of it is the
 * only copy of anything.
 *
 * It decides who stored a content first, and it is the only part that does: "which of these digests are held" is one
 * call, "take this batch" is another, and a batch is taken whole or not at all. It knows nothing of files, volumes or
 * WARC.
 *
 * Keys route: captures by (URL key, time, place), which is also by host, since a URL key begins with it; blocks by
 * digest; segments by number.
 */
import type { EpochMs, PinakesError } from '../base/index.ts';
import type { UrlKey } from '../url/index.ts';

/** Where a record stands. Its length is that of the compressed member. */
export type Place = { readonly segment: number; readonly offset: number; readonly length: number };

/**
 * SHA-256 of the payload (32 bytes), and the number of the overflow among different contents of one digest; 0 but for
 * collisions.
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
  /** The content; undefined for a revisit whose original is not known, and for what has no payload. */
  readonly block: BlockKey | undefined;
  /** Tells the same capture from another of the same URL and time: 32 bits of what identifies its record. */
  readonly hash: number;
};

/** One distinct content. */
export type Block = {
  readonly key: BlockKey;
  /** Bytes of the payload. */
  readonly size: number;
  /** The record that holds it. */
  readonly holder: Place;
  /** Captures that have this content. */
  readonly references: number;
};

export type SegmentState = 'open' | 'sealed';

export type Segment = {
  readonly number: number;
  readonly volume: string;
  readonly name: string;
  readonly collection: number;
  readonly state: SegmentState;
  /** Length up to which its records are in the catalog. */
  readonly bytes: number;
  readonly records: number;
  /** Bytes of records that were deleted and not yet compacted away. */
  readonly deadBytes: number;
};

/**
 * Another digest that some record declared for a block, by which foreign revisits may name it. Only its first 8 bytes
 * are kept: two that begin alike and name one block are one alias.
 */
export type Alias = { readonly declared: Uint8Array; readonly block: BlockKey };

export type Totals = {
  readonly captures: number;
  readonly blocks: number;
  readonly revisits: number;
  /** Payload bytes as captured: every capture counts its content's size, nothing while its block is not held. */
  readonly payloadBytes: number;
  /** Payload bytes of distinct contents. */
  readonly uniquePayloadBytes: number;
};

/**
 * Changes that are made together or not at all: first the removals, then what is put; of two puts of one thing the last
 * counts. A capture is told from others by URL key, time, segment and offset. Removing what is not there is no failure.
 * Blocks, captures and aliases may come and go in any order: a capture or alias whose block is not held keeps naming
 * it.
 */
export type CatalogBatch = {
  readonly putCaptures?: readonly Capture[];
  readonly removeCaptures?: readonly Capture[];
  /** Makes new blocks or replaces them (a moved holder). `references` is as given. */
  readonly putBlocks?: readonly Block[];
  readonly removeBlocks?: readonly BlockKey[];
  readonly putSegments?: readonly Segment[];
  readonly removeSegments?: readonly number[];
  readonly putAliases?: readonly Alias[];
  readonly removeAliases?: readonly Alias[];
  /** Small values of the archive's own, by name (collections, marks, running numbers). */
  readonly putNotes?: Readonly<Record<string, string>>;
  readonly removeNotes?: readonly string[];
  /**
   * Whether this batch, and with it every batch before it, must survive power loss when the call returns. The segments
   * are the truth: most batches need not. All survive the death of the process.
   */
  readonly durable?: boolean;
};

/** Captures of a key at a time; with `timeTo` all from the one to the other, both inclusive. */
export type CaptureQuestion = Pick<Capture, 'urlKey' | 'time'> & {
  readonly timeTo?: EpochMs;
  /** No more than so many. */
  readonly limit?: number;
  /**
   * Only those of this hash, of which there are few though a moment may have any number of captures. Not together with
   * a limit.
   */
  readonly ofHash?: number;
  /** Only the one whose record stands here. */
  readonly at?: CapturePosition['place'];
};

/** Where a capture stands among all. */
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
   * Begin after this capture: where an earlier scan stopped. One whose key lies before the range leaves all of it, one
   * behind it nothing.
   */
  readonly after?: CapturePosition;
};

/** Behind all captures of one key and time. */
export const LAST_PLACE: CapturePosition['place'] = {
  segment: Number.MAX_SAFE_INTEGER,
  offset: Number.MAX_SAFE_INTEGER,
};

/** Behind all captures of the key. */
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

/** A key with more captures than this is searched; with fewer, as nearly always, all are read at once. */
export const FEW_CAPTURES = 32;

/** A read-only view of one instant; changes made after it was opened are not seen through it. */
export interface CatalogView {
  /** Blocks of these digests with all their overflows, in order of the digests. The one question deduplication asks. */
  findBlocks(digests: readonly Uint8Array[]): Promise<Block[][]>;
  getBlocks(keys: readonly BlockKey[]): Promise<(Block | undefined)[]>;
  /**
   * Blocks for which some record declared a digest that begins like this one: candidates, in order of their keys, at
   * most 256 for each. A declared digest proves nothing; who relies on it reads the content.
   */
  findAliases(declared: readonly Uint8Array[]): Promise<BlockKey[][]>;
  /**
   * Captures in order of key (the bytes of its UTF-8), time and place, in pages, as of the instant the first page is
   * asked for. Keys that have their first 512 bytes in common may stand in another order, always the same one; the
   * captures of each still stand together.
   */
  captures(range: CaptureRange, pageSize?: number): AsyncIterable<Capture[]>;
  /**
   * For each question, the captures it asks for, in their order. Questions that are the same may get one answer
   * together, since that may be long.
   */
  findCaptures(questions: readonly CaptureQuestion[]): Promise<(readonly Capture[])[]>;
  /**
   * All captures of the key in their order, when there are at most FEW_CAPTURES; undefined when there are more. The
   * question replay asks.
   */
  capturesOf(urlKey: UrlKey): Promise<readonly Capture[] | undefined>;
  /**
   * The capture of the key nearest to the time, the earlier of two equally near, of one time the last; `notAfter` looks
   * only back.
   */
  nearest(urlKey: UrlKey, time: EpochMs, side?: 'either' | 'notAfter'): Promise<Capture | undefined>;
  blocks(pageSize?: number): AsyncIterable<Block[]>;
  segments(): Promise<Segment[]>;
  notes(prefix?: string): Promise<Record<string, string>>;
  /** The same in pages of names and texts, where there may be very many. */
  notePages(prefix: string): AsyncIterable<[name: string, text: string][]>;
  totals(): Promise<Totals>;
}

/** A file of the catalog that is not as it was written. */
export type FileDamage = { readonly file: string; readonly detail: string };

export interface Catalog extends CatalogView {
  /** Batches applied so far. While the number stays the same, so does everything else. */
  readonly batches: number;
  /**
   * Why it takes no more changes, when it does not: whether the last one was made shows only when it is opened again.
   */
  readonly refusal: PinakesError | undefined;
  /**
   * Applies the batch atomically, after those asked for before it. Totals follow from the captures and blocks that are
   * there.
   */
  write(batch: CatalogBatch): Promise<void>;
  view(): Promise<CatalogView & AsyncDisposable>;
  /** Bytes on disk, as far as known. */
  bytes(): Promise<number>;
  /** Reads every byte of what it is kept in, and reports what is damaged. */
  check(): AsyncIterable<FileDamage>;
  /**
   * Empties it, for a rebuild, whatever state it is in. Views of one that is damaged fail from then on; others do not
   * move.
   */
  clear(): Promise<void>;
  close(): Promise<void>;
}
