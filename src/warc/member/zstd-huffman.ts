/**
 * The Huffman code for literals as zstd describes it (RFC 8878, section 4.2.1). Every byte value has a *weight*: a code
 * of n bits has the weight `longest + 1 - n`. The weight of the last value is left out, because the others imply it.
 * The weights are coded with FSE, with two states that take turns:
 *
 *     1 byte     size of what follows, below 128
 *     n bytes    description of the FSE distribution of the weights
 *     m bytes    the weights, a bit stream that is read from its end
 *
 * 255 weights of at most eleven kinds take less than 120 bytes, so the size always fits.
 */
import { assert, concat } from '../../base/index.ts';
import { BitSink, buildTable, describeDistribution, type FseTable, normaliseCounts } from './zstd-fse.ts';

export const HUFFMAN_BITS_MAX = 11;

const WEIGHT_ACCURACY_LOG = 6;
const DESCRIPTION_BYTES_MAX = 127;

/** Describes the best code of at most eleven bits for these counts of all 256 byte values. Every value gets a code. */
export function describeHuffman(counts: ArrayLike<number>): Uint8Array {
  assert(counts.length === 256, 'literals have 256 values');
  const present = Array.from(counts, (count) => Math.max(1, count));
  let lengths = codeLengths(present, HUFFMAN_BITS_MAX);
  if (lengths.every((length) => length === 8)) {
    // FSE cannot code weights of a single kind: its states would take no bits, and the end of the stream could not be
    // found.
    present[0]! *= 4;
    lengths = codeLengths(present, HUFFMAN_BITS_MAX);
  }
  const longest = Math.max(...lengths);
  const weights = lengths.slice(0, 255).map((length) => longest + 1 - length);
  const tally = new Array<number>(longest + 1).fill(0);
  for (const weight of weights) tally[weight]!++;
  const distribution = normaliseCounts(tally, WEIGHT_ACCURACY_LOG);
  const body = concat([describeDistribution(distribution), encodeWeights(weights, buildTable(distribution))]);
  assert(body.length <= DESCRIPTION_BYTES_MAX, 'a Huffman description fits its size byte');
  return concat([Uint8Array.of(body.length), body]);
}

/**
 * Code lengths of the best prefix code whose longest code has `bitsMax` bits, by the package-merge method. Each round
 * pairs the packages of the round before, and merges the pairs with all symbols, sorted by count. The code length of a
 * symbol is the number of times that the symbol occurs in the cheapest 2n - 2 packages.
 */
export function codeLengths(counts: readonly number[], bitsMax: number): number[] {
  type Package = { readonly count: number; readonly symbols: readonly number[] };
  const single = counts
    .map((count, symbol): Package => ({ count, symbols: [symbol] }))
    .sort((a, b) => a.count - b.count || a.symbols[0]! - b.symbols[0]!);
  let merged = single;
  for (let round = 1; round < bitsMax; round++) {
    const pairs: Package[] = [];
    for (let i = 0; i + 1 < merged.length; i += 2) {
      const [left, right] = [merged[i]!, merged[i + 1]!];
      pairs.push({ count: left.count + right.count, symbols: [...left.symbols, ...right.symbols] });
    }
    merged = [...single, ...pairs].sort((a, b) => a.count - b.count);
  }
  const lengths = new Array<number>(counts.length).fill(0);
  for (const { symbols } of merged.slice(0, 2 * counts.length - 2)) for (const symbol of symbols) lengths[symbol]!++;
  return lengths;
}

/**
 * Codes the weights from the last to the first. A reader stops when its next state change finds no bits left. That
 * works only if the last state of each symbol needs bits, which is always true for the lowest state of a symbol.
 */
function encodeWeights(weights: readonly number[], table: FseTable): Uint8Array {
  const bits = new BitSink();
  const states = [0, 0];
  for (let i = weights.length - 1; i >= 0; i--) {
    const turn = i % 2;
    const weight = weights[i]!;
    if (i >= weights.length - 2) {
      states[turn] = table.symbols.indexOf(weight);
      continue;
    }
    const state = stateBefore(table, weight, states[turn]!);
    bits.put(states[turn]! - table.baselines[state]!, table.bitCounts[state]!);
    states[turn] = state;
  }
  bits.put(states[1]!, table.accuracyLog);
  bits.put(states[0]!, table.accuracyLog);
  // Readers find the end of the stream by its highest set bit.
  bits.put(1, 1);
  return bits.finish();
}

/** The only state of the symbol from which the next state can be reached. */
function stateBefore(table: FseTable, symbol: number, next: number): number {
  for (let state = 0; state < table.symbols.length; state++) {
    if (table.symbols[state] !== symbol) continue;
    const distance = next - table.baselines[state]!;
    if (distance >= 0 && distance < 2 ** table.bitCounts[state]!) return state;
  }
  assert(false, 'every FSE state is reachable from every symbol');
}
