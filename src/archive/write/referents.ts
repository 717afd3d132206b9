/**
 * What revisits say of the records that hold their contents, found in few calls and kept for the next ones.
 *
 * A record is known by the name of its segment and its offset there: what stands at such a place never changes once it
 * is committed, whatever becomes of the numbers of segments. Only committed places are asked for and remembered.
 */
import { type Digest, formatDigest, parseDigest } from '../../base/index.ts';
import type { Place } from '../../catalog/index.ts';
import type { RecordAccess } from '../read/record-access.ts';
import type { RecordFacts } from '../record-facts.ts';
import type { SegmentRegistry } from '../segment/segment-registry.ts';

/** What revisits say of a record that holds their content. */
export type HolderFacts = {
  readonly recordId: string;
  readonly targetUri: string;
  readonly date: string;
  /** What some writer calls the content, when this add knows that the catalog has the name; else empty. */
  readonly declaredDigest: string;
  /** What the record itself says of its payload; empty when it says nothing. */
  readonly ownDigest: string;
};

/** What revisits say of a record that was read here. */
export function holderFacts({ recordId, url, date, declaredDigest }: RecordFacts): HolderFacts {
  return { recordId, targetUri: url, date, declaredDigest, ownDigest: declaredDigest };
}

/**
 * Contents that repeat do so mostly within one crawl; of those that were asked for before the last so many characters,
 * some are read again.
 */
const GENERATION_LENGTH_MAX = 3_000_000;
/** What is longer is not kept. */
const KEPT_LENGTH_MAX = 4000;
/** So many heads are read at a time. */
const HEADS_AT_ONCE = 64;

export class Referents {
  readonly #access: RecordAccess;
  readonly #segmentRegistry: SegmentRegistry;
  /**
   * Those of late, and those of before. What is asked for again joins the younger; when they are many, the older go,
   * all at once. Each is one text of its own: one that is cut out of a longer text would keep all of that in memory.
   */
  #young = new Map<string, string>();
  #old = new Map<string, string>();
  #youngLength = 0;
  /** Those that were asked for together last. */
  #loaded = new Map<string, string>();

  constructor(access: RecordAccess, segmentRegistry: SegmentRegistry) {
    this.#access = access;
    this.#segmentRegistry = segmentRegistry;
  }

  /** Finds all of these that can be read and are short enough to be kept. */
  async load(places: readonly Place[]): Promise<void> {
    this.#loaded = new Map();
    const missing = new Map<string, Place>();
    for (const place of places) {
      const id = this.#idOf(place);
      const known = this.#young.get(id) ?? this.#old.get(id);
      if (known === undefined) missing.set(id, place);
      else this.#load(id, known);
    }
    const unread = [...missing];
    for (let at = 0; at < unread.length; at += HEADS_AT_ONCE) {
      const some = unread.slice(at, at + HEADS_AT_ONCE);
      const holders = await this.#read(some.map(([, place]) => place));
      for (const [index, [id]] of some.entries()) {
        const holder = holders[index];
        if (holder) this.#load(id, packed(holder));
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

  /** One of those that were loaded last; undefined when it is too long, or cannot be read. */
  loaded(place: Place): HolderFacts | undefined {
    const holder = this.#loaded.get(this.#idOf(place));
    return holder === undefined ? undefined : unpacked(holder);
  }

  /** Undefined when it cannot be read. */
  async read(place: Place): Promise<HolderFacts | undefined> {
    return (await this.#read([place]))[0];
  }

  /** Keeps what was committed of a holder, in the place of what was known of it. */
  remember(place: Place, holder: HolderFacts): void {
    this.#keep(this.#idOf(place), packed(holder));
  }

  #load(id: string, holder: string): void {
    if (holder.length <= KEPT_LENGTH_MAX) this.#loaded.set(id, holder);
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

  #idOf({ segment, offset }: Place): string {
    return `${this.#segmentRegistry.get(segment).name} ${offset}`;
  }
}

/**
 * What a revisit says of its payload: what the record says that holds it, since other tools find that by the very same
 * words; else the digest that names contents here. Where it is not that one, the revisit has to name its content by
 * CONTENT_FIELD.
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
