import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { DecodedStart } from './decoded-start.ts';

const BODY = Buffer.from('abcdefghij'.repeat(30_000));

function decode(codings: readonly string[], bytes: Uint8Array, bytesMax: number, step = 1000) {
  const start = new DecodedStart(codings, bytesMax);
  for (let at = 0; at < bytes.length; at += step) start.push(bytes.subarray(at, at + step));
  const kept = start.end();
  return { kept, isCut: start.isCut, isBroken: start.isBroken };
}

function cutAt(bytes: number) {
  return { kept: BODY.subarray(0, bytes), isCut: true, isBroken: false };
}

test('a coding that breaks off is reported, and a coding that the body does not have is not', () => {
  const noise = Buffer.from(
    Array.from({ length: 9000 }, (_, index) => ((index * 2_654_435_761) % 2 ** 32).toString(36)).join(),
  );
  for (const [coding, bytes] of [
    ['gzip', gzipSync(noise)],
    ['br', brotliCompressSync(noise)],
    ['zstd', zstdCompressSync(noise)],
  ] as const) {
    const isBroken = (body: Uint8Array) => decode([coding], body, 1e6).isBroken;
    assert.equal(isBroken(bytes), false, coding);
    assert.equal(isBroken(bytes.subarray(0, bytes.length >> 1)), true, `${coding}, cut`);
    const torn = Buffer.from(bytes).fill(0xa5, bytes.length >> 1);
    assert.equal(isBroken(torn), true, `${coding}, torn`);
    assert.equal(isBroken(Buffer.from('<p>none of it')), false, `not ${coding}`);
  }
});

test('a body is kept up to the limit, and a longer body is marked as cut', () => {
  for (const [codings, bytes] of [
    [[], BODY],
    [['gzip'], gzipSync(BODY)],
  ] as const) {
    assert.deepEqual(decode(codings, bytes, BODY.length), { kept: BODY, isCut: false, isBroken: false });
    assert.deepEqual(decode(codings, bytes, BODY.length - 1), cutAt(BODY.length - 1));
    assert.deepEqual(decode(codings, bytes, 7), cutAt(7));
  }
});

test('bytes that were held back are returned at the end, and an empty body is empty', () => {
  assert.deepEqual(decode(['gzip'], gzipSync('short'), 100).kept.toString(), 'short');
  assert.deepEqual(decode(['gzip'], Buffer.from('no gzip'), 100).kept.toString(), 'no gzip');
  assert.equal(decode(['gzip'], new Uint8Array(0), 100).kept.length, 0);
});
