/**
 * What the volumes have when an adoption or a rebuild begins: the segments that count, the notes about replacements,
 * and the highest number of an incarnation (R2). What of an earlier incarnation is not in the newest list of its volume
 * counts for nothing. Each list is read once, so one that arrives later changes nothing.
 */
import { ADOPTION_LEASE, type CatalogView, type Segment } from '../../catalog/index.ts';
import type { ObjectInfo } from '../../volume/index.ts';
import { COMPACTION_LEASES } from '../lease.ts';
import { chainOf, type FoundPart, parsePartName } from '../part-name.ts';
import { parseReplacedName, type ReplacedNotes, readReplacedNotes } from '../replaced-notes.ts';
import { begunName, incarnationOfName, isSegmentName } from '../segment-name.ts';
import { isMissing } from '../segment-reader.ts';
import { readOrigin, type SegmentOriginRecord } from '../segment-records.ts';
import { type SegmentStore, type SegmentStores, sealedBytes } from '../segment-store.ts';
import { incarnationOf } from './incarnation.ts';
import { type IncarnationList, parseListName, readNewestList } from './incarnation-list.ts';

/** A segment in a volume, of which the object or the parts count. */
export type SurveyedSegment = {
  readonly name: string;
  readonly volume: string;
  readonly object: ObjectInfo | undefined;
  readonly parts: readonly FoundPart[];
  /** What its first record says. Read only where the catalog has no row of the segment, or one that was begun. */
  readonly origin: SegmentOriginRecord | undefined;
};

/** What one volume has, as it was listed. */
type Listed = {
  readonly store: SegmentStore;
  readonly objects: Map<string, ObjectInfo>;
  readonly parts: Map<string, FoundPart[]>;
  readonly lists: string[];
  readonly notes: string[];
  list: IncarnationList | undefined;
};

export class Survey {
  readonly segments: ReadonlyMap<string, SurveyedSegment>;
  readonly notes: ReplacedNotes;
  /** Above those of all incarnations that left anything in the volumes. */
  readonly nextIncarnation: number;
  readonly #fresh = new Map<string, string[]>();
  /** Segments that a replacement in a list replaces. */
  readonly #listed: ReadonlySet<string>;

  private constructor(
    segments: ReadonlyMap<string, SurveyedSegment>,
    notes: ReplacedNotes,
    listed: ReadonlySet<string>,
    nextIncarnation: number,
  ) {
    this.segments = segments;
    this.notes = notes;
    this.#listed = listed;
    this.nextIncarnation = nextIncarnation;
    for (const { name, object } of segments.values())
      if (object && incarnationOfName(name) !== undefined) {
        const begun = begunName(name);
        this.#fresh.set(begun, [...(this.#fresh.get(begun) ?? []), name]);
      }
    // A fresh seal that was replaced has no object any more.
    for (const { old } of notes)
      if (incarnationOfName(old) !== undefined && !this.hasObject(old))
        this.#fresh.set(begunName(old), [...(this.#fresh.get(begunName(old)) ?? []), old]);
  }

  static async make(stores: Pick<SegmentStores, 'available'>, catalog: Pick<CatalogView, 'segments'>): Promise<Survey> {
    const volumes: Listed[] = [];
    for (const store of stores.available()) volumes.push(await listVolume(store));
    const rows = new Map((await catalog.segments()).map((row) => [row.name, row]));
    const listOfNote = new Map(volumes.flatMap(({ list, notes }) => notes.map((name) => [name, list] as const)));
    const notes = await readReplacedNotes(stores, ({ name, incarnation }) => {
      const list = listOfNote.get(name);
      return !list || incarnation >= list.incarnation || list.notes.has(name);
    });
    const segments = new Map<string, SurveyedSegment>();
    const listed = new Set<string>();
    let highest = 0;
    for (const volume of volumes) {
      for (const name of [...volume.lists, ...volume.notes])
        highest = Math.max(highest, (parseListName(name) ?? parseReplacedName(name))?.incarnation ?? 0);
      const names = new Set([...volume.objects.keys(), ...volume.parts.keys()]);
      for (const name of [...names].sort()) {
        const row = rows.get(name);
        const found = await surveyed(volume, name, row);
        const incarnation = incarnationOf(name, row ?? found.origin);
        highest = Math.max(highest, incarnation ?? 0);
        const known = segments.get(name);
        const isListed = volume.list?.segments.has(name) ?? false;
        const isOfNow = !volume.list || incarnation === undefined || incarnation >= volume.list.incarnation;
        if (!isOfNow && !isListed) continue;
        if (isListed) for (const old of found.origin?.replaces ?? []) listed.add(old);
        // A segment that was being moved to another volume is in both. The whole one counts.
        if (!known || (!known.object && found.object)) segments.set(name, found);
      }
    }
    return new Survey(segments, notes, listed, highest + 1);
  }

  /** Whether an object under this name counts. */
  hasObject(name: string): boolean {
    return this.segments.get(name)?.object !== undefined;
  }

  /**
   * The segment whose object has the records of this one now: itself, a replacement, or a fresh seal (R3). Undefined:
   * none of them is there.
   */
  standsFor(name: string): string | undefined {
    let last: string | undefined;
    const seen = new Set<string>();
    for (let next: string | undefined = name; next !== undefined && !seen.has(next); ) {
      seen.add(next);
      if (this.hasObject(next)) last = next;
      next = this.notes.of(next)?.by ?? this.#freshOf(next);
    }
    return last;
  }

  #freshOf(name: string): string | undefined {
    const found = this.#fresh.get(name)?.filter((fresh) => fresh !== name) ?? [];
    return found.sort((a, b) => incarnationOfName(b)! - incarnationOfName(a)!)[0];
  }

  /**
   * Whether a segment without a row counts by itself. A replacement counts when a note or a list names it, or when
   * nothing of what it replaces is there.
   */
  counts({ name, object, origin, parts }: SurveyedSegment, isThere: (name: string) => boolean): boolean {
    const stands = this.standsFor(name);
    if (stands !== undefined && stands !== name) return false;
    if (this.#listed.has(name)) return false;
    const replaces = origin?.replaces ?? [];
    const isBelieved = this.notes.isReplacement(name) || replaces.some((old) => this.#listed.has(old));
    if (!isBelieved && replaces.some((old) => isThere(old) || this.segments.has(old))) return false;
    return object !== undefined || (chainOf(parts, [])?.length ?? 0) > 0;
  }
}

async function listVolume(store: SegmentStore): Promise<Listed> {
  const listed: Listed = { store, objects: new Map(), parts: new Map(), lists: [], notes: [], list: undefined };
  for await (const page of store.list())
    for (const info of page) {
      const part = parsePartName(info.name);
      if (part) {
        const parts = listed.parts.get(part.segment) ?? [];
        parts.push({ ...part, name: info.name, bytes: info.bytes });
        listed.parts.set(part.segment, parts);
      } else if (isSegmentName(info.name)) listed.objects.set(info.name, info);
      else if (parseListName(info.name)) listed.lists.push(info.name);
      else if (parseReplacedName(info.name)) listed.notes.push(info.name);
    }
  listed.list = (await readNewestList(store, listed.lists))?.list;
  return listed;
}

/** Whether a compactor or an adoption listed the segment. */
function isOfRecovery({ lease }: Segment): boolean {
  return lease !== undefined && (lease.name === ADOPTION_LEASE || lease.name.startsWith(COMPACTION_LEASES));
}

async function surveyed(
  { store, objects, parts: allParts }: Listed,
  name: string,
  row: Segment | undefined,
): Promise<SurveyedSegment> {
  const object = objects.get(name);
  const parts = allParts.get(name) ?? [];
  const first = chainOf(parts, [])?.[0];
  const content = object
    ? sealedBytes(name, object.bytes)
    : ({ name, state: 'open', bytes: first?.bytes ?? 0, parts: first ? [first] : [] } as const);
  const { volume } = store;
  try {
    const isKnown = row && !(row.state === 'open' && object && isOfRecovery(row));
    const origin = isKnown ? undefined : await readOrigin(store, content, content.bytes);
    return { name, volume, object, parts, origin };
  } catch (error) {
    if (!isMissing(error)) throw error;
    // An ended process that has sealed or replaced the segment has removed it since the volume was listed.
    return { name, volume, object: undefined, parts: [], origin: undefined };
  }
}
