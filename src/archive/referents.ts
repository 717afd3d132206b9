/**
 * What revisits say of the records that hold their contents, found in few calls and kept for the next ones.
 *
 * A record is known by the name of its segment and its offset there: what stands at such a place never changes once it is committed, whatever becomes of
 * the numbers of segments. Only committed places are asked for and remembered.
 */
import { assert } from '../base/index.ts';
import type { Place } from '../catalog/index.ts';
import type { RecordAccess } from './record-access.ts';
import type { Referent } from './segment-rewrite.ts';
import type { SegmentShelf } from './segment-shelf.ts';

/** What revisits say of a record that holds their content. */
export type HolderFacts = {
  readonly recordId: string;
  readonly url: string;
  readonly date: string;
  /** What some writer calls the content, when this add knows that the catalog has the name; else empty. */
  readonly declaredDigest: string;
};

/** Contents that repeat do so mostly within one crawl; of those that were asked for before the last so many, some are read again. About 10 MB. */
const GENERATION_MAX = 16 * 1024;

export class Referents {
  readonly #access: RecordAccess;
  readonly #shelf: SegmentShelf;
  /**
   * Those of late, and those of before. What is asked for again joins the younger; when they are many, the older go, all at once. Each is one text of its own:
   * one that is cut out of a longer text would keep all of that in memory.
   */
  #young = new Map<string, string>();
  #old = new Map<string, string>();

  constructor(access: RecordAccess, shelf: SegmentShelf) {
    this.#access = access;
    this.#shelf = shelf;
  }

  /** Reads those that are not known. */
  async load(places: readonly Place[]): Promise<void> {
    const missing = new Map<string, Place>();
    for (const place of places) {
      const id = this.#idOf(place);
      if (this.#young.has(id)) continue;
      const older = this.#old.get(id);
      if (older === undefined) missing.set(id, place);
      else this.#keep(id, older);
    }
    if (missing.size === 0) return;
    const heads = await this.#access.heads([...missing.values()]);
    for (const [index, id] of [...missing.keys()].entries()) {
      const { recordId = '', targetUri: url = '', date = '' } = heads[index]!;
      this.#keep(id, packed({ recordId, url, date, declaredDigest: '' }));
    }
  }

  async get(place: Place): Promise<HolderFacts> {
    await this.load([place]);
    return this.loaded(place);
  }

  /** One of those that were loaded last, which may be as many as a generation. */
  loaded(place: Place): HolderFacts {
    const id = this.#idOf(place);
    const holder = this.#young.get(id) ?? this.#old.get(id);
    assert(holder !== undefined, 'what a revisit says of its content was loaded before');
    return unpacked(holder);
  }

  /** Keeps what was committed of a holder, in the place of what was known of it. */
  remember(place: Place, holder: HolderFacts): void {
    this.#keep(this.#idOf(place), packed(holder));
  }

  #keep(id: string, holder: string): void {
    if (this.#young.size === GENERATION_MAX) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(id, holder);
  }

  #idOf({ segment, offset }: Place): string {
    return `${this.#shelf.get(segment).name} ${offset}`;
  }
}

export function referentOf({ recordId, url, date }: HolderFacts): Referent {
  return { refersTo: recordId || undefined, refersToTargetUri: url || undefined, refersToDate: date || undefined };
}

function packed({ recordId, url, date, declaredDigest }: HolderFacts): string {
  return JSON.stringify([recordId, url, date, declaredDigest]);
}

function unpacked(text: string): HolderFacts {
  const [recordId, url, date, declaredDigest] = JSON.parse(text) as [string, string, string, string];
  return { recordId, url, date, declaredDigest };
}
