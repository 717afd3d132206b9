/**
 * What an add has entered itself, so that most of its duplicates need no look at the catalog.
 *
 * A record whose content is held may be a capture that the archive has already, and only the catalog knows for certain:
 * one search in it for each such record. But a content that this add stored first has no captures other than those this
 * add entered, as long as nobody else wrote meanwhile; and of these it knows which they are. When anybody did write, it
 * begins anew and knows of nothing.
 */
import type { Block, Catalog } from '../../catalog/index.ts';
import type { RecordFacts } from '../record-facts.ts';
import type { OpenSegment } from '../segment/segment-registry.ts';

/** More than these are not kept in mind; about 10 MB. */
const CAPTURES_MAX = 256 * 1024;

export class AddedCaptures {
  readonly #catalog: Catalog;
  /** From where on the segments hold what this add wrote. */
  readonly #from = new Map<number, number>();
  /** As signed numbers of 32 bits, which the platform keeps without an object for each. */
  readonly #hashes = new Set<number>();
  /** The catalog's batches up to the last of this add. */
  #batches = -1;

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** A step is about to write at the end of a segment. */
  beginStep({ segment, position }: OpenSegment): void {
    if (this.#batches !== this.#catalog.batches || this.#hashes.size > CAPTURES_MAX) {
      this.#from.clear();
      this.#hashes.clear();
    }
    if (!this.#from.has(segment.number)) this.#from.set(segment.number, position);
  }

  /** Whether the record is certainly no capture that the catalog has, given the blocks of its digest there. */
  isNew({ hash }: RecordFacts, blocks: readonly Block[]): boolean {
    if (this.#hashes.has(hash | 0)) return false;
    return blocks.every(({ holder }) => holder.offset >= (this.#from.get(holder.segment) ?? Number.POSITIVE_INFINITY));
  }

  /** A step was committed. */
  endStep(records: readonly RecordFacts[]): void {
    for (const { kind, hash } of records) if (kind) this.#hashes.add(hash | 0);
    this.#batches = this.#catalog.batches;
  }
}
