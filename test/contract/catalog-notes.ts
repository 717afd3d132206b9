/** The contract of every catalog for its small tables: segments and notes. */
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Segment } from '../../src/catalog/index.ts';
import { all, type Behaviour, ONE_OWNER } from './catalog-fixture.ts';

export function catalogNotes(name: string, behaviour: Behaviour): void {
  describe(`${name}: segments and notes`, () => {
    behaviour(
      'segments are listed by number, with their latest values',
      async (catalog) => {
        const segment = (number: number, changes: Partial<Segment> = {}): Segment => ({
          number,
          volume: 'main',
          name: `crawl/crawl-${number}.warc.gz`,
          collection: 1,
          state: 'open',
          bytes: 2 ** 40,
          records: 7,
          deadBytes: 0,
          ...changes,
        });
        await catalog.write({ putSegments: [segment(300), segment(2), segment(70_000), segment(5)] });
        const sealed = segment(2, { state: 'sealed', volume: 'm\u00e4in', deadBytes: 12 });
        await catalog.write({ putSegments: [sealed], removeSegments: [5, 6] });
        assert.deepEqual(await catalog.segments(), [sealed, segment(300), segment(70_000)]);
      },
      ONE_OWNER,
    );

    behaviour('notes are found by the beginning of their names', async (catalog) => {
      const notes = { 'a/1': 'one', 'a/2': '', b: '\u4e2d', ['__proto__']: 'odd', '': 'empty name', '\uffff': 'last' };
      await catalog.write({ putNotes: notes });
      assert.deepEqual(await catalog.notes(), notes);
      assert.deepEqual(await catalog.notes('a/'), { 'a/1': 'one', 'a/2': '' });
      assert.deepEqual(await catalog.notes('c'), {});
      assert.deepEqual(await all(catalog.notePages('a/')), Object.entries({ 'a/1': 'one', 'a/2': '' }));
      assert.deepEqual(await all(catalog.notePages('c')), []);
      await catalog.write({ removeNotes: ['a/1', 'absent', '__proto__'], putNotes: { b: 'changed' } });
      assert.deepEqual(await catalog.notes(), { 'a/2': '', b: 'changed', '': 'empty name', '\uffff': 'last' });
    });
  });

  describe(`${name}: very many notes`, () => {
    behaviour('very many notes are listed in order, in pages of bounded size', async (catalog) => {
      const notes = Array.from({ length: 3000 }, (_, index) => [`n${10_000 + index}`, 'x'.repeat(1000)] as const);
      await catalog.write({ putNotes: { ...Object.fromEntries(notes), m: 'before', o: 'behind' } });
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
