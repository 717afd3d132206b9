/**
 * The tables of the database. All keys of a table begin with the same byte; the header of its codec describes the rest.
 *
 *     00  meta        name                            version, totals, counters, sentinels of the last batches
 *     'a' aliases     alias-key.ts                    nothing
 *     'b' blocks      first 6 bytes of the digest     all blocks with this beginning     block-codec.ts
 *     'c' captures    key-order.ts                    the rest of the capture            capture-codec.ts
 *     'd' dead        segment, offset                 length and content                 record-codec.ts
 *     'h' high water  segment                         highest offset of a capture        high-water.ts
 *     'l' leases      name                            epoch and holder                   lease-table.ts
 *     'm' mimes       number                          media type
 *     'n' notes       name                            text
 *     's' segments    number                          the rest of the segment            segment-codec.ts
 *     't' deleted     mark of a deleted capture       nothing                            bar-codec.ts
 *     'u' surplus     segment, offset                 content                            record-codec.ts
 *     'x' bars        content or URL key              URL key                            bar-codec.ts
 */
import { RowWriter } from './row-bytes.ts';

export const TABLE = {
  meta: 0x00,
  aliases: 0x61,
  blocks: 0x62,
  captures: 0x63,
  dead: 0x64,
  highWater: 0x68,
  leases: 0x6c,
  mimes: 0x6d,
  notes: 0x6e,
  segments: 0x73,
  deleted: 0x74,
  surplus: 0x75,
  bars: 0x78,
} as const;

/** The range of all keys of a table, [from, to). */
export function tableRange(table: number): { readonly from: Buffer; readonly to: Buffer } {
  return { from: Buffer.of(table), to: Buffer.of(table + 1) };
}

/** The range of the keys of a table whose names begin with `prefix`, [from, to). */
export function nameRange(table: number, prefix: string): { readonly from: Buffer; readonly to: Buffer } {
  const from = tableKey(table, prefix);
  const to = Buffer.from(from);
  // No byte of UTF-8 is 0xff, so there is no carry.
  to[to.length - 1]! += 1;
  return { from, to };
}

export function numberKey(table: number, number: number): Buffer {
  const writer = new RowWriter();
  writer.byte(table);
  writer.ordered(number);
  return writer.finish();
}

export function tableKey(table: number, name: string): Buffer {
  return Buffer.concat([Buffer.of(table), Buffer.from(name, 'utf8')]);
}
