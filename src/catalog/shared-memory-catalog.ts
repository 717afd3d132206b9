/**
 * A catalog of many writers in memory: the model that other catalogs are compared with, and the catalog of the
 * simulation. Simple rather than fast: references are counted from the captures, never kept.
 *
 * A call changes the contents in one synchronous step, so handles of several writers can share one object.
 */
import { assert, type Clock, equal, toHex } from '../base/index.ts';
import {
  ADOPTION_LEASE,
  type Bar,
  type Block,
  type BlockKey,
  type Capture,
  type Catalog,
  type CatalogBatch,
  type CommitGroup,
  type CommitOutcome,
  type DeadRecord,
  type FileDamage,
  firstSequenceOf,
  isOtherContent,
  type Lease,
  type LeaseRow,
  type Mark,
  type NewSegment,
  type Place,
  type Segment,
  type SharedCatalog,
  type SharedCatalogView,
  type SurplusRecord,
} from './catalog.ts';
import { aliasId, blockId, captureId, type MemoryContents, MemoryView, ownKey, writeBatch } from './memory-catalog.ts';

type HeldLease = { epoch: number; holder: string; expires: number | undefined };

/** All that the catalog holds, besides what every catalog has. */
type SharedContents = MemoryContents & {
  readonly dead: Map<number, Map<number, DeadRecord>>;
  readonly surplus: Map<number, Map<number, SurplusRecord>>;
  readonly deletedMarks: Set<string>;
  readonly bars: Map<string, Bar>;
  readonly leases: Map<string, HeldLease>;
  nextNumber: number;
  nextSequence: number;
  nextCollection: number;
  incarnation: number;
  isAdopting: boolean;
  batches: number;
};

export type SharedMemoryOptions = {
  readonly clock: Clock;
  /** With a state, the catalog begins with what `save` returned. */
  readonly state?: SavedCatalog;
  /** Whether several archives are opened on the catalog. */
  readonly isShared?: boolean;
};

/** A copy of the contents of a catalog. */
export type SavedCatalog = { readonly contents: SharedContents };

class SharedMemoryView extends MemoryView implements SharedCatalogView {
  declare protected contents: SharedContents;

  override async findBlocks(digests: readonly Uint8Array[]): Promise<Block[][]> {
    const found = await super.findBlocks(digests);
    const counted = this.#counted(found.flat());
    return found.map((blocks) => counted.splice(0, blocks.length));
  }

  override async getBlocks(keys: readonly BlockKey[]): Promise<(Block | undefined)[]> {
    const found = await super.getBlocks(keys);
    const counted = this.#counted(found.filter((block) => block !== undefined));
    return found.map((block) => block && counted.shift());
  }

  override async *blocks(pageSize?: number): AsyncGenerator<Block[]> {
    for await (const page of super.blocks(pageSize)) yield this.#counted(page);
  }

  #counted(blocks: readonly Block[]): Block[] {
    const counts = new Map(blocks.map(({ key }) => [blockId(key), 0]));
    for (const { block } of this.contents.captures.values()) {
      const count = block && counts.get(blockId(block));
      if (count !== undefined) counts.set(blockId(block!), count + 1);
    }
    return blocks.map((block) => ({ ...block, references: counts.get(blockId(block.key))! }));
  }

  async segment(number: number): Promise<Segment | undefined> {
    return this.contents.segments.get(number);
  }

  async segmentByName(name: string): Promise<Segment | undefined> {
    return [...this.contents.segments.values()].find((segment) => segment.name === name);
  }

  async findDeleted(marks: readonly Mark[]): Promise<boolean[]> {
    return marks.map((mark) => this.contents.deletedMarks.has(toHex(mark)));
  }

  async findBarred(captures: readonly Pick<Capture, 'urlKey' | 'block'>[]): Promise<boolean[]> {
    return captures.map((capture) => isBarred(this.contents, capture));
  }

  async bars(): Promise<Bar[]> {
    return [...this.contents.bars.values()];
  }

  async deadRecords(segment: number): Promise<DeadRecord[]> {
    return byOffset(this.contents.dead.get(segment));
  }

  async surplusRecords(segment: number): Promise<SurplusRecord[]> {
    return byOffset(this.contents.surplus.get(segment));
  }
}

export class SharedMemoryCatalog extends SharedMemoryView implements SharedCatalog, Catalog {
  readonly refusal = undefined;
  readonly isShared: boolean;
  readonly #clock: Clock;

  constructor({ clock, state, isShared = false }: SharedMemoryOptions) {
    super(state ? copyOfContents(state.contents) : emptyContents());
    this.#clock = clock;
    this.isShared = isShared;
  }

  get batches(): number {
    return this.contents.batches;
  }

  /** A copy of the contents, for a catalog that begins with them. */
  save(): SavedCatalog {
    return { contents: copyOfContents(this.contents) };
  }

  /** Goes back to a copy, as a standby that lags behind does, or an embedded catalog after a power cut. */
  restore({ contents }: SavedCatalog): void {
    this.contents = copyOfContents(contents);
  }

  /** The names of the leases that are living. */
  livingLeases(): string[] {
    return [...this.contents.leases].flatMap(([name, held]) => (this.#isUnexpired(held) ? [name] : []));
  }

  /** Ends a lease as the passing of its time does. */
  expireLease(name: string): void {
    const held = this.contents.leases.get(name);
    if (held) held.expires = Number.NEGATIVE_INFINITY;
  }

  /** For the owner of an archive, who may give segments numbers of its own. */
  async write(batch: CatalogBatch): Promise<void> {
    const { contents } = this;
    writeBatch(contents, batch);
    for (const { number, sequence = number } of batch.putSegments ?? []) {
      contents.nextNumber = Math.max(contents.nextNumber, number + 1);
      contents.nextSequence = Math.max(contents.nextSequence, sequence + 1);
    }
    for (const [name, text] of Object.entries(batch.putNotes ?? {}))
      if (name.startsWith('collection:')) contents.nextCollection = Math.max(contents.nextCollection, Number(text) + 1);
    contents.batches++;
  }

  async commit(group: CommitGroup): Promise<CommitOutcome> {
    const refusal = this.#refusalOf(group);
    if (refusal) return refusal;
    const change = new Change(this.contents, group);
    change.make();
    this.contents.batches++;
    return { kind: 'committed', lost: change.lost, freed: change.freed };
  }

  async listSegment(segment: NewSegment, lease?: Lease): Promise<Segment | undefined> {
    if (lease && !this.#isLiving(lease)) return undefined;
    const { segments } = this.contents;
    const known = [...segments.values()].find(({ name }) => name === segment.name);
    if (known) return isSameLease(known.lease, lease) ? known : undefined;
    const number = this.contents.nextNumber++;
    const sequence = segment.sequence ?? this.contents.nextSequence;
    this.contents.nextSequence = Math.max(this.contents.nextSequence, sequence + 1);
    const { volume, name, collection, roots } = segment;
    const row: Segment = {
      number,
      volume,
      name,
      collection,
      state: 'open',
      bytes: 0,
      records: 0,
      deadBytes: 0,
      sequence,
      ...(roots && { roots }),
      ...(lease && { lease }),
    };
    segments.set(number, row);
    this.contents.batches++;
    return row;
  }

  async collectionNumber(name: string): Promise<number> {
    const note = `collection:${name}`;
    const known = this.contents.notes.get(note);
    if (known !== undefined) return Number(known);
    const number = this.contents.nextCollection++;
    this.contents.notes.set(note, String(number));
    this.contents.batches++;
    return number;
  }

  async takeLease(name: string, holder: string, lifeMs?: number): Promise<Lease | undefined> {
    const held = this.contents.leases.get(name);
    if (held && this.#isUnexpired(held)) return undefined;
    const epoch = (held?.epoch ?? 0) + 1;
    const expires = lifeMs === undefined ? undefined : this.#clock() + lifeMs;
    this.contents.leases.set(name, { epoch, holder, expires });
    return { name, epoch, incarnation: this.contents.incarnation };
  }

  async renewLease(lease: Lease, lifeMs: number): Promise<boolean> {
    if (!this.#isLiving(lease)) return false;
    this.contents.leases.get(lease.name)!.expires = this.#clock() + lifeMs;
    return true;
  }

  async endLease(lease: Lease): Promise<void> {
    if (this.#isLiving(lease)) this.contents.leases.get(lease.name)!.expires = Number.NEGATIVE_INFINITY;
  }

  async leases(): Promise<LeaseRow[]> {
    const { incarnation } = this.contents;
    return [...this.contents.leases].map(([name, held]) => {
      const { epoch, holder } = held;
      const expires = held.expires === Number.NEGATIVE_INFINITY ? undefined : held.expires;
      return { name, epoch, incarnation, holder, expires, isLiving: this.#isUnexpired(held) };
    });
  }

  async incarnation(): Promise<number> {
    return this.contents.incarnation;
  }

  async beginIncarnation(incarnation: number): Promise<void> {
    assert(incarnation > this.contents.incarnation, 'an incarnation is newer than the last one');
    this.contents.incarnation = incarnation;
    this.contents.nextSequence = Math.max(this.contents.nextSequence, firstSequenceOf(incarnation));
    this.contents.isAdopting = true;
    for (const held of this.contents.leases.values()) held.expires = Number.NEGATIVE_INFINITY;
    this.contents.batches++;
  }

  async endAdoption(lease: Lease): Promise<boolean> {
    if (!this.#isLiving(lease)) return false;
    this.contents.isAdopting = false;
    this.contents.batches++;
    return true;
  }

  async isAdopting(): Promise<boolean> {
    return this.contents.isAdopting;
  }

  async view(): Promise<SharedCatalogView & AsyncDisposable> {
    const frozen = new SharedMemoryView(copyOfContents(this.contents));
    return Object.assign(frozen, { [Symbol.asyncDispose]: async () => {} });
  }

  async bytes(): Promise<number> {
    return 0;
  }

  /** Memory is assumed to be sound. */
  async *check(): AsyncGenerator<FileDamage> {}

  async clear(): Promise<void> {
    const { incarnation, nextSequence, batches } = this.contents;
    this.contents = { ...emptyContents(), incarnation, nextSequence, batches: batches + 1 };
  }

  async close(): Promise<void> {}

  /** The first check that fails, in the order of CommitGroup. */
  #refusalOf(group: CommitGroup): CommitOutcome | undefined {
    const { lease, id, segments = [], referents = [], deletions = [], blocks = [], captures = [] } = group;
    if (lease && !this.#isLiving(lease)) return { kind: 'fenced', why: 'lease' };
    if (id !== undefined && segments.some(({ number }) => this.contents.segments.get(number)?.lastCommit === id))
      return { kind: 'committed', lost: [], freed: 0 };
    if (this.contents.isAdopting && isDestructive(group) && lease?.name !== ADOPTION_LEASE)
      return { kind: 'fenced', why: 'adopting' };
    if (segments.some((change) => !this.#isAsExpected(change, lease))) return { kind: 'fenced', why: 'segment' };
    const stale = referents.filter(
      ({ key, holder }) => !isSamePlace(this.contents.blocks.get(blockId(key))?.holder, holder),
    );
    const other = blocks.filter((block) => isOtherContent(this.contents.blocks.get(blockId(block.key)), block));
    if (stale.length + other.length > 0) return { kind: 'stale', blocks: [...stale, ...other].map(({ key }) => key) };
    const moved = indexesOf(deletions, ({ capture }) => !isStillThere(this.contents, capture));
    if (moved.length > 0) return { kind: 'moved', captures: moved };
    const known = indexesOf(
      captures,
      ({ capture, marks, mayRepeat }) => marks !== undefined && !mayRepeat && this.#isKnown(capture),
    );
    const deleted = indexesOf(captures, ({ marks }) => this.#isDeleted(marks));
    if (known.length + deleted.length > 0) return { kind: 'known', captures: known, deleted };
    const barred = indexesOf(captures, ({ capture }) => isBarred(this.contents, capture));
    return barred.length > 0 ? { kind: 'barred', captures: barred } : undefined;
  }

  #isKnown(wanted: Capture): boolean {
    return [...this.contents.captures.values()].some(
      ({ block, ...capture }) =>
        // Marks do not tell contents apart that have one digest.
        isSameCapture({ ...capture, block: undefined }, wanted) &&
        (!block || !wanted.block || equal(block.digest, wanted.block.digest)),
    );
  }

  #isDeleted(marks: readonly Mark[] = []): boolean {
    return marks.some((mark) => this.contents.deletedMarks.has(toHex(mark)));
  }

  /** An open segment is changed only by the writer whose lease it has, or by who took that lease over (P1). */
  #isAsExpected({ number, from }: NonNullable<CommitGroup['segments']>[number], lease: Lease | undefined): boolean {
    const row = this.contents.segments.get(number);
    if (!row || row.state !== from.state || row.bytes !== from.bytes || row.volume !== from.volume) return false;
    return (
      row.state === 'sealed' ||
      row.lease === undefined ||
      row.lease.name === lease?.name ||
      lease?.name === ADOPTION_LEASE
    );
  }

  #isLiving({ name, epoch, incarnation }: Lease): boolean {
    const held = this.contents.leases.get(name);
    return incarnation === this.contents.incarnation && held?.epoch === epoch && this.#isUnexpired(held);
  }

  #isUnexpired({ expires }: HeldLease): boolean {
    return expires === undefined || expires > this.#clock();
  }
}

/** Makes the changes of a group whose checks have passed. */
class Change {
  readonly lost: Block[] = [];
  freed = 0;
  readonly #contents: SharedContents;
  readonly #group: CommitGroup;
  /** Blocks that may have lost their last reference. */
  readonly #touched = new Map<string, BlockKey>();

  constructor(contents: SharedContents, group: CommitGroup) {
    this.#contents = contents;
    this.#group = group;
  }

  make(): void {
    const { captures, aliases, notes } = this.#contents;
    const group = this.#group;
    for (const { capture, mark } of group.deletions ?? []) this.#delete(capture, mark);
    for (const mark of group.deletedMarks ?? []) this.#contents.deletedMarks.add(toHex(mark));
    for (const bar of group.bars ?? []) this.#contents.bars.set(barId(bar), bar);
    for (const capture of group.removeCaptures ?? []) this.#remove(capture);
    for (const { from, to } of group.moves ?? []) this.#move(from, to);
    for (const { key, from, to } of group.holderMoves ?? []) this.#moveHolder(key, from, to);
    for (const block of group.blocks ?? []) this.#addBlock(block);
    for (const { capture } of group.captures ?? [])
      captures.set(captureId(capture), { ...capture, block: capture.block && ownKey(capture.block) });
    for (const { segment, ...record } of group.dead ?? []) this.#bury(segment, record);
    for (const { segment, ...record } of group.surplus ?? [])
      rowsOf(this.#contents.surplus, segment).set(record.offset, record);
    for (const { segment, offset } of group.removeSurplus ?? []) this.#contents.surplus.get(segment)?.delete(offset);
    for (const alias of group.removeAliases ?? []) aliases.delete(aliasId(alias));
    for (const alias of group.aliases ?? []) aliases.set(aliasId(alias), { ...alias, block: ownKey(alias.block) });
    for (const name of group.removeNotes ?? []) notes.delete(name);
    for (const [name, text] of Object.entries(group.putNotes ?? {})) notes.set(name, text);
    for (const change of group.segments ?? []) this.#changeSegment(change);
    for (const key of group.sweep ?? []) this.#touch(key);
    this.#free();
  }

  #delete(capture: Capture, mark: Mark): void {
    const { segment, offset, length } = capture.place;
    this.#remove(capture);
    this.#contents.deletedMarks.add(toHex(mark));
    this.#bury(segment, { offset, length, block: capture.block });
  }

  #remove(capture: Capture): void {
    const { captures } = this.#contents;
    this.#touch(capture.block);
    // A content that was unknown may have been found since.
    this.#touch(captures.get(captureId(capture))?.block);
    captures.delete(captureId(capture));
  }

  #bury(number: number, record: DeadRecord): void {
    const rows = rowsOf(this.#contents.dead, number);
    if (rows.has(record.offset)) return;
    rows.set(record.offset, record);
    this.#contents.surplus.get(number)?.delete(record.offset);
    const segment = this.#contents.segments.get(number);
    if (segment) this.#contents.segments.set(number, { ...segment, deadBytes: segment.deadBytes + record.length });
  }

  #move(from: Capture, to: Capture): void {
    const { captures } = this.#contents;
    const now = captures.get(captureId(from));
    if (now) {
      captures.delete(captureId(from));
      captures.set(captureId(to), { ...to, block: to.block && ownKey(to.block) });
      this.#touch(now.block);
    } else if (!captures.has(captureId(to))) {
      const { segment, offset, length } = to.place;
      this.#bury(segment, { offset, length, block: to.block });
    }
  }

  #moveHolder(key: BlockKey, from: Place, to: Place): void {
    const block = this.#contents.blocks.get(blockId(key));
    if (block && isSamePlace(block.holder, from)) this.#contents.blocks.set(blockId(key), { ...block, holder: to });
  }

  #addBlock({ key, size, holder, isSpare }: NonNullable<CommitGroup['blocks']>[number]): void {
    const held = this.#contents.blocks.get(blockId(key));
    if (!held) {
      this.#contents.blocks.set(blockId(key), { key: ownKey(key), size, holder, references: 0 });
      this.#touch(key);
    } else if (!isSamePlace(held.holder, holder) && !isSpare) {
      this.lost.push(held);
      rowsOf(this.#contents.surplus, holder.segment).set(holder.offset, { offset: holder.offset, block: ownKey(key) });
    }
  }

  #changeSegment({ number, to }: NonNullable<CommitGroup['segments']>[number]): void {
    const { segments, dead, surplus } = this.#contents;
    if (to) {
      const { id } = this.#group;
      segments.set(number, { ...segments.get(number)!, ...to, ...(id !== undefined && { lastCommit: id }) });
    } else {
      segments.delete(number);
      dead.delete(number);
      surplus.delete(number);
    }
  }

  #touch(key: BlockKey | undefined): void {
    if (key) this.#touched.set(blockId(key), key);
  }

  #free(): void {
    if (this.#group.keepsUnreferenced) return;
    const referred = new Set<string>();
    for (const { block } of this.#contents.captures.values()) if (block) referred.add(blockId(block));
    for (const id of this.#touched.keys()) if (!referred.has(id) && this.#contents.blocks.delete(id)) this.freed++;
  }
}

/** Whether a group may not be committed while the catalog is being adopted (R2). */
function isDestructive({
  deletions = [],
  bars = [],
  moves = [],
  holderMoves = [],
  segments = [],
}: CommitGroup): boolean {
  return deletions.length + bars.length + moves.length + holderMoves.length > 0 || segments.some(({ to }) => !to);
}

function isStillThere({ captures }: SharedContents, capture: Capture): boolean {
  const now = captures.get(captureId(capture));
  return now !== undefined && isSameCapture(now, capture);
}

/** A content that was unknown may have been found since. */
function isSameCapture(one: Capture, other: Capture): boolean {
  if (one.urlKey !== other.urlKey || one.time !== other.time) return false;
  if (one.hash !== other.hash || one.collection !== other.collection) return false;
  return !one.block || !other.block || blockId(one.block) === blockId(other.block);
}

function isBarred({ bars }: SharedContents, { urlKey, block }: Pick<Capture, 'urlKey' | 'block'>): boolean {
  if (block && bars.has(barId({ kind: 'content', digest: block.digest }))) return true;
  return bars.has(barId({ kind: 'url', urlKey }));
}

function barId(bar: Bar): string {
  return bar.kind === 'content' ? `content ${toHex(bar.digest)}` : `url ${bar.urlKey}`;
}

function isSamePlace(one: Place | undefined, other: Place): boolean {
  return one?.segment === other.segment && one.offset === other.offset;
}

function isSameLease(one: Lease | undefined, other: Lease | undefined): boolean {
  return one?.name === other?.name && one?.epoch === other?.epoch && one?.incarnation === other?.incarnation;
}

function rowsOf<Row>(table: Map<number, Map<number, Row>>, segment: number): Map<number, Row> {
  const rows = table.get(segment) ?? new Map<number, Row>();
  table.set(segment, rows);
  return rows;
}

function byOffset<Row extends { readonly offset: number }>(rows: Map<number, Row> | undefined): Row[] {
  return [...(rows?.values() ?? [])].sort((a, b) => a.offset - b.offset);
}

function indexesOf<Item>(items: readonly Item[], test: (item: Item) => boolean): number[] {
  return items.flatMap((item, index) => (test(item) ? [index] : []));
}

function emptyContents(): SharedContents {
  return {
    captures: new Map(),
    blocks: new Map(),
    segments: new Map(),
    aliases: new Map(),
    notes: new Map(),
    dead: new Map(),
    surplus: new Map(),
    deletedMarks: new Set(),
    bars: new Map(),
    leases: new Map(),
    nextNumber: 1,
    nextSequence: 1,
    nextCollection: 1,
    incarnation: 1,
    isAdopting: false,
    batches: 0,
  };
}

function copyOfContents(contents: SharedContents): SharedContents {
  const { captures, blocks, segments, aliases, notes, dead, surplus, deletedMarks, bars, leases } = contents;
  return {
    ...contents,
    captures: new Map(captures),
    blocks: new Map(blocks),
    segments: new Map(segments),
    aliases: new Map(aliases),
    notes: new Map(notes),
    dead: new Map([...dead].map(([number, rows]) => [number, new Map(rows)])),
    surplus: new Map([...surplus].map(([number, rows]) => [number, new Map(rows)])),
    deletedMarks: new Set(deletedMarks),
    bars: new Map(bars),
    leases: new Map([...leases].map(([name, held]) => [name, { ...held }])),
  };
}
