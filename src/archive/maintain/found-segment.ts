/**
 * The segments that a volume has, as healing finds them. On a volume of immutable objects an open segment is a list of
 * parts:
 *
 * - Where the object of a segment is, its parts count for nothing (H3).
 * - Parts may belong to a segment that is being sealed under another name (R3). An object that arrives late under the
 *   name with which this segment was begun counts for nothing either.
 * - What arrives late of a segment that was replaced counts for nothing (R1).
 *
 * Anything else that has no row is entered, also what a former owner put late: its captures are known, or were deleted,
 * so its records are entered as dead, and compaction removes them. A note about a replaced segment counts only if it is
 * of this life of the catalog or in the newest list (R2).
 */
import type { Segment } from '../../catalog/index.ts';
import {
  begunName,
  chainOf,
  endOf,
  type FoundPart,
  type IncarnationList,
  listedObjects,
  parsePartName,
  parseReplacedName,
  type ReplacedNote,
  readNewestList,
  readReplacedNotes,
  type SegmentBytes,
  type SegmentStore,
  sealedBytes,
} from '../../ledger/index.ts';
import type { ObjectInfo } from '../../volume/index.ts';
import { TOMBSTONES_SUFFIX } from '../segment/tombstones.ts';

export const SEGMENT_NAME = /\.w?arc(\.gz|\.zst)?$/i;
const OWN_FOLDER = '_pinakes/';
const LISTS_FOLDER = '_pinakes/catalog/';

export type Found = {
  readonly store: SegmentStore;
  /** The object, or the parts together as an object that is not sealed. */
  readonly object: ObjectInfo;
  /** Where its bytes are. */
  readonly content: SegmentBytes;
};

export type FoundSegments = {
  readonly found: readonly Found[];
  /** Objects without a row that count for nothing. */
  readonly late: readonly string[];
};

/** The newest list of an incarnation in a bucket. A directory has no former owner that is still writing. */
export async function newestList(store: SegmentStore): Promise<IncarnationList | undefined> {
  if (!store.hasParts) return undefined;
  const names = (await listedObjects(store, LISTS_FOLDER)).map(({ name }) => name);
  return (await readNewestList(store, names))?.list;
}

/** The segments of a volume in order of name. `rows`: the rows of the catalog by name. */
export async function segmentsIn(
  store: SegmentStore,
  rows: ReadonlyMap<string, Segment>,
  list: IncarnationList | undefined,
): Promise<FoundSegments> {
  const objects = new Map<string, ObjectInfo>();
  const parts = new Map<string, FoundPart[]>();
  const replaced = new Set<string>();
  for await (const page of store.list())
    for (const object of page) {
      const { name, bytes } = object;
      const part = parsePartName(name);
      const note = parseReplacedName(name);
      if (note) replaced.add(note.old);
      if (part) {
        const some = parts.get(part.segment) ?? [];
        if (some.length === 0) parts.set(part.segment, some);
        some.push({ ...part, name, bytes });
      } else if (isSegment(name)) objects.set(name, object);
    }
  const fresh = new Map<string, Segment>();
  for (const row of rows.values()) if (begunName(row.name) !== row.name) fresh.set(begunName(row.name), row);
  const sealedFresh = new Set([...objects.keys()].filter((name) => begunName(name) !== name).map(begunName));
  const isThere = (name: string) => rows.has(name) || objects.has(name);
  /** Whether a former owner put it late. */
  const isLate = async (name: string) =>
    store.hasParts &&
    !rows.has(name) &&
    (fresh.has(name) ||
      sealedFresh.has(name) ||
      (replaced.has(name) && (await isReplacedBy(store, name, { list, isThere }))));
  const found: Found[] = [];
  const late: string[] = [];
  for (const object of objects.values()) {
    const { name, bytes, sealed } = object;
    const content: SegmentBytes = sealed ? sealedBytes(name, bytes) : { name, state: 'open', bytes };
    if (await isLate(name)) late.push(name);
    else found.push({ store, object, content });
  }
  for (const [begun, some] of parts) {
    const row = rows.get(begun) ?? fresh.get(begun);
    const name = row?.name ?? begun;
    if (row?.state === 'sealed' || objects.has(name) || (!row && (await isLate(begun)))) continue;
    const one = ofParts(store, name, some, row);
    if (one.object.bytes > 0 || row) found.push(one);
  }
  return { found: found.sort((a, b) => (a.object.name < b.object.name ? -1 : 1)), late };
}

/** Whether the segment was replaced, and its replacement is there. What is found of it was put late (R1). */
async function isReplacedBy(
  store: SegmentStore,
  name: string,
  { list, isThere }: { readonly list: IncarnationList | undefined; readonly isThere: (name: string) => boolean },
): Promise<boolean> {
  const notes = await readReplacedNotes({ available: () => [store] }, (note) => isNoteOfNow(note, list));
  const by = notes.of(name)?.by;
  return by !== undefined && notes.lastOf(by, isThere) !== undefined;
}

/** Whether a note about a replaced segment counts (R2). */
export function isNoteOfNow(
  { name, incarnation }: Pick<ReplacedNote, 'name' | 'incarnation'>,
  list: IncarnationList | undefined,
): boolean {
  return !list || incarnation >= list.incarnation || list.notes.has(name);
}

function isSegment(name: string): boolean {
  return SEGMENT_NAME.test(name) && !name.endsWith(TOMBSTONES_SUFFIX) && !name.startsWith(OWN_FOLDER);
}

function ofParts(store: SegmentStore, name: string, found: readonly FoundPart[], row: Segment | undefined): Found {
  // Without a part that was committed, what is left is shorter than the row says, which is reported.
  const chain = chainOf(found, row?.parts ?? []) ?? chainOf(found, []) ?? [];
  const bytes = endOf(chain);
  const parts = chain.map((part) => ({ name: part.name, offset: part.offset }));
  return { store, object: { name, bytes, sealed: false }, content: { name, state: 'open', bytes, parts } };
}

/** Removes what was found of a segment. */
export async function removeFound({ store, object, content }: Found): Promise<void> {
  const { parts = [] } = content;
  await store.remove(parts.length > 0 ? parts.map(({ name }) => name) : [object.name]);
}
