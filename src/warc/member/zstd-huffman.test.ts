import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bitLength, bitsAt, buildTable, parseDistribution } from './zstd-fse.ts';
import { codeLengths, describeHuffman, HUFFMAN_BITS_MAX } from './zstd-huffman.ts';

/** Reads a description as RFC 8878, section 4.2.1, requires of a decoder: code lengths of all 256 values. */
function readLengths(description: Uint8Array): number[] {
  assert.equal(description[0], description.length - 1);
  const parsed = parseDistribution(description, 1);
  assert.ok(parsed);
  const table = buildTable(parsed.distribution);
  const stream = description.subarray(parsed.end);
  let left = (stream.length - 1) * 8 + bitLength(stream.at(-1)!) - 1;
  const take = (width: number) => bitsAt(stream, (left -= width), width);
  const states = [take(table.accuracyLog), take(table.accuracyLog)];
  const weights: number[] = [];
  for (let turn = 0; weights.length < 300; turn ^= 1) {
    const state = states[turn]!;
    weights.push(table.symbols[state]!);
    const width = table.bitCounts[state]!;
    if (width > left) {
      weights.push(table.symbols[states[turn ^ 1]!]!);
      break;
    }
    states[turn] = table.baselines[state]! + take(width);
  }
  assert.equal(left, 0);
  const sum = weights.reduce((total, weight) => total + (weight > 0 ? 2 ** (weight - 1) : 0), 0);
  const longest = bitLength(sum);
  const rest = 2 ** longest - sum;
  assert.ok(Number.isInteger(Math.log2(rest)));
  return [...weights, Math.log2(rest) + 1].map((weight) => longest + 1 - weight);
}

const kraftSum = (lengths: readonly number[]) => lengths.reduce((sum, length) => sum + 2 ** -length, 0);

const histograms = fc.oneof(
  fc.array(fc.nat({ max: 1_000_000 }), { minLength: 256, maxLength: 256 }),
  fc.array(fc.nat({ max: 20 }), { minLength: 256, maxLength: 256 }).map((counts) => counts.map((count) => 2 ** count)),
  fc.nat({ max: 255 }).map((symbol) => Array.from({ length: 256 }, (_, i) => (i === symbol ? 1e9 : 0))),
);

test('a description reads back as a complete code of at most eleven bits for all 256 values', () => {
  fc.assert(
    fc.property(histograms, (counts) => {
      const description = describeHuffman(counts);
      assert.ok(description.length <= 128);
      const lengths = readLengths(description);
      assert.equal(lengths.length, 256);
      assert.ok(lengths.every((length) => length >= 1 && length <= HUFFMAN_BITS_MAX));
      assert.equal(kraftSum(lengths), 1);
      const present = counts.map((count) => Math.max(1, count));
      const best = codeLengths(present, HUFFMAN_BITS_MAX);
      if (new Set(best).size > 1) assert.deepEqual(lengths, best);
    }),
    { verbose: true },
  );
});

test('equal counts, whose weights FSE could not code, still get a description', () => {
  const lengths = readLengths(describeHuffman(new Array<number>(256).fill(7)));
  assert.equal(kraftSum(lengths), 1);
});

test('code lengths within the limit are the lengths of a Huffman code', () => {
  assert.deepEqual(codeLengths([8, 4, 2, 1, 1], 11), [1, 2, 3, 4, 4]);
  assert.deepEqual(codeLengths([1, 1, 1, 1], 11), [2, 2, 2, 2]);
});

test('code lengths stay within the limit at the least cost', () => {
  assert.deepEqual(codeLengths([16, 8, 4, 2, 1, 1], 3), [2, 2, 3, 3, 3, 3]);
});
