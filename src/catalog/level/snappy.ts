/**
 * Decodes Snappy blocks (format_description.txt of google/snappy), in which LevelDB packs the blocks of its tables.
 *
 * ```
 *   varint: decoded length, then elements by the low 2 bits of their first byte:
 *   00  literal   length-1 in the high 6 bits; from 60 on, in 1 to 4 more bytes
 *   01  copy      length-4 in 3 bits, offset in 3 bits and 1 byte
 *   10  copy      length-1 in 6 bits, offset in 2 bytes        11  the same, offset in 4 bytes
 * ```
 */

import { DamagedRow, RowReader } from '../row-bytes.ts';

export function decodeSnappy(packed: Buffer, bytesMax: number): Buffer {
  const reader = new RowReader(packed);
  const length = reader.varint();
  if (length > bytesMax) throw new DamagedRow('a block in it is too long');
  const decoded = Buffer.alloc(length);
  let at = 0;
  while (!reader.isAtEnd) {
    const tag = reader.byte();
    const [bytes, offset] = elementOf(tag, reader);
    if (bytes > length - at || offset > at) throw new DamagedRow('a block in it does not decode');
    if (offset === 0) decoded.set(reader.bytes(bytes), at);
    // Byte for byte: a copy may go on into what it copies.
    else for (let index = 0; index < bytes; index++) decoded[at + index] = decoded[at + index - offset]!;
    at += bytes;
  }
  if (at !== length) throw new DamagedRow('a block in it does not decode');
  return decoded;
}

/** Length and offset; the offset of a literal is 0. */
function elementOf(tag: number, reader: RowReader): readonly [length: number, offset: number] {
  const high = tag >> 2;
  switch (tag & 3) {
    case 0:
      return [1 + (high < 60 ? high : littleEndian(reader, high - 59)), 0];
    case 1:
      return copyOf(4 + (high & 7), ((tag >> 5) << 8) + reader.byte());
    case 2:
      return copyOf(1 + high, littleEndian(reader, 2));
    default:
      return copyOf(1 + high, littleEndian(reader, 4));
  }
}

function copyOf(length: number, offset: number): readonly [number, number] {
  if (offset === 0) throw new DamagedRow('a block in it does not decode');
  return [length, offset];
}

function littleEndian(reader: RowReader, bytes: number): number {
  return reader.bytes(bytes).readUIntLE(0, bytes);
}
