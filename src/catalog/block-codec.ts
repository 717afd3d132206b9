/**
 * Rows of the blocks table. A row has all blocks whose digests begin with the same 6 bytes, which is nearly always one.
 *
 *     key    'b'  first 6 bytes of the digest
 *     value  entries, one after the other:
 *
 *     form        1        bit 0 held; what follows: bit 1 overflow, bit 2 slot, bit 3 captures, bit 4 aliases
 *     digest      26       the rest of the digest
 *     overflow    varint   else 0
 *     slot        varint   else 0
 *     captures    varint   else as many as the references
 *     aliases     varint   else 1
 *     when held:
 *     size        varint
 *     holder      varint varint varint     segment, offset, length
 *     references  varint
 *
 * An entry has the block, if it is held, and the catalog's own counts: how many captures and how many aliases name the
 * entry. Captures name it by its whole digest; aliases, and captures of format 3, by prefix and slot. Two rules make
 * these names safe:
 *
 * - An entry stays while a capture or alias names it, even if its block was removed or never put. The entry keeps its
 *   slot and its digest.
 * - A new entry of a row takes the lowest free slot.
 *
 * So a prefix and a slot always mean the entry for which they were written. The counts also make the totals a sum over
 * rows: the payload bytes of a block are its size times its captures, whatever their order.
 */
import { assert, EMPTY } from '../base/index.ts';
import type { Block, BlockKey, Place } from './catalog.ts';
import { DamagedRow, RowReader, type RowWriter } from './row-bytes.ts';
import { TABLE } from './table.ts';

export const BLOCK_PREFIX_BYTES = 6;
export const DIGEST_BYTES = 32;

const HELD = 1;
const HAS_OVERFLOW = 2;
const HAS_SLOT = 4;
const HAS_CAPTURES = 8;
const HAS_ALIASES = 16;

/** Names an entry of the blocks table. */
export type BlockReference = {
  /** The first bytes of the digest, as a number. */
  readonly prefix: number;
  readonly slot: number;
};

export type Holding = { readonly size: number; readonly holder: Place; readonly references: number };

export type BlockEntry = {
  readonly key: BlockKey;
  readonly slot: number;
  held: Holding | undefined;
  captures: number;
  aliases: number;
};

/** The first bytes of a digest as a number, which is fast to compare and to look up. */
export function prefixOf(digest: Uint8Array): number {
  assert(digest.length === DIGEST_BYTES, 'the digest of a block is not a SHA-256');
  const high = (digest[0]! << 16) | (digest[1]! << 8) | digest[2]!;
  const low = (digest[3]! << 16) | (digest[4]! << 8) | digest[5]!;
  return high * 2 ** 24 + low;
}

export function assertBlockKey(key: BlockKey): void {
  assert(key.digest.length === DIGEST_BYTES, 'the digest of a block is not a SHA-256');
  assert(Number.isSafeInteger(key.overflow) && key.overflow >= 0, 'the overflow of a block is not a whole number');
}

export function blockRowKey(prefix: number): Buffer {
  const key = Buffer.allocUnsafe(1 + BLOCK_PREFIX_BYTES);
  key[0] = TABLE.blocks;
  key.writeUIntBE(prefix, 1, BLOCK_PREFIX_BYTES);
  return key;
}

export function prefixOfRowKey(row: Buffer): number {
  return new RowReader(row, 1).fixed(BLOCK_PREFIX_BYTES);
}

export function writeBlockRow(writer: RowWriter, entries: readonly BlockEntry[]): void {
  for (const entry of entries) {
    const { held, slot, captures, aliases } = entry;
    const { digest, overflow } = entry.key;
    const hasCaptures = captures !== (held?.references ?? 0);
    writer.byte(
      (held ? HELD : 0) |
        (overflow > 0 ? HAS_OVERFLOW : 0) |
        (slot > 0 ? HAS_SLOT : 0) |
        (hasCaptures ? HAS_CAPTURES : 0) |
        (aliases !== 1 ? HAS_ALIASES : 0),
    );
    writer.bytes(digest, BLOCK_PREFIX_BYTES);
    if (overflow > 0) writer.varint(overflow);
    if (slot > 0) writer.varint(slot);
    if (hasCaptures) writer.varint(captures);
    if (aliases !== 1) writer.varint(aliases);
    if (!held) continue;
    writer.varint(held.size);
    writer.varint(held.holder.segment);
    writer.varint(held.holder.offset);
    writer.varint(held.holder.length);
    writer.varint(held.references);
  }
}

export function readBlockRow(prefix: number, value: Uint8Array = EMPTY): BlockEntry[] {
  const entries: BlockEntry[] = [];
  const reader = new RowReader(value);
  while (!reader.isAtEnd) entries.push(readEntry(reader, prefix));
  return entries;
}

function readEntry(reader: RowReader, prefix: number): BlockEntry {
  const form = reader.byte();
  if (form >= HAS_ALIASES * 2) throw new DamagedRow('a block has an unknown form');
  const digest = new Uint8Array(DIGEST_BYTES);
  let high = prefix;
  for (let at = BLOCK_PREFIX_BYTES - 1; at >= 0; at--) {
    digest[at] = high % 0x100;
    high = Math.floor(high / 0x100);
  }
  digest.set(reader.bytes(DIGEST_BYTES - BLOCK_PREFIX_BYTES), BLOCK_PREFIX_BYTES);
  const overflow = form & HAS_OVERFLOW ? reader.varint() : 0;
  const slot = form & HAS_SLOT ? reader.varint() : 0;
  const writtenCaptures = form & HAS_CAPTURES ? reader.varint() : undefined;
  const aliases = form & HAS_ALIASES ? reader.varint() : 1;
  const held = form & HELD ? readHolding(reader) : undefined;
  return { key: { digest, overflow }, slot, held, captures: writtenCaptures ?? held?.references ?? 0, aliases };
}

function readHolding(reader: RowReader): Holding {
  const size = reader.varint();
  const holder = { segment: reader.varint(), offset: reader.varint(), length: reader.varint() };
  return { size, holder, references: reader.varint() };
}

export function blockOf(entry: BlockEntry): Block | undefined {
  return entry.held && { key: entry.key, ...entry.held };
}
