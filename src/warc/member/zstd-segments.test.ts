import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../base/index.ts';
import { SegmentSource } from './zstd-segments.ts';

const random = seededRandom(11);
const noise = (length: number) => Buffer.from(Array.from({ length }, () => 33 + Math.floor(random() * 90)));

test('text that samples share is selected, and text of a single sample is not', () => {
  const shared = noise(300);
  const samples = Array.from({ length: 20 }, () => Buffer.concat([noise(500), shared, noise(500)]));
  const content = Buffer.from(new SegmentSource(samples).select(512, 400));
  assert.ok(content.includes(shared.subarray(10, -10)));
  assert.ok(content.length <= 400);
});

test('text that most samples share is at the end', () => {
  const common = noise(200);
  const rare = noise(200);
  const samples = Array.from({ length: 40 }, (_, i) => Buffer.concat([noise(3000), i % 8 === 0 ? rare : common]));
  const content = Buffer.from(new SegmentSource(samples).select(200, 2000));
  assert.ok(content.indexOf(rare.subarray(20, 180)) >= 0);
  assert.ok(content.indexOf(common.subarray(20, 180)) > content.indexOf(rare.subarray(20, 180)));
  assert.ok(content.length - content.indexOf(common.subarray(20, 180)) < 220);
});

test('repetition within one sample alone is worth nothing', () => {
  const own = noise(50);
  const samples = [Buffer.concat(Array.from({ length: 100 }, () => own)), noise(100), noise(100)];
  assert.equal(Buffer.from(new SegmentSource(samples).select(128, 1000)).includes(own), false);
});

test('the same text is not selected twice', () => {
  const shared = noise(1000);
  const content = new SegmentSource(Array.from({ length: 50 }, () => shared)).select(128, 100_000);
  assert.ok(content.length <= 1200, String(content.length));
});

test('samples shorter than a mer give an empty content', () => {
  assert.equal(new SegmentSource([]).select(64, 1000).length, 0);
  assert.equal(new SegmentSource([noise(7), noise(3), noise(0)]).select(64, 1000).length, 0);
});
