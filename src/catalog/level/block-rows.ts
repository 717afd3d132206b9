/**
 * The rows of the blocks table that a batch touches: read once, changed in memory, written once. The change of the
 * totals is the difference between the sums of these rows before and after, so it is right for any order of changes.
 */
import { assert } from '../../base/index.ts';
import { type BlockEntry, blockRowKey, prefixOf, readBlockRow, writeBlockRow } from '../block-codec.ts';
import { compareBlockKeys } from '../block-order.ts';
import type { BlockKey } from '../catalog.ts';
import { DamagedRow, type RowWriter } from '../row-bytes.ts';
import type { Operations } from './level-database.ts';

export type BlockSums = { blocks: number; payloadBytes: number; uniquePayloadBytes: number };

/** A row that the batch touches. Its entries are valid once it is loaded. */
export type TouchedRow = {
  readonly prefix: number;
  readonly key: Buffer;
  isStored: boolean;
  entries: BlockEntry[];
};

export class BlockRows {
  readonly #rows = new Map<number, TouchedRow>();
  readonly #inOrder: TouchedRow[] = [];
  readonly #atHand: ReadonlyMap<number, Buffer | undefined>;
  #loaded = 0;
  readonly #before: BlockSums = { blocks: 0, payloadBytes: 0, uniquePayloadBytes: 0 };

  /** `atHand`: the rows that are already known, by prefix; undefined for a row that does not exist. */
  constructor(atHand: ReadonlyMap<number, Buffer | undefined>) {
    this.#atHand = atHand;
  }

  /** The row of the prefix. It must be loaded before its entries are used. */
  want(prefix: number): TouchedRow {
    const known = this.#rows.get(prefix);
    if (known) return known;
    const row: TouchedRow = { prefix, key: blockRowKey(prefix), isStored: false, entries: [] };
    this.#rows.set(prefix, row);
    this.#inOrder.push(row);
    return row;
  }

  /** Reads the rows that were requested since the last call. */
  async load(read: (keys: Buffer[]) => Promise<(Buffer | undefined)[]>): Promise<void> {
    const wanted = this.#inOrder.slice(this.#loaded);
    this.#loaded = this.#inOrder.length;
    const missing: TouchedRow[] = [];
    for (const row of wanted) {
      if (this.#atHand.has(row.prefix)) this.#take(row, this.#atHand.get(row.prefix));
      else missing.push(row);
    }
    const values = await read(missing.map((row) => row.key));
    for (let index = 0; index < missing.length; index++) this.#take(missing[index]!, values[index]);
  }

  #take(row: TouchedRow, value: Buffer | undefined): void {
    if (!value) return;
    row.isStored = true;
    row.entries = readBlockRow(row.prefix, value);
    addSums(this.#before, row.entries);
  }

  /** The entry of a block that a capture names. */
  entryOf(key: BlockKey): BlockEntry {
    const row = this.#rows.get(prefixOf(key.digest));
    assert(row, 'a row of blocks must be read before it is changed');
    const entry = findEntry(row, key);
    if (!entry) throw new DamagedRow('a capture names a missing block');
    return entry;
  }

  /** Makes the references of the blocks in these rows the captures that name them. */
  countReferences(): void {
    for (const { entries } of this.#inOrder) {
      for (const entry of entries) {
        const { held, captures } = entry;
        if (held && held.references !== captures) entry.held = { ...held, references: captures };
      }
    }
  }

  /** Puts the changed rows into the batch, and returns how the sums changed. */
  finish(operations: Operations, writer: RowWriter): BlockSums {
    const after: BlockSums = { blocks: 0, payloadBytes: 0, uniquePayloadBytes: 0 };
    for (const row of this.#inOrder) {
      const entries = row.entries.every(isAlive) ? row.entries : row.entries.filter(isAlive);
      addSums(after, entries);
      if (entries.length > 0) {
        writeBlockRow(writer, entries);
        operations.put(row.key, writer.finish());
      } else if (row.isStored) {
        operations.del(row.key);
      }
    }
    return {
      blocks: after.blocks - this.#before.blocks,
      payloadBytes: after.payloadBytes - this.#before.payloadBytes,
      uniquePayloadBytes: after.uniquePayloadBytes - this.#before.uniquePayloadBytes,
    };
  }
}

export function findEntry(row: TouchedRow, key: BlockKey): BlockEntry | undefined {
  for (const entry of row.entries) {
    if (entry.key === key || compareBlockKeys(entry.key, key) === 0) return entry;
  }
  return undefined;
}

/** The entry of this block, added if it is missing. */
export function findOrAddEntry(row: TouchedRow, key: BlockKey): BlockEntry {
  const found = findEntry(row, key);
  if (found) return found;
  let slot = 0;
  while (row.entries.some((entry) => entry.slot === slot)) slot++;
  const entry: BlockEntry = { key, slot, held: undefined, captures: 0, aliases: 0 };
  row.entries.push(entry);
  return entry;
}

/** An entry stays while its block is held, or while a capture or alias names it. */
function isAlive(entry: BlockEntry): boolean {
  return entry.held !== undefined || entry.captures > 0 || entry.aliases > 0;
}

function addSums(sums: BlockSums, entries: readonly BlockEntry[]): void {
  for (const { held, captures } of entries) {
    if (!held) continue;
    sums.blocks++;
    sums.payloadBytes += held.size * captures;
    sums.uniquePayloadBytes += held.size;
  }
}
