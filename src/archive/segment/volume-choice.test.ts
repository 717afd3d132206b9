import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digestOf, utf8 } from '../../base/index.ts';
import { MemoryDisk, openMemoryVolume, type Volume } from '../../volume/index.ts';
import { DEFAULT_POLICIES, type Policies } from '../connector.ts';
import { VolumeHash } from './distribution.ts';
import { type VolumeChoice, volumeChoice } from './volume-choice.ts';

const MIB = 1024 * 1024;
const HOMES = ['three', 'one', 'one', 'three', 'two', 'three', 'three', 'three'];

type Noted = Record<string, string>;

async function choiceOver(
  volumes: readonly Volume[],
  policies: Partial<Policies> = {},
  away: readonly string[] = [],
  streaming?: string,
): Promise<{ choose: VolumeChoice; notes: Noted }> {
  const notes: Noted = {};
  const names = [...volumes.map(({ name }) => name), ...away];
  const choose = await volumeChoice({
    volumes: {
      writable: () => [...volumes],
      noneWritable: () => {
        throw new Error('all of these are writable');
      },
      settings: () => names.map((name) => ({ name, kind: 'directory', path: name, writable: true })),
    },
    connector: { policies: { ...DEFAULT_POLICIES, ...policies } },
    nodes: { isStreaming: (volume) => volume === streaming },
    catalog: { notes: async () => notes },
    commitGroup: async ({ putNotes }) => void Object.assign(notes, putNotes),
  });
  return { choose, notes };
}

function disks(...freeMib: number[]): Volume[] {
  return freeMib.map((mib, index) => openMemoryVolume(`disk${index}`, new MemoryDisk(mib * MIB)));
}

async function namesChosen(...freeMib: number[]): Promise<Set<string>> {
  const { choose } = await choiceOver(disks(...freeMib));
  return new Set(Array.from({ length: 256 }, (_, byte) => choose(Uint8Array.of(byte, byte, byte, byte))));
}

function digests(count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, number) => digestOf('sha256', utf8(`content ${number}`)).bytes);
}

test('a volume that is nearly full gets no content while another one has room', async () => {
  assert.deepEqual(await namesChosen(1, 4000), new Set(['disk1']));
  assert.deepEqual(await namesChosen(500, 1, 500), new Set(['disk0', 'disk2']));
  assert.deepEqual(await namesChosen(1, 1), new Set(['disk0', 'disk1']));
});

test('a volume that is streaming gets half of its share, and gets all when it is alone', async () => {
  const chosen = async (volumes: Volume[]) => {
    const { choose } = await choiceOver(volumes, {}, [], 'disk0');
    return digests(6000).filter((digest) => choose(digest) === 'disk0').length;
  };
  const half = await chosen(disks(500, 500));
  assert.ok(Math.abs(half - 2000) < 200, `${half} of 6,000 instead of 3,000`);
  assert.equal(await chosen(disks(500)), 6000);
});

test('by hash, every content has a volume of its own, and a new volume takes its share and moves no other', async () => {
  const before = (await choiceOver(disks(500, 500, 500, 500), { distribution: 'hash' })).choose;
  const after = (await choiceOver(disks(500, 500, 500, 500, 500), { distribution: 'hash' })).choose;
  const counts = new Map<string, number>();
  let moved = 0;
  for (const digest of digests(20_000)) {
    const [old, now] = [before(digest), after(digest)];
    counts.set(old, (counts.get(old) ?? 0) + 1);
    if (old === now) continue;
    moved++;
    assert.equal(now, 'disk4', 'a content that moves goes to the new volume');
  }
  for (const [name, count] of counts) assert.ok(Math.abs(count - 5000) < 300, `${name} has ${count} of 20,000`);
  assert.ok(Math.abs(moved - 4000) < 250, `${moved} of 20,000 move`);
});

test('the volume of a content by hash never changes between releases', () => {
  const hash = new VolumeHash(['one', 'two', 'three']);
  const homes = digests(8).map((digest) => hash.homeOf(digest));
  assert.deepEqual(homes, HOMES);
});

test('while a volume is missing or full, its contents go to the next one in their order, and this is noted', async () => {
  const all = disks(500, 500, 500);
  const whole = await choiceOver(all, { distribution: 'hash' });
  const missing = await choiceOver([all[0]!, all[2]!], { distribution: 'hash' }, ['disk1']);
  const full = await choiceOver([all[0]!, ...disks(0, 1).slice(1), all[2]!], { distribution: 'hash' });
  const others = new Set<string>();
  for (const digest of digests(1000)) {
    const home = whole.choose(digest);
    if (home === 'disk1') others.add(missing.choose(digest));
    else assert.equal(missing.choose(digest), home, 'the contents of other volumes stay');
    assert.equal(full.choose(digest), missing.choose(digest));
  }
  assert.deepEqual(others, new Set(['disk0', 'disk2']), 'both others take a part');
  assert.deepEqual(
    [whole.notes, missing.notes, full.notes],
    [{}, { 'displaced:disk1': 'yes' }, { 'displaced:disk1': 'yes' }],
  );
});
