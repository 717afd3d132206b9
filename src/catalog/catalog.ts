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
import type { Database } from '../database/index.ts';
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
  /**
   * Number of captures that have this content. A look-up in a shared catalog counts no further than REFERENCES_COUNTED,
   * because a popular content has millions; `countReferences` and the scan `blocks` count all of them.
   */
  readonly references: number;
};

/** The most references that a look-up of blocks counts in a shared catalog. */
export const REFERENCES_COUNTED = 1000;

/** The state of a segment. A sealing segment has a fixed list of parts, and takes no more records (H1). */
export type SegmentState = 'open' | 'sealing' | 'sealed';

/** A segment whose records are in a segment that replaced it (K1, R4). */
export type RootSegment = { readonly name: string; readonly sequence: number };

/** An object with some of the bytes of an open segment, on volumes of immutable objects. */
export type SegmentPart = { readonly name: string; readonly offset: number };

export type Segment = {
  /** A shorthand of this catalog. Outside of the catalog's process a segment is known by its name. */
  readonly number: number;
  readonly volume: string;
  readonly name: string;
  readonly collection: number;
  readonly state: SegmentState;
  /** The length of the segment up to which its records are in the catalog. */
  readonly bytes: number;
  readonly records: number;
  /** Bytes of records that were deleted and not yet compacted away. The catalog counts them. */
  readonly deadBytes: number;
  /** Its place in the order of all segments, dealt when it was listed (R4). Outlives a rebuild. Absent: its number. */
  readonly sequence?: number;
  /** The segments that its records were first written to. Absent: its own. */
  readonly roots?: readonly RootSegment[];
  /** The lease under which it is written. */
  readonly lease?: Lease;
  /** The id of the last commit that moved its length (C4). */
  readonly lastCommit?: string;
  /** Its parts in order, as committed. Absent on volumes that append. */
  readonly parts?: readonly SegmentPart[];
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

/** What the caller of `listSegment` decides. */
export type NewSegment = Pick<Segment, 'volume' | 'name' | 'collection'> & {
  readonly roots?: readonly RootSegment[];
  /** The sequence number that the segment's own warcinfo gives. Without it the catalog deals the next. */
  readonly sequence?: number | undefined;
};

/**
 * The right to change what a name stands for: a writer's segments, compaction of a volume, the collector. A newer epoch
 * fences the former holder, and a new incarnation fences every lease of the catalog's former lives (C1, R2).
 */
export type Lease = { readonly name: string; readonly epoch: number; readonly incarnation: number };

export type LeaseRow = Lease & {
  /** The process, for people: host, process number, purpose. */
  readonly holder: string;
  /** Undefined where a lease does not end by time, or where it was ended before its time. */
  readonly expires: EpochMs | undefined;
  readonly isLiving: boolean;
};

/**
 * Sequence numbers that an incarnation deals are above those of all earlier ones, since it cannot know which of these
 * were dealt: their segments may be lost with the catalog, or compacted away. A number that was dealt twice would put
 * new records into an old snapshot (R4).
 */
export function firstSequenceOf(incarnation: number): number {
  return incarnation === 1 ? 1 : incarnation * 2 ** 32;
}

/** The lease of the process that adopts what is in the volumes after a catalog was lost or went back (R2). */
export const ADOPTION_LEASE = 'adoption';

/** Bytes that identify a capture for good, deleted ones included (C5). 16 bytes of a SHA-256. */
export type Mark = Uint8Array;

/**
 * The content of a full record of the commit. `isSpare`: the archive has the content, and the record is kept in full on
 * purpose, for example because a revisit would be larger. It becomes the holder only if the block is gone.
 * `isDistinct`: the caller wants a content of its own, or has compared bytes with the contents that the archive had. So
 * it may not share a block that another writer has added meanwhile.
 */
export type NewBlock = Pick<Block, 'key' | 'size' | 'holder'> & {
  readonly isSpare?: boolean;
  readonly isDistinct?: boolean;
};

/** Whether the archive has another content under the key of a new block (I7). */
export function isOtherContent(
  held: Pick<Block, 'size' | 'holder'> | undefined,
  { size, holder, isDistinct = false }: NewBlock,
): boolean {
  if (!held) return false;
  const isSameRecord = held.holder.segment === holder.segment && held.holder.offset === holder.offset;
  return held.size !== size || (isDistinct && !isSameRecord);
}

/**
 * A capture that a commit adds. With marks, the commit checks that the archive does not have the capture and that none
 * of its marks was deleted (C5). A revisit of another crawler has two marks, one without its content, since the content
 * may not have been known when the revisit was deleted.
 */
export type NewCapture = {
  readonly capture: Capture;
  readonly marks?: readonly Mark[] | undefined;
  /** The archive may have the capture already, as a file that is used in place may: only deletions are checked. */
  readonly mayRepeat?: boolean;
};

/** A record whose capture was deleted and that is still in its segment. */
export type DeadRecord = { readonly offset: number; readonly length: number; readonly block: BlockKey | undefined };

/** A full record whose content another record holds, because its writer lost a race (I12). */
export type SurplusRecord = { readonly offset: number; readonly block: BlockKey };

/** A content or a URL that may not come back (D3). */
export type Bar =
  | { readonly kind: 'content'; readonly digest: Uint8Array }
  | { readonly kind: 'url'; readonly urlKey: UrlKey };

/**
 * A change of a segment's row. The row is compared with `from`: if it differs, nothing of the group is committed
 * (`fenced`). `to` undefined removes the row, with its dead and surplus records. A new name is one that no row has:
 * what an earlier incarnation left open is sealed under it, with the same bytes (R3).
 */
export type SegmentChange = {
  readonly number: number;
  readonly from: Pick<Segment, 'state' | 'bytes' | 'volume'>;
  readonly to:
    | Partial<Pick<Segment, 'name' | 'state' | 'bytes' | 'records' | 'volume' | 'parts' | 'roots' | 'lease'>>
    | undefined;
};

/**
 * Changes that are made together or not at all. Checks come first, in the order of this type; if one fails, nothing is
 * changed and the outcome says which. Then removals, moves and additions.
 */
export type CommitGroup = {
  /**
   * Identifies the commit in the rows of the segments that it moves (C4). If a row has this id already, the group was
   * committed before, and the outcome is the first one as far as it can be told: `committed`.
   */
  readonly id?: string;
  /** The lease of the caller. Without one, the caller is the process that owns an embedded catalog. */
  readonly lease?: Lease | undefined;
  /**
   * The number of batches when the caller made its look-ups. If the catalog has made no other commit since, what it
   * answered still holds, and a catalog need not check the referents, nor that it does not have the captures.
   */
  readonly seen?: number | undefined;
  readonly segments?: readonly SegmentChange[];
  /** Contents that revisits of this group refer to, with the holders that the revisits name (C3). */
  readonly referents?: readonly Pick<Block, 'key' | 'holder'>[];
  /** Captures to delete, each with its mark. One that is not at its place any more makes the outcome `moved`. */
  readonly deletions?: readonly { readonly capture: Capture; readonly mark: Mark }[];
  /** Marks of captures that were deleted before the catalog could know them, as in a rebuild. */
  readonly deletedMarks?: readonly Mark[];
  readonly bars?: readonly Bar[];
  /**
   * Records that were rewritten. A capture that is not at `from` any more was deleted since: the record at `to` is
   * entered as dead (K1).
   */
  readonly moves?: readonly { readonly from: Capture; readonly to: Capture }[];
  /** Holders that moved. One that is not at `from` any more stays where it is. */
  readonly holderMoves?: readonly { readonly key: BlockKey; readonly from: Place; readonly to: Place }[];
  /**
   * Adds blocks that are absent. The outcome names the others as lost, and their records become surplus. A key that
   * another content has makes the outcome `stale` (I7).
   */
  readonly blocks?: readonly NewBlock[];
  readonly captures?: readonly NewCapture[];
  /** Captures without a deletion, for corrections by a heal. Missing ones are ignored. */
  readonly removeCaptures?: readonly Capture[];
  readonly dead?: readonly (DeadRecord & { readonly segment: number })[];
  readonly surplus?: readonly (SurplusRecord & { readonly segment: number })[];
  /** Surplus records that are surplus no longer. */
  readonly removeSurplus?: readonly { readonly segment: number; readonly offset: number }[];
  /** Removes blocks to which no capture refers. Others stay. */
  readonly sweep?: readonly BlockKey[];
  /** Keeps blocks to which no capture refers any more, while an unread segment may refer to them. */
  readonly keepsUnreferenced?: boolean;
  readonly aliases?: readonly Alias[];
  readonly removeAliases?: readonly Alias[];
  readonly putNotes?: Readonly<Record<string, string>>;
  readonly removeNotes?: readonly string[];
  /**
   * Whether this commit, and every commit before it, must survive power loss when the call returns. Stores need not,
   * because the segments are the truth. A group that removes, seals, swaps or bars is always durable (R2).
   */
  readonly durable?: boolean;
};

export type CommitOutcome =
  | {
      readonly kind: 'committed';
      /** Blocks of the group that were there already, as the catalog has them. */
      readonly lost: readonly Block[];
      /** How many blocks lost their last reference and were removed. */
      readonly freed: number;
    }
  /**
   * The lease has ended or was taken over, or a segment's row is not as expected: the writer gives its segments up. Or
   * the catalog is being adopted, and the group deletes, bars, swaps or removes.
   */
  | { readonly kind: 'fenced'; readonly why: 'lease' | 'segment' | 'adopting' }
  /**
   * These contents are gone or have other holders, or their keys have other contents. The group must be made again
   * (C3, I7).
   */
  | { readonly kind: 'stale'; readonly blocks: readonly BlockKey[] }
  /** The archive has these captures of the group, or had them and deleted them (C5); indexes into `captures`. */
  | { readonly kind: 'known'; readonly captures: readonly number[]; readonly deleted: readonly number[] }
  /** These captures may not come back (D3); indexes into `captures`. */
  | { readonly kind: 'barred'; readonly captures: readonly number[] }
  /** These captures to delete are not where they were seen; indexes into `deletions`. */
  | { readonly kind: 'moved'; readonly captures: readonly number[] };

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

/**
 * Reads a catalog. There are three ways, which differ only in the instants that are seen:
 *
 * - `Catalog.view()` is one instant; later changes are not visible in it. A shared catalog must keep every row that is
 *   changed while a view is open, so it ends its views after some minutes (CATALOG_VIEW_ENDED). A view is for work
 *   that compares answers with each other, such as a preview and the deletion that it shows.
 * - The catalog itself, and `Catalog.longView()`, answer each question as of its own instant. A scan (`captures`,
 *   `blocks`, `notePages`) of a catalog that is not shared is of the instant when its first page is requested. A scan
 *   of a shared catalog reads each page at an instant of its own, so that an export may take days:
 *     - What is there from the first page to the last is given exactly once, in order.
 *     - What is added or removed meanwhile may be given or not. A caller who wants the captures of one instant
 *       compares root places with the bounds of a snapshot (ledger/snapshot-bounds.ts).
 *     - A capture that is moved meanwhile, by a compaction, is given once, with its place before or after. In reverse
 *       it may be left out if it is moved while the scan is among captures of its key and time.
 */
export interface CatalogView {
  /** Blocks of these digests with all their overflows, in the order of the digests. Used for deduplication. */
  findBlocks(digests: readonly Uint8Array[]): Promise<Block[][]>;
  getBlocks(keys: readonly BlockKey[]): Promise<(Block | undefined)[]>;
  /** The number of captures that have each of these contents, however many they are. */
  countReferences(keys: readonly BlockKey[]): Promise<number[]>;
  /**
   * For each digest, candidates: blocks for which some record declared a digest with the same beginning, in order of
   * their keys, at most 256. A declared digest proves nothing; a caller that relies on it must read the content.
   */
  findAliases(declared: readonly Uint8Array[]): Promise<BlockKey[][]>;
  /**
   * Captures in order of key (the bytes of its UTF-8), time and place, in pages. Keys with the same first 512 bytes may
   * be in another, fixed order; the captures of one key are always together.
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
  segment(number: number): Promise<Segment | undefined>;
  segmentByName(name: string): Promise<Segment | undefined>;
  notes(prefix?: string): Promise<Record<string, string>>;
  /** Like `notes`, but in pages of names and texts, for a prefix with very many notes. */
  notePages(prefix: string): AsyncIterable<[name: string, text: string][]>;
  totals(): Promise<Totals>;
  /** For each mark, whether its capture was deleted. */
  findDeleted(marks: readonly Mark[]): Promise<boolean[]>;
  /** For each capture, whether its content or its URL is barred. */
  findBarred(captures: readonly Pick<Capture, 'urlKey' | 'block'>[]): Promise<boolean[]>;
  bars(): Promise<Bar[]>;
  /** The dead records of a segment, in order of offset. */
  deadRecords(segment: number): Promise<DeadRecord[]>;
  /** The surplus records of a segment, in order of offset. */
  surplusRecords(segment: number): Promise<SurplusRecord[]>;
}

/** A damaged file of the catalog. */
export type FileDamage = { readonly file: string; readonly detail: string };

/** A catalog that any number of writers share: every change is a commit with checks, or one step of its own. */
export interface Catalog extends CatalogView {
  /**
   * Number of changes so far. While it stays the same, nothing in the catalog changes. Undefined: other processes
   * change the catalog too, and their changes are not counted here.
   */
  readonly batches: number | undefined;
  /** The database of a catalog on PostgreSQL, in which frontier, jobs and users have tables too. */
  readonly database?: Database;
  /** Whether others change the catalog too. Then nothing that was read from it may be kept. */
  readonly isShared: boolean;
  /**
   * The reason why the catalog takes no more changes; undefined while it takes changes. After a failed write only the
   * next opening shows whether the change was made. ARCHIVE_OLD: its rows have an earlier format.
   */
  readonly refusal: PinakesError | undefined;
  /**
   * Makes the changes of a group, all of them or none. A retryable error means that it is not known which: the same
   * group with the same id may be committed again (C4).
   */
  commit(group: CommitGroup): Promise<CommitOutcome>;
  /**
   * Enters an open, empty segment before anything is written to its name (P3), and deals its numbers. Asked again with
   * the same name and lease, it gives the same row. Undefined: the lease is fenced, or another writer has the name.
   */
  listSegment(segment: NewSegment, lease?: Lease): Promise<Segment | undefined>;
  /** The number of a collection, dealt if the collection is new. */
  collectionNumber(name: string): Promise<number>;
  /**
   * Takes a lease with the next epoch, which fences its former holder. Undefined while the former holder is living.
   * Without a life the lease does not end by time.
   */
  takeLease(name: string, holder: string, lifeMs?: number): Promise<Lease | undefined>;
  /** Extends a lease. False: it was lost. */
  renewLease(lease: Lease, lifeMs: number): Promise<boolean>;
  /** Ends a lease at once, so that others may heal what it left. */
  endLease(lease: Lease): Promise<void>;
  leases(): Promise<LeaseRow[]>;
  /**
   * Removes the rows of leases whose names begin so, that ended so long ago, and that no segment names that is not
   * sealed. Only for names that are never used again: the next lease of a name without a row has the epoch 1. Returns
   * how many were removed. Absent where each process has the same lease.
   */
  forgetLeases?(beginning: string, endedMs: number): Promise<number>;
  /** The number of this life of the catalog (R2). */
  incarnation(): Promise<number>;
  /**
   * Begins another life after a rebuild, a restore or a failover: all leases end, and sequence numbers go on from
   * `firstSequenceOf`. Until `endAdoption`, a group that deletes, bars, swaps or removes needs the lease
   * ADOPTION_LEASE.
   */
  beginIncarnation(incarnation: number): Promise<void>;
  /**
   * Begins the next life of a catalog that is being adopted, and empties it in the same step, but for these notes. What
   * writers have committed in the life before is in the volumes. Where others store meanwhile, bars stay, since nothing
   * barred may come in before its bar is found again (D3). False: the life is not the one before, or its adoption has
   * ended.
   */
  beginEmpty(incarnation: number, notes: Readonly<Record<string, string>>): Promise<boolean>;
  /** Ends the adoption. False: the lease is fenced. */
  endAdoption(lease: Lease): Promise<boolean>;
  isAdopting(): Promise<boolean>;
  /**
   * Whether the catalog is on the server on which its last incarnation began. False after a standby took over or the
   * database was restored: commits may be missing, and no lease is dealt. Absent where there is only one server.
   */
  isTrusted?(): Promise<boolean>;
  /** Called when it is certain that the server has all commits of the former one. All former leases have ended. */
  trust?(): Promise<void>;
  view(): Promise<CatalogView & AsyncDisposable>;
  /** A view of an embedded catalog; the present state of a shared one. For work that may take hours. */
  longView(): Promise<CatalogView & AsyncDisposable>;
  /** Bytes on disk, as far as known. */
  bytes(): Promise<number>;
  /**
   * Reads every byte of the catalog's files, and reports damage. `rest` is called after each file. Changes go on
   * meanwhile.
   */
  check(rest?: () => Promise<void>): AsyncIterable<FileDamage>;
  /**
   * Empties the catalog for a rebuild, whatever its state, and gives it these notes, durably. Leases stay as they are,
   * as do the incarnation and all that keeps numbers from being dealt twice. A process that dies meanwhile leaves the
   * catalog as it was, or emptied and with the notes. Views of a damaged catalog fail from then on; other views do not
   * change.
   */
  clear(notes?: Readonly<Record<string, string>>): Promise<void>;
  close(): Promise<void>;
}
