/**
 * What an add has entered itself, so that most of its duplicates need no look at the catalog.
 *
 * A record whose content is held may be a capture that the archive has already, and only the catalog knows for certain: one search in it for each such record. But a
 * content that this add stored first has no captures other than those this add entered, as long as nobody else wrote meanwhile; and of these it knows which they are.
 * When anybody did write, it begins anew and knows of nothing.
 *
 * The same for what writers called a content: most of its duplicates bring the name along that it came by first, and the catalog has that already.
 */
import { fromLatin1, fromUtf8, Recent, utf8 } from '../base/index.ts';
import type { Block, BlockKey, Catalog } from '../catalog/index.ts';
import type { RecordFacts } from './record-facts.ts';
import type { OpenSegment } from './segment-shelf.ts';

/** More than these are not kept in mind; about 10 MB. */
const CAPTURES_MAX = 256 * 1024;
/** Nor are more names of contents than these; about 4 MB. */
const NAMES_MAX = 16 * 1024;

export class OwnCaptures {
  readonly #catalog: Catalog;
  /** From where on the segments hold what this add wrote. */
  readonly #from = new Map<number, number>();
  readonly #hashes = new Set<number>();
  /** With what tells their contents apart, as texts of their own: views and pieces of texts would keep much more in memory. */
  readonly #names = new Recent<string, string>(NAMES_MAX, () => 1);
  /** Those of the step at hand. */
  #newNames: { readonly name: string; readonly block: BlockKey }[] = [];
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
    this.#newNames = [];
  }

  /** Whether an earlier step entered that a content is called so. No name is ever taken from the catalog again. */
  isNamed(name: string, block: BlockKey): boolean {
    const named = this.#names.peek(name);
    return named !== undefined && named === contentOf(block);
  }

  /** The step at hand entered that a content is called so. */
  addName(name: string, block: BlockKey): void {
    this.#newNames.push({ name, block });
  }

  /** Whether the record is certainly no capture that the catalog has, given the blocks of its digest there. */
  isNew({ hash }: RecordFacts, blocks: readonly Block[]): boolean {
    if (this.#hashes.has(hash)) return false;
    return blocks.every(({ holder }) => holder.offset >= (this.#from.get(holder.segment) ?? Number.POSITIVE_INFINITY));
  }

  /** A step was committed. */
  endStep(records: readonly RecordFacts[]): void {
    for (const { kind, hash } of records) if (kind) this.#hashes.add(hash);
    for (const { name, block } of this.#newNames) this.#names.keep(fromUtf8(utf8(name)), contentOf(block));
    this.#batches = this.#catalog.batches;
  }
}

function contentOf({ digest, overflow }: BlockKey): string {
  return overflow === 0 ? fromLatin1(digest) : `${fromLatin1(digest)}${overflow}`;
}
