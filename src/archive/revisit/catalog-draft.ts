/**
 * Changes of the catalog that are being prepared. A draft knows the group that will be committed, and what the catalog
 * will contain afterwards.
 *
 * A draft never counts references itself. It names what its captures refer to, and the commit checks that this is still
 * there (C3). A block that loses its last reference leaves the catalog in the same commit. The draft notifies the
 * resolution filter of new captures and contents.
 */
import { assert, equal, fromHex, toHex } from '../../base/index.ts';
import type {
  Alias,
  Block,
  BlockKey,
  Capture,
  Catalog,
  CatalogView,
  CommitGroup,
  NewBlock,
  NewCapture,
  Place,
  Segment,
  SegmentChange,
} from '../../catalog/index.ts';
import { type RecordGroup, UNSWEPT_NOTE } from '../../ledger/index.ts';
import type { ResolutionFilter } from './resolution-filter.ts';
import { unresolvedNote } from './revisit-clues.ts';

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

/** The blocks of one digest. */
type Contents = {
  readonly digest: Uint8Array;
  /** As the catalog has them. */
  readonly held: readonly Block[];
  /** As they will be after the commit. */
  blocks: readonly Block[];
};

export class CatalogDraft {
  readonly #catalog: CatalogView & Partial<Pick<Catalog, 'batches'>>;
  readonly #resolutionFilter: ResolutionFilter;
  /**
   * Contents by the first bytes of their digest. A number is the faster key, and is used many times for each record.
   */
  readonly #contents = new Map<number, Contents[]>();
  readonly #added: BlockKey[] = [];
  readonly #distinct = new Set<BlockKey>();
  readonly #spare: NewBlock[] = [];
  /** Blocks that get another holder. */
  readonly #moved = new Map<Block, BlockKey>();
  /** Blocks of the catalog that captures of this draft refer to. */
  readonly #referents = new Set<Block>();
  readonly #put: NewCapture[] = [];
  readonly #removed: Capture[] = [];
  readonly #moves: { readonly from: Capture; readonly to: Capture }[] = [];
  readonly #dead: NonNullable<CommitGroup['dead']>[number][] = [];
  readonly #segmentChanges: SegmentChange[] = [];
  readonly #aliases: Alias[] = [];
  readonly #notes: Record<string, string> = {};
  readonly #removedNotes: string[] = [];
  readonly #keepsUnreferenced: boolean;
  #seen: number | undefined;

  /**
   * `keepUnreferenced`: blocks without references stay, for example during a rebuild, or while an unread segment may
   * refer to them.
   */
  constructor(
    catalog: CatalogView & Partial<Pick<Catalog, 'batches'>>,
    resolutionFilter: ResolutionFilter,
    options: { keepUnreferenced?: boolean } = {},
  ) {
    this.#catalog = catalog;
    this.#resolutionFilter = resolutionFilter;
    this.#keepsUnreferenced = options.keepUnreferenced ?? false;
  }

  /**
   * Called before the caller looks up that the captures are new. If nothing is committed until the commit of the draft,
   * the catalog need not look again.
   */
  seeNow(): void {
    this.#seen = this.#catalog.batches;
  }

  /** Loads the blocks of these digests in one call. Later calls may ask only about loaded digests. */
  async load(digests: readonly Uint8Array[]): Promise<void> {
    const missing = digests.filter((digest) => !this.#find(digest));
    if (missing.length === 0) return;
    const found = await this.#catalog.findBlocks(missing);
    for (const [index, digest] of missing.entries()) {
      // A digest that occurs twice, or was loaded meanwhile, is added once.
      if (this.#find(digest)) continue;
      const contents: Contents = { digest, held: found[index]!, blocks: found[index]! };
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
    return find(this.#contentsOf(key.digest).blocks, key.overflow);
  }

  /** The overflow number for another content with this digest. */
  nextOverflow(digest: Uint8Array): number {
    return Math.max(-1, ...this.#contentsOf(digest).blocks.map(({ key }) => key.overflow)) + 1;
  }

  /** A block that no capture refers to yet. `isDistinct`: see `NewBlock`. */
  addBlock(key: BlockKey, size: number, holder: Place, isDistinct = false): void {
    assert(!this.block(key), 'a block is made once');
    this.#resolutionFilter.addDigest(key.digest);
    this.#set({ key, size, holder, references: 0 });
    this.#added.push(key);
    if (isDistinct) this.#distinct.add(key);
  }

  /**
   * Another full record of a block. It becomes the holder if the block is gone when the draft is committed.
   * `isSurplus`: compaction turns it into a revisit, as it does with the record of a lost race.
   */
  addSpare(key: BlockKey, size: number, holder: Place, isSurplus = false): void {
    this.#spare.push({ key, size, holder, isSpare: !isSurplus });
  }

  moveHolder(key: BlockKey, holder: Place): void {
    const block = this.block(key);
    assert(block, 'a holder moves only for a block that is there');
    this.#set({ ...block, holder });
    const held = this.#held(key);
    if (held) this.#moved.set(held, key);
  }

  /** With a second argument, the commit checks that the capture is new (C5). */
  putCapture(capture: Capture, entry: NewCapture = { capture }): void {
    this.#put.push(entry);
    this.#resolutionFilter.addCapture(capture);
    // The block of a full record is added, or is there already beside a spare record.
    if (capture.block && capture.kind === 'revisit') this.#refer(capture.block);
  }

  removeCapture(capture: Capture): void {
    this.#removed.push(capture);
    if (!capture.block && capture.kind === 'revisit') this.removeNote(unresolvedNote(capture.place));
  }

  /** Moves a capture to another place, or adds the block that it lacked. */
  moveCapture(from: Capture, to: Capture): void {
    this.#moves.push({ from, to });
    this.#resolutionFilter.addCapture(to);
    if (to.block) this.#refer(to.block);
  }

  /** A record whose capture was deleted. */
  addDead(place: Place, block: BlockKey | undefined): void {
    this.#dead.push({ ...place, block });
  }

  changeSegment({ number, state, bytes, volume }: Segment, to: SegmentChange['to']): void {
    this.#segmentChanges.push({ number, from: { state, bytes, volume }, to });
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

  /** The changes as a group with checks. The catalog counts the references. */
  group(): RecordGroup {
    const moved = this.#moved.entries().map(([held, key]) => ({ held, now: this.block(key)! }));
    const holderMoves = [...moved].map(({ held, now }) => ({ key: held.key, from: held.holder, to: now.holder }));
    const spare = [...this.#moved.values()].map((key): NewBlock => ({ ...newBlock(this.block(key)!), isSpare: true }));
    const isUnswept = this.#keepsUnreferenced && this.#hasUnreferenced();
    return {
      seen: this.#seen,
      referents: [...this.#referents],
      moves: this.#moves,
      holderMoves,
      blocks: [...this.#added.map((key) => this.#newBlock(key)), ...spare, ...this.#spare],
      captures: this.#put,
      removeCaptures: this.#removed,
      dead: this.#dead,
      segments: this.#segmentChanges,
      keepsUnreferenced: this.#keepsUnreferenced,
      aliases: this.#aliases,
      putNotes: isUnswept ? { ...this.#notes, [UNSWEPT_NOTE]: 'yes' } : this.#notes,
      removeNotes: this.#removedNotes,
    };
  }

  /** Whether a block of the draft has no references. Captures that are removed may leave such a block too. */
  #hasUnreferenced(): boolean {
    if (this.#removed.length > 0) return true;
    const referred = new Set(this.#put.flatMap(({ capture: { block } }) => (block ? [this.block(block)] : [])));
    return this.#added.some((key) => !referred.has(this.block(key)));
  }

  #newBlock(key: BlockKey): NewBlock {
    const block = newBlock(this.block(key)!);
    return this.#distinct.has(key) ? { ...block, isDistinct: true } : block;
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

  /** The block as the catalog has it. */
  #held({ digest, overflow }: BlockKey): Block | undefined {
    return find(this.#contentsOf(digest).held, overflow);
  }

  #set(block: Block): void {
    const contents = this.#contentsOf(block.key.digest);
    const at = contents.blocks.findIndex(({ key }) => key.overflow === block.key.overflow);
    contents.blocks = at < 0 ? [...contents.blocks, block] : contents.blocks.with(at, block);
  }

  /** A block that the draft adds needs no check. */
  #refer(key: BlockKey): void {
    assert(this.block(key), 'a capture refers to a block that is there');
    const held = this.#held(key);
    if (held) this.#referents.add(held);
  }
}

function newBlock({ key, size, holder }: Block): NewBlock {
  return { key, size, holder };
}

function find(blocks: readonly Block[], overflow: number): Block | undefined {
  return blocks.find(({ key }) => key.overflow === overflow);
}

/** The first six bytes of a digest as a number. */
function firstSixBytes(digest: Uint8Array): number {
  const high = (digest[0]! << 16) | (digest[1]! << 8) | digest[2]!;
  return high * 2 ** 24 + ((digest[3]! << 16) | (digest[4]! << 8) | digest[5]!);
}
