import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { firstSequenceOf } from './catalog.ts';
import { MemoryCatalog } from './memory-catalog.ts';

suite('A catalog in memory', () => {
  test('never deals a sequence number of an earlier incarnation again, even if the segment is gone', async () => {
    const catalog = new MemoryCatalog({ clock: () => 0 });
    const list = async (name: string, sequence?: number) =>
      (await catalog.listSegment({ volume: 'main', name, collection: 1, sequence }))?.sequence;
    assert.equal(await list('a'), 1);
    assert.equal(await list('b'), 2);
    await catalog.clear();
    await catalog.beginIncarnation(7);
    assert.equal(await list('a', 1), 1, 'what was found keeps its number');
    assert.equal(await list('c'), firstSequenceOf(7));
    assert.equal(await list('d'), firstSequenceOf(7) + 1);
    await catalog.clear();
    assert.equal(await list('e'), firstSequenceOf(7) + 2);
    assert.ok(Number.isSafeInteger(firstSequenceOf(2 ** 20)));
  });
});
