/**
 * The catalog on LevelDB, one database in one directory.
 *
 * Changes are made one batch after the other. Reads use a snapshot of their own and do not wait for changes.
 * level-database.ts has the settings, the meta rows and the rules for power loss; table.ts lists the tables.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Snapshot } from 'classic-level';
import { assert, type EpochMs, Exclusive, PinakesError } from '../../base/index.ts';
import type { UrlKey } from '../../url/index.ts';
import { nearestOf } from '../capture-scan.ts';
import {
  type Block,
  type BlockKey,
  type Capture,
  type CaptureQuestion,
  type CaptureRange,
  type Catalog,
  type CatalogBatch,
  type CatalogView,
  type FileDamage,
  onlyKeyOf,
  type Segment,
  type Totals,
} from '../catalog.ts';
import { BlockRowCache } from './block-row-cache.ts';
import { planBatch } from './level-batch.ts';
import {
  clearDatabase,
  type Database,
  type DatabaseState,
  isSyncDue,
  loadState,
  markDropped,
  openDatabase,
  removeDatabase,
  syncOlderLogs,
} from './level-database.ts';
import { levelError } from './level-error.ts';
import { checkDatabaseFiles } from './level-files.ts';
import { LevelView, PAGE_SIZE } from './level-view.ts';
import { RecentKeys } from './recent-keys.ts';

/**
 * Opens the catalog in this directory, and creates it if it is missing. Only one process at a time may have it open.
 */
export async function openLevelCatalog(directory: string): Promise<Catalog> {
  const database = await openDatabase(directory);
  try {
    return new LevelCatalog(directory, database, await loadState(database));
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

class LevelCatalog implements Catalog {
  readonly #directory: string;
  #database: Database;
  #state: DatabaseState;
  readonly #recent = new RecentKeys();
  readonly #blockRowCache = new BlockRowCache();
  #refusal: PinakesError | undefined;
  /** Whether an attempt to make older logs durable has failed. */
  #owesSync = false;
  /** Settles when the last change requested so far is made or has failed. */
  readonly #changes = new Exclusive();

  constructor(directory: string, database: Database, state: DatabaseState) {
    this.#directory = directory;
    this.#database = database;
    this.#state = state;
  }

  get batches(): number {
    return this.#state.batchNumber;
  }

  get refusal(): PinakesError | undefined {
    return this.#refusal;
  }

  write(batch: CatalogBatch): Promise<void> {
    return this.#change(async () => {
      if (this.#refusal) throw this.#refusal;
      const state = this.#state;
      const operations = this.#database.batch();
      try {
        const { totals, newMimes } = await planBatch(
          batch,
          state,
          this.#database,
          operations,
          this.#blockRowCache.after(state.batchNumber),
        );
        const batchNumber = state.batchNumber + 1;
        const sync = batch.durable === true || isSyncDue(batchNumber) || this.#owesSync;
        await operations.write({ sync }).catch((cause: unknown) => {
          // The log may have the batch although it is not visible yet. A later batch would not take it into account,
          // and both would be visible after the next opening.
          this.#refusal = new PinakesError('CATALOG_STOPPED', { where: this.#directory, cause });
          throw cause;
        });
        for (const mime of newMimes) state.mimes.add(mime);
        this.#state = { batchNumber, totals, mimes: state.mimes };
        if (sync) await this.#syncOlderLogs(batch.durable === true);
      } finally {
        this.#recent.changed(batch);
        this.#blockRowCache.clear();
        await operations.close();
      }
    });
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

  check(): AsyncGenerator<FileDamage> {
    return checkDatabaseFiles(this.#directory);
  }

  clear(): Promise<void> {
    return this.#change(async () => {
      this.#recent.clear();
      this.#blockRowCache.clear();
      if (await this.#isDamaged()) await this.#drop();
      else this.#state = await clearDatabase(this.#database);
    });
  }

  async #isDamaged(): Promise<boolean> {
    for await (const _ of this.check()) return true;
    return false;
  }

  /** Starts a new database without reading the old one: reading a damaged one can fail or end the process. */
  async #drop(): Promise<void> {
    await markDropped(this.#directory);
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
  #change(make: () => Promise<void>): Promise<void> {
    return this.#changes.run(make).catch((error: unknown) => {
      throw levelError(error, this.#directory);
    });
  }
}

/** The captures of a key in a range of times, in the order of the range. */
function within(captures: readonly Capture[], { timeFrom, timeTo, reverse }: CaptureRange): readonly Capture[] {
  let wanted = captures;
  if (timeFrom !== undefined) wanted = wanted.filter(({ time }) => time >= timeFrom);
  if (timeTo !== undefined) wanted = wanted.filter(({ time }) => time <= timeTo);
  return reverse ? wanted.toReversed() : wanted;
}
