import assert from 'node:assert/strict';
import { test } from 'node:test';
import { utf8 } from '../../base/index.ts';
import { MemoryCatalog, type Segment } from '../../catalog/index.ts';
import { openMemoryVolume, type Volume } from '../../volume/index.ts';
import { appliedNote, TOMBSTONES_SUFFIX, Tombstones } from './tombstones.ts';
import { VolumeSet } from './volume-set.ts';

const segment: Segment = {
  number: 1,
  volume: 'main',
  name: 'c/one.warc.gz',
  collection: 1,
  state: 'sealed',
  bytes: 1000,
  records: 3,
  deadBytes: 0,
};
const NAME = segment.name + TOMBSTONES_SUFFIX;
const block = { digest: Buffer.alloc(32, 7), overflow: 2 };

function made(...volumes: Volume[]): { tombstones: Tombstones; catalog: MemoryCatalog } {
  const catalog = new MemoryCatalog({ clock: () => 0 });
  const set = VolumeSet.of(
    volumes.map((volume) => ({
      setting: { name: volume.name, kind: 'directory', path: volume.name, writable: volume.writable },
      volume,
    })),
  );
  return { tombstones: new Tombstones(set, catalog), catalog };
}

test('added tombstones are read back with their contents', async () => {
  const { tombstones } = made(openMemoryVolume('main'));
  assert.deepEqual(await tombstones.list(segment), []);
  await tombstones.add(segment, [{ offset: 10, block }]);
  await tombstones.add(segment, [{ offset: 500, block: undefined }]);
  assert.deepEqual(await tombstones.list(segment), [
    { offset: 10, block },
    { offset: 500, block: undefined },
  ]);
  assert.deepEqual(await tombstones.read(segment), new Set([10, 500]));
});

test('a line without its end is ignored, and the next addition cuts it off', async () => {
  const volume = openMemoryVolume('main');
  const { tombstones } = made(volume);
  const { after } = await tombstones.add(segment, [{ offset: 10, block }]);
  await volume.append(NAME, after, [utf8('50')]);
  assert.deepEqual(await tombstones.read(segment), new Set([10]));
  await tombstones.add(segment, [{ offset: 700, block }]);
  assert.deepEqual(await tombstones.read(segment), new Set([10, 700]));
});

test('lines that the catalog has not carried out are listed apart, and the next addition cuts them off', async () => {
  const volume = openMemoryVolume('main');
  const { tombstones, catalog } = made(volume);
  const added = await tombstones.add(segment, [{ offset: 10, block }]);
  await catalog.commit({ putNotes: { [appliedNote('main', segment.name)]: String(added.after) } });
  await volume.append(NAME, added.after, [utf8('500 -\n')]);
  assert.deepEqual(await tombstones.listApplied(segment), [{ offset: 10, block }]);
  const unapplied = await tombstones.listUnapplied(volume, segment.name);
  assert.deepEqual(unapplied, {
    tombstones: [{ offset: 500, block: undefined }],
    bytes: added.after + 6,
    damagedLines: 0,
  });
  await tombstones.add(segment, [{ offset: 700, block: undefined }]);
  assert.deepEqual(await tombstones.read(segment), new Set([10, 700]));
});

test('taking back an addition restores the earlier lines', async () => {
  const { tombstones } = made(openMemoryVolume('main'));
  await tombstones.add(segment, [{ offset: 10, block }]);
  await tombstones.takeBack(await tombstones.add(segment, [{ offset: 20, block }]));
  assert.deepEqual(await tombstones.read(segment), new Set([10]));
});

test('tombstones of a segment in a read-only volume go to another volume, and both volumes are read', async () => {
  const readOnly = openMemoryVolume('main', undefined, { writable: false });
  const { tombstones } = made(readOnly, openMemoryVolume('other'));
  const added = await tombstones.add(segment, [{ offset: 10, block }]);
  assert.equal(added.volume, 'other');
  assert.deepEqual(await tombstones.read(segment), new Set([10]));
  await tombstones.remove(segment);
  assert.equal(await tombstones.bytes(segment.name), 0);
});

test('an archive without a writable volume refuses tombstones', async () => {
  const { tombstones } = made(openMemoryVolume('main', undefined, { writable: false }));
  await assert.rejects(tombstones.add(segment, [{ offset: 10, block }]), { code: 'NO_WRITABLE_VOLUME' });
});

test('the lines around damaged lines are read, and the damaged lines are counted', async () => {
  const volume = openMemoryVolume('main');
  const { tombstones } = made(volume);
  await tombstones.add(segment, [{ offset: 10, block }]);
  const { after } = await tombstones.add(segment, [{ offset: 20, block }]);
  const damaged = utf8('3?0 -\n-5 -\n40 zz~0\n500 -\n6');
  await volume.append(NAME, after, [damaged]);
  assert.deepEqual(await tombstones.read(segment), new Set([10, 20, 500]));
  const { bytes, damagedLines } = await tombstones.listUnapplied(volume, segment.name);
  assert.deepEqual([bytes, damagedLines], [after + damaged.length - 1, 3]);
});

test('bytes after the last whole line are torn if a line can begin with them, and damaged otherwise', async () => {
  for (const [rest, expected] of [
    ['', 0],
    ['6', 0],
    ['60 ', 0],
    ['60 -', 0],
    [`60 ${'a'.repeat(64)}~1`, 0],
    ['\0'.repeat(100), 1],
    [`60 ${'a'.repeat(20)}\0\0`, 1],
  ] as const) {
    const volume = openMemoryVolume('main');
    const { tombstones } = made(volume);
    const { after } = await tombstones.add(segment, [{ offset: 10, block }]);
    if (rest !== '') await volume.append(NAME, after, [utf8(rest)]);
    const { bytes, damagedLines } = await tombstones.listUnapplied(volume, segment.name);
    assert.deepEqual([bytes, damagedLines], [after, expected], JSON.stringify(rest));
  }
});
