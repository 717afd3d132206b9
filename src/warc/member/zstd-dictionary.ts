/**
 * The bytes of a formal zstd dictionary (RFC 8878, section 5). Every zstd decoder can load it, and frames made with it
 * name its id:
 *
 *     4 bytes     37 A4 30 EC
 *     4 bytes     dictionary id, little-endian, never 0
 *     n bytes     Huffman description for literals
 *     3 x n       FSE descriptions for offset, match length and literal length codes
 *     3 x 4       repeat offsets to start from, little-endian
 *     the rest    content: the first bytes of every frame can refer to it; its end is nearest to them
 *
 * The tables contain every literal and every code that a first block can need. Otherwise an encoder would have to check
 * the tables before each use, or describe new ones, and the tables would save little.
 */
import { assert, concat, type Digest, digestOf, startsWith } from '../../base/index.ts';
import { describeDistribution, normaliseCounts } from './zstd-fse.ts';
import { describeHuffman } from './zstd-huffman.ts';
import { OFFSET_CODES } from './zstd-sequences.ts';
import type { ZstdStatistics } from './zstd-statistics.ts';

export const DICTIONARY_MAGIC: Uint8Array = Uint8Array.of(0x37, 0xa4, 0x30, 0xec);

/** The entropy tables and the other fields before the content never take more than this. */
const HEADER_BYTES_MAX = 400;

/** The content must be at least as long as the largest repeat offset. */
export const DICTIONARY_CONTENT_BYTES_MIN = 8;

const REPEAT_OFFSETS = [1, 4, 8];
const BLOCK_BYTES_MAX = 128 * 1024;
const OFFSET_ACCURACY_LOG = 8;
const LENGTH_ACCURACY_LOG = 9;

// RFC 8878, section 5: lower ids, and ids from 2^31 on, are reserved for a registry.
const ID_MIN = 32_768;
const ID_END = 2 ** 31;

/**
 * The bytes of a dictionary of at most `bytesMax`. When the content is too long, its beginning is left out, because the
 * beginning helps least.
 */
export function formatDictionary(
  content: Uint8Array,
  statistics: ZstdStatistics,
  options: { readonly bytesMax: number; readonly id?: number | undefined },
): Uint8Array<ArrayBuffer> {
  const head = new Uint8Array(8);
  head.set(DICTIONARY_MAGIC);
  const tables = concat([
    describeHuffman(statistics.literals),
    describeCodes(statistics.offsets.subarray(0, offsetCodes(content.length)), OFFSET_ACCURACY_LOG),
    describeCodes(statistics.matchLengths, LENGTH_ACCURACY_LOG),
    describeCodes(statistics.literalLengths, LENGTH_ACCURACY_LOG),
    new Uint8Array(Uint32Array.from(REPEAT_OFFSETS).buffer),
  ]);
  const headerBytes = head.length + tables.length;
  assert(headerBytes <= HEADER_BYTES_MAX, 'the tables of a dictionary are small');
  const kept = content.subarray(Math.max(0, headerBytes + content.length - options.bytesMax));
  assert(kept.length >= DICTIONARY_CONTENT_BYTES_MIN, 'a dictionary has content');
  const id = options.id ?? idFrom(digestOf('sha256', concat([tables, kept])));
  assert(Number.isInteger(id) && id > 0 && id < 2 ** 32, 'a dictionary id is a positive number of 32 bits');
  new DataView(head.buffer).setUint32(4, id, true);
  return concat([head, tables, kept]);
}

/** The id of a formal dictionary; undefined for other bytes: raw content has no id. */
export function dictionaryId(dictionary: Uint8Array): number | undefined {
  if (dictionary.length < 8 || !startsWith(dictionary, DICTIONARY_MAGIC)) return undefined;
  return new DataView(dictionary.buffer, dictionary.byteOffset).getUint32(4, true);
}

function idFrom(digest: Digest): number {
  const number = new DataView(digest.bytes.buffer, digest.bytes.byteOffset).getUint32(0);
  return ID_MIN + (number % (ID_END - ID_MIN));
}

/**
 * The number of offset codes that a first block can need: it can refer to the whole content and to itself. Encoders
 * skip the check of a table that has all these codes.
 */
function offsetCodes(contentBytes: number): number {
  return Math.min(OFFSET_CODES, Math.floor(Math.log2(contentBytes + BLOCK_BYTES_MAX)) + 1);
}

function describeCodes(counts: Float64Array, accuracyLog: number): Uint8Array {
  return describeDistribution(
    normaliseCounts(
      counts.map((count) => count + 1),
      accuracyLog,
    ),
  );
}
