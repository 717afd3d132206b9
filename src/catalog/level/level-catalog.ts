/**
 * The catalog on LevelDB, one database in one directory.
 *
 * Changes are made one batch after the other. Reads use a snapshot of their own and do not wait for changes.
 * level-database.ts has the settings, the meta rows and the rules for power loss; table.ts lists the tables.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Snapshot } from 'classic-level';
import { assert, type Clock, type EpochMs, Exclusive, PinakesError } from '../../base/index.ts';
import type { UrlKey } from '../../url/index.ts';
import { nearestOf } from '../capture-scan.ts';
import {
  type Bar,
  type Block,
  type BlockKey,
  type Capture,
  type CaptureQuestion,
  type CaptureRange,
  type CatalogView,
  type CommitGroup,
  type CommitOutcome,
  type DeadRecord,
  type FileDamage,
  firstSequenceOf,
  type Lease,
  type LeaseRow,
  type Mark,
  type NewSegment,
  onlyKeyOf,
  type Segment,
  type SurplusRecord,
  type Totals,
} from '../catalog.ts';
import type { CatalogContents, CopyableCatalog, FillOptions } from '../catalog-contents.ts';
import { assertGroup, COLLECTION_NOTE, isSameLease } from '../commit-group.ts';
import { RowWriter } from '../row-bytes.ts';
import { numberKey, TABLE, tableKey } from '../table.ts';
import { BlockRowCache } from './block-row-cache.ts';
import { beginClearing, type KeptRows } from './clearing.ts';
import { isDurable, refusalOfCaptures, refusalOfWriter } from './commit-checks.ts';
import { CommitPlan, capturesOfGroup } from './commit-plan.ts';
import { COUNTERS_KEY, type Counters, countersAfterNotes, countersRow } from './counters.ts';
import { LeaseTable } from './lease-table.ts';
import {
  clearDatabase,
  countersAfter,
  type Database,
  type DatabaseState,
  isSyncDue,
  loadState,
  type Operations,
  openDatabase,
  putBatchRows,
  removeDatabase,
  syncOlderLogs,
} from './level-database.ts';
import { levelError } from './level-error.ts';
import { checkDatabaseFiles } from './level-files.ts';
import { type Filled, fillLevel } from './level-fill.ts';
import { LevelView, PAGE_SIZE } from './level-view.ts';
import { type ChangedCaptures, RecentKeys } from './recent-keys.ts';
import { writeSegment } from './segment-codec.ts';
import { SegmentRows } from './segment-rows.ts';

export type LevelCatalogOptions = {
  /** For leases that end by time. */
  readonly clock?: Clock;
};

type StateChange = Partial<DatabaseState> & { readonly newMimes?: readonly string[] };

/**
 * Opens the catalog in this directory, and creates it if it is missing. Only one process at a time may have it open.
 */
export async function openLevelCatalog(directory: string, options: LevelCatalogOptions = {}): Promise<LevelCatalog> {
  const database = await openDatabase(directory);
  try {
    const state = await loadState(database);
    return new LevelCatalog(directory, database, state, await LeaseTable.load(database, options.clock));
  } catch (error) {
    await database.close();
    throw levelError(error, directory);
  }
}

/**
 * Removes the catalog in this directory, damaged or not, so that it can be made again. Fails when a process has it
 * open.
 */
export async function removeLevelCatalog(directory: string): Promise<void> {
  try {
    await removeDatabase(directory);
  } catch (error) {
    throw levelError(error, directory);
  }
}

export class LevelCatalog implements CopyableCatalog {
  /** The database has one process at a time. */
  readonly isShared = false;
  readonly #directory: string;
  #database: Database;
  #state: DatabaseState;
  /** The batches that this process saw before it cleared the catalog. */
  #batchesBefore = 0;
  readonly #leases: LeaseTable;
  readonly #recent = new RecentKeys();
  readonly #blockRowCache = new BlockRowCache();
  #refusal: PinakesError | undefined;
  /** Whether an attempt to make older logs durable has failed. */
  #owesSync = false;
  /** Settles when the last change requested so far is made or has failed. */
  readonly #changes = new Exclusive();

  constructor(directory: string, database: Database, state: DatabaseState, leases: LeaseTable) {
    this.#directory = directory;
    this.#database = database;
    this.#state = state;
    this.#leases = leases;
    if (state.isOld) this.#refusal = new PinakesError('ARCHIVE_OLD', { where: directory });
  }

  get batches(): number {
    return this.#batchesBefore + this.#state.batchNumber;
  }

  get refusal(): PinakesError | undefined {
    return this.#refusal;
  }

  commit(group: CommitGroup): Promise<CommitOutcome> {
    return this.#change(async () => {
      assertGroup(group);
      if (this.#refusal) throw this.#refusal;
      const state = this.#state;
      const segments = new SegmentRows((key) => this.#database.getSync(key));
      const fenced = refusalOfWriter(
        group,
        state,
        (lease) => this.#isLiving(lease),
        (number) => segments.get(number),
      );
      if (fenced) return fenced;
      const known = this.#blockRowCache.after(state.batchNumber);
      const plan = new CommitPlan(group, state, this.#database, segments, known);
      await plan.load();
      const refused = plan.refusal() ?? (await this.#refusalOfCaptures(group));
      if (refused) return refused;
      let outcome: CommitOutcome | undefined;
      await this.#apply(isDurable(group), capturesOfGroup(group), async (operations) => {
        const made = plan.make(operations);
        outcome = made.outcome;
        const counters = countersAfterNotes(state.counters, group.putNotes);
        if (counters !== state.counters) operations.put(COUNTERS_KEY, countersRow(counters));
        return { ...made.state, newMimes: made.newMimes, counters };
      });
      return outcome!;
    });
  }

  /** What the caller looked up still holds while there was no other change. */
  async #refusalOfCaptures({ captures = [], seen }: CommitGroup): Promise<CommitOutcome | undefined> {
    const { hasDeleted, hasBars } = this.#state;
    const isSeen = seen === this.batches;
    if (captures.length === 0 || (isSeen && !hasDeleted && !hasBars)) return undefined;
    return await this.#ask((view) => refusalOfCaptures(captures, this.#state, isSeen, view));
  }

  listSegment(segment: NewSegment, lease?: Lease): Promise<Segment | undefined> {
    return this.#change(async () => {
      if (lease && !this.#isLiving(lease)) return undefined;
      const known = await this.segmentByName(segment.name);
      if (known) return isSameLease(known.lease, lease) ? known : undefined;
      const { counters } = this.#state;
      const { volume, name, collection, roots, sequence = counters.sequence } = segment;
      const row: Segment = {
        number: counters.number,
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
      const writer = new RowWriter();
      writeSegment(writer, row);
      await this.#deal(countersAfter(counters, row), false, (operations) =>
        operations.put(numberKey(TABLE.segments, row.number), writer.finish()),
      );
      return row;
    });
  }

  collectionNumber(name: string): Promise<number> {
    return this.#change(async () => {
      const note = COLLECTION_NOTE + name;
      const key = tableKey(TABLE.notes, note);
      const known = this.#database.getSync(key);
      if (known) return Number(known);
      assert(name.isWellFormed(), 'the name of a collection is not valid Unicode');
      const { counters } = this.#state;
      const number = counters.collection;
      await this.#deal({ ...counters, collection: number + 1 }, false, (operations) =>
        operations.put(key, Buffer.from(String(number))),
      );
      return number;
    });
  }

  takeLease(name: string, holder: string, lifeMs?: number): Promise<Lease | undefined> {
    return this.#change(async () => {
      const epoch = this.#leases.nextEpoch(name);
      if (epoch === undefined) return undefined;
      const [key, value] = this.#leases.row(name, epoch, holder);
      await this.#apply(true, {}, async (operations) => {
        operations.put(key, value);
        return {};
      });
      this.#leases.began(name, epoch, holder, lifeMs);
      return { name, epoch, incarnation: this.#state.counters.incarnation };
    });
  }

  renewLease(lease: Lease, lifeMs: number): Promise<boolean> {
    return this.#change(async () => {
      if (!this.#isLiving(lease)) return false;
      this.#leases.renew(lease, lifeMs);
      return true;
    });
  }

  endLease(lease: Lease): Promise<void> {
    return this.#change(async () => {
      if (this.#isLiving(lease)) this.#leases.end(lease);
    });
  }

  async leases(): Promise<LeaseRow[]> {
    return this.#leases.rows(this.#state.counters.incarnation);
  }

  async incarnation(): Promise<number> {
    return this.#state.counters.incarnation;
  }

  /** Its owner is the only process, so nothing comes between the two steps. A kill leaves the first one made. */
  async beginEmpty(incarnation: number, notes: Readonly<Record<string, string>>): Promise<boolean> {
    if ((await this.incarnation()) !== incarnation - 1 || !(await this.isAdopting())) return false;
    await this.clear(notes);
    await this.beginIncarnation(incarnation);
    return true;
  }

  beginIncarnation(incarnation: number): Promise<void> {
    return this.#change(async () => {
      const { counters } = this.#state;
      assert(incarnation > counters.incarnation, 'an incarnation is newer than the last one');
      const sequence = Math.max(counters.sequence, firstSequenceOf(incarnation));
      await this.#deal({ ...counters, incarnation, sequence, isAdopting: true }, true);
      this.#leases.endAll();
    });
  }

  endAdoption(lease: Lease): Promise<boolean> {
    return this.#change(async () => {
      if (!this.#isLiving(lease)) return false;
      await this.#deal({ ...this.#state.counters, isAdopting: false }, true);
      return true;
    });
  }

  async isAdopting(): Promise<boolean> {
    return this.#state.counters.isAdopting;
  }

  #isLiving(lease: Lease): boolean {
    return this.#leases.isLiving(lease, this.#state.counters.incarnation);
  }

  /** Changes the counters, and the rows with what was dealt. */
  async #deal(
    counters: Counters,
    isDurable: boolean,
    put: (operations: Operations) => unknown = () => {},
  ): Promise<void> {
    await this.#apply(isDurable, {}, async (operations) => {
      operations.put(COUNTERS_KEY, countersRow(counters));
      put(operations);
      return { counters };
    });
  }

  /** Makes one batch, which `fill` fills. It returns how the state changes. */
  async #apply(
    isDurable: boolean,
    changed: ChangedCaptures,
    fill: (operations: Operations, state: DatabaseState) => Promise<StateChange>,
  ): Promise<void> {
    if (this.#refusal) throw this.#refusal;
    const state = this.#state;
    const operations = this.#database.batch();
    try {
      const { newMimes = [], ...change } = await fill(operations, state);
      const next = { ...state, ...change, batchNumber: state.batchNumber + 1 };
      putBatchRows(operations, next.batchNumber, next.totals);
      const sync = isDurable || isSyncDue(next.batchNumber) || this.#owesSync;
      await operations.write({ sync }).catch((cause: unknown) => {
        // The log may have the batch although it is not visible yet. A later batch would not take it into account,
        // and both would be visible after the next opening.
        this.#refusal = new PinakesError('CATALOG_STOPPED', { where: this.#directory, cause });
        throw cause;
      });
      for (const mime of newMimes) state.mimes.add(mime);
      this.#state = next;
      if (sync) await this.#syncOlderLogs(isDurable);
    } finally {
      this.#recent.changed(changed);
      this.#blockRowCache.clear();
      await operations.close();
    }
  }

  /**
   * The batch is in the catalog, so a failure here is thrown only to a caller that requested durability. Other callers
   * would undo changes that the catalog has.
   */
  async #syncOlderLogs(isAskedFor: boolean): Promise<void> {
    try {
      await syncOlderLogs(this.#directory);
      this.#owesSync = false;
    } catch (error) {
      this.#owesSync = true;
      if (isAskedFor) throw error;
    }
  }

  async view(onBlockRow?: (prefix: number, row: Buffer | undefined) => void): Promise<CatalogView & AsyncDisposable> {
    const snapshot = this.#snapshot();
    const { mimes } = this.#state;
    return Object.assign(new LevelView(this.#database, snapshot, mimes, onBlockRow), {
      [Symbol.asyncDispose]: () => snapshot.close(),
    });
  }

  longView(): Promise<CatalogView & AsyncDisposable> {
    return this.view();
  }

  async contents(): Promise<CatalogContents> {
    const { number: segment, ...numbers } = this.#state.counters;
    const snapshot = this.#snapshot();
    return Object.assign(new LevelView(this.#database, snapshot, this.#state.mimes), {
      numbers: async () => ({ segment, ...numbers }),
      leases: () => this.leases(),
      [Symbol.asyncDispose]: () => snapshot.close(),
    });
  }

  async fill(contents: CatalogContents, options: FillOptions = {}): Promise<void> {
    const begin: Filled['begin'] = ({ segment, ...numbers }, leases, rows) =>
      this.#change(() => {
        const held = leases.map(({ name, epoch, holder }) => this.#leases.row(name, epoch, holder));
        for (const { name, epoch, holder } of leases) this.#leases.enter(name, epoch, holder);
        return this.#deal({ ...numbers, number: segment }, true, (operations) => {
          for (const [key, value] of [...held, ...rows]) operations.put(key, value);
        });
      });
    const commit = (group: CommitGroup) => this.commit(group);
    await fillLevel({ begin, commit, totals: () => this.totals(), segments: () => this.segments() }, contents, options);
  }

  /** A caller that looks up contents is about to store them: the rows are kept for that change. */
  async findBlocks(digests: readonly Uint8Array[]): Promise<Block[][]> {
    const { batchNumber } = this.#state;
    await using view = await this.view((prefix, row) => this.#blockRowCache.keep(batchNumber, prefix, row));
    return await view.findBlocks(digests);
  }

  getBlocks(keys: readonly BlockKey[]): Promise<(Block | undefined)[]> {
    // A single row needs no snapshot, and retrieval reads one at a time.
    if (keys.length === 1) return new LevelView(this.#database, undefined, this.#state.mimes).getBlocks(keys);
    return this.#ask((view) => view.getBlocks(keys));
  }

  countReferences(keys: readonly BlockKey[]): Promise<number[]> {
    return this.#ask((view) => view.countReferences(keys));
  }

  findAliases(declared: readonly Uint8Array[]): Promise<BlockKey[][]> {
    return this.#ask((view) => view.findAliases(declared));
  }

  findCaptures(questions: readonly CaptureQuestion[]): Promise<(readonly Capture[])[]> {
    return this.#ask((view) => view.findCaptures(questions));
  }

  async capturesOf(urlKey: UrlKey): Promise<readonly Capture[] | undefined> {
    const recent = this.#recent.get(urlKey);
    if (recent) return recent;
    const { changes } = this.#recent;
    const captures = await this.#ask((view) => view.capturesOf(urlKey));
    if (captures) this.#recent.keep(urlKey, captures, changes);
    return captures;
  }

  async nearest(urlKey: UrlKey, time: EpochMs, side?: 'either' | 'notAfter'): Promise<Capture | undefined> {
    const few = await this.capturesOf(urlKey);
    return few ? nearestOf(few, time, side) : this.#ask((view) => view.nearest(urlKey, time, side));
  }

  segments(): Promise<Segment[]> {
    return this.#ask((view) => view.segments());
  }

  segment(number: number): Promise<Segment | undefined> {
    return new LevelView(this.#database, undefined, this.#state.mimes).segment(number);
  }

  segmentByName(name: string): Promise<Segment | undefined> {
    return this.#ask((view) => view.segmentByName(name));
  }

  findDeleted(marks: readonly Mark[]): Promise<boolean[]> {
    return this.#ask((view) => view.findDeleted(marks));
  }

  findBarred(captures: readonly Pick<Capture, 'urlKey' | 'block'>[]): Promise<boolean[]> {
    return this.#ask((view) => view.findBarred(captures));
  }

  bars(): Promise<Bar[]> {
    return this.#ask((view) => view.bars());
  }

  deadRecords(segment: number): Promise<DeadRecord[]> {
    return this.#ask((view) => view.deadRecords(segment));
  }

  surplusRecords(segment: number): Promise<SurplusRecord[]> {
    return this.#ask((view) => view.surplusRecords(segment));
  }

  notes(prefix?: string): Promise<Record<string, string>> {
    return this.#ask((view) => view.notes(prefix));
  }

  totals(): Promise<Totals> {
    return this.#ask((view) => view.totals());
  }

  async *captures(range: CaptureRange, pageSize = PAGE_SIZE): AsyncGenerator<Capture[]> {
    assert(pageSize > 0, 'a page holds at least one capture');
    const key = range.after ? undefined : onlyKeyOf(range);
    const few = key === undefined ? undefined : await this.capturesOf(key);
    if (few) {
      const wanted = within(few, range);
      for (let at = 0; at < wanted.length; at += pageSize) yield wanted.slice(at, at + pageSize);
      return;
    }
    await using view = await this.view();
    yield* view.captures(range, pageSize);
  }

  async *notePages(prefix: string): AsyncGenerator<[name: string, text: string][]> {
    await using view = await this.view();
    yield* view.notePages(prefix);
  }

  async *blocks(pageSize?: number): AsyncGenerator<Block[]> {
    await using view = await this.view();
    yield* view.blocks(pageSize);
  }

  /** The size of the tables and logs. Obsolete tables count until they are removed. */
  async bytes(): Promise<number> {
    let total = 0;
    for (const name of await readdir(this.#directory)) {
      const info = await stat(join(this.#directory, name)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw levelError(error, this.#directory);
      });
      total += info?.size ?? 0;
    }
    return total;
  }

  check(rest?: () => Promise<void>): AsyncGenerator<FileDamage> {
    return checkDatabaseFiles(this.#directory, rest);
  }

  clear(notes: Readonly<Record<string, string>> = {}): Promise<void> {
    return this.#change(async () => {
      this.#recent.clear();
      this.#blockRowCache.clear();
      const batches = this.batches + 1;
      const kept = this.#keptRows(notes);
      await beginClearing(this.#directory, kept);
      if (await this.#isDamaged()) await this.#drop();
      else this.#state = await clearDatabase(this.#database, kept);
      this.#batchesBefore = batches;
    });
  }

  /** What is not made again from the segments. A damaged database need not be read for it. */
  #keptRows(notes: Readonly<Record<string, string>>): KeptRows {
    const counters = countersAfterNotes(this.#state.counters, notes);
    return [[COUNTERS_KEY, countersRow(counters)], ...this.#leases.allRows(), ...Object.entries(notes).map(noteRow)];
  }

  async #isDamaged(): Promise<boolean> {
    for await (const _ of this.check()) return true;
    return false;
  }

  /** Starts a new database without reading the old one: reading a damaged one can fail or end the process. */
  async #drop(): Promise<void> {
    try {
      await this.#database.close();
      this.#database = await openDatabase(this.#directory);
      this.#state = await loadState(this.#database);
    } catch (cause) {
      this.#refusal = new PinakesError('CATALOG_STOPPED', { where: this.#directory, cause });
      throw cause;
    }
  }

  close(): Promise<void> {
    return this.#change(() => this.#database.close());
  }

  #snapshot(): Snapshot {
    try {
      return this.#database.snapshot();
    } catch (error) {
      throw levelError(error, this.#directory);
    }
  }

  async #ask<Answer>(question: (view: CatalogView) => Promise<Answer>): Promise<Answer> {
    await using view = await this.view();
    return await question(view);
  }

  /** Makes a change after all earlier ones. */
  #change<Result>(make: () => Promise<Result>): Promise<Result> {
    return this.#changes.run(make).catch((error: unknown) => {
      throw levelError(error, this.#directory);
    });
  }
}

function noteRow([name, text]: [name: string, text: string]): [key: Buffer, value: Buffer] {
  assert(name.isWellFormed() && text.isWellFormed(), `the note ${name} is not valid Unicode`);
  return [tableKey(TABLE.notes, name), Buffer.from(text, 'utf8')];
}

/** The captures of a key in a range of times, in the order of the range. */
function within(captures: readonly Capture[], { timeFrom, timeTo, reverse }: CaptureRange): readonly Capture[] {
  let wanted = captures;
  if (timeFrom !== undefined) wanted = wanted.filter(({ time }) => time >= timeFrom);
  if (timeTo !== undefined) wanted = wanted.filter(({ time }) => time <= timeTo);
  return reverse ? wanted.toReversed() : wanted;
}
