import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ChecksumAlgorithm, runningChecksum } from './checksum.ts';

function checksum(algorithm: ChecksumAlgorithm, ...pieces: readonly Uint8Array[]): string {
  const running = runningChecksum(algorithm);
  for (const piece of pieces) running.update(piece);
  return running.finish();
}

test('the checksums have the check values of their catalogues', () => {
  const check = Buffer.from('123456789');
  const hex = (algorithm: ChecksumAlgorithm) => Buffer.from(checksum(algorithm, check), 'base64').toString('hex');
  assert.equal(hex('crc32'), 'cbf43926');
  assert.equal(hex('crc32c'), 'e3069283');
  assert.equal(hex('crc64nvme'), 'ae8b14860a799888');
  assert.equal(hex('sha1'), 'f7c3bc1d808e04732adf679965ccc34ca7ae3441');
});

test('a checksum does not depend on how the bytes are cut into pieces', () => {
  const bytes = Buffer.from(Array.from({ length: 1000 }, (_, at) => (at * 7919 + (at >> 3)) & 0xff));
  for (const algorithm of ['crc32', 'crc32c', 'crc64nvme', 'sha256'] as const) {
    const whole = checksum(algorithm, bytes);
    const each = checksum(algorithm, ...[...bytes].map((byte) => Buffer.of(byte)));
    assert.equal(each, whole, algorithm);
    for (const at of [1, 7, 8, 9, 511]) {
      assert.equal(checksum(algorithm, bytes.subarray(0, at), bytes.subarray(at)), whole, `${algorithm} cut at ${at}`);
    }
  }
});
