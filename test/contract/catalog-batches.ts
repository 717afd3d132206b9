/** The contract of every catalog for batches: totals, atomicity, order, views, and results. */
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { AssertionError } from '../../src/base/index.ts';
import { ADOPTION_LEASE, type Capture, REFERENCES_COUNTED } from '../../src/catalog/index.ts';
import type { UrlKey } from '../../src/url/index.ts';
import { all, type Behaviour, block, capture, captureAt, digest, everythingIn, NOTHING } from './catalog-fixture.ts';
import { write } from './write-by-commit.ts';

export function catalogBatches(name: string, behaviour: Behaviour): void {
  describe(`${name}: totals`, () => {
    const revisit = (first: number, changes: Partial<Capture> = {}) =>
      capture('http://a.com/', { kind: 'revisit', block: block(first).key, ...changes });

    behaviour(
      'the totals count the content size of every capture, in whatever order captures and blocks are put',
      async (catalog) => {
        const captures = [revisit(1), revisit(1), capture('http://a.com/', { block: block(1).key }), revisit(2)];
        const expected = { captures: 4, blocks: 1, revisits: 3, payloadBytes: 3003, uniquePayloadBytes: 1001 };
        await write(catalog, { putCaptures: captures, putBlocks: [block(1)] });
        assert.deepEqual(await catalog.totals(), expected);
        await catalog.clear();
        await write(catalog, { putCaptures: captures });
        assert.deepEqual(await catalog.totals(), { ...NOTHING, captures: 4, revisits: 3 });
        await write(catalog, { putBlocks: [block(1)] });
        assert.deepEqual(await catalog.totals(), expected);
        assert.deepEqual(await all(catalog.blocks()), [block(1, { references: 3 })]);
      },
    );

    behaviour('a capture that is put again counts once, with its latest values', async (catalog) => {
      const first = revisit(1);
      const again = { ...first, kind: 'response' as const, block: block(2).key, status: 404, mime: 'x/y' };
      await write(catalog, { putCaptures: [first], putBlocks: [block(1), block(2)] });
      await write(catalog, { putCaptures: [first] });
      await write(catalog, { putCaptures: [first, again, first, again] });
      assert.deepEqual(await all(catalog.captures({})), [again]);
      const expected = { captures: 1, blocks: 2, revisits: 0, payloadBytes: 1002, uniquePayloadBytes: 2003 };
      assert.deepEqual(await catalog.totals(), expected);
    });

    behaviour('one record may give captures of several keys and times', async (catalog) => {
      const { place } = capture('http://a.com/');
      const captures = ['http://a.com/', 'http://b.com/'].flatMap((url) => [
        capture(url, { place, time: 1 }),
        capture(url, { place, time: 2 }),
      ]);
      await write(catalog, { putCaptures: captures.slice(0, 2) });
      await write(catalog, { putCaptures: captures.slice(2) });
      await write(catalog, { putCaptures: captures });
      assert.deepEqual(await all(catalog.captures({})), captures);
      assert.equal((await catalog.totals()).captures, 4);
    });

    behaviour(
      'removing a capture or block changes the totals once, and removing an absent one changes nothing',
      async (catalog) => {
        const [one, two, three] = [revisit(1), revisit(1), revisit(1)];
        await write(catalog, { putCaptures: [one, two], putBlocks: [block(1)] });
        await write(catalog, { removeCaptures: [one, one, three], removeBlocks: [block(7).key] });
        await write(catalog, { removeCaptures: [one] });
        const expected = { captures: 1, blocks: 1, revisits: 1, payloadBytes: 1001, uniquePayloadBytes: 1001 };
        assert.deepEqual(await catalog.totals(), expected);
        await write(catalog, {
          removeCaptures: [{ ...two, status: 1, block: undefined }],
          removeBlocks: [block(1).key],
        });
        assert.deepEqual(await everythingIn(catalog), {
          captures: [],
          blocks: [],
          segments: [],
          notes: {},
          totals: NOTHING,
        });
      },
    );
  });

  describe(`${name}: batches and views`, () => {
    behaviour('a batch removes rows before it puts rows', async (catalog) => {
      const one = capture('http://a.com/', { block: block(1).key });
      const alias = { declared: digest(8), block: block(1).key };
      const batch = { putCaptures: [one], putBlocks: [block(1)], putAliases: [alias], putNotes: { a: 'b' } };
      await write(catalog, batch);
      const removal = {
        removeCaptures: [one],
        removeBlocks: [block(1).key],
        removeAliases: [alias],
        removeNotes: ['a'],
      };
      await write(catalog, { ...batch, ...removal });
      assert.deepEqual(await all(catalog.captures({})), [one]);
      assert.deepEqual(await all(catalog.blocks()), [block(1)]);
      assert.deepEqual(await catalog.findAliases([digest(8)]), [[block(1).key]]);
      assert.deepEqual(await catalog.notes(), { a: 'b' });
      assert.equal((await catalog.totals()).payloadBytes, 1001);
      await write(catalog, removal);
      assert.deepEqual(await catalog.findAliases([digest(8)]), [[]]);
      assert.deepEqual(await catalog.totals(), NOTHING);
    });

    behaviour('a faulty batch changes nothing, and the next batch succeeds', async (catalog) => {
      const good = capture('http://a.com/', { mime: 'never/seen', block: block(1).key });
      const before = await everythingIn(catalog);
      const faults = [
        { putCaptures: [good, capture('http://a.com/', { time: Number.NaN })] },
        { putCaptures: [good, capture('http://a.com/', { time: 2 ** 52 })] },
        { putCaptures: [good], putBlocks: [block(1, { key: { digest: new Uint8Array(20), overflow: 0 } })] },
        { putCaptures: [good], putAliases: [{ declared: new Uint8Array(4), block: block(1).key }] },
      ];
      for (const fault of faults) await assert.rejects(write(catalog, fault), AssertionError);
      assert.deepEqual(await everythingIn(catalog), before);
      await write(catalog, { putCaptures: [good] });
      await write(catalog, { putCaptures: [capture('http://b.com/', { mime: 'other/type' })] });
      assert.deepEqual((await all(catalog.captures({})))[0], good);
    });

    behaviour('batches that the caller does not await are written one after the other', async (catalog) => {
      // Where several processes change a catalog, calls have no order.
      if (catalog.isShared) return;
      const one = capture('http://a.com/', { block: block(1).key });
      const writes: Promise<void>[] = [];
      for (let index = 0; index < 30; index++) {
        writes.push(write(catalog, { putCaptures: [{ ...one, status: index }], putBlocks: [block(1)] }));
        if (index < 29) writes.push(write(catalog, { removeCaptures: [one] }));
      }
      await Promise.all(writes);
      assert.deepEqual(await all(catalog.captures({})), [{ ...one, status: 29 }]);
      assert.deepEqual(await catalog.totals(), {
        captures: 1,
        blocks: 1,
        revisits: 0,
        payloadBytes: 1001,
        uniquePayloadBytes: 1001,
      });
    });

    behaviour('the catalog does not see later changes to the bytes of the caller', async (catalog) => {
      const bytes = digest(4);
      const key = { digest: bytes, overflow: 0 };
      await write(catalog, {
        putBlocks: [block(4, { key })],
        putCaptures: [capture('http://a.com/', { block: key })],
        putAliases: [{ declared: bytes, block: key }],
      });
      bytes.fill(9);
      assert.deepEqual(await catalog.findBlocks([digest(4)]), [[block(4)]]);
      assert.deepEqual(await catalog.findAliases([digest(4)]), [[block(4).key]]);
      assert.deepEqual((await all(catalog.captures({})))[0]!.block, block(4).key);
    });

    behaviour('I8: a view does not see later changes', async (catalog) => {
      const captures = ['a', 'b', 'c'].map((key) => captureAt(key, { block: block(1).key }));
      await write(catalog, {
        putCaptures: captures,
        putBlocks: [block(1, { references: 3 })],
        putAliases: [{ declared: digest(8), block: block(1).key }],
        putNotes: { mark: '1' },
      });
      const before = await everythingIn(catalog);
      await using view = await catalog.view();
      await write(catalog, {
        removeCaptures: captures,
        removeBlocks: [block(1).key],
        removeAliases: [{ declared: digest(8), block: block(1).key }],
        putNotes: { mark: '2' },
      });
      assert.deepEqual(await everythingIn(view), before);
      assert.deepEqual(await view.nearest('b' as UrlKey, 0), captures[1]);
      assert.deepEqual(await view.findBlocks([digest(1)]), [[block(1, { references: 3 })]]);
      assert.deepEqual(await view.findAliases([digest(8)]), [[block(1).key]]);
      await catalog.clear();
      await write(catalog, { putCaptures: [captureAt('x', { mime: 'first/new' })] });
      assert.deepEqual(await everythingIn(view), before);
      assert.equal((await all(catalog.captures({}))).length, 1);
    });

    behaviour('I8: a scan sees the captures and blocks of the moment at which it began', async (catalog) => {
      const captures = Array.from({ length: 30 }, (_, index) => captureAt('a', { time: index, block: block(1).key }));
      await write(catalog, { putCaptures: captures, putBlocks: [block(1)] });
      const found: Capture[] = [];
      await using view = await catalog.view();
      // The scan of a shared catalog goes with the time; one of a view does not.
      for await (const page of (catalog.isShared ? view : catalog).captures({}, 10)) {
        found.push(...page);
        await write(catalog, { removeCaptures: captures, removeBlocks: [block(1).key] });
      }
      assert.deepEqual(found, captures);
    });

    behaviour('a long scan gives what stays exactly once, in order, whatever is added and removed', async (catalog) => {
      const captures = Array.from({ length: 30 }, (_, index) => captureAt('b', { time: index * 10 }));
      const isStaying = (_: Capture, index: number) => index % 3 > 0;
      await write(catalog, { putCaptures: captures });
      await using view = await catalog.longView();
      const found: Capture[] = [];
      let added = 0;
      for await (const page of view.captures({}, 4)) {
        found.push(...page);
        const last = page.at(-1)!.time;
        // What is added behind the end of the scan would be read, too, and more be added.
        if (last > 250) continue;
        await write(catalog, {
          removeCaptures: captures.filter((capture, index) => !isStaying(capture, index)),
          putCaptures: [-5, 5].map((by) => captureAt('b', { time: last + by, hash: 1_000_000 + ++added })),
        });
      }
      const old = found.filter(({ hash }) => hash < 1_000_000);
      assert.deepEqual(
        old.filter((capture) =>
          isStaying(capture, captures.indexOf(captures.find((one) => one.hash === capture.hash)!)),
        ),
        captures.filter(isStaying),
      );
      assert.deepEqual(
        found,
        found.toSorted((a, b) => a.time - b.time),
      );
      assert.equal(new Set(found.map(({ hash }) => hash)).size, found.length, 'nothing twice');
      assert.equal(old.length === captures.length, !catalog.isShared, 'a shared catalog keeps no old rows for a scan');
    });

    behaviour('a capture that moves while it is scanned is given once', async (catalog) => {
      const place = (segment: number, offset: number) => ({ segment, offset, length: 10 });
      const captures = Array.from({ length: 12 }, (_, index) =>
        captureAt('a', { time: 5, hash: index % 4, place: place(1, index) }),
      );
      await write(catalog, { putCaptures: captures });
      await using view = await catalog.longView();
      const found: Capture[] = [];
      let pages = 0;
      for await (const page of view.captures({}, 5)) {
        found.push(...page);
        if (++pages > 1) continue;
        const moves = captures
          .slice(2, 7)
          .map((from) => ({ from, to: { ...from, place: place(2, from.place.offset) } }));
        assert.equal((await catalog.commit({ moves })).kind, 'committed');
      }
      assert.deepEqual(
        found.map(({ place: { offset } }) => offset).sort((a, b) => a - b),
        captures.map(({ place: { offset } }) => offset),
      );
    });

    behaviour('references to a popular content are counted, however many they are', async (catalog) => {
      const count = REFERENCES_COUNTED + 5;
      const captures = Array.from({ length: count }, (_, index) =>
        captureAt('a', { time: index, block: block(1).key }),
      );
      await write(catalog, { putCaptures: captures, putBlocks: [block(1)] });
      assert.deepEqual(await catalog.countReferences([block(2).key, block(1).key]), [0, count]);
      const [held] = await catalog.getBlocks([block(1).key]);
      assert.equal(held!.references, catalog.isShared ? REFERENCES_COUNTED : count);
      assert.equal((await all(catalog.blocks()))[0]!.references, count);
    });

    behaviour('a cleared catalog is empty and can be filled again', async (catalog, subject) => {
      const one = capture('http://a.com/', { block: block(1).key });
      const batch = { putCaptures: [one], putBlocks: [block(1)], putNotes: { a: 'b' } };
      await catalog.listSegment({ volume: 'main', name: 'a', collection: 1 });
      await write(catalog, { ...batch, putAliases: [{ declared: digest(8), block: block(1).key }] });
      await catalog.clear();
      assert.deepEqual(await everythingIn(catalog), {
        captures: [],
        blocks: [],
        segments: [],
        notes: {},
        totals: NOTHING,
      });
      assert.deepEqual(await catalog.findAliases([digest(8)]), [[]]);
      await write(catalog, batch);
      await catalog.close();
      const again = await subject.open();
      assert.deepEqual(await all(again.captures({})), [one]);
      await again.close();
    });

    behaviour(
      'a cleared catalog keeps its leases and what it has dealt, and has the notes that it was given',
      async (catalog, subject) => {
        const lease = (await catalog.takeLease('writer', 'test'))!;
        const segment = (name: string) => ({ volume: 'main', name, collection: 1 });
        const first = (await catalog.listSegment(segment('a')))!;
        assert.equal(await catalog.collectionNumber('news'), 1);
        await catalog.beginIncarnation(3);
        const adoption = (await catalog.takeLease(ADOPTION_LEASE, 'test'))!;
        const mark = digest(9).subarray(0, 16);
        await catalog.commit({
          lease: adoption,
          deletedMarks: [mark],
          bars: [{ kind: 'content', digest: digest(8) }],
          putNotes: { gone: 'x' },
        });
        const leases = await catalog.leases();
        await catalog.clear({ 'collection:news': '1', kept: 'yes' });
        assert.deepEqual(await catalog.leases(), leases);
        assert.deepEqual([await catalog.incarnation(), await catalog.isAdopting()], [3, true]);
        assert.deepEqual(await catalog.notes(), { 'collection:news': '1', kept: 'yes' });
        assert.deepEqual([await catalog.bars(), await catalog.findDeleted([mark])], [[], [false]]);
        assert.equal((await catalog.commit({ lease, putNotes: { a: 'b' } })).kind, 'fenced');
        assert.equal((await catalog.commit({ lease: adoption, putNotes: { a: 'b' } })).kind, 'committed');
        const second = (await catalog.listSegment(segment('a')))!;
        assert.ok(second.number > first.number && second.sequence! > first.sequence!);
        assert.deepEqual([await catalog.collectionNumber('art'), await catalog.collectionNumber('news')], [2, 1]);
        await catalog.clear();
        assert.deepEqual(await catalog.notes(), {});
        assert.equal(await catalog.collectionNumber('more'), 3);
        await catalog.close();
        const again = await subject.open();
        assert.deepEqual([await again.incarnation(), await again.isAdopting()], [3, true]);
        const epochs = new Map((await again.leases()).map(({ name, epoch }) => [name, epoch]));
        assert.deepEqual([epochs.get('writer'), epochs.get(ADOPTION_LEASE)], [1, 1]);
        await again.close();
      },
    );

    behaviour('R2 another life begins and the catalog is emptied in one step, while it is adopted', async (catalog) => {
      const one = capture('http://a.com/', { block: block(1).key });
      await catalog.commit({ blocks: [block(1)], captures: [{ capture: one }] });
      assert.equal(await catalog.beginEmpty(2, {}), false, 'it is not being adopted');
      await catalog.beginIncarnation(2);
      const lease = (await catalog.takeLease('writer', 'test'))!;
      assert.equal(await catalog.beginEmpty(4, {}), false, 'another life was before');
      assert.deepEqual(await all(catalog.captures({})), [one]);
      assert.equal(await catalog.beginEmpty(3, { kept: 'yes' }), true);
      assert.deepEqual([await all(catalog.captures({})), await catalog.notes()], [[], { kept: 'yes' }]);
      assert.deepEqual([await catalog.incarnation(), await catalog.isAdopting()], [3, true]);
      assert.equal((await catalog.commit({ lease, putNotes: { a: 'b' } })).kind, 'fenced');
    });

    behaviour('all rows are there after closing and opening the catalog again', async (catalog, subject) => {
      const one = capture('http://a.com/', { mime: 'some/thing', block: block(1).key });
      await write(catalog, { putCaptures: [one], putBlocks: [block(1)], putNotes: { a: 'b' } });
      const before = await everythingIn(catalog);
      await catalog.close();
      const again = await subject.open();
      try {
        assert.deepEqual(await everythingIn(again), before);
        const two = capture('http://b.com/', { mime: 'other/thing', block: block(1).key });
        await write(again, { putCaptures: [two, one] });
        assert.deepEqual(await all(again.captures({})), [one, two]);
        assert.equal((await again.totals()).payloadBytes, 2002);
      } finally {
        await again.close();
      }
    });
  });
}
