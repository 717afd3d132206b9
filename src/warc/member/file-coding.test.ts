import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { codingOf, sniffCoding } from './file-coding.ts';

const bytes = (text: string) => Buffer.from(text, 'latin1');

test('the first bytes show the coding of a file', () => {
  const record = bytes('WARC/1.0\r\nWARC-Type: x\r\nContent-Length: 0\r\n\r\n\r\n\r\n');
  assert.equal(codingOf(gzipSync(record)), 'gzip');
  assert.equal(codingOf(zstdCompressSync(record)), 'zstd');
  assert.equal(codingOf(Buffer.from('5d2a4d1800000000', 'hex')), 'zstd');
  assert.equal(codingOf(record), 'none');
  assert.equal(sniffCoding(record.subarray(0, 3), false), undefined);
  assert.equal(sniffCoding(record, false), 'none');
  assert.equal(sniffCoding(bytes('\r\nWARC/1.0\r\n'), false), 'none');
  assert.equal(sniffCoding(Buffer.alloc(0), true), 'none');
});

test('when the first bytes are damaged, the first record that is found decides', () => {
  const record = bytes('WARC/1.0\r\nWARC-Type: x\r\nContent-Length: 0\r\n\r\n\r\n\r\n');
  const garbage = bytes('garbage\n');
  assert.equal(sniffCoding(Buffer.concat([garbage, record]), false), undefined);
  assert.equal(sniffCoding(Buffer.concat([garbage, record, gzipSync(record)]), true), 'none');
  assert.equal(sniffCoding(Buffer.concat([garbage, gzipSync(record), record]), true), 'gzip');
  assert.equal(sniffCoding(Buffer.concat([garbage, gzipSync(record, { level: 0 })]), true), 'gzip');
  assert.equal(sniffCoding(Buffer.concat([garbage, zstdCompressSync(record)]), true), 'zstd');
  assert.equal(sniffCoding(garbage, true), 'none');
});
