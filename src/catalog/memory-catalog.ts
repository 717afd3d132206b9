/**
 * A catalog in memory: the model that other catalogs are compared with, and the catalog of the simulation. Simple
 * rather than fast: references are counted from the captures, never kept.
 *
 * A call changes the contents in one synchronous step, so handles of several writers can share one object.
 */
import { assert, type Clock, equal, toHex } from '../base/index.ts';
import {
  ADOPTION_LEASE,
  type Capture,
  type Catalog,
  type CatalogView,
  type CommitGroup,
  type CommitOutcome,
  type FileDamage,
  firstSequenceOf,
  isOtherContent,
  type Lease,
  type LeaseRow,
  type Mark,
  type NewSegment,
  type Segment,
} from './catalog.ts';
import { assertGroup, COLLECTION_NOTE, isAsExpected, isDestructive, isSameLease } from './commit-group.ts';
import { isSamePlace, MemoryChange } from './memory-change.ts';
import { blockId, captureId, type HeldLease, isBarred, type MemoryContents, MemoryView } from './memory-view.ts';

export type MemoryCatalogOptions = {
  readonly clock: Clock;
  /** With a state, the catalog begins with what `save` returned. */
  readonly state?: SavedCatalog;
  /** Whether several archives are opened on the catalog. */
  readonly isShared?: boolean;
};

/** A copy of the contents of a catalog. */
export type SavedCatalog = { readonly contents: MemoryContents };

export class MemoryCatalog extends MemoryView implements Catalog {
  readonly refusal = undefined;
  readonly isShared: boolean;
  readonly #clock: Clock;

  constructor({ clock, state, isShared = false }: MemoryCatalogOptions) {
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

  async commit(group: CommitGroup): Promise<CommitOutcome> {
    assertGroup(group);
    const refusal = this.#refusalOf(group);
    if (refusal) return refusal;
    const change = new MemoryChange(this.contents, group);
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
    const note = COLLECTION_NOTE + name;
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

  async beginEmpty(incarnation: number, notes: Readonly<Record<string, string>>): Promise<boolean> {
    if (this.contents.incarnation !== incarnation - 1 || !this.contents.isAdopting) return false;
    const { bars } = this.contents;
    this.#empty();
    this.contents = { ...this.contents, bars };
    await this.beginIncarnation(incarnation);
    await this.commit({ putNotes: notes });
    return true;
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

  async view(): Promise<CatalogView & AsyncDisposable> {
    const frozen = new MemoryView(copyOfContents(this.contents));
    return Object.assign(frozen, { [Symbol.asyncDispose]: async () => {} });
  }

  longView(): Promise<CatalogView & AsyncDisposable> {
    return this.view();
  }

  async bytes(): Promise<number> {
    return 0;
  }

  /** Memory is assumed to be sound. */
  async *check(): AsyncGenerator<FileDamage> {}

  async clear(notes: Readonly<Record<string, string>> = {}): Promise<void> {
    this.#empty();
    await this.commit({ putNotes: notes });
  }

  #empty(): void {
    const { nextNumber, nextSequence, nextCollection, incarnation, isAdopting, leases, batches } = this.contents;
    const kept = { nextNumber, nextSequence, nextCollection, incarnation, isAdopting, leases };
    this.contents = { ...emptyContents(), ...kept, batches };
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
    if (!segments.every((change) => isAsExpected(this.contents.segments.get(change.number), change, lease)))
      return { kind: 'fenced', why: 'segment' };
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

  #isLiving({ name, epoch, incarnation }: Lease): boolean {
    const held = this.contents.leases.get(name);
    return incarnation === this.contents.incarnation && held?.epoch === epoch && this.#isUnexpired(held);
  }

  #isUnexpired({ expires }: HeldLease): boolean {
    return expires === undefined || expires > this.#clock();
  }
}

function isStillThere({ captures }: MemoryContents, capture: Capture): boolean {
  const now = captures.get(captureId(capture));
  return now !== undefined && isSameCapture(now, capture);
}

/** A content that was unknown may have been found since. */
function isSameCapture(one: Capture, other: Capture): boolean {
  if (one.urlKey !== other.urlKey || one.time !== other.time) return false;
  if (one.hash !== other.hash || one.collection !== other.collection) return false;
  return !one.block || !other.block || blockId(one.block) === blockId(other.block);
}

function indexesOf<Item>(items: readonly Item[], test: (item: Item) => boolean): number[] {
  return items.flatMap((item, index) => (test(item) ? [index] : []));
}

function emptyContents(): MemoryContents {
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

function copyOfContents(contents: MemoryContents): MemoryContents {
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
