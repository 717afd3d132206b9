/** The contract of every catalog for its small tables: segments and notes. */
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Segment } from '../../src/catalog/index.ts';
import { all, type Behaviour } from './catalog-fixture.ts';
import { write } from './write-by-commit.ts';

export function catalogNotes(name: string, behaviour: Behaviour): void {
  describe(`${name}: segments and notes`, () => {
    behaviour('segments are listed by number, with their latest values', async (catalog) => {
      const rows: Segment[] = [];
      for (let number = 1; number <= 300; number++)
        rows.push((await catalog.listSegment({ volume: 'main', name: `news/${number}`, collection: 1 }))!);
      assert.deepEqual(await catalog.segments(), rows);
      const from = { state: 'open', bytes: 0, volume: 'main' } as const;
      const sealed = { state: 'sealed', bytes: 2 ** 40, records: 7, volume: 'm\u00e4in' } as const;
      const segments = [...rows.slice(4), rows[0]!].map(({ number }) => ({ number, from, to: undefined }));
      await catalog.commit({ segments: [...segments, { number: 2, from, to: sealed }] });
      assert.deepEqual(await catalog.segments(), [{ ...rows[1], ...sealed }, rows[2], rows[3]]);
      assert.deepEqual(await catalog.segment(2), { ...rows[1], ...sealed });
      assert.deepEqual(await catalog.segmentByName('news/3'), rows[2]);
      assert.equal(await catalog.segmentByName('news/5'), undefined);
    });

    behaviour('notes are found by the beginning of their names', async (catalog) => {
      const notes = { 'a/1': 'one', 'a/2': '', b: '\u4e2d', ['__proto__']: 'odd', '': 'empty name', '\uffff': 'last' };
      await write(catalog, { putNotes: notes });
      assert.deepEqual(await catalog.notes(), notes);
      assert.deepEqual(await catalog.notes('a/'), { 'a/1': 'one', 'a/2': '' });
      assert.deepEqual(await catalog.notes('c'), {});
      assert.deepEqual(await all(catalog.notePages('a/')), Object.entries({ 'a/1': 'one', 'a/2': '' }));
      assert.deepEqual(await all(catalog.notePages('c')), []);
      await write(catalog, { removeNotes: ['a/1', 'absent', '__proto__'], putNotes: { b: 'changed' } });
      assert.deepEqual(await catalog.notes(), { 'a/2': '', b: 'changed', '': 'empty name', '\uffff': 'last' });
    });
  });

  describe(`${name}: numbers of collections`, () => {
    behaviour('the numbers of collections go on after those in notes', async (catalog) => {
      assert.equal(await catalog.collectionNumber('news'), 1);
      await write(catalog, { putNotes: { 'collection:old': '4' } });
      assert.deepEqual([await catalog.collectionNumber('old'), await catalog.collectionNumber('new')], [4, 5]);
      await write(catalog, { putNotes: { 'collection:older': '2' } });
      assert.deepEqual([await catalog.collectionNumber('art'), await catalog.collectionNumber('news')], [6, 1]);
    });
  });

  describe(`${name}: very many notes`, () => {
    behaviour('very many notes are listed in order, in pages of bounded size', async (catalog) => {
      const notes = Array.from({ length: 3000 }, (_, index) => [`n${10_000 + index}`, 'x'.repeat(1000)] as const);
      await write(catalog, { putNotes: { ...Object.fromEntries(notes), m: 'before', o: 'behind' } });
      const pages: [string, string][][] = [];
      for await (const page of catalog.notePages('n')) pages.push(page);
      assert.deepEqual(pages.flat(), notes);
      assert.ok(
        pages.length > 1 && pages.every((page) => page.length <= 1100),
        `pages of ${pages.map((page) => page.length)}`,
      );
    });
  });
}
