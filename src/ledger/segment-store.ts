/**
 * How the ledger grows, seals, reads, finds and removes segments, the same way on both kinds of volumes.
 *
 * On a volume with real append a segment is one object, which grows until it is sealed. On a volume of immutable
 * objects it is a list of parts until its object is joined of them (P1). Nothing is put under a name before the catalog
 * lists it (P3), which is the caller's duty. The bytes of a name never change (P2): the caller gives the attempt, and
 * raises it before it appends other bytes at an offset.
 *
 * A failed append with a retryable error may have been done or may be done at any later time.
 */
import type { Segment, SegmentPart } from '../catalog/index.ts';
import type { ObjectInfo, VolumeSpace } from '../volume/index.ts';
import type { FoundPart } from './part-name.ts';

/** What of a segment's row says where its bytes are. */
export type SegmentBytes = Pick<Segment, 'name' | 'state' | 'bytes' | 'parts'>;

export type SegmentRange = { readonly offset: number; readonly length: number };

/** What a volume has of a segment. */
export type FoundSegment = {
  /** Its object. On a volume with real append it may be open still. */
  readonly object: ObjectInfo | undefined;
  /** Its parts, in no order. None on a volume with real append. */
  readonly parts: readonly FoundPart[];
};

export interface SegmentStore {
  /** The name of the volume. */
  readonly volume: string;
  readonly hasParts: boolean;
  readonly isWritable: boolean;
  /**
   * On a volume with parts under an embedded catalog: the number of its owner in the owner object, which never goes
   * back (P1). It is in the attempts of parts (P2), and in the names under which their remains are sealed (R3).
   */
  readonly ownerNumber?: number | undefined;

  /** What there is under the name of a segment. */
  find(name: string): Promise<FoundSegment>;

  /** How many bytes of a segment the volume has. Undefined: it has none of them. */
  lengthOf(segment: SegmentBytes): Promise<number | undefined>;

  /** Undefined: the volume does not say. */
  space(): Promise<VolumeSpace | undefined>;

  /** All objects of the volume, in pages: segments, parts and what is under `_pinakes/`. */
  list(prefix?: string): AsyncIterable<readonly ObjectInfo[]>;

  /** Begins an empty segment. */
  begin(name: string): Promise<void>;

  /** Adds bytes to an open segment that is `at` bytes long. Returns the part that has them, on a volume with parts. */
  append(name: string, at: number, bytes: readonly Uint8Array[], attempt: number): Promise<SegmentPart | undefined>;

  /** Makes everything appended to these segments durable. */
  sync(names: readonly string[]): Promise<void>;

  /** Takes back what was appended beyond a length. On a volume with parts there is nothing to take back. */
  cut(name: string, length: number): Promise<void>;

  /** Finishes a segment: on a volume with parts, joins them up to the row's length (H1). */
  seal(segment: SegmentBytes): Promise<void>;

  /** The bytes of each range of a segment, in order; shorter where the segment ends. */
  read(segment: SegmentBytes, ranges: readonly SegmentRange[]): Promise<Uint8Array[]>;

  /** A piece is valid until the next is requested. */
  stream(segment: SegmentBytes, from: number, to: number): AsyncIterable<Uint8Array>;

  /** Removes objects or parts by their names. Missing ones are ignored. */
  remove(names: readonly string[]): Promise<void>;

  /**
   * Writes a small object of the archive's own at once, durably. Under a name that exists, only with the same bytes.
   */
  writeObject(name: string, bytes: Uint8Array): Promise<void>;

  /** Reads a small object. Undefined: it is missing. */
  readObject(name: string, bytesMax: number): Promise<Uint8Array | undefined>;
}

/** The stores of an archive, by the name of the volume. */
export interface SegmentStores {
  /** Throws VOLUME_MISSING. */
  get(volume: string): SegmentStore;
  /** Those whose volumes are not missing. */
  available(): readonly SegmentStore[];
  writable(): readonly SegmentStore[];
}

/** All objects of a volume whose names begin with the prefix. */
export async function listedObjects(store: Pick<SegmentStore, 'list'>, prefix?: string): Promise<ObjectInfo[]> {
  const objects: ObjectInfo[] = [];
  for await (const page of store.list(prefix)) objects.push(...page);
  return objects;
}

/** The row of an object that is read to its end, whatever its length is. */
export function wholeObject(name: string): SegmentBytes {
  return sealedBytes(name, Number.MAX_SAFE_INTEGER);
}

/** The row of the object that a sealed segment is. */
export function sealedBytes(name: string, bytes: number): SegmentBytes {
  return { name, state: 'sealed', bytes };
}
