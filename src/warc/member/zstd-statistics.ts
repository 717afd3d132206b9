/**
 * Counts how often each literal byte and each code of the three kinds of sequence codes occurs in a zstd frame (RFC
 * 8878, sections 3.1 and 4). This needs the content of the frame. The literals are not decoded: they are read from the
 * content, at the places that the sequence lengths leave for them. The targets of the offsets do not matter.
 */
import { assert } from '../../base/index.ts';
import { parseFrameHead } from './zstd-frame.ts';
import { bitsAt } from './zstd-fse.ts';
import {
  LITERAL_LENGTH_CODES,
  MATCH_LENGTH_CODES,
  OFFSET_CODES,
  type SequenceTables,
  visitSequences,
} from './zstd-sequences.ts';

export type ZstdStatistics = {
  readonly literals: Float64Array;
  readonly literalLengths: Float64Array;
  readonly matchLengths: Float64Array;
  readonly offsets: Float64Array;
};

export function emptyStatistics(): ZstdStatistics {
  return {
    literals: new Float64Array(256),
    literalLengths: new Float64Array(LITERAL_LENGTH_CODES),
    matchLengths: new Float64Array(MATCH_LENGTH_CODES),
    offsets: new Float64Array(OFFSET_CODES),
  };
}

/** Adds the symbols of one frame, which the encoder of this process made from `content`. */
export function countFrame(statistics: ZstdStatistics, frame: Buffer, content: Uint8Array): void {
  const head = parseFrameHead(frame, 0, frame.length);
  assert(typeof head === 'object', 'the encoder makes frames');
  let at = head.length;
  let position = 0;
  const tables: SequenceTables = {};
  for (let isLast = false; !isLast; ) {
    const header = frame[at]! | (frame[at + 1]! << 8) | (frame[at + 2]! << 16);
    isLast = (header & 1) === 1;
    const type = (header >> 1) & 3;
    const size = header >> 3;
    at += 3;
    if (type === 2) {
      const block = frame.subarray(at, at + size);
      position = countBlock(statistics, block, content, position, tables);
    } else position += size;
    at += type === 1 ? 1 : size;
  }
  assert(position === content.length, 'a frame holds its content');
}

/** Counts one compressed block and returns where in the content it ends. */
function countBlock(
  statistics: ZstdStatistics,
  block: Uint8Array,
  content: Uint8Array,
  start: number,
  tables: SequenceTables,
): number {
  const section = literalsSection(block);
  let position = start;
  let literalsLeft = section.literals;
  visitSequences(block, section.end, tables, (sequence) => {
    statistics.literalLengths[sequence.literalCode]!++;
    statistics.matchLengths[sequence.matchCode]!++;
    statistics.offsets[sequence.offsetCode]!++;
    countLiterals(statistics, content, position, sequence.literalLength);
    literalsLeft -= sequence.literalLength;
    position += sequence.literalLength + sequence.matchLength;
  });
  countLiterals(statistics, content, position, literalsLeft);
  return position + literalsLeft;
}

function countLiterals(statistics: ZstdStatistics, content: Uint8Array, from: number, length: number): void {
  const { literals } = statistics;
  for (let i = from; i < from + length; i++) literals[content[i]!]!++;
}

/** The number of literals in the block, and where their section ends. */
function literalsSection(block: Uint8Array): { readonly literals: number; readonly end: number } {
  const first = block[0]!;
  const isCompressed = (first & 2) !== 0;
  const format = (first >> 2) & 3;
  if (isCompressed) {
    const sizeBits = [10, 10, 14, 18][format]!;
    const headerBytes = [3, 3, 4, 5][format]!;
    const literals = bits24At(block, 4, sizeBits);
    return { literals, end: headerBytes + bits24At(block, 4 + sizeBits, sizeBits) };
  }
  const [headerBytes, shift] = format === 1 ? [2, 4] : format === 3 ? [3, 4] : [1, 3];
  const literals = bits24At(block, shift, headerBytes * 8 - shift);
  return { literals, end: headerBytes + ((first & 1) === 1 ? 1 : literals) };
}

function bits24At(bytes: Uint8Array, offset: number, width: number): number {
  const low = Math.min(width, 10);
  return bitsAt(bytes, offset, low) | (bitsAt(bytes, offset + low, width - low) << low);
}
