import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bitsAt, buildTable, describeDistribution, normaliseCounts, parseDistribution } from './zstd-fse.ts';
import { PREDEFINED } from './zstd-sequences.ts';

const histograms = fc
  .array(fc.oneof(fc.constant(0), fc.nat({ max: 5 }), fc.nat({ max: 1_000_000 })), { minLength: 2, maxLength: 53 })
  .filter((counts) => counts.filter((count) => count > 0).length >= 2);

test('normalised counts fill the table, and every symbol that occurs has a state', () => {
  fc.assert(
    fc.property(histograms, fc.integer({ min: 6, max: 9 }), (counts, accuracyLog) => {
      const { counts: normalised } = normaliseCounts(counts, accuracyLog);
      assert.equal(
        normalised.reduce((sum, count) => sum + count, 0),
        2 ** accuracyLog,
      );
      for (const [symbol, count] of counts.entries()) assert.equal(normalised[symbol]! > 0, count > 0);
    }),
    { verbose: true },
  );
});

test('normalised counts follow the frequencies', () => {
  assert.deepEqual(normaliseCounts([32, 16, 8, 4, 4], 6).counts, [32, 16, 8, 4, 4]);
  assert.deepEqual(normaliseCounts([1_000_000, 1, 0, 1], 5).counts, [30, 1, 0, 1]);
});

test('a description is read back as the same distribution', () => {
  fc.assert(
    fc.property(histograms, fc.integer({ min: 6, max: 9 }), fc.nat({ max: 3 }), (counts, accuracyLog, from) => {
      const distribution = normaliseCounts(counts, accuracyLog);
      const bytes = Buffer.concat([
        Buffer.alloc(from, 0xff),
        describeDistribution(distribution),
        Buffer.alloc(2, 0xff),
      ]);
      const parsed = parseDistribution(bytes, from);
      assert.ok(parsed);
      assert.equal(parsed.end, bytes.length - 2);
      const described = counts.slice(0, counts.findLastIndex((count) => count > 0) + 1);
      assert.deepEqual(parsed.distribution.counts, distribution.counts.slice(0, described.length));
    }),
    { verbose: true },
  );
});

test('a description with counts below one is read back', () => {
  for (const distribution of Object.values(PREDEFINED)) {
    assert.deepEqual(parseDistribution(describeDistribution(distribution), 0)?.distribution, distribution);
  }
});

test('an incomplete description is recognised', () => {
  assert.equal(parseDistribution(Uint8Array.of(0xf4), 0), undefined);
  assert.equal(parseDistribution(new Uint8Array(0), 0), undefined);
});

test('the predefined offset table has the states that RFC 8878, appendix A, lists', () => {
  const table = buildTable(PREDEFINED.offsets);
  const row = (state: number) => [table.symbols[state], table.bitCounts[state], table.baselines[state]];
  assert.deepEqual(row(0), [0, 5, 0]);
  assert.deepEqual(row(1), [6, 4, 0]);
  assert.deepEqual(row(2), [9, 5, 0]);
  assert.deepEqual(row(15), [7, 4, 16]);
  assert.deepEqual(row(17), [17, 5, 0]);
  assert.deepEqual(row(20), [8, 4, 16]);
  assert.deepEqual(row(31), [24, 5, 0]);
});

test('from the states of each symbol every next state is reached exactly once', () => {
  fc.assert(
    fc.property(histograms, (counts) => {
      const table = buildTable(normaliseCounts(counts, 6));
      for (const [symbol, count] of counts.entries()) {
        if (count === 0) continue;
        const reached = new Uint8Array(64);
        for (let state = 0; state < 64; state++) {
          if (table.symbols[state] !== symbol) continue;
          for (let bits = 0; bits < 2 ** table.bitCounts[state]!; bits++) reached[table.baselines[state]! + bits]!++;
        }
        assert.ok(reached.every((times) => times === 1));
      }
    }),
    { verbose: true },
  );
});

test('bits are read across bytes, least significant first', () => {
  assert.equal(bitsAt(Uint8Array.of(0b1010_0000, 0b0000_0011), 5, 5), 0b11101);
  assert.equal(bitsAt(Uint8Array.of(0xff), 4, 16), 0x0f);
});
