/**
 * What an add has entered itself, so that most of its duplicates need no look-up in the catalog.
 *
 * A record whose content is held may be a capture that the archive has, and only a search of the catalog for each such
 * record tells. But a content that this add stored first has no captures except those of this add, as long as no other
 * writer commits meanwhile, and the add knows its own captures. When another writer commits, everything is forgotten.
 */
import type { Block, Catalog } from '../../catalog/index.ts';
import type { RecordFacts } from '../record-facts.ts';
import type { OpenSegment } from '../segment/segment-registry.ts';

/** The most captures that are remembered; about 10 MB. */
const CAPTURES_MAX = 256 * 1024;

export class AddedCaptures {
  readonly #catalog: Catalog;
  /** The offset in each segment from which on this add wrote. */
  readonly #from = new Map<number, number>();
  /** As signed 32-bit numbers, which the platform stores without an object for each. */
  readonly #hashes = new Set<number>();
  /** The batches of the catalog up to the last one of this add. */
  #batches = -1;

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** Called before a step writes at the end of a segment. */
  beginStep({ segment, position }: OpenSegment): void {
    if (this.#batches !== this.#catalog.batches || this.#hashes.size > CAPTURES_MAX) {
      this.#from.clear();
      this.#hashes.clear();
    }
    if (!this.#from.has(segment.number)) this.#from.set(segment.number, position);
  }

  /** Whether the record is certainly not a capture in the catalog. `blocks` are the blocks of its digest. */
  isNew({ hash }: RecordFacts, blocks: readonly Block[]): boolean {
    if (this.#hashes.has(hash | 0)) return false;
    return blocks.every(({ holder }) => holder.offset >= (this.#from.get(holder.segment) ?? Number.POSITIVE_INFINITY));
  }

  /** Called when a step was committed. */
  endStep(records: readonly RecordFacts[]): void {
    for (const { kind, hash } of records) if (kind) this.#hashes.add(hash | 0);
    this.#batches = this.#catalog.batches;
  }
}
