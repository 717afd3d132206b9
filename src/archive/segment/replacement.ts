/**
 * How a segment that compaction wrote says which segment it takes the place of: in its warcinfo record. It also says
 * how long the tombstones of that segment were: when they have grown since, the new segment was given up, and what was
 * deleted since still stands in it.
 */
import { basename, dirname } from 'node:path';
import { fromUtf8 } from '../../base/index.ts';
import type { Field, ReadingRecord } from '../../warc/index.ts';

const REPLACES = 'pinakes-replaces';
const TOMBSTONE_BYTES = 'pinakes-replaces-tombstones';
/** The archive's own warcinfo records are far smaller. */
export const WARCINFO_BYTES_MAX = 64 * 1024;

export type Replacement = { readonly name: string; readonly tombstoneBytes: number };

export function replacementFields({ name, tombstoneBytes }: Replacement): Field[] {
  return [
    { name: REPLACES, value: name },
    { name: TOMBSTONE_BYTES, value: String(tombstoneBytes) },
  ];
}

/** What the warcinfo's block says that its segment replaces. */
export function replacementOf(warcinfo: Uint8Array): Replacement | undefined {
  const text = fromUtf8(warcinfo);
  const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)\\s*$`, 'im').exec(text)?.[1];
  const name = field(REPLACES);
  return name === undefined ? undefined : { name, tombstoneBytes: Number(field(TOMBSTONE_BYTES) ?? 0) };
}

const OWN_FIELDS = new Set(['software', 'format', 'ispartof', REPLACES, TOMBSTONE_BYTES]);

/**
 * Whether a warcinfo's block says what the archive says at the beginning of its segments, and no more: of the segment,
 * not of what was captured.
 */
function isOwnWarcinfo(warcinfo: Uint8Array, collection: string): boolean {
  const lines = fromUtf8(warcinfo).split(/\r?\n/);
  if (!lines.includes(`isPartOf: ${collection}`)) return false;
  return lines.every((line) => line === '' || OWN_FIELDS.has(line.slice(0, line.indexOf(':')).toLowerCase()));
}

/**
 * Whether the first record of a segment is one that the archive itself put there. It speaks of the segment alone; what
 * another wrote there speaks of the captures. The record is read for it.
 */
export async function isOwnBeginning(record: ReadingRecord, segmentName: string): Promise<boolean> {
  const { head } = record;
  if (head.type !== 'warcinfo' || head.get('warc-filename') !== basename(segmentName)) return false;
  if ((head.contentLength ?? Number.POSITIVE_INFINITY) > WARCINFO_BYTES_MAX) return false;
  return isOwnWarcinfo(await record.bytes(WARCINFO_BYTES_MAX), dirname(segmentName));
}
