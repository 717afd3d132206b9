/** What a segment of the archive is for. Records of the same kind are appended to the same open segment. */
import type { Segment } from '../../catalog/index.ts';
import type { SegmentKind } from '../../ledger/index.ts';
import type { Coding } from '../../warc/index.ts';
import { isOddSegment, oddStem } from './odd-records.ts';

/** The kind of a segment that exists, or of its replacement. */
export function kindOfSegment(
  { name, collection, volume }: Segment,
  collectionName: string,
  dictionary: Uint8Array | undefined,
  coding = codingOfName(name),
): SegmentKind {
  const kind = { collection, collectionName, volume, coding, dictionary };
  return isOddSegment(name) ? oddKind(kind) : kind;
}

/** The kind of the segments for records that stop other readers: see odd-records.ts. */
export function oddKind(kind: SegmentKind): SegmentKind {
  return { ...kind, stem: oddStem(kind.collectionName) };
}

export function codingOfName(name: string): Coding {
  return name.endsWith('.gz') ? 'gzip' : name.endsWith('.zst') ? 'zstd' : 'none';
}
