/**
 * What a zstd frame is made of: how often each literal byte and each code of the three kinds of sequence codes occurs (RFC 8878, sections 3.1
 * and 4). Only frames whose content is at hand can be counted: the literals are not decoded but read from the content, at the
 * places that the lengths of the sequences leave to them, and what the offsets point at does not matter.
 */
import { assert } from '../base/index.ts';
import {
  bitLength,
  bitsAt,
  buildTable,
  type FseDistribution,
  type FseTable,
  parseDistribution,
  singleSymbolTable,
} from './zstd-fse.ts';

export const LITERAL_LENGTH_CODES = 36;
export const MATCH_LENGTH_CODES = 53;
export const OFFSET_CODES = 32;

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

type SequenceTables = { literalLengths?: FseTable; offsets?: FseTable; matchLengths?: FseTable };

/** Adds the symbols of one frame, as this process's own encoder made it from `content`. */
export function countFrame(statistics: ZstdStatistics, frame: Uint8Array, content: Uint8Array): void {
  let at = frameHeaderBytes(frame);
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
  assert(position <= content.length, 'a frame does not hold more than its content');
}

function frameHeaderBytes(frame: Uint8Array): number {
  const descriptor = frame[4]!;
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const idBytes = [0, 1, 2, 4][descriptor & 3]!;
  const sizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6]!;
  return 5 + (isSingleSegment ? 0 : 1) + idBytes + sizeBytes;
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
  let at = section.end;
  const first = block[at++]!;
  let sequences = first;
  if (first === 255) {
    sequences = block[at]! + (block[at + 1]! << 8) + 0x7f00;
    at += 2;
  } else if (first >= 128) sequences = ((first - 128) << 8) + block[at++]!;
  let position = start;
  let literalsLeft = section.literals;
  if (sequences > 0) {
    const modes = block[at++]!;
    at = readTable(block, at, modes >> 6, tables, 'literalLengths');
    at = readTable(block, at, (modes >> 4) & 3, tables, 'offsets');
    at = readTable(block, at, (modes >> 2) & 3, tables, 'matchLengths');
    readSequences(
      block.subarray(at),
      sequences,
      tables,
      (literalLength, matchLength) => {
        countLiterals(statistics, content, position, literalLength);
        literalsLeft -= literalLength;
        position += literalLength + matchLength;
      },
      statistics,
    );
  }
  countLiterals(statistics, content, position, literalsLeft);
  return position + literalsLeft;
}

function countLiterals(statistics: ZstdStatistics, content: Uint8Array, from: number, length: number): void {
  const { literals } = statistics;
  for (let i = from; i < from + length; i++) literals[content[i]!]!++;
}

/** How many literals the block has, and where their section ends. */
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

function readTable(
  block: Uint8Array,
  at: number,
  mode: number,
  tables: SequenceTables,
  kind: keyof SequenceTables,
): number {
  if (mode === 0) tables[kind] = PREDEFINED_TABLES[kind];
  if (mode === 1) tables[kind] = singleSymbolTable(block[at++]!);
  if (mode === 2) {
    const parsed = parseDistribution(block, at);
    assert(parsed, 'the encoder describes its tables soundly');
    tables[kind] = buildTable(parsed.distribution);
    at = parsed.end;
  }
  return at;
}

/** Walks the bit stream of the sequences from its end, counting their codes. */
function readSequences(
  stream: Uint8Array,
  sequences: number,
  tables: SequenceTables,
  onSequence: (literalLength: number, matchLength: number) => void,
  statistics: ZstdStatistics,
): void {
  const { literalLengths, offsets, matchLengths } = tables;
  assert(literalLengths && offsets && matchLengths, 'a frame brings its tables before it repeats them');
  let left = (stream.length - 1) * 8 + bitLength(stream.at(-1)!) - 1;
  const take = (width: number): number => {
    left -= width;
    return bitsAt(stream, left, width);
  };
  let literalState = take(literalLengths.accuracyLog);
  let offsetState = take(offsets.accuracyLog);
  let matchState = take(matchLengths.accuracyLog);
  for (let i = 0; i < sequences; i++) {
    const literalCode = literalLengths.symbols[literalState]!;
    const matchCode = matchLengths.symbols[matchState]!;
    const offsetCode = offsets.symbols[offsetState]!;
    statistics.literalLengths[literalCode]!++;
    statistics.matchLengths[matchCode]!++;
    statistics.offsets[offsetCode]!++;
    left -= offsetCode;
    const matchLength = MATCH_LENGTH_BASELINES[matchCode]! + take(MATCH_LENGTH_BITS[matchCode]!);
    const literalLength = LITERAL_LENGTH_BASELINES[literalCode]! + take(LITERAL_LENGTH_BITS[literalCode]!);
    onSequence(literalLength, matchLength);
    if (i === sequences - 1) break;
    literalState = literalLengths.baselines[literalState]! + take(literalLengths.bitCounts[literalState]!);
    matchState = matchLengths.baselines[matchState]! + take(matchLengths.bitCounts[matchState]!);
    offsetState = offsets.baselines[offsetState]! + take(offsets.bitCounts[offsetState]!);
  }
  assert(left === 0, 'the sequences fill their stream exactly');
}

const LITERAL_LENGTH_BITS = [...zeros(16), 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
const MATCH_LENGTH_BITS = [...zeros(32), 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
const LITERAL_LENGTH_BASELINES = baselines(LITERAL_LENGTH_BITS, 0);
const MATCH_LENGTH_BASELINES = baselines(MATCH_LENGTH_BITS, 3);

function zeros(length: number): number[] {
  return new Array<number>(length).fill(0);
}

/** Each code starts where the values of the code before it end. */
function baselines(widths: readonly number[], first: number): number[] {
  let next = first;
  return widths.map((width) => {
    const baseline = next;
    next += 2 ** width;
    return baseline;
  });
}

/** RFC 8878, section 3.1.1.3.2.2: the distributions of blocks that bring none. */
export const PREDEFINED: Readonly<Record<keyof SequenceTables, FseDistribution>> = {
  literalLengths: {
    accuracyLog: 6,
    counts: [
      4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1,
    ],
  },
  matchLengths: {
    accuracyLog: 6,
    counts: [1, 4, 3, 2, 2, 2, 2, 2, 2, ...new Array<number>(37).fill(1), -1, -1, -1, -1, -1, -1, -1],
  },
  offsets: {
    accuracyLog: 5,
    counts: [1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1],
  },
};

const PREDEFINED_TABLES = {
  literalLengths: buildTable(PREDEFINED.literalLengths),
  matchLengths: buildTable(PREDEFINED.matchLengths),
  offsets: buildTable(PREDEFINED.offsets),
};
