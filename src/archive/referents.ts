/**
 * What revisits say of the records that hold their contents, found in few calls and kept for the next ones.
 *
 * A record is known by the name of its segment and its offset there: what stands at such a place never changes once it is committed, whatever becomes of
 * the numbers of segments. Only committed places are asked for and remembered.
 */
import { assert, Recent } from '../base/index.ts';
import type { Place } from '../catalog/index.ts';
import type { RecordAccess } from './record-access.ts';
import type { Referent } from './segment-rewrite.ts';
import type { SegmentShelf } from './segment-shelf.ts';

/** Contents that repeat do so mostly within one crawl; more than these are read again. About 5 MB. */
const KEPT_MAX = 16 * 1024;

export class Referents {
  readonly #access: RecordAccess;
  readonly #shelf: SegmentShelf;
  /** Each as one text of its own: one that is cut out of a longer text would keep all of that in memory. */
  readonly #kept = new Recent<string, string>(KEPT_MAX, () => 1);

  constructor(access: RecordAccess, shelf: SegmentShelf) {
    this.#access = access;
    this.#shelf = shelf;
  }

  /** Reads those that are not known. */
  async load(places: readonly Place[]): Promise<void> {
    const missing = new Map<string, Place>();
    for (const place of places) {
      const id = this.#idOf(place);
      if (this.#kept.get(id) === undefined) missing.set(id, place);
    }
    if (missing.size === 0) return;
    const heads = await this.#access.heads([...missing.values()]);
    for (const [index, id] of [...missing.keys()].entries()) {
      const { recordId, targetUri, date } = heads[index]!;
      this.#kept.keep(id, packed({ refersTo: recordId, refersToTargetUri: targetUri, refersToDate: date }));
    }
  }

  async get(place: Place): Promise<Referent> {
    await this.load([place]);
    return this.loaded(place);
  }

  /** One of those that were loaded last, which may be as many as are kept. */
  loaded(place: Place): Referent {
    const referent = this.#kept.peek(this.#idOf(place));
    assert(referent !== undefined, 'what a revisit says of its content was loaded before');
    return unpacked(referent);
  }

  remember(place: Place, referent: Referent): void {
    this.#kept.keep(this.#idOf(place), packed(referent));
  }

  #idOf({ segment, offset }: Place): string {
    return `${this.#shelf.get(segment).name} ${offset}`;
  }
}

function packed({ refersTo, refersToTargetUri, refersToDate }: Referent): string {
  return JSON.stringify([refersTo ?? '', refersToTargetUri ?? '', refersToDate ?? '']);
}

function unpacked(text: string): Referent {
  const [refersTo, refersToTargetUri, refersToDate] = JSON.parse(text) as [string, string, string];
  return {
    refersTo: refersTo || undefined,
    refersToTargetUri: refersToTargetUri || undefined,
    refersToDate: refersToDate || undefined,
  };
}
