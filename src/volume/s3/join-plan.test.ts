import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ReadRange } from '../volume.ts';
import { copyPlan, type PlannedPart, uploadPlan } from './join-plan.ts';

const MIB = 1024 * 1024;
const length = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 12 * MIB }), fc.constant(5 * MIB));
const ranges = fc
  .array(fc.record({ name: fc.constantFrom('a', 'b'), offset: fc.nat(1000), length }), { minLength: 1, maxLength: 30 })
  .map((list): ReadRange[] => list.map((range) => ({ ...range })));

const bytesOf = (part: PlannedPart) => part.ranges.reduce((sum, range) => sum + range.length, 0);

/** The same bytes in the same order: ranges that continue each other are one. */
function merged(list: readonly ReadRange[]): ReadRange[] {
  const result: ReadRange[] = [];
  for (const range of list) {
    const last = result.at(-1);
    if (last?.name === range.name && last.offset + last.length === range.offset)
      result[result.length - 1] = { ...last, length: last.length + range.length };
    else result.push(range);
  }
  return result;
}

test('both plans have all ranges in order, and every part but the last has at least 5 MiB', () => {
  fc.assert(
    fc.property(ranges, (wanted) => {
      for (const plan of [copyPlan(wanted), uploadPlan(wanted)]) {
        assert.deepEqual(merged(plan.flatMap((part) => part.ranges)), merged(wanted));
        for (const part of plan.slice(0, -1)) assert.ok(bytesOf(part) >= 5 * MIB);
        for (const part of plan) assert.ok(bytesOf(part) > 0);
      }
    }),
  );
});

test('a copied part is one range of at least 5 MiB, and a gathered part has at most 16 MiB', () => {
  fc.assert(
    fc.property(ranges, (wanted) => {
      for (const part of copyPlan(wanted)) {
        if (part.kind === 'gather') assert.ok(bytesOf(part) < 16 * MIB);
        else assert.ok(part.ranges.length === 1 && bytesOf(part) >= 5 * MIB);
      }
    }),
  );
});

test('large ranges are copied', () => {
  const large = { name: 'a', offset: 0, length: 3_000 * MIB };
  const plan = copyPlan([large, { name: 'b', offset: 0, length: 10 }, large]);
  const copied = plan.filter(({ kind }) => kind === 'copy').reduce((sum, part) => sum + bytesOf(part), 0);
  assert.ok(copied >= 5_990 * MIB);
  for (const part of plan) assert.ok(bytesOf(part) <= 1_100 * MIB);
});

test('uploaded parts have equal lengths except the last, and are at most 10,000', () => {
  const plan = uploadPlan([{ name: 'a', offset: 0, length: 300_000 * MIB + 5 }]);
  assert.ok(plan.length <= 10_000);
  assert.equal(new Set(plan.slice(0, -1).map(bytesOf)).size, 1);
});
