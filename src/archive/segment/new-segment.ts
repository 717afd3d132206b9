/**
 * The name of a new segment, and the warcinfo record at its beginning.
 *
 * ```
 *   <collection>/<collection>-<time>-<serial>-<host>.warc.gz         in some volume
 * ```
 */
import { hostname } from 'node:os';
import { type EpochMs, formatTimestamp, formatW3cDate } from '../../base/index.ts';
import { type Field, type MemberEncoder, recordParts, warcFields } from '../../warc/index.ts';
import { segmentStem } from './odd-records.ts';
import type { SegmentKind } from './segment-kind.ts';

/** The name of the segment that is the `serial`th of this process. */
export function segmentName(kind: SegmentKind, now: EpochMs, serial: number): string {
  const suffix = kind.coding === 'gzip' ? 'warc.gz' : kind.coding === 'zstd' ? 'warc.zst' : 'warc';
  const host = hostname().replace(/[^A-Za-z0-9.-]/g, '-') || 'host';
  const stem = segmentStem(kind.collectionName, kind.isOdd === true);
  const milliseconds = String(now % 1000).padStart(3, '0');
  const number = String(serial).padStart(5, '0');
  return `${kind.collectionName}/${stem}-${formatTimestamp(now)}${milliseconds}-${number}-${host}.${suffix}`;
}

export type SegmentInfo = {
  readonly name: string;
  readonly collectionName: string;
  readonly software: string;
  readonly recordId: string;
  readonly time: EpochMs;
  readonly fields: readonly Field[];
};

/** The member of the warcinfo record with which a segment begins. */
export function warcinfoMember(encoder: MemberEncoder, info: SegmentInfo): Uint8Array {
  const block = warcFields([
    { name: 'software', value: info.software },
    { name: 'format', value: 'WARC File Format 1.1' },
    { name: 'isPartOf', value: info.collectionName },
    ...info.fields,
  ]);
  const record = {
    type: 'warcinfo',
    recordId: info.recordId,
    date: formatW3cDate(info.time),
    contentType: 'application/warc-fields',
    fields: [{ name: 'WARC-Filename', value: info.name.split('/').pop()! }],
  } as const;
  return encoder.encode(recordParts(record, block));
}
