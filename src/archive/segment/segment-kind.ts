/** What a segment is for. Records of the same kind are appended to the same open segment. */
import { digestOf, toHex } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import type { Coding } from '../../warc/index.ts';
import { isOddSegment } from './odd-records.ts';

export type SegmentKind = {
  readonly collection: number;
  readonly collectionName: string;
  readonly volume: string;
  readonly coding: Coding;
  readonly dictionary?: Uint8Array | undefined;
  /** Whether the segment is for records that stop other readers: see odd-records.ts. */
  readonly isOdd?: boolean | undefined;
};

/** The kind of a segment that exists, or of its replacement. */
export function kindOfSegment(
  { name, collection, volume }: Segment,
  collectionName: string,
  dictionary: Uint8Array | undefined,
  coding = codingOfName(name),
): SegmentKind {
  return { collection, collectionName, volume, coding, dictionary, isOdd: isOddSegment(name) };
}

export function codingOfName(name: string): Coding {
  return name.endsWith('.gz') ? 'gzip' : name.endsWith('.zst') ? 'zstd' : 'none';
}

/** The same text for equal kinds, and only for these. */
export function kindId(kind: SegmentKind): string {
  const dictionary = kind.dictionary ? dictionaryId(kind.dictionary) : '';
  return `${kind.collection} ${kind.volume} ${kind.coding} ${kind.isOdd === true} ${dictionary}`;
}

const dictionaryIds = new WeakMap<Uint8Array, string>();

function dictionaryId(dictionary: Uint8Array): string {
  const known = dictionaryIds.get(dictionary);
  if (known !== undefined) return known;
  const id = toHex(digestOf('sha256', dictionary).bytes);
  dictionaryIds.set(dictionary, id);
  return id;
}
