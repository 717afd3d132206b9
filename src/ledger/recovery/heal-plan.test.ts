import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { partName } from '../part-name.ts';
import type { FoundSegment } from '../segment-store.ts';
import { type HealingRow, type HealingVolume, type HealPlan, planHealing } from './heal-plan.ts';

const NAME = 'c/c-1.warc.gz';
const BUCKET: HealingVolume = { hasParts: true, isWritable: true, isShared: true };
const BUCKET_OF_ONE: HealingVolume = { hasParts: true, isWritable: true, isShared: false };
const DISK: HealingVolume = { hasParts: false, isWritable: true, isShared: true };
const DISK_OF_ONE: HealingVolume = { hasParts: false, isWritable: true, isShared: false };

/** Parts that the volume has: offset, attempt, bytes. */
const parts = (...found: readonly (readonly [offset: number, attempt: number, bytes: number])[]) =>
  found.map(([offset, attempt, bytes]) => ({ name: partName(NAME, offset, attempt), offset, attempt, bytes }));
const names = (...found: readonly (readonly [offset: number, attempt: number])[]) =>
  found.map(([offset, attempt]) => ({ name: partName(NAME, offset, attempt), offset }));
const object = (bytes: number, sealed = true) => ({ name: NAME, bytes, sealed });

type Case = {
  readonly says: string;
  readonly row: Omit<HealingRow, 'name'>;
  readonly found: Partial<FoundSegment>;
  readonly volume?: HealingVolume;
  readonly plan: HealPlan['kind'];
  /** How the adoption goes on, and the length and the parts that are adopted. */
  readonly next?: string;
  readonly bytes?: number;
  readonly list?: readonly (readonly [offset: number, attempt: number])[];
};

const CASES: readonly Case[] = [
  { says: 'leaves sealed segments alone', row: { state: 'sealed', bytes: 9 }, found: {}, plan: 'done' },
  {
    says: 'adopts the end of a file of the archivist that has grown',
    row: { state: 'sealed', bytes: 9 },
    found: { object: object(14) },
    volume: DISK_OF_ONE,
    plan: 'adopt',
    next: 'set sealed',
    bytes: 14,
  },
  {
    says: 'seals an object again that is sealed in the catalog alone',
    row: { state: 'sealed', bytes: 9 },
    found: { object: object(9, false) },
    volume: DISK_OF_ONE,
    plan: 'adopt',
    next: 'seal',
    bytes: 9,
  },
  {
    says: 'adopts the end of an open segment on a volume that is read-only, and leaves it',
    row: { state: 'open', bytes: 9 },
    found: { object: object(14, false) },
    volume: { ...DISK_OF_ONE, isWritable: false },
    plan: 'adopt',
    next: 'leave',
    bytes: 14,
  },
  {
    says: 'seals what another began to seal',
    row: { state: 'sealing', bytes: 9, parts: names([0, 1]) },
    found: { parts: parts([0, 1, 9], [9, 1, 5]) },
    plan: 'seal',
  },
  {
    says: 'takes the object of a fixed list whose parts are gone',
    row: { state: 'sealing', bytes: 9, parts: names([0, 1]) },
    found: { object: object(9) },
    plan: 'adopt',
    next: 'set sealed',
    bytes: 9,
  },
  {
    says: 'does not seal when parts of the fixed list and the object are missing',
    row: { state: 'sealing', bytes: 9, parts: names([0, 1]) },
    found: { parts: parts([9, 1, 3]) },
    plan: 'damaged',
  },
  {
    says: 'adopts parts that follow the committed ones',
    row: { state: 'open', bytes: 9, parts: names([0, 1]) },
    found: { parts: parts([0, 1, 9], [9, 1, 5]) },
    plan: 'adopt',
    next: 'seal',
    bytes: 14,
    list: [
      [0, 1],
      [9, 1],
    ],
  },
  {
    says: 'takes the highest attempt at an offset, and no lower attempt after it',
    row: { state: 'open', bytes: 0 },
    found: { parts: parts([0, 1, 9], [0, 2, 7], [7, 1, 5], [9, 1, 5]) },
    plan: 'adopt',
    next: 'seal',
    bytes: 7,
    list: [[0, 2]],
  },
  {
    says: 'keeps the committed attempt, although a higher one is there',
    row: { state: 'open', bytes: 9, parts: names([0, 1]) },
    found: { parts: parts([0, 1, 9], [0, 2, 7]) },
    plan: 'adopt',
    next: 'seal',
    bytes: 9,
    list: [[0, 1]],
  },
  {
    says: 'takes a sealed object before any part',
    row: { state: 'open', bytes: 9, parts: names([0, 1]) },
    found: { object: object(20), parts: parts([0, 1, 9], [9, 1, 5]) },
    plan: 'adopt',
    next: 'set sealed',
    bytes: 20,
  },
  {
    says: 'does not believe a sealed object that is shorter than what was committed',
    row: { state: 'open', bytes: 9, parts: names([0, 1]) },
    found: { object: object(5) },
    plan: 'damaged',
  },
  {
    says: 'reports a committed part that is missing',
    row: { state: 'open', bytes: 14, parts: names([0, 1], [9, 1]) },
    found: { parts: parts([0, 1, 9]) },
    plan: 'damaged',
  },
  {
    says: 'reports a committed part that is shorter than it was',
    row: { state: 'open', bytes: 9, parts: names([0, 1]) },
    found: { parts: parts([0, 1, 5]) },
    plan: 'damaged',
  },
  { says: 'drops a segment without parts', row: { state: 'open', bytes: 0 }, found: {}, plan: 'drop' },
  {
    says: 'goes on with parts of its own',
    row: { state: 'open', bytes: 0 },
    found: { parts: parts([0, 1, 9]) },
    volume: BUCKET_OF_ONE,
    plan: 'adopt',
    next: 'go on',
    bytes: 9,
    list: [[0, 1]],
  },
  {
    says: 'adopts the end of a growing object, then seals it',
    row: { state: 'open', bytes: 9 },
    found: { object: object(14, false) },
    volume: DISK,
    plan: 'adopt',
    next: 'seal',
    bytes: 14,
  },
  {
    says: 'finds in a sealed object what was appended before it was sealed',
    row: { state: 'open', bytes: 9 },
    found: { object: object(14) },
    volume: DISK,
    plan: 'adopt',
    next: 'set sealed',
    bytes: 14,
  },
  {
    says: 'goes on with a growing object of its own',
    row: { state: 'open', bytes: 9 },
    found: { object: object(14, false) },
    volume: DISK_OF_ONE,
    plan: 'adopt',
    next: 'go on',
    bytes: 14,
  },
  {
    says: 'seals an object whose sealing was begun',
    row: { state: 'sealing', bytes: 9 },
    found: { object: object(9, false) },
    volume: DISK_OF_ONE,
    plan: 'seal',
  },
  { says: 'drops a row without an object', row: { state: 'open', bytes: 0 }, found: {}, volume: DISK, plan: 'drop' },
  {
    says: 'drops an empty object',
    row: { state: 'open', bytes: 0 },
    found: { object: object(0, false) },
    volume: DISK,
    plan: 'drop',
  },
  { says: 'reports a missing object', row: { state: 'open', bytes: 9 }, found: {}, volume: DISK, plan: 'damaged' },
  {
    says: 'reports an object that is shorter than what was committed',
    row: { state: 'open', bytes: 9 },
    found: { object: object(5, false) },
    volume: DISK,
    plan: 'damaged',
  },
];

suite('The plan of healing a segment', () => {
  for (const { says, row, found, volume = BUCKET, plan: expected, next, bytes, list } of CASES)
    test(says, () => {
      const plan = planHealing({ name: NAME, ...row }, { object: undefined, parts: [], ...found }, volume);
      assert.equal(plan.kind, expected);
      if (plan.kind !== 'adopt') return;
      assert.deepEqual(
        { next: plan.next, bytes: plan.content.bytes, parts: plan.content.parts },
        { next, bytes, parts: list && names(...list) },
      );
    });
});
