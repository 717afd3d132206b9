/**
 * Finite state entropy tables as zstd writes and reads them (RFC 8878, section 4.1): normalised counts, their
 * description in bytes, and the table of states that they define.
 *
 * A *normalised count* is the number of the 2^accuracyLog states that belong to a symbol. -1 means "less than one": the
 * symbol has one state at the end of the table. 0 means that the symbol never occurs. The absolute values always sum to
 * 2^accuracyLog.
 *
 * Description, least significant bit first:
 *
 *     4 bits                accuracyLog - 5
 *     per symbol            count + 1, in as many bits as the remaining states need
 *     after each count 0    2-bit groups: how many more zeros follow; 3 means that another group follows
 */
import { assert } from '../../base/index.ts';

export type FseDistribution = { readonly counts: readonly number[]; readonly accuracyLog: number };

/**
 * One row per state: its symbol, the baseline of the next state, and how many bits are read and added to the baseline.
 */
export type FseTable = {
  readonly accuracyLog: number;
  readonly symbols: Uint8Array;
  readonly bitCounts: Uint8Array;
  readonly baselines: Uint16Array;
};

const ACCURACY_LOG_MIN = 5;

/**
 * Divides 2^accuracyLog states among the symbols that occur, at least one for each, so that coding the counted symbols
 * takes the fewest bits. Every state goes to the symbol where it saves most. That is optimal, because each further
 * state of a symbol saves less.
 */
export function normaliseCounts(counts: ArrayLike<number>, accuracyLog: number): FseDistribution {
  const normalised = Array.from(counts, (count) => (count > 0 ? 1 : 0));
  let statesLeft = 2 ** accuracyLog;
  for (const count of normalised) statesLeft -= count;
  assert(statesLeft >= 0, 'an FSE table has a state for every symbol');
  const gains = normalised.map((states, symbol) => (states > 0 ? counts[symbol]! : -1));
  for (; statesLeft > 0; statesLeft--) {
    let best = 0;
    for (let symbol = 1; symbol < gains.length; symbol++) if (gains[symbol]! > gains[best]!) best = symbol;
    const states = ++normalised[best]!;
    gains[best] = counts[best]! * Math.log2((states + 1) / states);
  }
  return { counts: normalised, accuracyLog };
}

export function describeDistribution(distribution: FseDistribution): Uint8Array {
  const { counts, accuracyLog } = distribution;
  const bits = new BitSink();
  bits.put(accuracyLog - ACCURACY_LOG_MIN, 4);
  let remaining = 2 ** accuracyLog;
  for (let symbol = 0; remaining > 0; symbol++) {
    const count = counts[symbol];
    assert(count !== undefined, 'normalised counts sum to the size of their table');
    putCount(bits, count + 1, remaining + 1);
    remaining -= Math.abs(count);
    if (count !== 0) continue;
    let zeros = 0;
    while (counts[symbol + 1] === 0) {
      zeros++;
      symbol++;
    }
    for (; zeros >= 3; zeros -= 3) bits.put(3, 2);
    bits.put(zeros, 2);
  }
  return bits.finish();
}

/** Writes a value from 0 to `highest`. The smallest values take one bit less, so that no bit pattern is wasted. */
function putCount(bits: BitSink, value: number, highest: number): void {
  const width = bitLength(highest);
  const short = 2 ** width - 1 - highest;
  const half = 2 ** (width - 1);
  if (value < short) bits.put(value, width - 1);
  else bits.put(value < half ? value : value + short, width);
}

/** Reads a description; undefined when the bytes are not one. */
export function parseDistribution(
  bytes: Uint8Array,
  from: number,
): { readonly distribution: FseDistribution; readonly end: number } | undefined {
  let at = from * 8;
  const take = (width: number): number => {
    const value = bitsAt(bytes, at, width);
    at += width;
    return value;
  };
  const accuracyLog = take(4) + ACCURACY_LOG_MIN;
  const counts: number[] = [];
  let remaining = 2 ** accuracyLog;
  while (remaining > 0) {
    const highest = remaining + 1;
    const width = bitLength(highest);
    const short = 2 ** width - 1 - highest;
    let value = take(width - 1);
    if (value >= short) {
      value += take(1) * 2 ** (width - 1);
      if (value >= 2 ** (width - 1)) value -= short;
    }
    counts.push(value - 1);
    remaining -= Math.abs(value - 1);
    if (value === 1) {
      let zeros: number;
      do {
        zeros = take(2);
        for (let i = 0; i < zeros; i++) counts.push(0);
      } while (zeros === 3 && counts.length < 256);
    }
    if (remaining < 0 || counts.length > 256 || at > bytes.length * 8) return undefined;
  }
  return { distribution: { counts, accuracyLog }, end: Math.ceil(at / 8) };
}

export function buildTable(distribution: FseDistribution): FseTable {
  const { counts, accuracyLog } = distribution;
  const size = 2 ** accuracyLog;
  const symbols = new Uint8Array(size);
  const bitCounts = new Uint8Array(size);
  const baselines = new Uint16Array(size);
  let lastFree = size - 1;
  for (const [symbol, count] of counts.entries()) if (count === -1) symbols[lastFree--] = symbol;
  const step = (size >> 1) + (size >> 3) + 3;
  let at = 0;
  for (const [symbol, count] of counts.entries()) {
    for (let i = 0; i < count; i++) {
      symbols[at] = symbol;
      do at = (at + step) & (size - 1);
      while (at > lastFree);
    }
  }
  const occurrence = counts.map((count) => Math.abs(count));
  for (let state = 0; state < size; state++) {
    const next = occurrence[symbols[state]!]!++;
    const width = accuracyLog - (bitLength(next) - 1);
    bitCounts[state] = width;
    baselines[state] = next * 2 ** width - size;
  }
  return { accuracyLog, symbols, bitCounts, baselines };
}

/** The table of a block with only one symbol: one state that never changes. */
export function singleSymbolTable(symbol: number): FseTable {
  return {
    accuracyLog: 0,
    symbols: Uint8Array.of(symbol),
    bitCounts: new Uint8Array(1),
    baselines: new Uint16Array(1),
  };
}

/**
 * Collects bits, least significant first. For a stream that is read from its end, put first the value that is read
 * last.
 */
export class BitSink {
  #bytes: number[] = [];
  #held = 0;
  #width = 0;

  /** Takes at most 16 bits in one call. */
  put(value: number, width: number): void {
    this.#held |= value << this.#width;
    this.#width += width;
    for (; this.#width >= 8; this.#width -= 8) {
      this.#bytes.push(this.#held & 0xff);
      this.#held >>>= 8;
    }
  }

  finish(): Uint8Array {
    if (this.#width > 0) this.#bytes.push(this.#held);
    return Uint8Array.from(this.#bytes);
  }
}

/** The value of up to 16 bits that start at a bit offset; bits past the end count as zero. */
export function bitsAt(bytes: Uint8Array, offset: number, width: number): number {
  const at = offset >>> 3;
  const word = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16);
  return (word >>> (offset & 7)) & ((1 << width) - 1);
}

export function bitLength(value: number): number {
  return 32 - Math.clz32(value);
}
