/**
 * Keys of aliases; their values are empty.
 *
 *     'a'  8 bytes of the declared digest   6 bytes of the block's digest   slot (ordered), if it is not 0
 *
 * Eight bytes of a digest are enough to find candidates: a declared digest proves nothing anyway, and a caller that
 * relies on one must read the content.
 */
import { assert } from '../../base/index.ts';
import { BLOCK_PREFIX_BYTES, type BlockReference } from '../block-codec.ts';
import { RowReader, type RowWriter } from '../row-bytes.ts';
import { TABLE } from '../table.ts';

const DECLARED_BYTES = 8;

/** A digest that is declared for more contents than this identifies none of them. */
export const ALIAS_CANDIDATES_MAX = 256;

/** The prefix of the keys of all aliases of this declared digest. */
export function aliasStart(declared: Uint8Array): Buffer {
  assert(declared.length >= DECLARED_BYTES, 'a declared digest is shorter than any digest');
  return Buffer.concat([Buffer.of(TABLE.aliases), declared.subarray(0, DECLARED_BYTES)]);
}

export function writeAliasKey(writer: RowWriter, declared: Uint8Array, reference: BlockReference): void {
  assert(declared.length >= DECLARED_BYTES, 'a declared digest is shorter than any digest');
  writer.byte(TABLE.aliases);
  for (let at = 0; at < DECLARED_BYTES; at++) writer.byte(declared[at]!);
  writer.fixed(reference.prefix, BLOCK_PREFIX_BYTES);
  if (reference.slot > 0) writer.ordered(reference.slot);
}

export function referenceOfAlias(row: Buffer): BlockReference {
  const reader = new RowReader(row, 1 + DECLARED_BYTES);
  const prefix = reader.fixed(BLOCK_PREFIX_BYTES);
  return { prefix, slot: reader.isAtEnd ? 0 : reader.ordered() };
}
