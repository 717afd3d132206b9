/**
 * The bounds of a snapshot (R4): all records of segments whose sequence number is below n, and of the segments that
 * were still growing then only the records below a length. Segments are root segments: those that the records were
 * first written to. So the bounds stay true through compaction and rebuilds.
 *
 * ```
 *   { "before": n, "open": [["<name of a root segment>", <length>], ...] }       in order of name
 * ```
 */
import { compare, utf8 } from '../base/index.ts';
import type { Segment } from '../catalog/index.ts';
import { isObjectName } from '../volume/index.ts';

export type SnapshotBounds = {
  readonly before: number;
  readonly open: readonly (readonly [name: string, length: number])[];
};

export const EMPTY_BOUNDS: SnapshotBounds = { before: 0, open: [] };

/** The place of a segment in the order of all segments. */
export function sequenceOf({ sequence, number }: Pick<Segment, 'sequence' | 'number'>): number {
  return sequence ?? number;
}

/** The segment that a record was first written to, the sequence number of that one, and the offset in it. */
export type RootPlace = { readonly root: string; readonly sequence: number; readonly offset: number };

/** The offset in a root segment up to which its records belong to the snapshot; infinite where all of them do. */
export function endIn(bounds: SnapshotBounds, root: { readonly name: string; readonly sequence: number }): number {
  if (root.sequence >= bounds.before) return 0;
  const open = bounds.open.find(([name]) => name === root.name);
  return open ? open[1] : Number.POSITIVE_INFINITY;
}

export function isInBounds(bounds: SnapshotBounds, { root, sequence, offset }: RootPlace): boolean {
  return offset < endIn(bounds, { name: root, sequence });
}

/** Bounds from JSON. Undefined: they are damaged, or something else. */
export function parseBounds(value: unknown): SnapshotBounds | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const { before, open, ...others } = value as Record<string, unknown>;
  if (Object.keys(others).length > 0 || !isCount(before) || !Array.isArray(open)) return undefined;
  if (!open.every(isOpenEntry)) return undefined;
  const isSorted = open.every(([name], index) => index === 0 || compareTexts(open[index - 1]![0], name) < 0);
  return isSorted ? { before, open } : undefined;
}

export function compareTexts(one: string, other: string): number {
  return compare(utf8(one), utf8(other));
}

function isOpenEntry(value: unknown): value is [string, number] {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [name, length] = value as unknown[];
  return typeof name === 'string' && isObjectName(name) && isCount(length);
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
