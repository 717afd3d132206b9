/**
 * What revisits say of the records that hold their contents, found in few calls and kept for the next ones.
 *
 * A record is known by the name of its segment and its offset there: what stands at such a place never changes once it is committed, whatever becomes of
 * the numbers of segments. Only committed places are asked for and remembered.
 */
import type { Place } from '../catalog/index.ts';
import type { RecordAccess } from './record-access.ts';
import type { Referent } from './segment-rewrite.ts';
import type { SegmentShelf } from './segment-shelf.ts';

/** Contents that repeat do so mostly within one crawl; more than these are read again. About 15 MB. */
const KEPT_MAX = 32 * 1024;

export class Referents {
  readonly #access: RecordAccess;
  readonly #shelf: SegmentShelf;
  #kept = new Map<string, Referent>();
  #keptBefore = new Map<string, Referent>();

  constructor(access: RecordAccess, shelf: SegmentShelf) {
    this.#access = access;
    this.#shelf = shelf;
  }

  /** Reads those that are not known. */
  async load(places: readonly Place[]): Promise<void> {
    const missing = new Map<string, Place>();
    for (const place of places) {
      const id = this.#idOf(place);
      if (!this.#find(id)) missing.set(id, place);
    }
    if (missing.size === 0) return;
    const heads = await this.#access.heads([...missing.values()]);
    for (const [index, id] of [...missing.keys()].entries()) {
      const { recordId, targetUri, date } = heads[index]!;
      this.#keep(id, { refersTo: recordId, refersToTargetUri: targetUri, refersToDate: date });
    }
  }

  async get(place: Place): Promise<Referent> {
    const id = this.#idOf(place);
    if (!this.#find(id)) await this.load([place]);
    return this.#find(id)!;
  }

  remember(place: Place, referent: Referent): void {
    this.#keep(this.#idOf(place), referent);
  }

  #find(id: string): Referent | undefined {
    return this.#kept.get(id) ?? this.#keptBefore.get(id);
  }

  /** Two generations: when the younger is full the older goes, so that what was met lately stays. */
  #keep(id: string, referent: Referent): void {
    if (this.#kept.size >= KEPT_MAX / 2) {
      this.#keptBefore = this.#kept;
      this.#kept = new Map();
    }
    this.#kept.set(id, referent);
  }

  #idOf({ segment, offset }: Place): string {
    return `${this.#shelf.get(segment).name} ${offset}`;
  }
}
