import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { DecodedStart } from './decoded-start.ts';

const BODY = Buffer.from('abcdefghij'.repeat(30_000));

function startOf(codings: readonly string[], bytes: Uint8Array, bytesMax: number, step = 1000) {
  const start = new DecodedStart(codings, bytesMax);
  for (let at = 0; at < bytes.length; at += step) start.push(bytes.subarray(at, at + step));
  const kept = start.end();
  return { kept, isCut: start.isCut };
}

test('a body is kept up to the bound, and told to be cut only where there is more', () => {
  for (const [codings, bytes] of [
    [[], BODY],
    [['gzip'], gzipSync(BODY)],
  ] as const) {
    assert.deepEqual(startOf(codings, bytes, BODY.length), { kept: BODY, isCut: false });
    assert.deepEqual(startOf(codings, bytes, BODY.length - 1), { kept: BODY.subarray(0, -1), isCut: true });
    assert.deepEqual(startOf(codings, bytes, 7), { kept: BODY.subarray(0, 7), isCut: true });
  }
});

test('what is held back until more would come is there at the end, and what is nothing is nothing', () => {
  assert.deepEqual(startOf(['gzip'], gzipSync('short'), 100).kept.toString(), 'short');
  assert.deepEqual(startOf(['gzip'], Buffer.from('no gzip'), 100).kept.toString(), 'no gzip');
  assert.equal(startOf(['gzip'], new Uint8Array(0), 100).kept.length, 0);
});
