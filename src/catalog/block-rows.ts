/**
 * The rows of the blocks table that a batch touches: read once, changed in memory, written once. What they change in the totals is the difference
 * between what they add up to before and after, so it is right for any order of changes.
 */
import { assert } from '../base/index.ts';
import {
  type BlockEntry,
  type BlockReference,
  blockRowKey,
  prefixOf,
  readBlockRow,
  writeBlockRow,
} from './block-codec.ts';
import { compareBlockKeys } from './block-order.ts';
import type { BlockKey } from './catalog.ts';
import type { Operations } from './level-database.ts';
import { DamagedRow, type RowWriter } from './row-bytes.ts';

export type BlockSums = { blocks: number; payloadBytes: number; uniquePayloadBytes: number };

type TouchedRow = { isStored: boolean; entries: BlockEntry[] };

export class BlockRows {
  readonly #rows = new Map<number, TouchedRow>();
  #wanted: number[] = [];
  readonly #before: BlockSums = { blocks: 0, payloadBytes: 0, uniquePayloadBytes: 0 };

  want(prefix: number): void {
    if (this.#rows.has(prefix)) return;
    this.#rows.set(prefix, { isStored: false, entries: [] });
    this.#wanted.push(prefix);
  }

  /** Reads the rows that were wanted since the last call. */
  async load(read: (keys: Buffer[]) => Promise<(Buffer | undefined)[]>): Promise<void> {
    const prefixes = this.#wanted;
    this.#wanted = [];
    const values = await read(prefixes.map(blockRowKey));
    for (let index = 0; index < prefixes.length; index++) {
      const value = values[index];
      if (!value) continue;
      const row = this.#row(prefixes[index]!);
      row.isStored = true;
      row.entries = readBlockRow(prefixes[index]!, value);
      addSums(this.#before, row.entries);
    }
  }

  entry(key: BlockKey): BlockEntry | undefined {
    return findEntry(this.#row(prefixOf(key.digest)), key);
  }

  /** The entry of this block, made when there is none. */
  entryOrNew(prefix: number, key: BlockKey): BlockEntry {
    const row = this.#row(prefix);
    const found = findEntry(row, key);
    if (found) return found;
    let slot = 0;
    while (row.entries.some((entry) => entry.slot === slot)) slot++;
    const entry: BlockEntry = { key, slot, held: undefined, captures: 0, aliases: 0 };
    row.entries.push(entry);
    return entry;
  }

  entryOf(reference: BlockReference): BlockEntry {
    const entry = this.#row(reference.prefix).entries.find((candidate) => candidate.slot === reference.slot);
    if (!entry) throw new DamagedRow('a capture or an alias names a block that is not there');
    return entry;
  }

  /** Puts what became of the rows into the batch, and says how the sums changed. */
  finish(operations: Operations, writer: RowWriter): BlockSums {
    const after: BlockSums = { blocks: 0, payloadBytes: 0, uniquePayloadBytes: 0 };
    for (const [prefix, row] of this.#rows) {
      const entries = row.entries.every(isAlive) ? row.entries : row.entries.filter(isAlive);
      addSums(after, entries);
      if (entries.length > 0) {
        writeBlockRow(writer, entries);
        operations.put(blockRowKey(prefix), writer.finish());
      } else if (row.isStored) {
        operations.del(blockRowKey(prefix));
      }
    }
    return {
      blocks: after.blocks - this.#before.blocks,
      payloadBytes: after.payloadBytes - this.#before.payloadBytes,
      uniquePayloadBytes: after.uniquePayloadBytes - this.#before.uniquePayloadBytes,
    };
  }

  #row(prefix: number): TouchedRow {
    const row = this.#rows.get(prefix);
    assert(row, 'a row of blocks was not read before it is changed');
    return row;
  }
}

/** An entry stays while it is held or anything names it. */
function isAlive(entry: BlockEntry): boolean {
  return entry.held !== undefined || entry.captures > 0 || entry.aliases > 0;
}

function findEntry(row: TouchedRow, key: BlockKey): BlockEntry | undefined {
  for (const entry of row.entries) {
    if (entry.key === key || compareBlockKeys(entry.key, key) === 0) return entry;
  }
  return undefined;
}

function addSums(sums: BlockSums, entries: readonly BlockEntry[]): void {
  for (const { held, captures } of entries) {
    if (!held) continue;
    sums.blocks++;
    sums.payloadBytes += held.size * captures;
    sums.uniquePayloadBytes += held.size;
  }
}
