import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { seededRandom } from '../../base/index.ts';
import { ContentDecoders } from './content-coding.ts';

function decode(codings: readonly string[], pieces: readonly Uint8Array[]): { body: Buffer; broken: boolean } {
  const parts: Buffer[] = [];
  const decoders = new ContentDecoders(codings, (bytes) => parts.push(Buffer.from(bytes)));
  for (const piece of pieces) decoders.push(piece);
  decoders.end();
  return { body: Buffer.concat(parts), broken: decoders.isBroken };
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  let at = 0;
  for (const size of sizes) pieces.push(bytes.subarray(at, (at += size)));
  return [...pieces, bytes.subarray(at)];
}

const inPieces = (bytes: Buffer, size: number) => cut(bytes, Array(Math.ceil(bytes.length / size)).fill(size));

function page(bytes: number, seed = 1): Buffer {
  const random = seededRandom(seed);
  const words = ['<p>', 'archive', 'record', 'payload', '</p>\n', 'digest', '0123', 'crawl'];
  let text = '';
  while (text.length < bytes) text += `${words[Math.floor(random() * words.length)]} ${Math.floor(random() * 1000)} `;
  return Buffer.from(text.slice(0, bytes));
}

const CODERS: readonly [name: string, coding: string, encode: (bytes: Buffer) => Buffer][] = [
  ['gzip', 'gzip', gzipSync],
  ['x-gzip', 'x-gzip', gzipSync],
  ['deflate with its head', 'deflate', deflateSync],
  ['deflate without head', 'deflate', deflateRawSync],
  ['br', 'br', brotliCompressSync],
  ['zstd', 'zstd', zstdCompressSync],
];

for (const [name, coding, encode] of CODERS) {
  test(`${name} is removed, in pieces of any size`, () => {
    for (const bytes of [1, 10, 5000, 600_000]) {
      const coded = encode(page(bytes));
      for (const size of bytes > 10_000 ? [coded.length, 5000] : [coded.length, 1, 7]) {
        const { body, broken } = decode([coding], inPieces(coded, size));
        assert.ok(body.equals(page(bytes)), `${bytes} bytes in pieces of ${size}`);
        assert.equal(broken, false, `${bytes} bytes in pieces of ${size}`);
      }
    }
  });

  test(`${name} of an empty body is empty`, () => {
    assert.deepEqual(decode([coding], [encode(Buffer.alloc(0))]), { body: Buffer.alloc(0), broken: false });
    assert.deepEqual(decode([coding], []), { body: Buffer.alloc(0), broken: false });
  });

  test(`${name} that was cut off gives the beginning of the body and is reported as broken`, () => {
    const coded = encode(page(50_000));
    for (const share of [0.1, 0.5, 0.9]) {
      const { body, broken } = decode([coding], [coded.subarray(0, Math.floor(coded.length * share))]);
      assert.ok(broken, `cut at ${share}`);
      assert.ok(page(50_000).subarray(0, body.length).equals(body), `cut at ${share}`);
      // zstd outputs whole blocks, of up to 128 KiB.
      if (share > 0.4 && coding !== 'zstd') assert.ok(body.length > 1000, `cut at ${share}: ${body.length} bytes`);
    }
  });

  test(`a body that only claims to be ${name} is kept unchanged, in pieces of any size`, () => {
    for (const text of ['<html>plain</html>', 'x', page(9000).toString(), '\0\0\0\0 binary', 'body { color: red }']) {
      const bytes = Buffer.from(text);
      const whole = decode([coding], [bytes]);
      assert.ok(whole.broken, text.slice(0, 20));
      if (text.length > 1) assert.ok(whole.body.equals(bytes), text.slice(0, 20));
      assert.deepEqual(decode([coding], inPieces(bytes, 1)), whole);
    }
  });
}

test('a damaged body that begins with the magic number of its coding gives its beginning', () => {
  for (const [coding, encode] of [
    ['gzip', gzipSync],
    ['zstd', zstdCompressSync],
  ] as const) {
    const original = page(900_000);
    const coded = Buffer.from(encode(original));
    coded.fill(0xff, Math.floor(coded.length * 0.9));
    for (const size of [coded.length, 1000]) {
      const { body, broken } = decode([coding], inPieces(coded, size));
      assert.ok(broken);
      const intact = body.subarray(0, Math.min(body.length, 200_000));
      assert.ok(original.subarray(0, intact.length).equals(intact), `${coding} in pieces of ${size}`);
      assert.ok(!body.equals(coded));
    }
  }
});

test('several codings are removed, the last applied first', () => {
  const coded = gzipSync(brotliCompressSync(page(5000)));
  assert.ok(decode(['br', 'gzip'], inPieces(coded, 100)).body.equals(page(5000)));
  assert.ok(decode(['gzip', 'br'], [coded]).broken);
  const thrice = zstdCompressSync(deflateSync(gzipSync(page(5000))));
  assert.ok(decode(['gzip', 'deflate', 'zstd'], inPieces(thrice, 3)).body.equals(page(5000)));
});

test('the outer coding is removed even when the inner coding is wrong', () => {
  const { body, broken } = decode(['br', 'gzip'], [gzipSync(page(5000))]);
  assert.ok(broken);
  assert.ok(body.equals(page(5000)));
});

test('unknown codings are kept and reported', () => {
  assert.deepEqual(decode(['compress'], [Buffer.from('abc')]), { body: Buffer.from('abc'), broken: true });
});

test('a body with too many codings is kept unchanged', () => {
  const coded = gzipSync(page(100));
  assert.deepEqual(decode(Array(100_000).fill('gzip'), [coded]), { body: coded, broken: true });
});

test('several zstd frames are one body', () => {
  const coded = Buffer.concat([zstdCompressSync(page(3000)), zstdCompressSync(page(3000, 2))]);
  for (const size of [coded.length, 1, 50]) {
    const { body, broken } = decode(['zstd'], inPieces(coded, size));
    assert.ok(body.equals(Buffer.concat([page(3000), page(3000, 2)])), `in pieces of ${size}`);
    assert.equal(broken, false);
  }
});

test('bytes after the end of the coded body are left out', () => {
  const coded = Buffer.concat([gzipSync(page(100)), Buffer.from('\r\n')]);
  assert.deepEqual(decode(['gzip'], [coded]), { body: page(100), broken: false });
});

test('the pieces of a body do not decide whether it is decoded', () => {
  const bodies = fc.tuple(
    fc.constantFrom(...CODERS.map(([, coding, encode]) => ({ coding, coded: encode(page(800)) }))),
    fc.array(fc.tuple(fc.nat(600), fc.nat(255)), { maxLength: 3 }),
  );
  fc.assert(
    fc.property(bodies, fc.array(fc.nat(100)), ([{ coding, coded }, damage], sizes) => {
      const bytes = Buffer.from(coded);
      for (const [at, value] of damage) if (at < bytes.length) bytes[at] = value;
      const whole = decode([coding], [bytes]);
      assert.deepEqual(decode([coding], cut(bytes, sizes)), whole);
      assert.deepEqual(decode([coding], inPieces(bytes, 1)), whole);
    }),
    { numRuns: 200 },
  );
});

test('a caller can stop in the middle of a piece that would decode to gigabytes', () => {
  const zeros = Buffer.alloc(64 * 1024 * 1024);
  for (const [name, coding, encode] of CODERS.filter(([name]) => name !== 'deflate without head')) {
    const pieces: number[] = [];
    const codings = [coding, 'gzip'];
    const decoders = new ContentDecoders(codings, (bytes) => {
      pieces.push(bytes.length);
      if (pieces.length === 3) decoders.stop();
    });
    decoders.push(gzipSync(encode(zeros)));
    decoders.push(gzipSync(encode(zeros)));
    decoders.end();
    assert.deepEqual([pieces.length, decoders.isBroken], [3, false], name);
  }
});

test('each piece is decoded when it is requested', () => {
  // 13 gigabytes in blocks of 128 KiB, each of which repeats one byte.
  const frame = [
    Buffer.from('28b52ffd0058', 'hex'),
    Buffer.alloc(400_000, '02001061', 'hex'),
    Buffer.from('03001061', 'hex'),
  ];
  const bomb = zstdCompressSync(Buffer.concat(frame));
  const decoders = new ContentDecoders(['zstd', 'zstd']);
  let length = 0;
  for (const pieces of [decoders.decoded(bomb), decoders.rest()]) {
    for (const piece of pieces) {
      length += piece.length;
      if (length > 1_000_000) break;
    }
  }
  decoders.stop();
  decoders.end();
  assert.ok(length > 1_000_000 && length < 2_000_000);
  const whole: Buffer[] = [];
  const others = new ContentDecoders(['deflate', 'gzip']);
  for (const piece of inPieces(gzipSync(deflateSync(page(300_000))), 1000))
    for (const decoded of others.decoded(piece)) whole.push(Buffer.from(decoded));
  for (const decoded of others.rest()) whole.push(Buffer.from(decoded));
  others.end();
  assert.ok(Buffer.concat(whole).equals(page(300_000)));
});

test('when the first bytes are damaged, the bytes decoded before the damage are returned once', () => {
  const body = Buffer.alloc(300_000, 'abc ');
  const sound = deflateRawSync(body, { finishFlush: constants.Z_SYNC_FLUSH });
  // No block can have this type.
  const coded = Buffer.concat([gzipSync('').subarray(0, 10), sound, Buffer.from([0xff])]);
  const { body: decoded, broken } = decode(['gzip'], [coded]);
  assert.deepEqual([decoded.length, broken], [body.length, true]);
  assert.ok(decoded.equals(body));
});

test('a gzip body of several members is read to the end of the last, in pieces of any size', () => {
  const parts = [page(30), Buffer.alloc(0), page(9000, 2), page(70_000, 3), page(5, 4)];
  const coded = Buffer.concat(parts.map((part) => gzipSync(part)));
  for (const size of [coded.length, 1, 7, 5000]) {
    const { body, broken } = decode(['gzip'], inPieces(coded, size));
    assert.ok(body.equals(Buffer.concat(parts)), `in pieces of ${size}`);
    assert.equal(broken, false, `in pieces of ${size}`);
  }
});

test('a gzip body of very many members is read like a body of few', () => {
  const coded = Buffer.concat(Array<Buffer>(50_000).fill(gzipSync('x')));
  assert.equal(decode(['gzip'], [coded]).body.toString(), 'x'.repeat(50_000));
});

test('bytes after the last gzip member are skipped', () => {
  const behind = ['garbage', '\0'.repeat(600), '\x1f', '\x1f\x8b\x07 and no gzip'].map((text) =>
    Buffer.from(text, 'latin1'),
  );
  for (const bytes of behind) {
    const coded = Buffer.concat([gzipSync(page(100)), bytes]);
    for (const size of [coded.length, 1])
      assert.deepEqual(decode(['gzip'], inPieces(coded, size)), { body: page(100), broken: false });
  }
});

test('a gzip body whose second member is cut gives the beginning of the body and is reported as broken', () => {
  const second = gzipSync(page(50_000, 2));
  const coded = Buffer.concat([gzipSync(page(100)), second.subarray(0, second.length / 2)]);
  const { body, broken } = decode(['gzip'], inPieces(coded, 5000));
  assert.ok(
    body.length > 1000 &&
      Buffer.concat([page(100), page(50_000, 2)])
        .subarray(0, body.length)
        .equals(body),
  );
  assert.equal(broken, true);
});
