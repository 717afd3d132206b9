/**
 * A cursor: where a stream stopped, as text that the client keeps. It contains the bounds of the snapshot and the root
 * place of the last delivered record (R4). The archive stores nothing for it.
 *
 * ```
 *   base64url of the JSON array
 *   [2, query, before, [[name, length] ...], root, sequence, offset, inner offset, URL key, time, ranking]
 * ```
 * `query` is a digest of order and selection: a cursor continues only a stream with the same order and selection. In
 * storage order, URL key and time are left out. Before the first record, everything from the root to the time is left
 * out. The ranking is a version, and is left out in orders without a ranking. With an inner offset of -1, everything
 * before the record at the offset was delivered, and the record was not.
 *
 * Cursors of version 1 have the numbers of segments. They are refused with CURSOR_EXPIRED.
 */
import { createHash } from 'node:crypto';
import { type EpochMs, PinakesError } from '../../base/index.ts';
import { compareRoots, parseBounds, type SnapshotBounds } from '../../ledger/index.ts';
import { isObjectName } from '../../volume/index.ts';

const VERSION = 2;
/** `[2, query, before, open]`: a cursor before the first record. */
const BARE = 4;
/** With the place of a record: root, sequence, offset and inner offset. */
const PLACED = BARE + 4;
/** With URL key and time. */
const KEYED = PLACED + 2;

/** Inner offset of a position immediately before the record at the offset. */
export const BEFORE_RECORD = -1;

/** The last delivered record, by its root place. */
export type StreamPosition = {
  readonly root: string;
  readonly sequence: number;
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

/** The order of root places, which is the order of storage. */
export function comparePositions(
  one: Pick<StreamPosition, 'root' | 'sequence' | 'offset'>,
  other: Pick<StreamPosition, 'root' | 'sequence' | 'offset'>,
): number {
  const rootOf = ({ root, sequence }: Pick<StreamPosition, 'root' | 'sequence'>) => ({ name: root, sequence });
  return compareRoots(rootOf(one), rootOf(other)) || one.offset - other.offset;
}

/** A digest that differs between streams with another order or selection. */
export function queryDigest(question: unknown): string {
  return createHash('sha256').update(JSON.stringify(question)).digest('base64url').slice(0, 8);
}

export function formatCursor({ query, snapshot, position, ranking }: Cursor): string {
  const { before, open } = snapshot;
  const place = position ? [position.root, position.sequence, position.offset, position.innerOffset] : [];
  const order = position?.urlKey === undefined ? [] : [position.urlKey, position.time];
  const version = ranking === undefined ? [] : [ranking];
  const value = [VERSION, query, before, open, ...place, ...order, ...version];
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

export function parseCursor(text: string): Cursor {
  const value = jsonOf(text.trim());
  if (!Array.isArray(value)) throw bad();
  if (isOfVersion1(value))
    throw new PinakesError('CURSOR_EXPIRED', { detail: 'an earlier version of Pinakes made it' });
  if (value[0] !== VERSION) throw bad();
  const hasRanking = value.length === BARE + 1 || value.length === KEYED + 1;
  const ranking: unknown = hasRanking ? value.pop() : undefined;
  if (hasRanking && typeof ranking !== 'string') throw bad();
  const [, query, before, open, root, sequence, offset, innerOffset, urlKey, time] = value as unknown[];
  const snapshot = parseBounds({ before, open });
  if (typeof query !== 'string' || !snapshot) throw bad();
  const view = { query, snapshot, ...(typeof ranking === 'string' && { ranking }) };
  if (value.length === BARE) return { ...view, position: undefined };
  if (typeof root !== 'string' || !isObjectName(root) || !isCount(sequence) || !isCount(offset)) throw bad();
  if (!isCount(innerOffset) && innerOffset !== BEFORE_RECORD) throw bad();
  const place = { root, sequence, offset, innerOffset };
  if (value.length === PLACED) return { ...view, position: place };
  if (value.length !== KEYED || typeof urlKey !== 'string' || typeof time !== 'number') throw bad();
  return { ...view, position: { ...place, urlKey, time } };
}

/** `[1, query, epoch, before, segments, open ...]`. */
function isOfVersion1([version, query, epoch, ...others]: readonly unknown[]): boolean {
  return version === 1 && typeof query === 'string' && typeof epoch === 'string' && others.length >= 3;
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

function bad(): PinakesError {
  return new PinakesError('BAD_ARGUMENT', { where: 'the cursor', detail: 'it is not a cursor of a stream' });
}
