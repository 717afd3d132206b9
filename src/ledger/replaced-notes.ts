/**
 * Notes in the volumes that say by which segment another one was replaced (R1). They are written after the swap is in
 * the catalog and before the old segment is removed, in the volume of the old segment.
 *
 * ```
 *   _pinakes/replaced/<name of the old segment>/<incarnation>-<epoch>       those of the lease that swapped
 *   {"replaced":1,"by":"<name>","volume":"<volume of that segment>"}
 * ```
 * A process without a catalog that is up to date believes a replacement only by such a note, or because the newest list
 * of segments names it. Notes of an earlier incarnation count only when that list names them (R2). Of several notes
 * about one segment, the newest counts. A segment that replaces several has a note for each of them. These notes are
 * written when the swap of all is done, so one of them is enough to believe the whole replacement.
 */
import { fromUtf8, utf8 } from '../base/index.ts';
import type { Lease } from '../catalog/index.ts';
import { isObjectName } from '../volume/index.ts';
import type { SegmentStore, SegmentStores } from './segment-store.ts';

export const REPLACED_FOLDER = '_pinakes/replaced/';
const NOTE_BYTES_MAX = 16 * 1024;
/** A segment is replaced again and again, but no segment by one that it replaced. */
const STEPS_MAX = 10_000;

/** What a segment was replaced by. */
export type ReplacedBy = { readonly by: string; readonly volume: string };

export type ReplacedNote = ReplacedBy & {
  /** The name of the object that the note is. */
  readonly name: string;
  /** The name of the segment that was replaced. */
  readonly old: string;
  readonly incarnation: number;
  readonly epoch: number;
};

export function replacedNoteName(old: string, { incarnation, epoch }: Omit<Lease, 'name'>): string {
  return `${REPLACED_FOLDER}${old}/${incarnation}-${epoch}`;
}

export function formatReplacedNote({ by, volume }: ReplacedBy): Uint8Array {
  return utf8(`${JSON.stringify({ replaced: 1, by, volume })}\n`);
}

/** What the name of a note says. Undefined: it is not the name of one. */
export function parseReplacedName(name: string): Pick<ReplacedNote, 'old' | 'incarnation' | 'epoch'> | undefined {
  const match = /^_pinakes\/replaced\/(.+)\/(\d{1,15})-(\d{1,15})$/.exec(name);
  return match ? { old: match[1]!, incarnation: Number(match[2]), epoch: Number(match[3]) } : undefined;
}

/** Undefined: the note is damaged, or of a later version. */
export function parseReplacedNote(bytes: Uint8Array): ReplacedBy | undefined {
  let value: unknown;
  try {
    value = JSON.parse(fromUtf8(bytes));
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { replaced, by, volume } = value as Record<string, unknown>;
  if (replaced !== 1 || typeof by !== 'string' || typeof volume !== 'string') return undefined;
  return isObjectName(by) ? { by, volume } : undefined;
}

/** Notes about replaced segments, of which the newest about each segment counts. */
export class ReplacedNotes {
  readonly #newest = new Map<string, ReplacedNote>();
  readonly #believed = new Set<string>();
  /** Names of notes that cannot be read. */
  readonly damaged: readonly string[];

  constructor(notes: readonly ReplacedNote[], damaged: readonly string[] = []) {
    for (const note of notes) {
      const other = this.#newest.get(note.old);
      if (!other || isNewer(note, other)) this.#newest.set(note.old, note);
    }
    for (const { by } of this.#newest.values()) this.#believed.add(by);
    this.damaged = damaged;
  }

  /** What counts about this segment. */
  of(old: string): ReplacedNote | undefined {
    return this.#newest.get(old);
  }

  /** Whether a note that counts says that this segment replaced others. */
  isReplacement(name: string): boolean {
    return this.#believed.has(name);
  }

  /**
   * Follows the notes from a segment on, to the last one whose object is there: that one has its records now.
   * Undefined: none of them is there.
   */
  lastOf(name: string, isThere: (name: string) => boolean): string | undefined {
    let last: string | undefined;
    let next: string | undefined = name;
    for (let step = 0; next !== undefined && step < STEPS_MAX; step++) {
      if (isThere(next)) last = next;
      next = this.#newest.get(next)?.by;
    }
    return last;
  }

  [Symbol.iterator](): IterableIterator<ReplacedNote> {
    return this.#newest.values();
  }
}

/** Whether the volume has a note about a segment of this name. */
export async function isReplaced(store: Pick<SegmentStore, 'list'>, name: string): Promise<boolean> {
  for await (const page of store.list(`${REPLACED_FOLDER}${name}/`)) if (page.length > 0) return true;
  return false;
}

function isNewer(one: ReplacedNote, other: ReplacedNote): boolean {
  if (one.incarnation !== other.incarnation) return one.incarnation > other.incarnation;
  return one.epoch > other.epoch;
}

/** Reads the notes of all volumes that are there. `counts` says which of them count (R2). */
export async function readReplacedNotes(
  stores: Pick<SegmentStores, 'available'>,
  counts: (note: Omit<ReplacedNote, keyof ReplacedBy>) => boolean,
): Promise<ReplacedNotes> {
  const notes: ReplacedNote[] = [];
  const damaged: string[] = [];
  for (const store of stores.available())
    for await (const page of store.list(REPLACED_FOLDER))
      for (const { name } of page) {
        const parsed = parseReplacedName(name);
        if (!parsed || !counts({ name, ...parsed })) continue;
        const text = await readNote(store, name);
        if (text === 'missing') continue;
        if (text === 'damaged') damaged.push(name);
        else notes.push({ name, ...parsed, ...text });
      }
  return new ReplacedNotes(notes, damaged);
}

/** `missing`: it was removed meanwhile, or a crash left only a part of it, which does not count. */
async function readNote(store: SegmentStore, name: string): Promise<ReplacedBy | 'missing' | 'damaged'> {
  const bytes = await store.readObject(name, NOTE_BYTES_MAX);
  return bytes ? (parseReplacedNote(bytes) ?? 'damaged') : 'missing';
}
