/**
 * Turns a group whose lease and segments are as expected into one LevelDB batch.
 *
 * `load` reads the rows that the group touches, `refusal` makes the checks that need them, and `make` puts the changes
 * in the order of CommitGroup. Nothing else changes the catalog from `load` to the write of the batch, so what was read
 * stays true.
 */
import { assert, fromLatin1 } from '../../base/index.ts';
import { type BlockEntry, type BlockReference, type Holding, prefixOf } from '../block-codec.ts';
import { compareBlockKeys } from '../block-order.ts';
import {
  type Alias,
  type Block,
  type BlockKey,
  type Capture,
  type CommitGroup,
  type CommitOutcome,
  type DeadRecord,
  isOtherContent,
  type Mark,
  type NewBlock,
  type Place,
  type SegmentChange,
} from '../catalog.ts';
import { RowWriter } from '../row-bytes.ts';
import { TABLE, tableKey } from '../table.ts';
import { writeAliasKey } from './alias-key.ts';
import { barKey, barValue, markKey } from './bar-codec.ts';
import { BlockRows, findEntry, findOrAddEntry } from './block-rows.ts';
import { CaptureRows } from './capture-rows.ts';
import { HighWater } from './high-water.ts';
import { type Database, type DatabaseState, type Operations, readRows } from './level-database.ts';
import { recordKey, recordRange, writeDead, writeSurplus } from './record-codec.ts';
import type { SegmentRows } from './segment-rows.ts';

type Committed = Extract<CommitOutcome, { kind: 'committed' }>;

const NO_VALUE = Buffer.alloc(0);

export class CommitPlan {
  readonly #group: CommitGroup;
  readonly #state: DatabaseState;
  readonly #database: Database;
  readonly #segments: SegmentRows;
  readonly #blocks: BlockRows;
  readonly #captures: CaptureRows;
  readonly #highWater: HighWater;
  readonly #writer = new RowWriter();
  /** Whether every capture of the group is new, and none is put twice. */
  #areAllNew = true;
  #captureKeys: Buffer[] = [];
  #storedAliases = new Set<string>();
  /** By key: whether a record is entered as dead, as far as known. */
  readonly #isDead = new Map<string, boolean>();
  readonly #removedSegments: ReadonlySet<number>;
  /** The rows of dead and surplus records of the segments that the group removes. */
  readonly #removedRecords: Buffer[] = [];
  /** Blocks that may have lost their last reference. */
  readonly #touched = new Set<BlockEntry>();
  readonly #lost: { readonly entry: BlockEntry; readonly held: Holding }[] = [];

  /** `atHand`: rows of blocks that need not be read. */
  constructor(
    group: CommitGroup,
    state: DatabaseState,
    database: Database,
    segments: SegmentRows,
    atHand: ReadonlyMap<number, Buffer | undefined>,
  ) {
    this.#group = group;
    this.#state = state;
    this.#database = database;
    this.#segments = segments;
    this.#blocks = new BlockRows(atHand);
    this.#captures = new CaptureRows(this.#blocks, state.mimes, this.#writer);
    this.#highWater = new HighWater((key) => database.getSync(key));
    this.#removedSegments = new Set(group.segments?.flatMap(({ number, to }) => (to ? [] : [number])));
  }

  async load(): Promise<void> {
    const { deletions = [], dead = [] } = this.#group;
    this.#wantBlocks();
    // Keys of captures are made here while another thread reads the rows of blocks.
    await Promise.all([this.#blocks.load((keys) => this.#read(keys)), this.#loadCaptures()]);
    await this.#blocks.load((keys) => this.#read(keys));
    await this.#loadAliases();
    const records = [...deletions.map(({ capture }) => capture.place), ...dead];
    const keys = records.map(({ segment, offset }) => recordKey(TABLE.dead, segment, offset));
    const values = await this.#read(keys);
    for (const [index, key] of keys.entries()) this.#isDead.set(fromLatin1(key), values[index] !== undefined);
    for (const segment of this.#removedSegments) {
      for (const table of [TABLE.dead, TABLE.surplus] as const) {
        const { from, to } = recordRange(table, segment);
        this.#removedRecords.push(...(await this.#database.keys({ gte: from, lt: to }).all()));
      }
    }
  }

  /** The checks of referents, new blocks and deletions. */
  refusal(): CommitOutcome | undefined {
    const { referents = [], deletions = [], blocks = [] } = this.#group;
    const stale = referents.filter(({ key, holder }) => !isSamePlace(this.#entryOf(key)?.held?.holder, holder));
    const other = blocks.filter((block) => isOtherContent(this.#entryOf(block.key)?.held, block));
    if (stale.length + other.length > 0) return { kind: 'stale', blocks: [...stale, ...other].map(({ key }) => key) };
    const moved = deletions.flatMap(({ capture }, index) => (this.#isStillThere(capture) ? [] : [index]));
    return moved.length > 0 ? { kind: 'moved', captures: moved } : undefined;
  }

  /** Puts the changes, and returns how the state changes besides them. */
  make(operations: Operations): { outcome: Committed; state: Partial<DatabaseState>; newMimes: string[] } {
    const group = this.#group;
    for (const { capture, mark } of group.deletions ?? []) this.#delete(operations, capture, mark);
    for (const mark of group.deletedMarks ?? []) operations.put(markKey(mark), NO_VALUE);
    for (const bar of group.bars ?? []) operations.put(barKey(bar), barValue(bar));
    for (const capture of group.removeCaptures ?? []) this.#remove(operations, capture);
    for (const { from, to } of group.moves ?? []) this.#move(operations, from, to);
    for (const { key, from, to } of group.holderMoves ?? []) this.#moveHolder(key, from, to);
    for (const block of group.blocks ?? []) this.#addBlock(operations, block);
    this.#putCaptures(operations);
    for (const { segment, ...record } of group.dead ?? []) this.#bury(operations, segment, record);
    for (const { segment, offset, block } of group.surplus ?? []) this.#putSurplus(operations, segment, offset, block);
    for (const { segment, offset } of group.removeSurplus ?? [])
      operations.del(recordKey(TABLE.surplus, segment, offset));
    this.#changeAliases(operations);
    this.#changeNotes(operations);
    for (const change of group.segments ?? []) this.#changeSegment(change);
    for (const key of this.#removedRecords) operations.del(key);
    for (const key of group.sweep ?? []) this.#touch(key);
    return this.#finish(operations);
  }

  #finish(operations: Operations): ReturnType<CommitPlan['make']> {
    const { deletions = [], deletedMarks = [], bars = [] } = this.#group;
    const freed = this.#free();
    this.#blocks.countReferences();
    const change = this.#blocks.finish(operations, this.#writer);
    const { totals, hasDeleted, hasBars } = this.#state;
    this.#segments.finish(operations, this.#writer);
    this.#highWater.finish(operations);
    const lost = this.#lost.map(({ entry, held }): Block => ({ key: entry.key, ...held, references: entry.captures }));
    return {
      outcome: { kind: 'committed', lost, freed },
      state: {
        totals: {
          captures: totals.captures + this.#captures.captures,
          blocks: totals.blocks + change.blocks,
          revisits: totals.revisits + this.#captures.revisits,
          payloadBytes: totals.payloadBytes + change.payloadBytes,
          uniquePayloadBytes: totals.uniquePayloadBytes + change.uniquePayloadBytes,
        },
        hasDeleted: hasDeleted || deletions.length + deletedMarks.length > 0,
        hasBars: hasBars || bars.length > 0,
      },
      newMimes: this.#captures.finish(operations),
    };
  }

  #wantBlocks(): void {
    const { referents = [], deletions = [], removeCaptures = [], moves = [], holderMoves = [] } = this.#group;
    const { blocks = [], captures = [], aliases = [], removeAliases = [], sweep = [] } = this.#group;
    for (const { key } of referents) this.#want(key);
    for (const { capture } of deletions) this.#want(capture.block);
    for (const { block } of removeCaptures) this.#want(block);
    for (const { to } of moves) this.#want(to.block);
    for (const { key } of holderMoves) this.#want(key);
    for (const { key } of blocks) this.#want(key);
    for (const { capture } of captures) this.#want(capture.block);
    for (const { block } of aliases) this.#want(block);
    for (const { block } of removeAliases) this.#want(block);
    for (const key of sweep) this.#want(key);
  }

  #want(key: BlockKey | undefined): void {
    if (key) this.#blocks.want(prefixOf(key.digest));
  }

  async #loadCaptures(): Promise<void> {
    const { deletions = [], removeCaptures = [], moves = [], captures = [] } = this.#group;
    for (const { to } of moves) this.#highWater.raise(to.place);
    for (const { capture } of captures) if (!this.#highWater.raise(capture.place)) this.#areAllNew = false;
    this.#captureKeys = captures.map(({ capture }) => this.#captures.key(capture));
    const keys = this.#areAllNew ? [] : [...this.#captureKeys];
    for (const { capture } of deletions) keys.push(this.#captures.key(capture));
    for (const capture of removeCaptures) keys.push(this.#captures.key(capture));
    for (const { from, to } of moves) keys.push(this.#captures.key(from), this.#captures.key(to));
    this.#captures.take(keys, await this.#read(keys));
  }

  /** The aliases of the group that are stored already. An entry with a count of zero has none. */
  async #loadAliases(): Promise<void> {
    const { aliases = [], removeAliases = [] } = this.#group;
    const keys = [...removeAliases, ...aliases].flatMap((alias) => {
      const entry = this.#entryOf(alias.block);
      return entry && entry.aliases > 0 ? [this.#aliasKey(alias, entry)] : [];
    });
    const values = await this.#read(keys);
    this.#storedAliases = new Set(keys.filter((_, index) => values[index]).map((key) => fromLatin1(key)));
  }

  #read(keys: Buffer[]): Promise<(Buffer | undefined)[]> {
    return readRows(this.#database, keys);
  }

  #isStillThere(capture: Capture): boolean {
    const now = this.#captures.get(this.#captures.key(capture));
    if (now?.hash !== capture.hash || now.collection !== capture.collection) return false;
    // A content that was unknown may have been found since.
    return !now.block || !capture.block || compareBlockKeys(now.block, capture.block) === 0;
  }

  #delete(operations: Operations, capture: Capture, mark: Mark): void {
    const { segment, offset, length } = capture.place;
    this.#remove(operations, capture);
    operations.put(markKey(mark), NO_VALUE);
    this.#bury(operations, segment, { offset, length, block: capture.block });
  }

  #remove(operations: Operations, capture: Capture): void {
    const now = this.#captures.remove(operations, this.#captures.key(capture));
    this.#touch(capture.block);
    // A content that was unknown may have been found since.
    this.#touch(now?.block);
  }

  /** Enters a dead record. A record that is dead is not surplus too. */
  #bury(operations: Operations, number: number, record: DeadRecord): void {
    const key = recordKey(TABLE.dead, number, record.offset);
    const id = fromLatin1(key);
    const isDead = this.#isDead.get(id) ?? this.#database.getSync(key) !== undefined;
    this.#isDead.set(id, true);
    if (isDead || this.#removedSegments.has(number)) return;
    operations.put(key, writeDead(this.#writer, record));
    operations.del(recordKey(TABLE.surplus, number, record.offset));
    const segment = this.#segments.get(number);
    if (segment) this.#segments.set(number, { ...segment, deadBytes: segment.deadBytes + record.length });
  }

  #putSurplus(operations: Operations, segment: number, offset: number, block: BlockKey): void {
    if (this.#removedSegments.has(segment)) return;
    operations.put(recordKey(TABLE.surplus, segment, offset), writeSurplus(this.#writer, block));
  }

  #move(operations: Operations, from: Capture, to: Capture): void {
    const now = this.#captures.remove(operations, this.#captures.key(from));
    const key = this.#captures.key(to);
    if (now) {
      this.#captures.put(operations, key, to, false);
      this.#touch(now.block);
    } else if (!this.#captures.get(key)) {
      const { segment, offset, length } = to.place;
      this.#bury(operations, segment, { offset, length, block: to.block });
    }
  }

  #moveHolder(key: BlockKey, from: Place, to: Place): void {
    const entry = this.#entryOf(key);
    if (entry?.held && isSamePlace(entry.held.holder, from)) entry.held = { ...entry.held, holder: to };
  }

  #addBlock(operations: Operations, { key, size, holder, isSpare }: NewBlock): void {
    const entry = findOrAddEntry(this.#blocks.want(prefixOf(key.digest)), key);
    if (!entry.held) {
      entry.held = { size, holder, references: 0 };
      this.#touched.add(entry);
    } else if (!isSamePlace(entry.held.holder, holder) && !isSpare) {
      this.#lost.push({ entry, held: entry.held });
      this.#putSurplus(operations, holder.segment, holder.offset, key);
    }
  }

  #putCaptures(operations: Operations): void {
    const { captures = [] } = this.#group;
    for (let index = 0; index < captures.length; index++)
      this.#captures.put(operations, this.#captureKeys[index]!, captures[index]!.capture, this.#areAllNew);
  }

  #changeAliases(operations: Operations): void {
    const { aliases = [], removeAliases = [] } = this.#group;
    const stored = this.#storedAliases;
    for (const alias of removeAliases) {
      const entry = this.#entryOf(alias.block);
      if (!entry) continue;
      const key = this.#aliasKey(alias, entry);
      if (!stored.delete(fromLatin1(key))) continue;
      entry.aliases--;
      operations.del(key);
    }
    for (const alias of aliases) {
      const entry = findOrAddEntry(this.#blocks.want(prefixOf(alias.block.digest)), alias.block);
      const key = this.#aliasKey(alias, entry);
      const id = fromLatin1(key);
      if (stored.has(id)) continue;
      stored.add(id);
      entry.aliases++;
      operations.put(key, NO_VALUE);
    }
  }

  #aliasKey({ declared, block }: Alias, { slot }: BlockEntry): Buffer {
    const reference: BlockReference = { prefix: prefixOf(block.digest), slot };
    writeAliasKey(this.#writer, declared, reference);
    return this.#writer.finish();
  }

  #changeNotes(operations: Operations): void {
    const { putNotes = {}, removeNotes = [] } = this.#group;
    for (const name of removeNotes) operations.del(tableKey(TABLE.notes, name));
    for (const [name, text] of Object.entries(putNotes)) {
      assert(name.isWellFormed() && text.isWellFormed(), `the note ${name} is not valid Unicode`);
      operations.put(tableKey(TABLE.notes, name), Buffer.from(text, 'utf8'));
    }
  }

  #changeSegment({ number, to }: SegmentChange): void {
    const row = this.#segments.get(number)!;
    const { id } = this.#group;
    this.#segments.set(number, to && { ...row, ...to, ...(id !== undefined && { lastCommit: id }) });
  }

  #touch(key: BlockKey | undefined): void {
    const entry = key && this.#entryOf(key);
    if (entry) this.#touched.add(entry);
  }

  /** Removes the touched blocks that no capture refers to, and returns how many. */
  #free(): number {
    if (this.#group.keepsUnreferenced) return 0;
    let freed = 0;
    for (const entry of this.#touched) {
      if (!entry.held || entry.captures > 0) continue;
      entry.held = undefined;
      freed++;
    }
    return freed;
  }

  #entryOf(key: BlockKey): BlockEntry | undefined {
    return findEntry(this.#blocks.want(prefixOf(key.digest)), key);
  }
}

function isSamePlace(one: Place | undefined, other: Place): boolean {
  return one?.segment === other.segment && one.offset === other.offset;
}

/** The captures that a group puts and removes, for caches. */
export function capturesOfGroup(group: CommitGroup): { putCaptures: Capture[]; removeCaptures: Capture[] } {
  const { captures = [], deletions = [], removeCaptures = [], moves = [] } = group;
  return {
    putCaptures: [...captures.map(({ capture }) => capture), ...moves.map(({ to }) => to)],
    removeCaptures: [...removeCaptures, ...deletions.map(({ capture }) => capture), ...moves.map(({ from }) => from)],
  };
}
