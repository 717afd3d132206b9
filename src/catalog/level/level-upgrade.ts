/**
 * Makes a catalog whose rows have format 3 one of format 4: every row of a capture gets the whole digest of its block,
 * and every segment its sequence number. No segment is read.
 *
 * The rows are rewritten in place, in order of their keys, in batches. A batch also writes how far the upgrade is, and
 * is synced, so that another upgrade continues after a kill or a power failure.
 *
 *     00 'upgrade'   how many captures were rewritten (varint), then the key of the last one
 */

import { blockRowKey, readBlockRow } from '../block-codec.ts';
import { isOldRow, readOldReference, writeUpgraded } from '../capture-codec.ts';
import type { BlockKey } from '../catalog.ts';
import { DamagedRow, RowReader, RowWriter } from '../row-bytes.ts';
import { TABLE, tableKey, tableRange } from '../table.ts';
import { COUNTERS_KEY, countersRow } from './counters.ts';
import {
  type Database,
  type DatabaseState,
  loadState,
  openDatabase,
  putUpgradedVersion,
  putUpgradingVersion,
  readRows,
} from './level-database.ts';
import { levelError } from './level-error.ts';
import { readSegment, writeSegment } from './segment-codec.ts';

/** A note of a catalog that was upgraded: its segments do not have their sequence numbers in them. */
export const UPGRADED_NOTE = 'upgraded';

const POSITION_KEY = tableKey(TABLE.meta, 'upgrade');
const ROWS_AT_ONCE = 2000;

/** What the digests add to a row, and what a row takes at most cases. */
const DIGEST_BYTES_MORE = 32;
const ROW_BYTES = 100;
/** The log and the tables that LevelDB merges. */
const MERGING_BYTES = 64 * 1024 * 1024;

export type LevelUpgradeOptions = {
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of captures whose rows have the new format. */
  readonly onProgress?: ((captures: number) => void) | undefined;
  /** For tests: how many rows a batch has. */
  readonly rowsAtOnce?: number | undefined;
};

/** A catalog that is open for its upgrade only. Closing it gives up its lock. */
export class LevelUpgrade {
  readonly #database: Database;
  readonly #state: DatabaseState;

  private constructor(database: Database, state: DatabaseState) {
    this.#database = database;
    this.#state = state;
  }

  static async open(directory: string): Promise<LevelUpgrade> {
    const database = await openDatabase(directory);
    try {
      return new LevelUpgrade(database, await loadState(database));
    } catch (error) {
      await database.close();
      throw levelError(error, directory);
    }
  }

  get isNeeded(): boolean {
    return this.#state.isOld;
  }

  get captures(): number {
    return this.#state.totals.captures;
  }

  /** How many captures an interrupted upgrade has rewritten. */
  get done(): number {
    return this.#position()?.done ?? 0;
  }

  /** The most room that the upgrade takes. Old rows stay until LevelDB merges its tables. */
  get roomBytes(): number {
    return this.isNeeded ? (this.captures - this.done) * (ROW_BYTES + DIGEST_BYTES_MORE) + MERGING_BYTES : 0;
  }

  async run(options: LevelUpgradeOptions = {}): Promise<void> {
    if (!this.isNeeded) return;
    try {
      const begun = this.#database.batch();
      putUpgradingVersion(begun);
      await begun.write({ sync: true });
      await this.#rewriteCaptures(options);
      await this.#finish();
    } catch (error) {
      throw levelError(error, this.#database.location);
    }
  }

  async #rewriteCaptures({ signal, onProgress, rowsAtOnce = ROWS_AT_ONCE }: LevelUpgradeOptions): Promise<void> {
    const { from, to } = tableRange(TABLE.captures);
    let { done, last } = this.#position() ?? { done: 0, last: from };
    for (;;) {
      signal?.throwIfAborted();
      // Each page has an iterator of its own, since an iterator keeps the rows that were replaced since it began.
      const rows = await this.#database.iterator({ gt: last, lt: to, limit: rowsAtOnce }).all();
      if (rows.length === 0) return;
      done += rows.length;
      last = rows.at(-1)![0];
      await this.#rewrite(rows, done, last);
      onProgress?.(done);
    }
  }

  async #rewrite(rows: readonly [Buffer, Buffer][], done: number, last: Buffer): Promise<void> {
    const old = rows.filter(([, value]) => isOldRow(value));
    const blocks = await this.#blocksOf(old.map(([, value]) => value));
    const batch = this.#database.batch();
    const writer = new RowWriter();
    for (const [index, [key, value]] of old.entries()) {
      writeUpgraded(writer, value, blocks[index]);
      batch.put(key, writer.finish());
    }
    writer.varint(done);
    writer.bytes(last);
    batch.put(POSITION_KEY, writer.finish());
    await batch.write({ sync: true });
  }

  /** The block that each row names. */
  async #blocksOf(values: readonly Buffer[]): Promise<(BlockKey | undefined)[]> {
    const references = values.map(readOldReference);
    const prefixes = [...new Set(references.flatMap((reference) => reference?.prefix ?? []))];
    const blockRows = await readRows(this.#database, prefixes.map(blockRowKey));
    const entries = new Map(prefixes.map((prefix, index) => [prefix, readBlockRow(prefix, blockRows[index])]));
    return references.map((reference) => {
      if (!reference) return undefined;
      const entry = entries.get(reference.prefix)!.find(({ slot }) => slot === reference.slot);
      if (!entry) throw new DamagedRow('a capture names a missing block');
      return entry.key;
    });
  }

  /** The last batch makes the catalog one of format 4. */
  async #finish(): Promise<void> {
    const batch = this.#database.batch();
    const writer = new RowWriter();
    const { from, to } = tableRange(TABLE.segments);
    for await (const [key, value] of this.#database.iterator({ gte: from, lt: to })) {
      const segment = readSegment(key, value);
      writeSegment(writer, { ...segment, sequence: segment.sequence ?? segment.number });
      batch.put(key, writer.finish());
    }
    batch.put(COUNTERS_KEY, countersRow(this.#state.counters));
    batch.put(tableKey(TABLE.notes, UPGRADED_NOTE), Buffer.from('yes'));
    batch.del(POSITION_KEY);
    putUpgradedVersion(batch);
    await batch.write({ sync: true });
  }

  #position(): { readonly done: number; readonly last: Buffer } | undefined {
    const row = this.#database.getSync(POSITION_KEY);
    if (!row) return undefined;
    const reader = new RowReader(row);
    return { done: reader.varint(), last: row.subarray(reader.at) };
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}
