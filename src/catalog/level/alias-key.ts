/**
 * Keys of aliases; their values are empty.
 *
 *     'a'  8 bytes of the declared digest   6 bytes of the block's digest   slot (ordered), if it is not 0
 */
import { BLOCK_PREFIX_BYTES, type BlockReference } from '../block-codec.ts';
import { DECLARED_BYTES, declaredStart } from '../declared-digest.ts';
import { RowReader, type RowWriter } from '../row-bytes.ts';
import { TABLE } from '../table.ts';

/** The prefix of the keys of all aliases of this declared digest. */
export function aliasStart(declared: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(TABLE.aliases), declaredStart(declared)]);
}

export function writeAliasKey(writer: RowWriter, declared: Uint8Array, reference: BlockReference): void {
  writer.byte(TABLE.aliases);
  writer.bytes(declaredStart(declared));
  writer.fixed(reference.prefix, BLOCK_PREFIX_BYTES);
  if (reference.slot > 0) writer.ordered(reference.slot);
}

/** The beginning of the declared digest, which is all that is kept of it. */
export function declaredOfAlias(row: Buffer): Uint8Array {
  return new Uint8Array(row.subarray(1, 1 + DECLARED_BYTES));
}

export function referenceOfAlias(row: Buffer): BlockReference {
  const reader = new RowReader(row, 1 + DECLARED_BYTES);
  const prefix = reader.fixed(BLOCK_PREFIX_BYTES);
  return { prefix, slot: reader.isAtEnd ? 0 : reader.ordered() };
}
