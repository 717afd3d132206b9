/**
 * What the archive wants to know of a record, from whatever read it: a scan of a file on worker threads, or a walk through a segment.
 */
import { createHash } from 'node:crypto';
import { type EpochMs, parseW3cDate, toHex } from '../base/index.ts';
import type { CaptureKind } from '../catalog/index.ts';
import {
  type BlockFacts,
  type RecordHead,
  SCAN_ARC,
  SCAN_COMPLETE,
  SCAN_HTTP,
  type ScanBatch,
  unbracketed,
} from '../warc/index.ts';

/** Carries the identity of a capture on a record that was written anew for it. */
export const CAPTURE_ID_FIELD = 'pinakes-capture-id';
/** Carries the overflow number of a block that shares its digest with another. */
export const OVERFLOW_FIELD = 'pinakes-overflow';

/** Names the content of a foreign revisit that was written anew, since what it was known by may be gone: <hex digest>~<overflow>. */
export const CONTENT_FIELD = 'pinakes-content';
/** What the writer of a record called its content, on the revisit that took the record's place. */
export const DECLARED_FIELD = 'pinakes-declared-digest';

export const ARCHIVE_FIELDS: readonly string[] = [CAPTURE_ID_FIELD, OVERFLOW_FIELD, CONTENT_FIELD, DECLARED_FIELD];

export type RecordFacts = {
  readonly offset: number;
  /** Bytes in the file; undefined when the record shares its member with others. */
  readonly length: number | undefined;
  readonly innerOffset: number;
  readonly type: string;
  readonly url: string;
  readonly date: string;
  readonly recordId: string;
  readonly isComplete: boolean;
  readonly isHttp: boolean;
  readonly isArc: boolean;
  readonly status: number;
  readonly mime: string;
  readonly payloadBytes: number;
  readonly payloadDigest: Uint8Array;
  readonly declaredDigest: string;
  readonly refersTo: string;
  readonly refersToUri: string;
  readonly refersToDate: string;
  readonly profile: string;
  readonly concurrentTo: string;
  readonly captureId: string;
  readonly overflow: number;
  /** The content as we named it ourselves; empty when we did not. */
  readonly content: string;
  readonly alsoDeclared: string;
};

export function factsOfScan(batch: ScanBatch, record: number): RecordFacts {
  const { columns } = batch;
  const length = columns.length[record]!;
  return {
    offset: columns.offset[record]!,
    length: length < 0 ? undefined : length,
    innerOffset: columns.innerOffset[record]!,
    type: batch.text(record, 'type'),
    url: batch.text(record, 'targetUri'),
    date: batch.text(record, 'date'),
    recordId: batch.text(record, 'recordId'),
    isComplete: batch.has(record, SCAN_COMPLETE),
    isHttp: batch.has(record, SCAN_HTTP),
    isArc: batch.has(record, SCAN_ARC),
    status: columns.status[record]!,
    mime: bareMime(batch.text(record, 'mime')),
    payloadBytes: columns.payloadBytes[record]!,
    payloadDigest: batch.digest(record),
    declaredDigest: batch.text(record, 'payloadDigest'),
    refersTo: batch.text(record, 'refersTo'),
    refersToUri: unbracketed(batch.text(record, 'refersToTargetUri')),
    refersToDate: batch.text(record, 'refersToDate'),
    profile: batch.text(record, 'profile'),
    concurrentTo: batch.text(record, 'concurrentTo'),
    captureId: batch.text(record, CAPTURE_ID_FIELD),
    overflow: Number(batch.text(record, OVERFLOW_FIELD) || 0),
    content: batch.text(record, CONTENT_FIELD),
    alsoDeclared: batch.text(record, DECLARED_FIELD),
  };
}

export function factsOfRecord(
  head: RecordHead,
  block: BlockFacts,
  length: number | undefined,
  isComplete: boolean,
): RecordFacts {
  const mime = block.http ? block.http.get('content-type') : (head.get('arc-mime') ?? head.contentType);
  return {
    offset: head.offset,
    length,
    innerOffset: head.innerOffset,
    type: head.type,
    url: head.targetUri ?? '',
    date: head.date ?? '',
    recordId: head.recordId ?? '',
    isComplete,
    isHttp: block.http !== undefined,
    isArc: head.format === 'arc',
    status: block.http?.status ?? 0,
    mime: bareMime(mime ?? ''),
    payloadBytes: block.payloadBytes,
    payloadDigest: block.payloadDigests[0]!.bytes,
    declaredDigest: head.get('warc-payload-digest') ?? '',
    refersTo: head.get('warc-refers-to') ?? '',
    refersToUri: unbracketed(head.get('warc-refers-to-target-uri') ?? ''),
    refersToDate: head.get('warc-refers-to-date') ?? '',
    profile: head.get('warc-profile') ?? '',
    concurrentTo: head.get('warc-concurrent-to') ?? '',
    captureId: head.get(CAPTURE_ID_FIELD) ?? '',
    overflow: Number(head.get(OVERFLOW_FIELD) ?? 0),
    content: head.get(CONTENT_FIELD) ?? '',
    alsoDeclared: head.get(DECLARED_FIELD) ?? '',
  };
}

export function bareMime(value: string): string {
  return value.split(/[;\s]/, 1)[0]!.toLowerCase();
}

const CAPTURE_KINDS = new Set(['response', 'revisit', 'resource', 'conversion']);

/** Which kind of capture a record is; undefined for what only goes with captures: requests, metadata, warcinfo. */
export function captureKindOf(facts: RecordFacts): CaptureKind | undefined {
  if (!CAPTURE_KINDS.has(facts.type) || facts.url === '') return undefined;
  return timeOf(facts) === undefined ? undefined : (facts.type as CaptureKind);
}

export function timeOf(facts: RecordFacts): EpochMs | undefined {
  return parseW3cDate(facts.date);
}

/**
 * What tells the same capture from another of the same URL and time: the record's id, or, for ARC records, which have none, a name made of what was
 * captured. Records written anew for a capture carry it along.
 */
export function captureIdOf(
  facts: Pick<RecordFacts, 'captureId' | 'recordId' | 'url' | 'date' | 'payloadDigest'>,
): string {
  if (facts.captureId || facts.recordId) return facts.captureId || facts.recordId;
  return `arc:${createHash('sha1')
    .update(`${facts.url} ${facts.date} ${toHex(facts.payloadDigest)}`)
    .digest('hex')}`;
}

export function captureHash(facts: RecordFacts): number {
  return recordHash(captureIdOf(facts));
}

export function recordHash(id: string): number {
  return createHash('sha1').update(id).digest().readUInt32BE(0);
}
