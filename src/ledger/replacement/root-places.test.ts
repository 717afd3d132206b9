import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryCatalog, type Segment } from '../../catalog/index.ts';
import { RUNS_NOTE, Runs } from '../runs.ts';
import { boundsOfRows, RootPlaces, RunsCache } from './root-places.ts';

const ROOT = { name: 'c/old.warc.gz', sequence: 1 };

/** A catalog with a replacement whose only record was at 300 in its root, and is at 200 now. */
async function withReplacement(): Promise<{ catalog: MemoryCatalog; segment: Segment }> {
  const catalog = new MemoryCatalog({ clock: () => 0 });
  const row = (await catalog.listSegment({ volume: 'main', name: 'c/new.warc.gz', collection: 1 }))!;
  const runs = new Runs();
  runs.add(Runs.ofRoot(ROOT, 500), { from: 300, offset: 200, bytes: 100, isAnew: false });
  const to = { state: 'sealed', bytes: 400, records: 3, roots: runs.roots } as const;
  const { number, state, bytes, volume } = row;
  const putNotes = { [RUNS_NOTE + row.name]: runs.toNote() };
  await catalog.commit({ segments: [{ number, from: { state, bytes, volume }, to }], putNotes });
  return { catalog, segment: (await catalog.segment(number))! };
}

test('a record is found from its root place, and its root place from where it is', async () => {
  const { catalog, segment } = await withReplacement();
  const places = await RootPlaces.load(catalog);
  assert.deepEqual(places.root(ROOT.name), { ...ROOT, segments: [segment] });
  assert.deepEqual(await places.rootOf({ segment: segment.number, offset: 200 }), {
    root: ROOT.name,
    sequence: 1,
    offset: 300,
  });
  assert.deepEqual(await places.currentOf(ROOT.name, 300), [{ segment, offset: 200, isSame: true }]);
  assert.equal(
    await places.rootOf({ segment: segment.number, offset: 0 }),
    undefined,
    'its warcinfo record has no root',
  );
});

test('the runs of a segment that was removed meanwhile are missing, and not those of a segment with another name', async () => {
  const { catalog, segment } = await withReplacement();
  const kept = new RunsCache();
  await kept.of(catalog, segment);
  const { number, state, bytes, volume, name } = segment;
  const removal = [{ number, from: { state, bytes, volume }, to: undefined }];
  await catalog.commit({ segments: removal, removeNotes: [RUNS_NOTE + name] });
  await assert.rejects(new RunsCache().of(catalog, segment), { code: 'OBJECT_MISSING', where: name });
  assert.deepEqual((await kept.of(catalog, segment)).roots, [ROOT], 'the runs of a name never change');
  kept.forget();
  await assert.rejects(kept.of(catalog, segment), { code: 'OBJECT_MISSING' });
});

test('a snapshot has the lengths of segments that are not sealed, and nothing of those that were dropped', () => {
  const row = (number: number, state: Segment['state']): Segment => ({
    ...{ number, volume: 'main', name: `c/${number}.warc.gz`, collection: 1, state },
    ...{ bytes: 100, records: 2, deadBytes: 0 },
  });
  const rows = [row(1, 'sealed'), row(2, 'sealing'), row(3, 'open')];
  assert.deepEqual(boundsOfRows(rows, ['c/3.warc.gz', 'a/dropped.warc.gz']), {
    before: 4,
    open: [
      ['a/dropped.warc.gz', 0],
      ['c/2.warc.gz', 100],
      ['c/3.warc.gz', 100],
    ],
  });
});
