import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteRange } from './byte-range.ts';

const part = (from: number, to: number) => ({ kind: 'part', from, to });
const whole = { kind: 'whole' };
const outside = { kind: 'outside' };

test('a range in each of its three forms is cut at the end of the body', () => {
  assert.deepEqual(byteRange('bytes=0-0', 10), part(0, 1));
  assert.deepEqual(byteRange('bytes=2-5', 10), part(2, 6));
  assert.deepEqual(byteRange('bytes=2-', 10), part(2, 10));
  assert.deepEqual(byteRange('bytes=-3', 10), part(7, 10));
  assert.deepEqual(byteRange('bytes=-30', 10), part(0, 10));
  assert.deepEqual(byteRange('bytes=2-99', 10), part(2, 10));
  assert.deepEqual(byteRange('Bytes= 2 - 5 ', 10), part(2, 6));
});

test('a range after the end of the body, and any range of an empty body, is outside', () => {
  assert.deepEqual(byteRange('bytes=10-', 10), outside);
  assert.deepEqual(byteRange('bytes=-0', 10), outside);
  assert.deepEqual(byteRange('bytes=0-', 0), outside);
  assert.deepEqual(byteRange('bytes=-5', 0), outside);
  assert.deepEqual(byteRange(`bytes=${'9'.repeat(400)}-`, 10), outside);
});

test('anything but a single range of bytes asks for everything', () => {
  for (const field of [undefined, '', 'bytes=', 'bytes=-', 'bytes=5-2', 'bytes=0-1,3-4', 'items=0-1', 'bytes=a-b'])
    assert.deepEqual(byteRange(field, 10), whole, field);
});
