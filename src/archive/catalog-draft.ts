/**
 * Changes to the catalog while they are being thought out: what will be written together, and what the catalog will answer once it is.
 *
 * A draft keeps reference counts right: every capture that is put adds one to its block, every one that is removed takes one away, and a block
 * that nothing refers to any more leaves with the same batch.
 */
import { assert, fromHex, toHex } from '../base/index.ts';
import type { Alias, Block, BlockKey, Capture, CatalogBatch, CatalogView, Place, Segment } from '../catalog/index.ts';

export function blockId(key: BlockKey): string {
  return `${toHex(key.digest)}~${key.overflow}`;
}

/** The key that `blockId` wrote. */
export function parseBlockId(text: string): BlockKey | undefined {
  const match = /^([0-9a-f]{64})~(\d{1,5})$/.exec(text);
  const digest = match && fromHex(match[1]!);
  return digest ? { digest, overflow: Number(match[2]) } : undefined;
}

export class CatalogDraft {
  readonly #catalog: CatalogView;
  /** Digest -> its blocks, as they will be. */
  readonly #blocks = new Map<string, Map<number, Block>>();
  readonly #touched = new Map<string, BlockKey>();
  readonly #put: Capture[] = [];
  readonly #removed: Capture[] = [];
  readonly #segments = new Map<number, Segment>();
  readonly #removedSegments: number[] = [];
  readonly #aliases: Alias[] = [];
  readonly #notes: Record<string, string> = {};
  readonly #removedNotes: string[] = [];

  readonly #keepsUnreferenced: boolean;

  /** `keepUnreferenced`: blocks stay though nothing refers to them yet, as in the middle of a rebuild. */
  constructor(catalog: CatalogView, options: { keepUnreferenced?: boolean } = {}) {
    this.#catalog = catalog;
    this.#keepsUnreferenced = options.keepUnreferenced ?? false;
  }

  /** Loads the blocks of these digests, so that the draft can be asked about them. One call, however many (see the design's bars). */
  async load(digests: readonly Uint8Array[]): Promise<void> {
    const missing = new Map<string, Uint8Array>();
    for (const digest of digests) {
      const id = toHex(digest);
      if (!this.#blocks.has(id)) missing.set(id, digest);
    }
    if (missing.size === 0) return;
    const found = await this.#catalog.findBlocks([...missing.values()]);
    for (const [index, id] of [...missing.keys()].entries()) {
      this.#blocks.set(id, new Map(found[index]!.map((block) => [block.key.overflow, block])));
    }
  }

  /** Blocks of a digest that was loaded. */
  blocksOf(digest: Uint8Array): Block[] {
    return [...this.#map(digest).values()];
  }

  block(key: BlockKey): Block | undefined {
    return this.#map(key.digest).get(key.overflow);
  }

  /** The number that the next different content of this digest gets. */
  nextOverflow(digest: Uint8Array): number {
    return Math.max(-1, ...this.#map(digest).keys()) + 1;
  }

  /** A block that no capture refers to yet. */
  addBlock(key: BlockKey, size: number, holder: Place): void {
    assert(!this.#map(key.digest).has(key.overflow), 'a block is made once');
    this.#set({ key, size, holder, references: 0 });
  }

  moveHolder(key: BlockKey, holder: Place): void {
    const block = this.block(key);
    assert(block, 'a holder moves only for a block that is there');
    this.#set({ ...block, holder });
  }

  putCapture(capture: Capture): void {
    this.#put.push(capture);
    if (capture.block) this.#count(capture.block, 1);
  }

  removeCapture(capture: Capture): void {
    this.#removed.push(capture);
    if (capture.block) this.#count(capture.block, -1);
  }

  /** The same capture at another place; nothing else about it changes. */
  moveCapture(from: Capture, to: Capture): void {
    this.#removed.push(from);
    this.#put.push(to);
    if (from.block) this.#count(from.block, -1, true);
    if (to.block) this.#count(to.block, 1);
  }

  putSegment(segment: Segment): void {
    this.#segments.set(segment.number, segment);
  }

  segment(number: number): Segment | undefined {
    return this.#segments.get(number);
  }

  removeSegment(number: number): void {
    this.#segments.delete(number);
    this.#removedSegments.push(number);
  }

  putAlias(alias: Alias): void {
    this.#aliases.push(alias);
  }

  putNote(name: string, value: string): void {
    this.#notes[name] = value;
  }

  removeNote(name: string): void {
    this.#removedNotes.push(name);
  }

  /** Blocks that leave with this batch. */
  get removedBlocks(): number {
    return this.batch().removeBlocks!.length;
  }

  batch(durable = false): CatalogBatch {
    const putBlocks: Block[] = [];
    const removeBlocks: BlockKey[] = [];
    for (const key of this.#touched.values()) {
      const block = this.block(key);
      if (block && (block.references > 0 || this.#keepsUnreferenced)) putBlocks.push(block);
      else removeBlocks.push(key);
    }
    return {
      putCaptures: this.#put,
      removeCaptures: this.#removed,
      putBlocks,
      removeBlocks,
      putSegments: [...this.#segments.values()],
      removeSegments: this.#removedSegments,
      putAliases: this.#aliases,
      putNotes: this.#notes,
      removeNotes: this.#removedNotes,
      durable,
    };
  }

  #map(digest: Uint8Array): Map<number, Block> {
    const map = this.#blocks.get(toHex(digest));
    assert(map, 'a draft was asked about a digest that was not loaded');
    return map;
  }

  #set(block: Block): void {
    this.#map(block.key.digest).set(block.key.overflow, block);
    this.#touched.set(blockId(block.key), block.key);
  }

  #count(key: BlockKey, by: number, isMove = false): void {
    const block = this.block(key);
    assert(block, 'a capture refers to a block that is there');
    assert(block.references + by >= 0 || isMove, 'no block has fewer than no references');
    this.#set({ ...block, references: block.references + by });
  }
}
