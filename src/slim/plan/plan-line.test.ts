import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { seededRandom } from '../../base/index.ts';
import { type PlannedDuplicate, readPlan } from './plan-line.ts';

function planned(offset: number): PlannedDuplicate {
  const original = {
    uri: 'http://a.test/\u00e9',
    date: '2024-01-01T00:00:00Z',
    recordId: '',
    digestText: 'sha1:A',
    codings: null,
  };
  return {
    offset,
    length: 7,
    uri: `http://a.test/"${offset}`,
    date: '2024',
    digest: 'sha256:00',
    payloadBytes: 5,
    original,
  };
}

test('a plan is read in the order of offsets, without repetitions, in batches', () => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-plan-'));
  try {
    const path = join(directory, 'plan');
    const random = seededRandom(4);
    for (const count of [0, 1, 5, 3000]) {
      const offsets = Array.from({ length: count }, () => Math.floor(random() * 2 ** 45));
      const shuffled = [...offsets, ...offsets.slice(0, 3)].map(
        (offset) => `${offset}\t${JSON.stringify(planned(offset))}\n`,
      );
      writeFileSync(path, shuffled.join(''));
      const batches = [...readPlan(path, 100)];
      assert.ok(batches.every((batch) => batch.length <= 100));
      const sorted = offsets.toSorted((a, b) => a - b);
      assert.deepEqual(batches.flat(), sorted.map(planned));
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('a line that is longer than the read buffer is read whole', () => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-plan-'));
  try {
    const path = join(directory, 'plan');
    const long = { ...planned(3), uri: `http://a.test/${'x'.repeat(600_000)}` };
    writeFileSync(path, `9\t${JSON.stringify(planned(9))}\n3\t${JSON.stringify(long)}\n`);
    assert.deepEqual([...readPlan(path, 10)].flat(), [long, planned(9)]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
