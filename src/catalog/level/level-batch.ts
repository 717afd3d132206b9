/**
 * Turns a batch of changes into one LevelDB batch.
 *
 * Removals come first, then puts; of two puts of the same row the last counts. The rows that the changes touch are read
 * first: a capture that replaces another must not count twice, a removed capture that is missing must not count, and
 * blocks count the captures and aliases that name them.
 */
import { assert, fromLatin1 } from '../../base/index.ts';
import { type BlockReference, prefixOf } from '../block-codec.ts';
import { assertCapture, type CaptureIdentity, readCaptureIdentity, writeCapture } from '../capture-codec.ts';
import type { Alias, BlockKey, Capture, CatalogBatch, Totals } from '../catalog.ts';
import { writeCaptureKey } from '../key-order.ts';
import { RowWriter } from '../row-bytes.ts';
import { numberKey, TABLE, tableKey } from '../table.ts';
import { writeAliasKey } from './alias-key.ts';
import { BlockRows, findEntry, findOrAddEntry, type TouchedRow } from './block-rows.ts';
import { HighWater } from './high-water.ts';
import { type Database, type DatabaseState, type Operations, readRows } from './level-database.ts';
import { isWorthNumber, WRITTEN_OUT } from './mime-dictionary.ts';
import { writeSegment } from './segment-codec.ts';

type Read = (keys: Buffer[]) => Promise<(Buffer | undefined)[]>;

const NO_VALUE = Buffer.alloc(0);

/**
 * Fills the operations. Returns the totals after the batch, and the media types that got a new number. `atHand`: rows
 * of blocks that need not be read.
 */
export async function planBatch(
  batch: CatalogBatch,
  state: DatabaseState,
  database: Database,
  operations: Operations,
  atHand: ReadonlyMap<number, Buffer | undefined>,
): Promise<{ totals: Totals; newMimes: string[] }> {
  const read = (keys: Buffer[]) => readRows(database, keys);
  const highWater = new HighWater((key) => database.getSync(key));
  const plan = new BatchPlan(batch, state, highWater, operations, new BlockRows(atHand));
  await plan.load(read);
  plan.applyCaptures();
  plan.applyBlocks();
  await plan.applyAliases(read);
  plan.applyPlainRows();
  return plan.finish();
}

class BatchPlan {
  readonly #batch: CatalogBatch;
  readonly #state: DatabaseState;
  readonly #operations: Operations;
  readonly #writer = new RowWriter();
  readonly #rows: BlockRows;
  readonly #highWater: HighWater;
  readonly #newMimes = new Map<string, number>();
  /**
   * By capture key: the row in the database, or the row that the batch puts. Captures that are certainly new are left
   * out.
   */
  readonly #links = new Map<string, Pick<CaptureIdentity, 'kind' | 'block'>>();
  /** Whether every capture of the batch is new, and none is put twice. */
  #areAllNew = true;
  #removeKeys: Buffer[] = [];
  #putKeys: Buffer[] = [];
  /** The row of each block that the lists of the batch name, in their order. */
  #captureRows: (TouchedRow | undefined)[] = [];
  #putBlockRows: TouchedRow[] = [];
  #removeBlockRows: TouchedRow[] = [];
  #putAliasRows: TouchedRow[] = [];
  #removeAliasRows: TouchedRow[] = [];
  #captures: number;
  #revisits: number;

  constructor(
    batch: CatalogBatch,
    state: DatabaseState,
    highWater: HighWater,
    operations: Operations,
    rows: BlockRows,
  ) {
    this.#rows = rows;
    this.#batch = batch;
    this.#state = state;
    this.#highWater = highWater;
    this.#operations = operations;
    this.#captures = state.totals.captures;
    this.#revisits = state.totals.revisits;
  }

  async load(read: Read): Promise<void> {
    const { putCaptures = [], removeBlocks = [], putBlocks = [], removeAliases = [], putAliases = [] } = this.#batch;
    for (const { place } of putCaptures) if (!this.#highWater.raise(place)) this.#areAllNew = false;
    this.#captureRows = putCaptures.map(({ block }) => block && this.#rowOf(block));
    this.#putBlockRows = putBlocks.map((block) => this.#rowOf(block.key));
    this.#removeBlockRows = removeBlocks.map((key) => this.#rowOf(key));
    this.#putAliasRows = putAliases.map((alias) => this.#rowOf(alias.block));
    this.#removeAliasRows = removeAliases.map((alias) => this.#rowOf(alias.block));
    // Capture keys are made here while another thread reads the rows.
    await Promise.all([this.#rows.load(read), this.#loadLinks(read)]);
    await this.#rows.load(read);
  }

  async #loadLinks(read: Read): Promise<void> {
    this.#removeKeys = (this.#batch.removeCaptures ?? []).map((capture) => this.#captureKey(capture));
    this.#putKeys = (this.#batch.putCaptures ?? []).map((capture) => this.#captureKey(capture));
    const keys = this.#areAllNew ? this.#removeKeys : [...this.#removeKeys, ...this.#putKeys];
    const values = await read(keys);
    for (const [index, key] of keys.entries()) {
      const value = values[index];
      if (!value) continue;
      const link = readCaptureIdentity(value);
      if (link.block) this.#rowOf(link.block);
      this.#links.set(fromLatin1(key), link);
    }
  }

  applyCaptures(): void {
    for (const key of this.#removeKeys) {
      if (this.#unlink(fromLatin1(key))) this.#operations.del(key);
    }
    const putCaptures = this.#batch.putCaptures ?? [];
    for (let index = 0; index < putCaptures.length; index++) {
      const capture = putCaptures[index]!;
      const key = this.#putKeys[index]!;
      if (!this.#areAllNew) this.#unlink(fromLatin1(key));
      this.#link(capture, this.#captureRows[index]);
      if (!this.#areAllNew) this.#links.set(fromLatin1(key), capture);
      writeCapture(this.#writer, capture, this.#mimeNumber(capture.mime));
      this.#operations.put(key, this.#writer.finish());
    }
  }

  applyBlocks(): void {
    for (const [index, key] of (this.#batch.removeBlocks ?? []).entries()) {
      const entry = findEntry(this.#removeBlockRows[index]!, key);
      if (entry) entry.held = undefined;
    }
    const putBlocks = this.#batch.putBlocks ?? [];
    for (let index = 0; index < putBlocks.length; index++) {
      const block = putBlocks[index]!;
      findOrAddEntry(this.#putBlockRows[index]!, block.key).held = block;
    }
  }

  async applyAliases(read: Read): Promise<void> {
    const { removeAliases = [], putAliases = [] } = this.#batch;
    const stored = new Set([
      ...(await this.#storedAliases(read, removeAliases, this.#removeAliasRows)),
      ...(await this.#storedAliases(read, putAliases, this.#putAliasRows)),
    ]);
    for (const [index, alias] of removeAliases.entries()) {
      const row = this.#removeAliasRows[index]!;
      const entry = findEntry(row, alias.block);
      if (!entry) continue;
      const key = this.#aliasKey(alias, { prefix: row.prefix, slot: entry.slot });
      if (!stored.delete(fromLatin1(key))) continue;
      entry.aliases--;
      this.#operations.del(key);
    }
    for (let index = 0; index < putAliases.length; index++) {
      const alias = putAliases[index]!;
      const row = this.#putAliasRows[index]!;
      const entry = findOrAddEntry(row, alias.block);
      const key = this.#aliasKey(alias, { prefix: row.prefix, slot: entry.slot });
      const id = fromLatin1(key);
      if (stored.has(id)) continue;
      stored.add(id);
      entry.aliases++;
      this.#operations.put(key, NO_VALUE);
    }
  }

  applyPlainRows(): void {
    const { removeSegments = [], putSegments = [], removeNotes = [], putNotes = {} } = this.#batch;
    for (const number of removeSegments) this.#operations.del(numberKey(TABLE.segments, number));
    for (const segment of putSegments) {
      writeSegment(this.#writer, segment);
      this.#operations.put(numberKey(TABLE.segments, segment.number), this.#writer.finish());
    }
    for (const name of removeNotes) this.#operations.del(tableKey(TABLE.notes, name));
    for (const [name, text] of Object.entries(putNotes)) {
      assert(name.isWellFormed() && text.isWellFormed(), `the note ${name} is not valid Unicode`);
      this.#operations.put(tableKey(TABLE.notes, name), Buffer.from(text, 'utf8'));
    }
    for (const [mime, number] of this.#newMimes)
      this.#operations.put(numberKey(TABLE.mimes, number), Buffer.from(mime, 'utf8'));
  }

  finish(): { totals: Totals; newMimes: string[] } {
    const change = this.#rows.finish(this.#operations, this.#writer);
    const before = this.#state.totals;
    const totals = {
      captures: this.#captures,
      blocks: before.blocks + change.blocks,
      revisits: this.#revisits,
      payloadBytes: before.payloadBytes + change.payloadBytes,
      uniquePayloadBytes: before.uniquePayloadBytes + change.uniquePayloadBytes,
    };
    this.#highWater.finish(this.#operations);
    return { totals, newMimes: [...this.#newMimes.keys()] };
  }

  #captureKey(capture: Capture): Buffer {
    assertCapture(capture);
    const { segment, offset } = capture.place;
    writeCaptureKey(this.#writer, { urlKey: capture.urlKey, time: capture.time, segment, offset });
    return this.#writer.finish();
  }

  /** Subtracts the row of the key from the counts; returns false when there is no row. */
  #unlink(id: string): boolean {
    const link = this.#links.get(id);
    if (!link) return false;
    this.#links.delete(id);
    this.#captures--;
    if (link.kind === 'revisit') this.#revisits--;
    if (link.block) this.#rows.entryOf(link.block).captures--;
    return true;
  }

  #link({ kind, block }: Capture, row: TouchedRow | undefined): void {
    this.#captures++;
    if (kind === 'revisit') this.#revisits++;
    if (block && row) findOrAddEntry(row, block).captures++;
  }

  #mimeNumber(mime: string): number {
    const known = this.#state.mimes.numberOf(mime) || this.#newMimes.get(mime);
    if (known) return known;
    const size = this.#state.mimes.size + this.#newMimes.size;
    if (!isWorthNumber(mime, size)) return WRITTEN_OUT;
    this.#newMimes.set(mime, size + 1);
    return size + 1;
  }

  #aliasKey(alias: Alias, reference: BlockReference): Buffer {
    writeAliasKey(this.#writer, alias.declared, reference);
    return this.#writer.finish();
  }

  /** The aliases that are stored already. An entry with a count of zero has none. */
  async #storedAliases(read: Read, aliases: readonly Alias[], rows: readonly TouchedRow[]): Promise<string[]> {
    const keys: Buffer[] = [];
    for (let index = 0; index < aliases.length; index++) {
      const entry = findEntry(rows[index]!, aliases[index]!.block);
      if (!entry || entry.aliases === 0) continue;
      keys.push(this.#aliasKey(aliases[index]!, { prefix: rows[index]!.prefix, slot: entry.slot }));
    }
    const values = await read(keys);
    return keys.filter((_, index) => values[index] !== undefined).map((key) => fromLatin1(key));
  }

  #rowOf(key: BlockKey): TouchedRow {
    return this.#rows.want(prefixOf(key.digest));
  }
}
