/**
 * The captures and contents that an add has entered itself. With them, most duplicates need no look-up in the catalog.
 *
 * A record whose content the archive holds may be a capture that the archive has. In general, a search of the catalog
 * for each such record has to decide that. But all captures of a content that this add stored first are from this add,
 * which knows them, as long as no other writer commits. When another writer commits, or could commit unnoticed,
 * everything is forgotten.
 */
import type { Block, Catalog } from '../../catalog/index.ts';
import type { OpenSegment, RecordFacts } from '../../ledger/index.ts';

/** The most captures that are remembered; about 10 MB. */
const CAPTURES_MAX = 256 * 1024;

export class AddedCaptures {
  readonly #catalog: Catalog;
  /** For each segment, the offset at which this add began to write. */
  readonly #from = new Map<number, number>();
  /** Hashes as signed 32-bit numbers, which JavaScript stores without an object for each. */
  readonly #hashes = new Set<number>();
  /** The number of batches of the catalog up to the last batch of this add. */
  #batches: number | undefined;

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** Called before a step writes at the end of a segment. */
  beginStep({ segment, position }: OpenSegment): void {
    const { batches } = this.#catalog;
    if (batches === undefined || batches !== this.#batches || this.#hashes.size > CAPTURES_MAX) this.forget();
    if (!this.#from.has(segment.number)) this.#from.set(segment.number, position);
  }

  /** Whether the record is certainly not a capture in the catalog. `blocks` are the blocks of its digest. */
  isNew({ hash }: RecordFacts, blocks: readonly Block[]): boolean {
    if (this.#hashes.has(hash | 0)) return false;
    return blocks.every(({ holder }) => holder.offset >= (this.#from.get(holder.segment) ?? Number.POSITIVE_INFINITY));
  }

  /**
   * Called when a step takes over a content whose holder cannot be read. Earlier captures have this content too, so
   * everything that was written up to the next step is looked up again.
   */
  forget(): void {
    this.#from.clear();
    this.#hashes.clear();
  }

  /** Called when a step was committed. */
  endStep(records: readonly RecordFacts[]): void {
    for (const { kind, hash } of records) if (kind) this.#hashes.add(hash | 0);
    this.#batches = this.#catalog.batches;
  }
}
