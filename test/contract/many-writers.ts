/** The contract of a catalog that many writers share, with all writers at work at the same time (I12). */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import type {
  Block,
  BlockKey,
  Capture,
  Catalog,
  CommitOutcome,
  Lease,
  NewBlock,
  Segment,
} from '../../src/catalog/index.ts';
import { all, capture } from './catalog-fixture.ts';

const WRITERS = 8;
const CONTENTS = 10_000;
const GROUP_CONTENTS = 250;

type Writer = { readonly lease: Lease; readonly segment: Segment };

function key(content: string): BlockKey {
  return { digest: new Uint8Array(createHash('sha256').update(content).digest()), overflow: 0 };
}

async function newWriter(catalog: Catalog, index: number): Promise<Writer> {
  const lease = (await catalog.takeLease(`writer ${index}`, 'test'))!;
  const segment = (await catalog.listSegment({ volume: 'main', name: `s${index}`, collection: 1 }, lease))!;
  return { lease, segment };
}

/** Commits these contents with a capture each, and returns those that another writer had stored. */
async function store(catalog: Catalog, { lease, segment }: Writer, contents: readonly string[]) {
  const lost = new Set<string>();
  let { bytes } = segment;
  for (let at = 0; at < contents.length; at += GROUP_CONTENTS) {
    const some = contents.slice(at, at + GROUP_CONTENTS).map((content, index) => ({
      content: key(content),
      place: { segment: segment.number, offset: bytes + index * 100, length: 100 },
    }));
    const end = bytes + some.length * 100;
    const outcome: CommitOutcome = await catalog.commit({
      id: `${segment.name} ${end}`,
      lease,
      segments: [
        {
          number: segment.number,
          from: { state: 'open', bytes, volume: 'main' },
          to: { bytes: end, records: end / 100 },
        },
      ],
      blocks: some.map(({ content, place }) => ({ key: content, size: 10, holder: place })),
      captures: some.map(({ content, place }, index) => ({
        capture: capture(`http://${segment.name}.example/${at + index}`, { block: content, place }),
      })),
    });
    assert.equal(outcome.kind, 'committed');
    for (const block of outcome.kind === 'committed' ? outcome.lost : [])
      lost.add(Buffer.from(block.key.digest).toString('hex'));
    bytes = end;
  }
  return lost;
}

/** Registers the tests. `open` opens a new, empty catalog. */
export function manyWriters(name: string, open: () => Promise<Catalog>): void {
  const behaviour = (sentence: string, act: (catalog: Catalog) => Promise<void>) =>
    test(sentence, async () => {
      const catalog = await open();
      try {
        await act(catalog);
      } finally {
        await catalog.close();
      }
    });

  describe(`${name}: many writers`, () => {
    behaviour(
      'I12: of 8 writers that store the same contents, one wins each, and the counts are exact',
      async (catalog) => {
        const writers = await Promise.all(Array.from({ length: WRITERS }, (_, index) => newWriter(catalog, index)));
        const shared = Array.from({ length: CONTENTS / 2 }, (_, index) => `shared ${index}`);
        const own = (writer: number) =>
          Array.from({ length: CONTENTS / 2 / WRITERS }, (_, index) => `own ${writer} ${index}`);
        const lost = await Promise.all(
          writers.map((writer, index) => {
            const begin = (index * shared.length) / WRITERS;
            return store(catalog, writer, [...shared.slice(begin), ...own(index), ...shared.slice(0, begin)]);
          }),
        );
        for (const content of shared) {
          const id = Buffer.from(key(content).digest).toString('hex');
          assert.equal(lost.filter((some) => some.has(id)).length, WRITERS - 1, content);
        }
        const captures = WRITERS * shared.length + CONTENTS / 2;
        assert.deepEqual(await catalog.totals(), {
          captures,
          blocks: CONTENTS,
          revisits: 0,
          payloadBytes: captures * 10,
          uniquePayloadBytes: CONTENTS * 10,
        });
        const held = new Map<string, number>();
        for (const block of await all(catalog.blocks())) {
          const wanted = lost.some((some) => some.has(Buffer.from(block.key.digest).toString('hex'))) ? WRITERS : 1;
          assert.equal(block.references, wanted);
          const place = `${block.holder.segment} ${block.holder.offset}`;
          held.set(place, (held.get(place) ?? 0) + 1);
        }
        const surplus = await Promise.all(writers.map(({ segment }) => catalog.surplusRecords(segment.number)));
        assert.equal(surplus.flat().length, captures - CONTENTS);
        for (const [index, { segment }] of writers.entries())
          for (const { offset } of surplus[index]!) assert.ok(!held.has(`${segment.number} ${offset}`));
      },
    );

    behaviour('I5: a content with two owners stays until both have deleted it', async (catalog) => {
      const [one, two] = [await newWriter(catalog, 1), await newWriter(catalog, 2)];
      await Promise.all([store(catalog, one, ['content']), store(catalog, two, ['content'])]);
      const [block] = await catalog.getBlocks([key('content')]);
      assert.equal(block?.references, 2);
      const captures = await all(catalog.captures({}));
      const remove = (index: number) =>
        catalog.commit({ deletions: [{ capture: captures[index]!, mark: new Uint8Array(16).fill(index) }] });
      assert.deepEqual(await remove(0), { kind: 'committed', lost: [], freed: 0 });
      assert.equal((await catalog.getBlocks([key('content')]))[0]?.references, 1);
      assert.deepEqual(await remove(0), { kind: 'moved', captures: [0] });
      assert.deepEqual(await remove(1), { kind: 'committed', lost: [], freed: 1 });
      assert.deepEqual(await catalog.getBlocks([key('content')]), [undefined]);
      assert.deepEqual(await catalog.findDeleted([0, 1, 2].map((fill) => new Uint8Array(16).fill(fill))), [
        true,
        true,
        false,
      ]);
    });

    behaviour('I7: a content is not taken for another that got its key meanwhile', async (catalog) => {
      const segments = [1, 2, 3].map((number) => ({ segment: number, offset: 0, length: 100 }));
      const [first, second, third] = segments as [Block['holder'], Block['holder'], Block['holder']];
      const store = (holder: Block['holder'], block: Partial<NewBlock> = {}) =>
        catalog.commit({
          blocks: [{ key: key('content'), size: 10, holder, ...block }],
          captures: [{ capture: capture('http://a.com/', { block: key('content'), place: holder }) }],
        });
      const other: CommitOutcome = { kind: 'stale', blocks: [key('content')] };
      assert.equal((await store(first)).kind, 'committed');
      assert.deepEqual(await store(second, { size: 11 }), other);
      assert.deepEqual(await store(second, { size: 11, isSpare: true }), other);
      assert.deepEqual(await store(second, { isDistinct: true }), other);
      assert.equal((await store(first, { isDistinct: true })).kind, 'committed', 'its own record');
      assert.equal((await store(third)).kind, 'committed', 'the same content');
      assert.equal((await catalog.totals()).captures, 2);
    });

    behaviour('C5: a capture is known whichever number its content has', async (catalog) => {
      const [first, other] = [key('content'), { ...key('content'), overflow: 1 }];
      const marks = [new Uint8Array(16).fill(5)];
      const wanted = capture('http://a.com/', { block: first });
      const again = { ...wanted, block: other, place: { ...wanted.place, offset: wanted.place.offset + 1 } };
      assert.equal((await catalog.commit({ captures: [{ capture: wanted, marks }] })).kind, 'committed');
      assert.deepEqual(await catalog.commit({ captures: [{ capture: again, marks }] }), {
        kind: 'known',
        captures: [0],
        deleted: [],
      });
    });

    behaviour('I6: a capture is deleted as it was seen before its content was found', async (catalog) => {
      const [content, other] = [key('content'), key('other')];
      const holder = { segment: 1, offset: 0, length: 100 };
      const seen = [capture('http://a.com/', { kind: 'revisit' }), capture('http://b.com/', { kind: 'revisit' })];
      const blocks = [content, other].map((name) => ({ key: name, size: 10, holder }));
      await catalog.commit({ blocks, captures: seen.map((one) => ({ capture: one })), keepsUnreferenced: true });
      const found = seen.map((from, index) => ({ from, to: { ...from, block: blocks[index]!.key } }));
      await catalog.commit({ moves: found, keepsUnreferenced: true });
      const [deleted, removed] = seen;
      const outcome = await catalog.commit({
        deletions: [{ capture: deleted!, mark: new Uint8Array(16).fill(9) }],
        removeCaptures: [removed!],
      });
      assert.deepEqual(outcome, { kind: 'committed', lost: [], freed: 2 });
      assert.deepEqual(await catalog.getBlocks([content, other]), [undefined, undefined]);
      assert.deepEqual(await catalog.totals(), {
        captures: 0,
        blocks: 0,
        revisits: 0,
        payloadBytes: 0,
        uniquePayloadBytes: 0,
      });
    });

    behaviour('numbers that were dealt are not dealt again, also after their segment was removed', async (catalog) => {
      const first = (await catalog.listSegment({ volume: 'main', name: 'a', collection: 1 }))!;
      const from = { state: 'open', bytes: 0, volume: 'main' } as const;
      const removed = await catalog.commit({ segments: [{ number: first.number, from, to: undefined }] });
      assert.equal(removed.kind, 'committed');
      const [again, other] = await Promise.all([
        catalog.listSegment({ volume: 'main', name: 'a', collection: 1 }),
        catalog.listSegment({ volume: 'main', name: 'b', collection: 1 }),
      ]);
      assert.equal(new Set([first.number, again!.number, other!.number]).size, 3);
      assert.equal(new Set([first.sequence, again!.sequence, other!.sequence]).size, 3);
      assert.deepEqual(await catalog.segmentByName('a'), again);
      assert.deepEqual(await catalog.segment(other!.number), other);
      assert.equal(await catalog.segment(first.number), undefined);
    });

    behaviour('C5: a capture that may repeat is refused only when it was deleted', async (catalog) => {
      const [gone, other] = [new Uint8Array(16).fill(7), new Uint8Array(16).fill(8)];
      const wanted = capture('http://a.com/');
      const again = { ...wanted, place: { ...wanted.place, offset: wanted.place.offset + 1 } };
      const enter = (entry: Capture, mark: Uint8Array, mayRepeat: boolean) =>
        catalog.commit({ captures: [{ capture: entry, marks: [mark], mayRepeat }] });
      const committed = { kind: 'committed', lost: [], freed: 0 };
      assert.deepEqual(await enter(wanted, other, false), committed);
      assert.deepEqual(await enter(again, other, false), { kind: 'known', captures: [0], deleted: [] });
      assert.deepEqual(await enter(again, other, true), committed);
      assert.equal((await all(catalog.captures({}))).length, 2);
      await catalog.commit({ deletedMarks: [gone] });
      const another = capture('http://b.com/');
      assert.deepEqual(await enter(another, gone, true), { kind: 'known', captures: [], deleted: [0] });
      const seen = catalog.batches;
      const entry = { capture: another, marks: [gone] };
      assert.deepEqual(await catalog.commit({ seen, captures: [entry] }), {
        kind: 'known',
        captures: [],
        deleted: [0],
      });
    });

    behaviour('a group that was made before another commit is still checked', async (catalog) => {
      const mark = new Uint8Array(16).fill(7);
      const seen = catalog.batches;
      const wanted = capture('http://a.com/');
      await catalog.commit({ deletedMarks: [mark], bars: [{ kind: 'url', urlKey: capture('http://b.com/').urlKey }] });
      assert.deepEqual(await catalog.commit({ seen, captures: [{ capture: wanted, marks: [mark] }] }), {
        kind: 'known',
        captures: [],
        deleted: [0],
      });
      assert.deepEqual(
        await catalog.commit({ seen, captures: [{ capture: wanted }, { capture: capture('http://b.com/') }] }),
        {
          kind: 'barred',
          captures: [1],
        },
      );
      const referents = [{ key: key('gone'), holder: wanted.place }];
      assert.deepEqual(await catalog.commit({ seen, referents }), { kind: 'stale', blocks: [key('gone')] });
    });
  });
}
