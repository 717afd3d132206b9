import assert from 'node:assert/strict';
import { test } from 'node:test';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import fc from 'fast-check';
import { seededRandom } from '../../base/index.ts';
import { dictionaryId, formatDictionary } from './zstd-dictionary.ts';
import { parseFrameHead } from './zstd-frame.ts';
import { emptyStatistics } from './zstd-statistics.ts';

const random = seededRandom(3);
const text = (length: number) => Buffer.from(Array.from({ length }, () => 97 + Math.floor(random() ** 2 * 26)));

test('an encoder and a decoder load the dictionary, and frames carry its id', () => {
  const content = text(2000);
  const dictionary = formatDictionary(content, emptyStatistics(), { bytesMax: 4096 });
  const plain = Buffer.concat([content.subarray(500, 1500), text(50)]);
  const frame = zstdCompressSync(plain, { dictionary });
  assert.deepEqual(zstdDecompressSync(frame, { dictionary }), plain);
  assert.ok(frame.length < 120);
  const head = parseFrameHead(frame, 0, frame.length);
  assert.ok(typeof head === 'object');
  assert.equal(head.dictionaryId, dictionaryId(dictionary));
});

test('any statistics give a dictionary that loads, and frames made with it decode', () => {
  const counts = (length: number) =>
    fc
      .array(fc.oneof(fc.constant(0), fc.nat({ max: 1_000_000_000 })), { minLength: length, maxLength: length })
      .map((some) => Float64Array.from(some));
  const statistics = fc.record({
    literals: counts(256),
    literalLengths: counts(36),
    matchLengths: counts(53),
    offsets: counts(32),
  });
  const plain = Buffer.concat([text(3000), Buffer.from(Array.from({ length: 256 }, (_, i) => i)), text(30)]);
  fc.assert(
    fc.property(statistics, fc.integer({ min: 8, max: 5000 }), (some, contentBytes) => {
      const dictionary = formatDictionary(text(contentBytes), some, { bytesMax: 4096 });
      assert.ok(dictionary.length <= 4096);
      assert.deepEqual(zstdDecompressSync(zstdCompressSync(plain, { dictionary }), { dictionary }), plain);
    }),
    { verbose: true },
  );
});

test('the first block of a short frame reuses the tables for literals and sequences', () => {
  const content = text(4000);
  const statistics = emptyStatistics();
  for (const byte of content) statistics.literals[byte]!++;
  const dictionary = formatDictionary(content, statistics, { bytesMax: 8192 });
  const plain = Buffer.concat([text(200), content.subarray(0, 300), text(200), content.subarray(900, 1000)]);
  const frame = zstdCompressSync(plain, { dictionary });
  const head = parseFrameHead(frame, 0, frame.length);
  assert.ok(typeof head === 'object');
  const literalsAt = head.length + 3;
  const treeless = 3;
  assert.equal(frame[literalsAt]! & 3, treeless);
  const compressedLiterals = ((frame[literalsAt + 1]! >> 6) | (frame[literalsAt + 2]! << 2)) & 0x3ff;
  const modes = frame[literalsAt + 3 + compressedLiterals + 1]!;
  assert.equal(modes, 0b1111_1100);
});

test('the id is the requested one, or is derived from the bytes and outside the registered ranges', () => {
  const content = text(500);
  const made = (some: Uint8Array, id?: number) => formatDictionary(some, emptyStatistics(), { bytesMax: 4096, id });
  assert.equal(dictionaryId(made(content, 77)), 77);
  assert.deepEqual(made(content), made(content));
  assert.notEqual(dictionaryId(made(content)), dictionaryId(made(text(500))));
  for (let i = 0; i < 50; i++) {
    const id = dictionaryId(made(text(100)))!;
    assert.ok(id >= 32_768 && id < 2 ** 31);
  }
});

test('raw bytes have no dictionary id', () => {
  assert.equal(dictionaryId(Buffer.from('WARC/1.1\r\n')), undefined);
  assert.equal(dictionaryId(Uint8Array.of(0x37, 0xa4, 0x30, 0xec, 1, 2, 3)), undefined);
  assert.equal(dictionaryId(new Uint8Array(0)), undefined);
});
