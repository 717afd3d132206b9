/**
 * The facts that revisits need about the records that hold their contents. They are read in few calls and cached.
 *
 * The cache is keyed by the name of the segment and the offset of the record. A committed record at such a place never
 * changes, whatever happens to segment numbers. Only committed places are read and cached. The entries of one step are
 * keyed by place, since the numbers of segments stay the same during a step.
 */
import { type Digest, formatDigest, parseDigest } from '../../base/index.ts';
import type { Place } from '../../catalog/index.ts';
import type { RecordFacts } from '../../ledger/index.ts';
import type { RecordAccess } from '../read/record-access.ts';
import type { SegmentRegistry } from '../segment/segment-registry.ts';

/** The facts that revisits need about a record that holds their content. */
export type HolderFacts = {
  readonly recordId: string;
  readonly targetUri: string;
  readonly date: string;
  /** A writer's name for the content, if this add knows that the catalog has this name. Otherwise empty. */
  readonly declaredDigest: string;
  /** The payload digest that the record declares; empty when it declares none. */
  readonly ownDigest: string;
};

/** The facts that revisits need, from a record that was read here. */
export function holderFacts({ recordId, url, date, declaredDigest }: RecordFacts): HolderFacts {
  return { recordId, targetUri: url, date, declaredDigest, ownDigest: declaredDigest };
}

/**
 * The total length of the recent entries. Contents mostly repeat within one crawl, so older entries are dropped. Their
 * holders are read again when needed.
 */
const GENERATION_LENGTH_MAX = 3_000_000;
/** Longer entries are not cached. */
const KEPT_LENGTH_MAX = 4000;
/** The number of heads that are read in one call. */
const HEADS_AT_ONCE = 64;

export class Referents {
  readonly #access: RecordAccess;
  readonly #segmentRegistry: SegmentRegistry;
  /**
   * Recent entries, and the ones before them. An entry that is used again moves to the recent ones. When the recent
   * ones reach GENERATION_LENGTH_MAX, the older ones are dropped together. Each entry is a text of its own, since a
   * part of a longer text would keep all of that in memory.
   */
  #young = new Map<string, string>();
  #old = new Map<string, string>();
  #youngLength = 0;
  /** The entries of the last `load`, by place. */
  #loaded = new Map<string, string>();

  constructor(access: RecordAccess, segmentRegistry: SegmentRegistry) {
    this.#access = access;
    this.#segmentRegistry = segmentRegistry;
  }

  /** Loads the entries that can be read and are short enough for the cache. */
  async load(places: readonly Place[]): Promise<void> {
    this.#loaded = new Map();
    const missing = new Map<string, Place>();
    for (const place of places) {
      const id = await this.#idOf(place);
      const known = this.#young.get(id) ?? this.#old.get(id);
      if (known === undefined) missing.set(id, place);
      else this.#load(place, id, known);
    }
    const unread = [...missing];
    for (let at = 0; at < unread.length; at += HEADS_AT_ONCE) {
      const some = unread.slice(at, at + HEADS_AT_ONCE);
      const holders = await this.#read(some.map(([, place]) => place));
      for (const [index, [id, place]] of some.entries()) {
        const holder = holders[index];
        if (holder) this.#load(place, id, packed(holder));
      }
    }
  }

  async #read(places: readonly Place[]): Promise<(HolderFacts | undefined)[]> {
    const heads = await this.#access.heads(places);
    return heads.map((head) => {
      if (!head) return undefined;
      const { recordId = '', targetUri = '', date = '' } = head;
      return { recordId, targetUri, date, declaredDigest: '', ownDigest: head.get('warc-payload-digest') ?? '' };
    });
  }

  /** An entry of the last `load`. Undefined when it is too long or cannot be read. */
  loaded(place: Place): HolderFacts | undefined {
    const holder = this.#loaded.get(placeId(place));
    return holder === undefined ? undefined : unpacked(holder);
  }

  /** Reads the facts of one holder. Undefined when the record cannot be read. */
  async read(place: Place): Promise<HolderFacts | undefined> {
    return (await this.#read([place]))[0];
  }

  /** Stores a committed holder in the cache, in place of an older entry. */
  async remember(place: Place, holder: HolderFacts): Promise<void> {
    this.#keep(await this.#idOf(place), packed(holder));
  }

  #load(place: Place, id: string, holder: string): void {
    if (holder.length <= KEPT_LENGTH_MAX) this.#loaded.set(placeId(place), holder);
    this.#keep(id, holder);
  }

  #keep(id: string, holder: string): void {
    if (holder.length > KEPT_LENGTH_MAX) return;
    if (this.#young.has(id)) {
      this.#young.set(id, holder);
      return;
    }
    if (this.#youngLength > GENERATION_LENGTH_MAX) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngLength = 0;
    }
    this.#young.set(id, holder);
    this.#youngLength += id.length + holder.length;
  }

  async #idOf({ segment, offset }: Place): Promise<string> {
    return `${(await this.#segmentRegistry.get(segment)).name} ${offset}`;
  }
}

function placeId({ segment, offset }: Place): string {
  return `${segment} ${offset}`;
}

/**
 * The payload digest of a revisit. It is the digest that the holder's record declares, since other tools find that
 * record by the same text. If the record declares none, it is the archive's own digest. With any other digest, the
 * revisit names its content in CONTENT_FIELD.
 */
export function revisitDigest(digest: Digest, ownDigest: string): Digest | string {
  return parseDigest(ownDigest) && ownDigest !== formatDigest(digest) ? ownDigest : digest;
}

function packed({ recordId, targetUri, date, declaredDigest, ownDigest }: HolderFacts): string {
  return JSON.stringify([recordId, targetUri, date, declaredDigest, ownDigest]);
}

function unpacked(text: string): HolderFacts {
  const [recordId, targetUri, date, declaredDigest, ownDigest] = JSON.parse(text) as string[];
  return { recordId, targetUri, date, declaredDigest, ownDigest } as HolderFacts;
}
