/**
 * A cursor: where a stream stopped, as text that the client keeps. It contains the snapshot and the last delivered
 * record. The archive stores nothing for it.
 *
 * ```
 *   base64url of the JSON array
 *   [1, query, epoch, before, segments, [[number, bytes] ...], segment, offset, inner offset, URL key, time, ranking]
 * ```
 * `query` is a digest of order and selection: a cursor continues only a stream with the same order and selection. In
 * storage order, URL key and time are left out. Before the first record, everything from the segment to the time is
 * left out. The ranking is a version, and is left out in orders without a ranking. With an inner offset of -1,
 * everything before the record at the offset was delivered, and the record was not.
 */
import { createHash } from 'node:crypto';
import { type EpochMs, PinakesError } from '../../base/index.ts';
import type { SnapshotBounds } from './snapshot.ts';

const VERSION = 1;

/** Inner offset of a position immediately before the record at the offset. */
export const BEFORE_RECORD = -1;

/** The last delivered record. */
export type StreamPosition = {
  readonly segment: number;
  readonly offset: number;
  /** BEFORE_RECORD when the record at the offset was not delivered. */
  readonly innerOffset: number;
  /** The URL key and time of the record. Absent in storage order. */
  readonly urlKey?: string | undefined;
  readonly time?: EpochMs | undefined;
};

export type Cursor = {
  readonly query: string;
  readonly snapshot: SnapshotBounds;
  /** The version of the stream's ranking. Absent in orders without a ranking. */
  readonly ranking?: string;
  /** Absent before the first record. */
  readonly position: StreamPosition | undefined;
};

/** A digest that differs between streams with another order or selection. */
export function queryDigest(question: unknown): string {
  return createHash('sha256').update(JSON.stringify(question)).digest('base64url').slice(0, 8);
}

export function formatCursor({ query, snapshot, position, ranking }: Cursor): string {
  const { epoch, before, segments, open } = snapshot;
  const place = position ? [position.segment, position.offset, position.innerOffset] : [];
  const order = position?.urlKey === undefined ? [] : [position.urlKey, position.time];
  const version = ranking === undefined ? [] : [ranking];
  const value = [VERSION, query, epoch, before, segments, open, ...place, ...order, ...version];
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

export function parseCursor(text: string): Cursor {
  const value = jsonOf(text.trim());
  if (!Array.isArray(value) || value[0] !== VERSION) throw bad();
  const hasRanking = value.length === 7 || value.length === 12;
  const ranking: unknown = hasRanking ? value.pop() : undefined;
  if (hasRanking && typeof ranking !== 'string') throw bad();
  const [, query, epoch, before, segments, open, segment, offset, innerOffset, urlKey, time] = value as unknown[];
  if (typeof query !== 'string' || typeof epoch !== 'string' || !isCount(before) || !isCount(segments)) throw bad();
  if (!Array.isArray(open) || !open.every(isOpenEntry)) throw bad();
  const snapshot: SnapshotBounds = { epoch, before, segments, open };
  const view = { query, snapshot, ...(typeof ranking === 'string' && { ranking }) };
  if (value.length === 6) return { ...view, position: undefined };
  if (!isCount(segment) || !isCount(offset) || !(isCount(innerOffset) || innerOffset === BEFORE_RECORD)) throw bad();
  if (value.length === 9) return { ...view, position: { segment, offset, innerOffset } };
  if (value.length !== 11 || typeof urlKey !== 'string' || typeof time !== 'number') throw bad();
  return { ...view, position: { segment, offset, innerOffset, urlKey, time } };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isOpenEntry(value: unknown): value is [number, number] {
  return Array.isArray(value) && value.length === 2 && value.every(isCount);
}

function bad(): PinakesError {
  return new PinakesError('BAD_ARGUMENT', { where: 'the cursor', detail: 'it is not a cursor of a stream' });
}
