/**
 * The sequences section of a zstd block (RFC 8878, section 3.1.1.3.2): its three tables, and the bit stream of literal
 * length, match length and offset codes, which is read from its end. Only output of this process's own encoder is read
 * here, so anything wrong in it is a bug.
 */
import { assert } from '../../base/index.ts';
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

/** The current tables. A block may repeat the tables of the block before it. */
export type SequenceTables = { literalLengths?: FseTable; offsets?: FseTable; matchLengths?: FseTable };

export type Sequence = {
  literalCode: number;
  matchCode: number;
  offsetCode: number;
  literalLength: number;
  matchLength: number;
};

/**
 * Calls `visit` for each sequence of the section that starts at `at` and ends with the block. The argument is always
 * the same object.
 */
export function visitSequences(
  block: Uint8Array,
  at: number,
  tables: SequenceTables,
  visit: (sequence: Sequence) => void,
): void {
  const first = block[at++]!;
  if (first === 0) return;
  let sequences = first;
  if (first === 255) {
    sequences = block[at]! + (block[at + 1]! << 8) + 0x7f00;
    at += 2;
  } else if (first >= 128) sequences = ((first - 128) << 8) + block[at++]!;
  const modes = block[at++]!;
  at = readTable(block, at, modes >> 6, tables, 'literalLengths');
  at = readTable(block, at, (modes >> 4) & 3, tables, 'offsets');
  at = readTable(block, at, (modes >> 2) & 3, tables, 'matchLengths');
  visitStream(block.subarray(at), sequences, tables, visit);
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

function visitStream(
  stream: Uint8Array,
  sequences: number,
  tables: SequenceTables,
  visit: (sequence: Sequence) => void,
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
  const sequence: Sequence = { literalCode: 0, matchCode: 0, offsetCode: 0, literalLength: 0, matchLength: 0 };
  for (let i = 0; i < sequences; i++) {
    const literalCode = literalLengths.symbols[literalState]!;
    const matchCode = matchLengths.symbols[matchState]!;
    const offsetCode = offsets.symbols[offsetState]!;
    left -= offsetCode;
    sequence.literalCode = literalCode;
    sequence.matchCode = matchCode;
    sequence.offsetCode = offsetCode;
    sequence.matchLength = MATCH_LENGTH_BASELINES[matchCode]! + take(MATCH_LENGTH_BITS[matchCode]!);
    sequence.literalLength = LITERAL_LENGTH_BASELINES[literalCode]! + take(LITERAL_LENGTH_BITS[literalCode]!);
    visit(sequence);
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

/** RFC 8878, section 3.1.1.3.2.2: the distributions for blocks without their own. */
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
