/**
 * The tables of the database. Each has a byte that all its keys begin with; what follows stands above the codec of the
 * table.
 *
 *     00  meta       name                                   version, totals, and the marks of the last batches
 *     'a' aliases    first 8 bytes of the declared digest, block reference        nothing
 *     'b' blocks     first 6 bytes of the digest            all blocks that begin so        block-codec.ts
 *     'c' captures   URL key, time, segment, offset         the rest of the capture         key-order.ts, capture-codec.ts
 *     'h' high marks segment                               highest offset of a capture         high-water.ts
 *     'm' mimes      number                                 media type
 *     'n' notes      name                                   text
 *     's' segments   number                                 the rest of the segment         segment-codec.ts
 */

export const TABLE = {
  meta: 0x00,
  aliases: 0x61,
  blocks: 0x62,
  captures: 0x63,
  highWater: 0x68,
  mimes: 0x6d,
  notes: 0x6e,
  segments: 0x73,
} as const;

/** Every key of a table lies from `from` up to and without `to`. */
export function tableRange(table: number): { readonly from: Buffer; readonly to: Buffer } {
  return { from: Buffer.of(table), to: Buffer.of(table + 1) };
}

/** The keys of a table whose names begin so lie from `from` up to and without `to`. */
export function nameRange(table: number, prefix: string): { readonly from: Buffer; readonly to: Buffer } {
  const from = tableKey(table, prefix);
  const to = Buffer.from(from);
  // No byte of a text in UTF-8 is the highest, so nothing is carried over.
  to[to.length - 1]! += 1;
  return { from, to };
}

export function tableKey(table: number, name: string): Buffer {
  return Buffer.concat([Buffer.of(table), Buffer.from(name, 'utf8')]);
}
