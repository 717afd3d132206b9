import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type Block, MemoryCatalog, type SavedCatalog, type Totals } from '../../src/catalog/index.ts';
import { MemoryPartVolume } from '../../src/volume/index.ts';
import { objectsOf } from './found-record.ts';
import { harnessDeleter, harnessWriter } from './harness-writer.ts';
import { judgeCatalog, judgeDeliveries, judgeObjects, judgeRebuilt } from './judge.ts';
import { runAlone } from './machine.ts';
import { VOLUME, World } from './world.ts';

/** A sound archive: p1 holds x, p2 is a revisit of it, q1 holds y and is deleted, r1 holds z in an open segment. */
async function soundWorld(): Promise<World> {
  const world = new World();
  const first = [
    { id: 'p1', content: 'x' },
    { id: 'p2', content: 'x' },
  ];
  await runAlone(world, 'P', harnessWriter([first.slice(0, 1), first.slice(1)]));
  await runAlone(world, 'Q', harnessWriter([[{ id: 'q1', content: 'y' }]]));
  await runAlone(world, 'D', harnessDeleter('q1'));
  await runAlone(world, 'R', harnessWriter([[{ id: 'r1', content: 'z' }]]));
  return world;
}

const objectsIn = (world: World) => objectsOf(new MemoryPartVolume(VOLUME, world.bucket));

function change(world: World, edit: (contents: SavedCatalog['contents']) => void): void {
  const saved = world.catalog.save();
  edit(saved.contents);
  world.catalog.restore(saved);
}

/** The row of one capture, by id. */
function rowOf({ captures }: SavedCatalog['contents'], id: string): string {
  return [...captures].find(([, { url }]) => url.endsWith(`/${id}`))![0];
}

type Damage = readonly [says: RegExp, damage: (world: World) => void];

const CATALOG_DAMAGES: readonly Damage[] = [
  [/^I1 the capture p1, acknowledged, points at nothing \(segment-P@0\)/, ({ bucket }) => bucket.delete('segment-P')],
  [
    /^I1 the capture p2, acknowledged, points at the record of http:\/\/example\.org\/p1/,
    (world) =>
      change(world, (contents) => {
        const { captures } = contents;
        const { place } = captures.get(rowOf(contents, 'p1'))!;
        captures.set(rowOf(contents, 'p2'), { ...captures.get(rowOf(contents, 'p2'))!, place });
      }),
  ],
  [
    /^I1 the record of the capture p1, acknowledged, has another content/,
    (world) =>
      change(world, (contents) => {
        const { block } = contents.captures.get(rowOf(contents, 'r1'))!;
        contents.captures.set(rowOf(contents, 'p1'), { ...contents.captures.get(rowOf(contents, 'p1'))!, block });
      }),
  ],
  [
    /^I5 the capture p2, acknowledged, has lost its content/,
    (world) => change(world, ({ blocks }) => void blocks.clear()),
  ],
  [
    /^I5 the capture p2, acknowledged, has no content/,
    (world) =>
      change(world, (contents) => {
        const row = rowOf(contents, 'p2');
        contents.captures.set(row, { ...contents.captures.get(row)!, block: undefined });
      }),
  ],
  [
    /^I5 the capture p2, acknowledged, has another content than it was stored with/,
    (world) => void world.book.tried.set('p2', 'z'),
  ],
  [
    /^I5 the content x is not where it should be/,
    (world) =>
      change(world, (contents) => {
        const { place } = contents.captures.get(rowOf(contents, 'p2'))!;
        for (const [id, block] of contents.blocks)
          if (block.holder.offset === 0) contents.blocks.set(id, { ...block, holder: place });
      }),
  ],
  [
    /^I2 the acknowledged capture p2 is gone/,
    (world) => change(world, (contents) => void contents.captures.delete(rowOf(contents, 'p2'))),
  ],
  [/^I2 nobody stored the capture p2/, ({ book }) => void book.tried.delete('p2')],
  [/^I2 the bytes of the segment segment-Q are missing/, ({ bucket }) => void bucket.delete('segment-Q')],
  [
    /^I3 nobody knows the record of p2/,
    (world) => change(world, (contents) => void contents.captures.delete(rowOf(contents, 'p2'))),
  ],
  [
    /^I3 the segment segment-R has \d+ bytes on the books, its records end at/,
    (world) =>
      change(world, ({ segments }) => {
        for (const [number, row] of segments) segments.set(number, { ...row, bytes: row.bytes + 1 });
      }),
  ],
  [
    /^I12 the segment segment-P has 3 records on the books, 2 in truth/,
    (world) =>
      change(world, ({ segments }) => {
        for (const [number, row] of segments) segments.set(number, { ...row, records: row.records + 1 });
      }),
  ],
  [
    /^I12 the segment segment-Q has 1 dead bytes on the books/,
    (world) =>
      change(world, ({ segments }) => {
        for (const [number, row] of segments) segments.set(number, { ...row, deadBytes: 1 });
      }),
  ],
  [
    /^I12 the record of p1 is dead and has a capture/,
    (world) =>
      change(world, (contents) => {
        const { place, block } = contents.captures.get(rowOf(contents, 'p1'))!;
        contents.dead.set(place.segment, new Map([[place.offset, { ...place, block }]]));
      }),
  ],
  [
    /^I12 the capture p2 is there 2 times/,
    (world) =>
      change(world, (contents) => {
        const capture = contents.captures.get(rowOf(contents, 'p2'))!;
        contents.captures.set('once more', { ...capture, place: { ...capture.place, segment: 2 } });
      }),
  ],
  [/^I6 the deleted capture p2 is back/, ({ book }) => void book.deleted.add('p2')],
  [/^I6 the bar of x is gone/, ({ book }) => void book.barred.add('x')],
  [/^I6 the capture p2 has the content x, which was taken down/, ({ book }) => void book.barred.add('x')],
];

const OBJECT_DAMAGES: readonly Damage[] = [
  [
    /^I6 the bytes of the deleted capture p2 are still there \(segment-P@\d+\)/,
    ({ book }) => void book.deleted.add('p2'),
  ],
  [/^I6 a content that only deleted captures had is still there \(segment-Q@0\)/, () => {}],
  [/^I6 bytes that were taken down are still there \(segment-R@0\)/, ({ book }) => void book.barred.add('z')],
  [
    /^I12 the content x is stored 2 times after compaction/,
    ({ bucket }) => void bucket.set('copy', bucket.get('segment-P')!),
  ],
  [/^H4 nothing speaks of the object copy/, ({ bucket }) => void bucket.set('copy', bucket.get('segment-P')!)],
];

suite('The judge', () => {
  test('finds nothing wrong with a sound archive', async () => {
    const world = await soundWorld();
    const objects = await objectsIn(world);
    assert.deepEqual(await judgeCatalog(world.catalog, objects, world.book), []);
    assert.deepEqual(await judgeRebuilt(world.catalog, world.catalog, world.book), []);
    // Only the bytes of q1, which is deleted and not yet compacted away.
    for (const breach of await judgeObjects(world.catalog, objects, world.book)) assert.match(breach, /segment-Q@0/);
  });

  for (const [says, damage] of CATALOG_DAMAGES)
    test(`finds in a catalog: ${says.source}`, async () => {
      const world = await soundWorld();
      damage(world);
      const breaches = await judgeCatalog(world.catalog, await objectsIn(world), world.book);
      assert.ok(
        breaches.some((breach) => says.test(breach)),
        breaches.join('\n'),
      );
    });

  for (const [says, damage] of OBJECT_DAMAGES)
    test(`finds in the volume: ${says.source}`, async () => {
      const world = await soundWorld();
      damage(world);
      const breaches = await judgeObjects(world.catalog, await objectsIn(world), world.book);
      assert.ok(
        breaches.some((breach) => says.test(breach)),
        breaches.join('\n'),
      );
    });

  test('finds wrong counts (I12)', async () => {
    const world = await soundWorld();
    class Miscounting extends MemoryCatalog {
      override async *blocks(): AsyncGenerator<Block[]> {
        for await (const page of super.blocks())
          yield page.map((block) => ({ ...block, references: block.references - 1 }));
      }

      override async totals(): Promise<Totals> {
        return { ...(await super.totals()), captures: 7 };
      }
    }
    const catalog = new Miscounting({ clock: () => 0, state: world.catalog.save() });
    const breaches = await judgeCatalog(catalog, await objectsIn(world), world.book);
    assert.deepEqual(breaches.toSorted(), [
      'I12 a content has 0 references on the books, 1 in truth',
      'I12 a content has 1 references on the books, 2 in truth',
      'I12 the totals are 7 captures and 2 contents, which is wrong',
    ]);
  });

  test('finds a content to which nothing refers (I12)', async () => {
    const world = await soundWorld();
    change(world, (contents) => {
      for (const id of ['p1', 'p2']) contents.captures.delete(rowOf(contents, id));
    });
    const breaches = await judgeCatalog(world.catalog, await objectsIn(world), world.book);
    assert.ok(breaches.includes('I12 a content to which nothing refers is on the books'), breaches.join('\n'));
  });

  test('finds a stream that leaves out, repeats or adds a record (I8)', async () => {
    const { book } = await soundWorld();
    const wanted = ['p1', 'p2', 'q1', 'r1'];
    const judged = (delivered: string[], isComplete = true) => {
      book.deliveries.splice(0, 9, { name: 'S', wanted: wanted.slice(0, 3), delivered, isComplete });
      return judgeDeliveries(book);
    };
    assert.deepEqual(judged(['p1', 'p2', 'q1']), []);
    assert.deepEqual(judged(['p1', 'p2']), [], 'q1 was deleted');
    assert.deepEqual(judged(['p1'], false), [], 'the stream was not at its end');
    assert.deepEqual(judged(['p1', 'q1']), ['I8 the stream S left out p2']);
    assert.deepEqual(judged(['p1', 'p2', 'p2']), ['I8 the stream S gave p2 2 times']);
    assert.deepEqual(judged(['p1', 'p2', 'r1']), ['I8 the stream S gave r1, which is not in its snapshot']);
  });

  test('allows and counts a capture that was stored twice and is missed only after its catalog was lost', async () => {
    const { book } = await soundWorld();
    const judged = (isOfEarlierLife: boolean) => {
      book.deliveries.splice(0, 9, { name: 'S', wanted: ['p2'], delivered: [], isComplete: true, isOfEarlierLife });
      return judgeDeliveries(book);
    };
    const missed = 'I8 the stream S left out p2';
    assert.deepEqual([judged(false), judged(true)], [[missed], [missed]]);
    book.try([{ id: 'p2', content: book.tried.get('p2')! }]);
    assert.deepEqual([judged(false), judged(true)], [[missed], []]);
    assert.deepEqual([...book.allowed], ['the stream S left out p2, which was stored twice']);
  });

  test('finds a rebuilt catalog that answers otherwise', async () => {
    const world = await soundWorld();
    const rebuilt = new MemoryCatalog({ clock: () => 0, state: world.catalog.save() });
    change(world, (contents) => void contents.captures.delete(rowOf(contents, 'p2')));
    const breaches = await judgeRebuilt(world.catalog, rebuilt, world.book);
    assert.match(breaches.find((line) => line.startsWith('R2 only'))!, /capture http:\/\/example\.org\/p2/);
    assert.match(breaches.find((line) => line.startsWith('R2 the rebuilt'))!, /content [0-9a-f]{64} 1200 1$/);
  });
});
