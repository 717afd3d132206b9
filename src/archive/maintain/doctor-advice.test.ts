import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CatalogState, Examination, PendingRemoval } from './doctor.ts';
import { type Advice, adviceOn } from './doctor-advice.ts';

const CATALOG: CatalogState = {
  isOld: false,
  incarnation: 1,
  isAdopting: false,
  leases: [],
  openSegments: [],
  pending: [],
  surplusRecords: 0,
};

const WELL: Examination = {
  time: 0,
  isShared: false,
  owner: undefined,
  catalog: CATALOG,
  refusal: undefined,
  volumes: [{ name: 'main', writable: true, freeBytes: 1e9, totalBytes: 2e9, failure: undefined }],
  mirrors: [],
  reserve: { bytes: 8e6, freeBytes: 1e9 },
};

const lease = (name: string, isLiving: boolean) =>
  ({ name, epoch: 1, incarnation: 1, holder: 'process 7 on a host', expires: 0, isLiving }) as const;

const open = (name: string, writer: string, uncommittedBytes: number | undefined = undefined) =>
  ({ name, volume: 'main', bytes: 9, records: 1, state: 'open', lease: writer, uncommittedBytes }) as const;

const waiting = (waitsFor: PendingRemoval['waitsFor'], what: string, detail = what): PendingRemoval => ({
  kind: 'deleted records',
  what,
  bytes: 9,
  waitsFor,
  detail,
});

function advice(more: Partial<CatalogState>, owned = false): Advice[] {
  const owner = owned ? { pid: 1, host: 'h', since: '', purpose: 'serve' } : undefined;
  return adviceOn({ ...WELL, owner, catalog: { ...CATALOG, ...more } });
}

test('nothing is said about an archive that is well', () => {
  assert.deepEqual(adviceOn(WELL), []);
});

test('for an archive of an earlier version there is a hint to upgrade it, and no problem', () => {
  const [hint, ...others] = advice({ isOld: true });
  assert.deepEqual([hint?.level, others], ['hint', []]);
  assert.match(hint!.advice, /pinakes upgrade/);
});

test('segments of an ended lease are to be healed, and those of a living one are not mentioned', () => {
  const leases = [lease('gone', false), lease('here', true)];
  const openSegments = [open('a', 'gone'), open('b', 'gone'), open('c', 'here', 5)];
  const [hint, ...others] = advice({ leases, openSegments }, true);
  assert.deepEqual([hint!.level, others], ['hint', []]);
  assert.match(hint!.message, /^2 open segments belong to writers whose lease has ended$/);
});

test('an adoption, a full disk and volumes that cannot be written to are problems', () => {
  assert.equal(advice({ isAdopting: true })[0]!.level, 'problem');
  const full = adviceOn({ ...WELL, reserve: { bytes: 8e6, freeBytes: 7e6 } });
  assert.match(full[0]!.message, /nearly full/);
  const readOnly = adviceOn({ ...WELL, volumes: [{ ...WELL.volumes[0]!, writable: false }] });
  assert.deepEqual([readOnly.length, readOnly[0]!.level], [1, 'problem']);
});

test('removals that wait for the same are one hint', () => {
  const pending = [
    waiting('compaction', 'a'),
    waiting('compaction', 'b'),
    waiting('snapshot', 'c', 'the snapshot spring'),
    waiting('snapshot', 'd', 'the snapshot autumn'),
    waiting('volume', 'e', 'disk2'),
    waiting('grace', 'f'),
    waiting('sealing', 'g'),
    waiting('next change', 'h', 'i'),
  ];
  const found = advice({ pending });
  assert.deepEqual(
    found.map(({ message }) => message),
    [
      '2 segments hold deleted records',
      '1 segment holds deleted records and is kept by the snapshot spring',
      '1 segment holds deleted records and is kept by the snapshot autumn',
      '1 segment holds deleted records and waits for the volume disk2, which is missing or read-only',
      'bytes of 1 segment are kept for readers that began earlier',
      'a takedown waits until 1 segment is sealed',
      '1 segment replaced by an interrupted compaction is still there',
    ],
  );
  assert.ok(found.every(({ level }) => level === 'hint'));
});
