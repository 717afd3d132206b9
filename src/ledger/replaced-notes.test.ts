import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { utf8 } from '../base/index.ts';
import { MemoryDisk, MemoryPartVolume, openMemoryVolume } from '../volume/index.ts';
import { AppendingStore } from './appending-store.ts';
import { PartStore } from './part-store.ts';
import {
  formatReplacedNote,
  parseReplacedName,
  parseReplacedNote,
  type ReplacedNote,
  ReplacedNotes,
  readReplacedNotes,
  replacedNoteName,
} from './replaced-notes.ts';
import type { SegmentStore } from './segment-store.ts';

const note = (old: string, by: string, incarnation = 1, epoch = 1): ReplacedNote => ({
  name: replacedNoteName(old, { incarnation, epoch }),
  old,
  by,
  volume: 'main',
  incarnation,
  epoch,
});

suite('Notes about replaced segments', () => {
  test('say in their names what was replaced, and under which lease', () => {
    const name = replacedNoteName('web/a.warc.gz', { incarnation: 3, epoch: 12 });
    assert.equal(name, '_pinakes/replaced/web/a.warc.gz/3-12');
    assert.deepEqual(parseReplacedName(name), { old: 'web/a.warc.gz', incarnation: 3, epoch: 12 });
    for (const other of ['_pinakes/replaced/a', '_pinakes/replaced/a/1', '_pinakes/open/a/1-1', 'a/1-1'])
      assert.equal(parseReplacedName(other), undefined, other);
  });

  test('are not believed when they are damaged', () => {
    const by = { by: 'web/b.warc.gz', volume: 'main' };
    const bytes = formatReplacedNote(by);
    assert.deepEqual(parseReplacedNote(bytes), by);
    for (let length = 0; length < bytes.length - 2; length++)
      assert.equal(parseReplacedNote(bytes.subarray(0, length)), undefined);
    for (const text of [
      'null',
      '[]',
      '{"replaced":2,"by":"a","volume":"v"}',
      '{"replaced":1,"by":"../a","volume":"v"}',
    ])
      assert.equal(parseReplacedNote(utf8(text)), undefined, text);
  });

  test('are followed to the last one whose object is there', () => {
    const notes = new ReplacedNotes([note('a', 'b'), note('b', 'c'), note('c', 'd'), note('x', 'c')]);
    const last = (...there: string[]) => notes.lastOf('a', (name) => there.includes(name));
    assert.equal(last('a'), 'a');
    assert.equal(last('a', 'b'), 'b');
    assert.equal(last('a', 'd', 'b'), 'd');
    assert.equal(last('c'), 'c');
    assert.equal(last(), undefined);
    assert.equal(
      notes.lastOf('other', () => true),
      'other',
    );
    assert.ok(notes.isReplacement('c') && !notes.isReplacement('a'));
  });

  test('count by the newest lease, and end even where they form a ring', () => {
    const notes = new ReplacedNotes([note('a', 'new', 2, 1), note('a', 'old', 1, 9), note('a', 'older', 1, 8)]);
    assert.equal(notes.of('a')?.by, 'new');
    assert.ok(!notes.isReplacement('old'));
    const ring = new ReplacedNotes([note('a', 'b'), note('b', 'a')]);
    assert.equal(
      ring.lastOf('a', (name) => name === 'b'),
      'b',
    );
  });

  const stores: Record<string, () => SegmentStore> = {
    bucket: () => new PartStore(new MemoryPartVolume('main', new Map())),
    disk: () => new AppendingStore(openMemoryVolume('main', new MemoryDisk())),
  };
  for (const [kind, open] of Object.entries(stores))
    test(`are read from a ${kind}, unless they do not count`, async () => {
      const store = open();
      const all = [note('w/a', 'w/b'), note('w/a', 'w/c', 1, 2), note('w/x', 'w/y', 2, 1)];
      for (const one of all) await store.writeObject(one.name, formatReplacedNote(one));
      await store.writeObject(note('w/z', '').name, utf8('no note'));
      await store.writeObject('_pinakes/replaced/other', utf8('no note'));
      const available = { available: () => [store] };
      const notes = await readReplacedNotes(available, () => true);
      assert.deepEqual([...notes], [all[1], all[2]]);
      assert.deepEqual(notes.damaged, [note('w/z', '').name]);
      const older = await readReplacedNotes(
        available,
        ({ name, incarnation }) => incarnation === 2 || name === all[0]!.name,
      );
      assert.deepEqual([...older], [all[0], all[2]]);
    });
});
