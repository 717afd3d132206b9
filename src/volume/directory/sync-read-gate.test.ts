import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { SyncReadGate } from './sync-read-gate.ts';

describe('reads on the calling thread', () => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-prompt-'));
  let descriptor = -1;

  before(() => {
    writeFileSync(join(directory, 'file'), '0123456789');
    descriptor = openSync(join(directory, 'file'), 'r');
  });
  after(() => {
    closeSync(descriptor);
    rmSync(directory, { recursive: true });
  });

  /** Reads one byte `count` times; each read takes the next of the durations. Returns which reads were answered. */
  function answered(durationsMs: readonly number[], count: number): boolean[] {
    let now = 0;
    let reads = 0;
    let isStart = true;
    const reader = new SyncReadGate(() => {
      if (!isStart) now += durationsMs[reads++] ?? 0;
      isStart = !isStart;
      return now;
    });
    return Array.from({ length: count }, () => reader.read(descriptor, 0, 1) !== undefined);
  }

  it('returns the bytes of a range in a buffer of their own', () => {
    const reads = new SyncReadGate(() => 0);
    const first = reads.read(descriptor, 2, 3)!;
    const second = reads.read(descriptor, 5, 3)!;
    assert.equal(Buffer.from(first).toString(), '234');
    assert.equal(Buffer.from(second).toString(), '567');
    assert.equal(first.buffer.byteLength, 3);
  });

  it('does not answer ranges beyond the end, long ranges, invalid numbers and bad descriptors', () => {
    const reads = new SyncReadGate(() => 0);
    assert.equal(reads.read(descriptor, 8, 3), undefined);
    assert.equal(reads.read(descriptor, 0, 1 << 20), undefined);
    assert.equal(reads.read(descriptor, -1, 3), undefined);
    assert.equal(reads.read(descriptor, 0.5, 3), undefined);
    assert.equal(reads.read(descriptor, 0, Number.NaN), undefined);
    assert.equal(reads.read(descriptor, 0, -1), undefined);
    assert.equal(reads.read(1_000_000, 0, 3), undefined);
  });

  it('answers nothing without a stopwatch', () => {
    assert.equal(new SyncReadGate(undefined).read(descriptor, 0, 1), undefined);
  });

  it('answers every read while reads are fast', () => {
    assert.ok(answered([], 100).every(Boolean));
  });

  it('leaves reads to other threads after a slow one, and more of them after each further slow one', () => {
    const first = answered([9], 18);
    assert.deepEqual(first, [true, ...Array(16).fill(false), true]);
    const again = answered([9, 9], 51);
    assert.deepEqual(again, [true, ...Array(16).fill(false), true, ...Array(32).fill(false), true]);
  });

  it('forgets slow reads after a fast one', () => {
    const reads = answered([9, 9, 0, 9], 68);
    assert.deepEqual(reads.slice(50), [true, true, ...Array(16).fill(false)]);
  });
});
