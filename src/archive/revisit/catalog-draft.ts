/**
 * Changes of the catalog that are being prepared. A draft knows the batch that will be written, and what the catalog
 * will contain afterwards.
 *
 * A draft keeps reference counts right. Every added capture adds one reference to its block, and every removed capture
 * takes one away. A block without references is removed in the same batch. The draft notifies the resolution filter of
 * new captures and contents.
 */
import { assert, equal, fromHex, toHex } from '../../base/index.ts';
import type {
  Alias,
  Block,
  BlockKey,
  Capture,
  CatalogBatch,
  CatalogView,
  Place,
  Segment,
} from '../../catalog/index.ts';
import type { ResolutionFilter } from './resolution-filter.ts';
import { unresolvedNote } from './revisit-clues.ts';

/** This note is in the catalog while there may be blocks without references. */
export const UNSWEPT_NOTE = 'unswept';

export function blockId(key: BlockKey): string {
  return `${toHex(key.digest)}~${key.overflow}`;
}

/** Parses the key that `blockId` wrote. */
export function parseBlockId(text: string): BlockKey | undefined {
  const match = /^([0-9a-f]{64})~(\d{1,5})$/.exec(text);
  const digest = match && fromHex(match[1]!);
  return digest ? { digest, overflow: Number(match[2]) } : undefined;
}

/**
 * Whether `now` is the same capture as an earlier state of it, wherever its record is. The contents are compared
 * because careless writers give one id to records with different contents. A content that was unknown may have been
 * found since.
 */
export function isStill({ hash, collection, block }: Capture, now: Capture): boolean {
  if (now.hash !== hash || now.collection !== collection) return false;
  return block === undefined || (now.block !== undefined && blockId(now.block) === blockId(block));
}

/** The blocks of one digest, as they will be after the batch. */
type Contents = {
  readonly digest: Uint8Array;
  readonly blocks: Block[];
  /** Overflow numbers of the blocks that the batch changes. */
  readonly touched: number[];
};

export class CatalogDraft {
  readonly #catalog: CatalogView;
  readonly #resolutionFilter: ResolutionFilter;
  /**
   * Contents by the first bytes of their digest. A number is the faster key, and is used many times for each record.
   */
  readonly #contents = new Map<number, Contents[]>();
  readonly #touched: Contents[] = [];
  readonly #put: Capture[] = [];
  readonly #removed: Capture[] = [];
  readonly #segments = new Map<number, Segment>();
  readonly #aliases: Alias[] = [];
  readonly #notes: Record<string, string> = {};
  readonly #removedNotes: string[] = [];

  readonly #keepsUnreferenced: boolean;

  /**
   * `keepUnreferenced`: blocks without references stay, for example during a rebuild, or while an unread segment may
   * refer to them.
   */
  constructor(catalog: CatalogView, resolutionFilter: ResolutionFilter, options: { keepUnreferenced?: boolean } = {}) {
    this.#catalog = catalog;
    this.#resolutionFilter = resolutionFilter;
    this.#keepsUnreferenced = options.keepUnreferenced ?? false;
  }

  /** Loads the blocks of these digests in one call. Later calls may ask only about loaded digests. */
  async load(digests: readonly Uint8Array[]): Promise<void> {
    const missing = digests.filter((digest) => !this.#find(digest));
    if (missing.length === 0) return;
    const found = await this.#catalog.findBlocks(missing);
    for (const [index, digest] of missing.entries()) {
      // A digest that occurs twice, or was loaded meanwhile, is added once.
      if (this.#find(digest)) continue;
      const contents: Contents = { digest, blocks: found[index]!, touched: [] };
      const alike = this.#contents.get(firstSixBytes(digest));
      if (alike) alike.push(contents);
      else this.#contents.set(firstSixBytes(digest), [contents]);
    }
  }

  /** Blocks of a loaded digest. */
  blocksOf(digest: Uint8Array): readonly Block[] {
    return this.#contentsOf(digest).blocks;
  }

  block(key: BlockKey): Block | undefined {
    return find(this.#contentsOf(key.digest), key.overflow);
  }

  /** The overflow number for another content with this digest. */
  nextOverflow(digest: Uint8Array): number {
    return Math.max(-1, ...this.#contentsOf(digest).blocks.map(({ key }) => key.overflow)) + 1;
  }

  /** A block that no capture refers to yet. */
  addBlock(key: BlockKey, size: number, holder: Place): void {
    assert(!this.block(key), 'a block is made once');
    this.#resolutionFilter.addDigest(key.digest);
    this.#set({ key, size, holder, references: 0 });
  }

  moveHolder(key: BlockKey, holder: Place): void {
    const block = this.block(key);
    assert(block, 'a holder moves only for a block that is there');
    this.#set({ ...block, holder });
  }

  putCapture(capture: Capture): void {
    this.#put.push(capture);
    this.#resolutionFilter.addCapture(capture);
    if (capture.block) this.#count(capture.block, 1);
  }

  removeCapture(capture: Capture): void {
    this.#removed.push(capture);
    if (capture.block) this.#count(capture.block, -1);
    else if (capture.kind === 'revisit') this.removeNote(unresolvedNote(capture.place));
  }

  /** Moves a capture to another place, or adds the block that it lacked. */
  moveCapture(from: Capture, to: Capture): void {
    this.#removed.push(from);
    this.#put.push(to);
    this.#resolutionFilter.addCapture(to);
    if (from.block) this.#count(from.block, -1, true);
    if (to.block) this.#count(to.block, 1);
  }

  putSegment(segment: Segment): void {
    this.#segments.set(segment.number, segment);
  }

  segment(number: number): Segment | undefined {
    return this.#segments.get(number);
  }

  putAlias(alias: Alias): void {
    this.#aliases.push(alias);
    this.#resolutionFilter.addDigest(alias.declared);
  }

  putNote(name: string, value: string): void {
    this.#notes[name] = value;
  }

  removeNote(name: string): void {
    this.#removedNotes.push(name);
  }

  /** The number of blocks that this batch removes. */
  get removedBlocks(): number {
    return this.batch().removeBlocks!.length;
  }

  batch(durable = false): CatalogBatch {
    const putBlocks: Block[] = [];
    const removeBlocks: BlockKey[] = [];
    for (const contents of this.#touched) {
      for (const overflow of contents.touched) {
        const block = find(contents, overflow)!;
        if (block.references === 0 && !this.#keepsUnreferenced) removeBlocks.push(block.key);
        else putBlocks.push(block);
      }
    }
    const isUnswept = putBlocks.some(({ references }) => references === 0);
    return {
      putCaptures: this.#put,
      removeCaptures: this.#removed,
      putBlocks,
      removeBlocks,
      putSegments: [...this.#segments.values()],
      putAliases: this.#aliases,
      putNotes: isUnswept ? { ...this.#notes, [UNSWEPT_NOTE]: 'yes' } : this.#notes,
      removeNotes: this.#removedNotes,
      durable,
    };
  }

  #find(digest: Uint8Array): Contents | undefined {
    const alike = this.#contents.get(firstSixBytes(digest));
    if (!alike) return undefined;
    for (const contents of alike) if (contents.digest === digest || equal(contents.digest, digest)) return contents;
    return undefined;
  }

  #contentsOf(digest: Uint8Array): Contents {
    const contents = this.#find(digest);
    assert(contents, 'a draft was asked about a digest that was not loaded');
    return contents;
  }

  #set(block: Block): void {
    const contents = this.#contentsOf(block.key.digest);
    const { overflow } = block.key;
    const at = contents.blocks.findIndex(({ key }) => key.overflow === overflow);
    if (at < 0) contents.blocks.push(block);
    else contents.blocks[at] = block;
    if (contents.touched.length === 0) this.#touched.push(contents);
    if (!contents.touched.includes(overflow)) contents.touched.push(overflow);
  }

  #count(key: BlockKey, by: number, isMove = false): void {
    const block = this.block(key);
    assert(block, 'a capture refers to a block that is there');
    assert(block.references + by >= 0 || isMove, 'a block never has a negative number of references');
    this.#set({ ...block, references: block.references + by });
  }
}

function find({ blocks }: Contents, overflow: number): Block | undefined {
  return blocks.find(({ key }) => key.overflow === overflow);
}

/** The first six bytes of a digest as a number. */
function firstSixBytes(digest: Uint8Array): number {
  const high = (digest[0]! << 16) | (digest[1]! << 8) | digest[2]!;
  return high * 2 ** 24 + ((digest[3]! << 16) | (digest[4]! << 8) | digest[5]!);
}
