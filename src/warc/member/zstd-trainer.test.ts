import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { type Random, seededIds, seededRandom } from '../../base/index.ts';
import { dictionaryId } from './zstd-dictionary.ts';
import { parseFrameHead } from './zstd-frame.ts';
import { DICTIONARY_BYTES_MIN, TRAINING_SAMPLES_MIN, trainDictionary } from './zstd-trainer.ts';

const WORDS =
  'archive of the web page record payload digest revisit crawl seed host path query time volume segment'.split(' ');

/** A response record as in a crawl of one site: head and template are always the same, text and identifiers are not. */
function pageRecord(random: Random): Buffer {
  const pick = () => WORDS[Math.floor(random() * WORDS.length)]!;
  const number = () => Math.floor(random() * 1e6);
  const paragraphs = Array.from({ length: 4 + Math.floor(random() * 6) }, () => {
    const words = Array.from({ length: 25 }, () => (random() < 0.2 ? number().toString(36) : pick()));
    return `<div class="paragraph"><p>${words.join(' ')} <a class="reference" href="/notes/${number()}">note</a></p></div>`;
  });
  const links = WORDS.map((word, i) => `<li class="nav-item"><a href="/section/${i}/${word}.html">${word}</a></li>`);
  const body = `<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>${pick()} ${pick()}</title>
<link rel="stylesheet" href="/assets/site.css">\n</head>\n<body>\n<nav><ul>${links.join('\n')}</ul></nav>\n<main>${paragraphs.join('\n')}
</main>\n<footer><p>Kept by the reading room. All times are UTC.</p></footer>\n</body>\n</html>\n`;
  return Buffer.from(
    `WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: ${seededIds(random)()}\r\nWARC-Target-URI: https://example.org/notes/${number()}\r\n` +
      `Content-Type: application/http;msgtype=response\r\nContent-Length: ${body.length + 80}\r\n\r\n` +
      `HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/html; charset=utf-8\r\nETag: "${number()}"\r\n\r\n${body}\r\n\r\n`,
  );
}

function pageRecords(seed: number, length: number): Buffer[] {
  const random = seededRandom(seed);
  return Array.from({ length }, () => pageRecord(random));
}

function compress(plain: Uint8Array, level: number, dictionary?: Uint8Array): Buffer {
  const params = { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_checksumFlag]: 1 };
  return zstdCompressSync(plain, dictionary ? { params, dictionary } : { params });
}

const samples = pageRecords(1, 300);
const unseen = pageRecords(2, 60);

test('a dictionary at least halves unseen records of the same site, at low and high levels', () => {
  for (const level of [3, 9]) {
    const dictionary = trainDictionary(samples, { bytesMax: 16 * 1024, level });
    assert.ok(dictionary);
    let without = 0;
    let trained = 0;
    for (const record of unseen) {
      const frame = compress(record, level, dictionary);
      assert.deepEqual(zstdDecompressSync(frame, { dictionary }), record);
      const head = parseFrameHead(frame, 0, frame.length);
      assert.ok(typeof head === 'object');
      assert.equal(head.dictionaryId, dictionaryId(dictionary));
      without += compress(record, level).length;
      trained += frame.length;
    }
    assert.ok(trained * 2 < without, `${trained} against ${without} bytes at level ${level}`);
  }
});

test('the entropy tables make records smaller than the same content without tables', () => {
  const dictionary = trainDictionary(samples, { bytesMax: 16 * 1024 });
  assert.ok(dictionary);
  const contentAt = dictionary.length - 15 * 1024;
  const total = (some: Uint8Array) => unseen.reduce((sum, record) => sum + compress(record, 3, some).length, 0);
  assert.ok(total(dictionary) < total(dictionary.subarray(contentAt)) * 0.97);
});

test('the same samples give the same dictionary', () => {
  const options = { bytesMax: 8 * 1024 };
  assert.deepEqual(trainDictionary(pageRecords(4, 80), options), trainDictionary(pageRecords(4, 80), options));
});

test('the dictionary has the requested id', () => {
  assert.equal(dictionaryId(trainDictionary(samples.slice(0, 40), { bytesMax: 4096, id: 123_456 })!), 123_456);
});

test('a dictionary is never larger than requested', () => {
  for (const bytesMax of [DICTIONARY_BYTES_MIN, 2000, 5000, 40_000, 10_000_000]) {
    const dictionary = trainDictionary(samples.slice(0, 60), { bytesMax });
    assert.ok(dictionary && dictionary.length <= bytesMax, String(bytesMax));
  }
});

test('too few non-empty samples give no dictionary', () => {
  const empty = Array.from({ length: 100 }, () => new Uint8Array(0));
  const options = { bytesMax: 4096 };
  assert.equal(trainDictionary([], options), undefined);
  assert.equal(trainDictionary(empty, options), undefined);
  assert.equal(trainDictionary(samples.slice(0, 3), options), undefined);
  assert.equal(trainDictionary([...empty, ...samples.slice(0, TRAINING_SAMPLES_MIN - 1)], options), undefined);
  assert.ok(trainDictionary([...empty, ...samples.slice(0, TRAINING_SAMPLES_MIN)], options));
});

test('samples that share nothing give no dictionary', () => {
  const random = seededRandom(9);
  const noise = Array.from({ length: 50 }, () =>
    Buffer.from(Array.from({ length: 3000 }, () => Math.floor(random() * 256))),
  );
  assert.equal(trainDictionary(noise, { bytesMax: 16_384 }), undefined);
  const single = Array.from({ length: 50 }, (_, i) => Uint8Array.of(i));
  assert.equal(trainDictionary(single, { bytesMax: 16_384 }), undefined);
});

test('odd samples give a dictionary that loads, or none', () => {
  const random = seededRandom(10);
  const magic = Buffer.from('37a430ec01020304', 'hex');
  const odd: Record<string, Uint8Array[]> = {
    'all equal': Array.from({ length: 30 }, () => samples[0]!),
    'all zero': Array.from({ length: 30 }, () => new Uint8Array(5000)),
    'all byte values': Array.from({ length: 30 }, (_, k) => Uint8Array.from({ length: 4096 }, (_, i) => i * (k + 1))),
    'much longer than a block': Array.from({ length: 9 }, () => Buffer.concat(pageRecords(6, 200))),
    'dictionaries themselves': Array.from({ length: 30 }, () => Buffer.concat([magic, samples[1]!])),
    'one alike in many': Array.from({ length: 30 }, (_, i) =>
      i < 29 ? samples[2]! : Buffer.from(Array.from({ length: 900 }, () => Math.floor(random() * 256))),
    ),
  };
  for (const [name, some] of Object.entries(odd)) {
    const dictionary = trainDictionary(some, { bytesMax: 8192 });
    if (dictionary === undefined) continue;
    assert.ok(dictionary.length <= 8192, name);
    for (const sample of [some[0]!, some.at(-1)!, samples[3]!, new Uint8Array(0)]) {
      assert.deepEqual(
        Buffer.from(zstdDecompressSync(compress(sample, 3, dictionary), { dictionary })),
        Buffer.from(sample),
        name,
      );
    }
  }
  assert.ok(trainDictionary(odd['all equal']!, { bytesMax: 8192 }));
});

const hasZstd = spawnSync('zstd', ['--version']).status === 0;

test('the zstd program reads and writes with the dictionary', {
  skip: !hasZstd && 'the zstd program is absent',
}, () => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-dictionary-'));
  try {
    const dictionary = trainDictionary(samples, { bytesMax: 16 * 1024 })!;
    const path = join(directory, 'dictionary');
    writeFileSync(path, dictionary);
    const run = (arguments_: string[], input: Uint8Array) => {
      const result = spawnSync('zstd', ['-q', '-c', '-D', path, ...arguments_], { input });
      assert.equal(result.status, 0, result.stderr.toString());
      return result.stdout;
    };
    assert.deepEqual(run(['-d'], compress(unseen[0]!, 3, dictionary)), unseen[0]);
    assert.deepEqual(zstdDecompressSync(run(['-19'], unseen[1]!), { dictionary }), unseen[1]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
