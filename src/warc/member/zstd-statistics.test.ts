import assert from 'node:assert/strict';
import { test } from 'node:test';
import { constants, zstdCompressSync } from 'node:zlib';
import { seededRandom } from '../../base/index.ts';
import { countFrame, emptyStatistics, type ZstdStatistics } from './zstd-statistics.ts';

function statisticsOf(content: Uint8Array, level = 3, dictionary?: Uint8Array): ZstdStatistics {
  const statistics = emptyStatistics();
  const params = { [constants.ZSTD_c_compressionLevel]: level };
  countFrame(statistics, zstdCompressSync(content, dictionary ? { params, dictionary } : { params }), content);
  return statistics;
}

const sum = (counts: Float64Array) => counts.reduce((total, count) => total + count, 0);

/** Words in random order: literals, matches and repeated offsets of all kinds. */
function prose(seed: number, bytes: number): Buffer {
  const random = seededRandom(seed);
  const word = () => Math.floor(random() ** 3 * 4000).toString(36);
  let text = '';
  while (text.length < bytes) text += `${word()} ${random() < 0.1 ? `<p class="${word()}">\n` : ''}`;
  return Buffer.from(text.slice(0, bytes));
}

test('a match is one sequence, and the bytes around it are literals', () => {
  const unique = prose(5, 400);
  const content = Buffer.concat([Buffer.from('{'), unique, Buffer.from('#}')]);
  const statistics = statisticsOf(content, 3, unique);
  assert.equal(sum(statistics.offsets), 1);
  assert.equal(statistics.literalLengths[1], 1);
  // A match of 400 bytes has the match length code 44, whose lengths start at 259. An offset of 401 with the bias of 3
  // is 404, and 2^8 <= 404 < 2^9.
  assert.equal(statistics.matchLengths[44], 1);
  assert.equal(statistics.offsets[8], 1);
  assert.equal(sum(statistics.literals), 3);
  for (const literal of Buffer.from('{#}')) assert.equal(statistics.literals[literal], 1);
});

test('every level gives frames whose sequences and literals make up the content', () => {
  for (const level of [-5, 1, 3, 6, 9, 13, 16, 19]) {
    for (const bytes of [60, 700, 5000, 40_000, 300_000]) {
      const statistics = statisticsOf(prose(bytes, bytes), level);
      assert.equal(sum(statistics.literalLengths), sum(statistics.offsets));
      assert.equal(sum(statistics.matchLengths), sum(statistics.offsets));
      if (bytes >= 5000) assert.ok(sum(statistics.literals) > 0 && sum(statistics.literals) < bytes);
    }
  }
});

test('literals are counted by their value', () => {
  const random = seededRandom(2);
  const content = Buffer.from(
    Array.from({ length: 3000 }, () => (random() < 0.9 ? 0x61 : 0x62) + Math.floor(random() * 9)),
  );
  const { literals } = statisticsOf(content, 1);
  for (const [byte, count] of literals.entries()) assert.ok(count === 0 || (byte >= 0x61 && byte <= 0x6a));
});

test('frames of raw and of run-length blocks have no symbols to count', () => {
  const random = seededRandom(1);
  const noise = Buffer.from(Array.from({ length: 5000 }, () => Math.floor(random() * 256)));
  assert.equal(sum(statisticsOf(noise).literals), 0);
  assert.ok(sum(statisticsOf(Buffer.alloc(200_000)).literals) <= 2);
  assert.equal(sum(statisticsOf(Buffer.alloc(0)).offsets), 0);
});
