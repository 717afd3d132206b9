/**
 * Replacements: segments that were written anew to take the place of others. A replacement names the replaced segment
 * in its warcinfo record, with the length of the tombstones of that segment. If these tombstones have grown since, the
 * replacement is void: it still contains records that were deleted meanwhile.
 */
import { basename, dirname } from 'node:path';
import { fromUtf8 } from '../../base/index.ts';
import { begunName, parseOrigin, SEGMENT_FIELDS, type SegmentBytes, type SegmentStore } from '../../ledger/index.ts';
import { type Field, type ReadingRecord, type RecordHead, readRecords } from '../../warc/index.ts';

const REPLACES = 'pinakes-replaces';
const TOMBSTONE_BYTES = 'pinakes-replaces-tombstones';
/** Larger warcinfo records are not read. The archive's own are far smaller. */
const WARCINFO_BYTES_MAX = 64 * 1024;

/** The segment that a replacement replaces. */
export type ReplacedSegment = {
  readonly name: string;
  readonly tombstoneBytes: number;
  /** Whether its swap is noted in the volume (R1). Replacements by earlier versions had no such notes. */
  readonly isNotedWhenSwapped: boolean;
};

export function tombstonesField(tombstoneBytes: number): Field {
  return { name: TOMBSTONE_BYTES, value: String(tombstoneBytes) };
}

/** Which segment is replaced, from the block of a warcinfo record. */
export function parseReplaced(warcinfo: Uint8Array): ReplacedSegment | undefined {
  const text = fromUtf8(warcinfo);
  const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)\\s*$`, 'im').exec(text)?.[1];
  const name = field(REPLACES);
  if (name === undefined) return undefined;
  const isNotedWhenSwapped = parseOrigin(text).sequence !== undefined;
  return { name, tombstoneBytes: Number(field(TOMBSTONE_BYTES) ?? 0), isNotedWhenSwapped };
}

type Reading = Pick<SegmentStore, 'stream'>;

/** Which segment another one replaces, from its warcinfo record. */
export async function readReplaced(store: Reading, segment: SegmentBytes): Promise<ReplacedSegment | undefined> {
  const warcinfo = await readWarcinfo(store, segment);
  return warcinfo && parseReplaced(warcinfo);
}

/** The sequence number that a segment says of itself. */
export async function readSequence(store: Reading, segment: SegmentBytes): Promise<number | undefined> {
  const warcinfo = await readWarcinfo(store, segment);
  return warcinfo && parseOrigin(fromUtf8(warcinfo)).sequence;
}

async function readWarcinfo(store: Reading, segment: SegmentBytes): Promise<Uint8Array | undefined> {
  const { name, bytes } = segment;
  for await (const record of readRecords(store.stream(segment, 0, bytes), { name })) {
    // Other writers' records may have any length.
    const { type, contentLength = Number.POSITIVE_INFINITY } = record.head;
    if (type !== 'warcinfo' || contentLength > WARCINFO_BYTES_MAX) return undefined;
    return record.bytes(WARCINFO_BYTES_MAX);
  }
  return undefined;
}

const OWN_FIELDS = new Set(['software', 'format', 'ispartof', ...SEGMENT_FIELDS, TOMBSTONE_BYTES]);

/** Whether the block of a warcinfo record has only the fields that the archive writes about its own segments. */
function isOwnWarcinfo(warcinfo: Uint8Array, collection: string): boolean {
  const lines = fromUtf8(warcinfo).split(/\r?\n/);
  if (!lines.includes(`isPartOf: ${collection}`)) return false;
  return lines.every((line) => line === '' || OWN_FIELDS.has(line.slice(0, line.indexOf(':')).toLowerCase()));
}

/** Whether a record names this segment as its file: by the name under which the segment was begun (R3). */
export function namesFile(head: RecordHead, segmentName: string): boolean {
  return head.get('warc-filename') === basename(begunName(segmentName));
}

/**
 * Whether the archive itself wrote the first record of a segment. Such a record describes only the segment; the
 * warcinfo record of another writer describes the captures. Reads the record.
 */
export async function isOwnBeginning(record: ReadingRecord, segmentName: string): Promise<boolean> {
  const { head } = record;
  if (head.type !== 'warcinfo' || !namesFile(head, segmentName)) return false;
  if ((head.contentLength ?? Number.POSITIVE_INFINITY) > WARCINFO_BYTES_MAX) return false;
  return isOwnWarcinfo(await record.bytes(WARCINFO_BYTES_MAX), dirname(segmentName));
}
