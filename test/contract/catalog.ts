/** The contract of every catalog. `catalogContract` takes a function that makes a catalog; `open` opens it again. */
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import {
  type Block,
  type BlockKey,
  behindKey,
  type CaptureRange,
  FEW_CAPTURES,
  rangeOfKey,
} from '../../src/catalog/index.ts';
import { type UrlKey, urlKey } from '../../src/url/index.ts';
import { catalogBatches } from './catalog-batches.ts';
import {
  all,
  behaviourOf,
  block,
  type CatalogUnderTest,
  capture,
  captureAt,
  digest,
  everythingIn,
  NOTHING,
} from './catalog-fixture.ts';
import { catalogNotes } from './catalog-notes.ts';
import { write } from './write-by-commit.ts';

export function catalogContract(name: string, make: () => Promise<CatalogUnderTest>): void {
  const behaviour = behaviourOf(make);

  describe(`${name}: captures`, () => {
    behaviour('a new catalog is empty', async (catalog) => {
      assert.deepEqual(await everythingIn(catalog), {
        captures: [],
        blocks: [],
        segments: [],
        notes: {},
        totals: NOTHING,
      });
      assert.deepEqual(await catalog.findBlocks([digest(1)]), [[]]);
      assert.deepEqual(await catalog.getBlocks([block(1).key]), [undefined]);
      assert.deepEqual(await catalog.findAliases([digest(1)]), [[]]);
      assert.deepEqual(await catalog.findCaptures([{ urlKey: urlKey('http://a.com/'), time: 0 }]), [[]]);
      assert.equal(await catalog.nearest(urlKey('http://a.com/'), 0), undefined);
      assert.deepEqual(await catalog.capturesOf(urlKey('http://a.com/')), []);
    });

    behaviour('every batch increases the batch number, and no other call does', async (catalog) => {
      const before = catalog.batches;
      if (before === undefined) {
        assert.ok(catalog.isShared, 'only the changes of other processes cannot be counted');
        return;
      }
      await write(catalog, { putCaptures: [capture('http://a.com/')] });
      assert.equal(catalog.batches, before + 1);
      await everythingIn(catalog);
      assert.equal(catalog.batches, before + 1);
      await write(catalog, { putNotes: { note: 'text' } });
      assert.equal(catalog.batches, before + 2);
      await catalog.clear();
      assert.ok(catalog.batches! > before + 2, 'a number is never used again');
    });

    behaviour('a capture is read as it was put, whatever its URL is', async (catalog) => {
      const urls = [
        'http://example.com/',
        'https://example.com/',
        'http://www.example.com/a',
        'https://www.example.com/a/',
        'https://www.example.com/A/B/?q=1',
        'http://example.com/a/?b=2&a=1',
        'http://EXAMPLE.com/Wiki/Main_Page',
        'http://www.example.com:8080/a',
        'http://example.com:80/a',
        'http://www2.example.com/a',
        'http://example.com',
        'http://user:secret@example.com/a#fragment',
        'http://example.com/%E4%B8%AD/%2fX',
        'http://example.com/\u4e2d?q=\u{1f600}',
        'http://\u4e2d.example/',
        'http://[2001:db8::1]:81/a',
        'http://192.168.1.254/info/',
        'dns:example.com',
        'urn:uuid:C1F2',
        'filedesc://IA-001102.arc',
        'ftp://example.com/a',
        'not a url',
        '',
      ];
      const captures = urls.map((url) => capture(url));
      await write(catalog, { putCaptures: captures });
      const found = await all(catalog.captures({}));
      assert.equal(found.length, urls.length);
      for (const put of captures) {
        assert.deepEqual(
          (await catalog.findCaptures([put]))[0]!.filter((other) => other.url === put.url),
          [put],
        );
      }
    });

    behaviour('a capture is read as it was put, whatever its other fields contain', async (catalog) => {
      const url = 'http://example.com/';
      const captures = [
        capture(url, { kind: 'revisit', block: { digest: digest(1), overflow: 0 } }),
        capture(url, { kind: 'resource', block: { digest: digest(1), overflow: 3 } }),
        capture(url, { kind: 'conversion', status: 0, mime: '' }),
        capture(url, { kind: 'metadata', status: 999, mime: 'x'.repeat(5000) }),
        capture(url, { status: 301, mime: 'text/\u00e9\u4e2d', collection: 70_000 }),
        capture(url, { place: { segment: 2 ** 31, offset: 2 ** 45, length: 2 ** 45 } }),
        capture(url, { place: { segment: 0, offset: 0, length: 0 }, hash: 0xffff_ffff }),
        capture(url, { time: Date.UTC(2024, 0, 1, 0, 0, 0, 123) }),
      ];
      await write(catalog, { putCaptures: captures });
      const found = await all(catalog.captures({}));
      for (const put of captures) {
        assert.deepEqual(
          found.filter((other) => other.place.offset === put.place.offset),
          [put],
        );
      }
    });

    behaviour('very many different media types are read as they were put', async (catalog) => {
      const captures = Array.from({ length: 400 }, (_, index) => capture('http://a.com/', { mime: `type/${index}` }));
      await write(catalog, { putCaptures: captures.slice(0, 200) });
      await write(catalog, { putCaptures: captures.slice(100) });
      assert.deepEqual(await all(catalog.captures({})), captures);
    });

    behaviour('captures are sorted by the bytes of their key, then by time, then by place', async (catalog) => {
      const keys = [
        '',
        '\0',
        '\0\0',
        '\0a',
        '\x01',
        '\x01\0',
        '\x02',
        'a',
        'a\0',
        'a\0b',
        'a\x01',
        'a!',
        'ab',
        'a\x7f',
      ];
      const later = ['a\u0080', 'a\u07ff', 'a\ufffd', 'a\u{10000}', 'b', '\uffff', '\u{10ffff}'];
      const times = [
        Date.parse('0000-01-01T00:00:00Z'),
        Date.UTC(1901, 0, 1),
        -1,
        0,
        1,
        999,
        1000,
        1001,
        Date.UTC(2024, 0, 1),
        Date.UTC(2101, 5, 5),
        Date.UTC(9999, 11, 31, 23, 59, 59, 999),
      ];
      const offsets = [0, 1, 127, 128, 16_383, 16_384, 2 ** 31, 2 ** 32, 2 ** 40];
      const ordered = [...keys, ...later].flatMap((key) => [
        ...times.map((time) => captureAt(key, { time, place: { segment: 3, offset: 5, length: 1 } })),
      ]);
      const sorted = ordered.concat(
        [1, 127, 128, 300, 70_000].flatMap((segment) =>
          offsets.map((offset) => captureAt('\u{10ffff}z', { time: 5, place: { segment, offset, length: 1 } })),
        ),
      );
      const shuffled = sorted.map((item, index) => ({ item, at: (index * 7919) % 1009 }));
      shuffled.sort((a, b) => a.at - b.at);
      await write(catalog, { putCaptures: shuffled.map(({ item }) => item) });
      assert.deepEqual(await all(catalog.captures({})), sorted);
      assert.deepEqual(await all(catalog.captures({ reverse: true }, 7)), sorted.toReversed());
    });

    behaviour(
      'a range of keys includes its first key and excludes its last, and a range of times includes both ends',
      async (catalog) => {
        const captures = ['a', 'ab', 'b', 'ba', 'c'].flatMap((key) =>
          [10, 20, 30].map((time) => captureAt(key, { time })),
        );
        await write(catalog, { putCaptures: captures });
        const found = async (range: CaptureRange, pageSize?: number) =>
          (await all(catalog.captures(range, pageSize))).map((item) => `${item.urlKey}${item.time}`).join(' ');
        for (const pageSize of [1, 2, 1000]) {
          assert.equal(await found({ keyFrom: 'ab', keyTo: 'ba' }, pageSize), 'ab10 ab20 ab30 b10 b20 b30');
          assert.equal(await found({ keyFrom: 'b' }, pageSize), 'b10 b20 b30 ba10 ba20 ba30 c10 c20 c30');
          assert.equal(await found({ keyTo: 'ab' }, pageSize), 'a10 a20 a30');
          assert.equal(await found({ keyFrom: 'b', keyTo: 'b!', timeFrom: 20 }, pageSize), 'b20 b30');
          assert.equal(await found({ keyFrom: 'b', keyTo: 'b!', timeFrom: 11, timeTo: 20 }, pageSize), 'b20');
          assert.equal(await found({ timeFrom: 20, timeTo: 20 }, pageSize), 'a20 ab20 b20 ba20 c20');
          assert.equal(await found({ timeFrom: 20, timeTo: 29, reverse: true }, pageSize), 'c20 ba20 b20 ab20 a20');
          assert.equal(await found({ keyTo: 'b', timeTo: 10, reverse: true }, pageSize), 'ab10 a10');
          assert.equal(await found({ keyFrom: 'b', keyTo: 'b' }, pageSize), '');
          assert.equal(await found({ keyFrom: 'c', keyTo: 'a' }, pageSize), '');
          assert.equal(await found({ timeFrom: 21, timeTo: 19 }, pageSize), '');
          assert.equal(await found({ timeFrom: Number.NEGATIVE_INFINITY, timeTo: 9 }, pageSize), '');
          assert.equal(await found({ timeTo: Number.NEGATIVE_INFINITY }, pageSize), '');
          assert.equal(await found({ keyFrom: 'c', timeTo: Number.POSITIVE_INFINITY }, pageSize), 'c10 c20 c30');
        }
      },
    );

    behaviour(
      'keys of any length with a common beginning are distinguished, found and limited by ranges',
      async (catalog) => {
        const start = 'com,example)/'.padEnd(600, 'x');
        const keys = ['', 'a', 'b', 'b/c', 'b?d', `b${'z'.repeat(30_000)}`, 'c'].map((end) => start + end);
        const captures = keys.flatMap((key) => [10, 20, 30].map((time) => captureAt(key, { time })));
        const others = [captureAt('com,example)/'), captureAt('com,example)/y')];
        await write(catalog, { putCaptures: [...captures.toReversed(), ...others] });
        const inOrder = await all(catalog.captures({}));
        assert.deepEqual([inOrder[0], inOrder.at(-1)], others);
        const groups = Array.from({ length: keys.length }, (_, index) => inOrder.slice(1 + index * 3, 4 + index * 3));
        for (const [index, key] of keys.entries()) {
          const own = captures.slice(index * 3, index * 3 + 3);
          assert.ok(groups.some((group) => isDeepStrictEqual(group, own)));
          assert.deepEqual(await all(catalog.captures(rangeOfKey(key as UrlKey))), own);
          assert.deepEqual(await catalog.capturesOf(key as UrlKey), own);
          assert.deepEqual(await catalog.findCaptures([{ urlKey: key as UrlKey, time: 20 }]), [[own[1]]]);
          assert.deepEqual(await catalog.nearest(key as UrlKey, 29), own[2]);
        }
        const found = async (range: CaptureRange) =>
          [...new Set((await all(catalog.captures(range, 2))).map(({ urlKey: key }) => keys.indexOf(key)))].sort();
        assert.deepEqual(await found({ keyFrom: keys[2]!, keyTo: `${keys[2]!}!` }), [2]);
        assert.deepEqual(await found({ keyFrom: `${keys[2]!}/`, keyTo: `${keys[2]!}0` }), [3]);
        assert.deepEqual(await found({ keyFrom: keys[2]!, keyTo: keys[6]! }), [2, 3, 4, 5]);
        assert.deepEqual(await found({ keyTo: keys[2]!, keyFrom: start.slice(0, 20), timeTo: 15 }), [0, 1]);
        assert.deepEqual(await found({ keyFrom: keys[5]!, reverse: true }), [-1, 5, 6]);
        for (const [index, after] of inOrder.entries()) {
          assert.deepEqual(await all(catalog.captures({ after }, 2)), inOrder.slice(index + 1));
          assert.deepEqual(await all(catalog.captures({ after, reverse: true })), inOrder.slice(0, index).reverse());
        }
        const past = behindKey(keys[2] as UrlKey);
        assert.deepEqual(await found({ keyFrom: keys[0]!, keyTo: keys[2]!, after: past }), []);
        assert.deepEqual(await found({ keyFrom: keys[3]!, keyTo: keys[5]!, after: past }), [3, 4]);
        assert.deepEqual(await found({ keyFrom: keys[0]!, keyTo: keys[2]!, after: past, reverse: true }), [0, 1]);
        await write(catalog, { removeCaptures: captures.slice(6, 9) });
        assert.deepEqual(await catalog.capturesOf(keys[2] as UrlKey), []);
        assert.equal((await catalog.totals()).captures, captures.length + others.length - 3);
      },
    );

    behaviour('a scan continues after any capture, present or not, in both directions', async (catalog) => {
      const captures = ['a', 'a\0', 'b'].flatMap((key) => [1, 1, 2].map((time) => captureAt(key, { time })));
      await write(catalog, { putCaptures: captures });
      for (const [index, after] of captures.entries()) {
        assert.deepEqual(await all(catalog.captures({ after })), captures.slice(index + 1));
        assert.deepEqual(await all(catalog.captures({ after, reverse: true })), captures.slice(0, index).reverse());
        assert.deepEqual(
          await all(catalog.captures({ keyFrom: 'a', keyTo: 'b', after })),
          captures.slice(index + 1).filter((item) => item.urlKey !== 'b'),
        );
      }
      await write(catalog, { removeCaptures: [captures[3]!] });
      assert.deepEqual(await all(catalog.captures({ after: captures[3]! })), captures.slice(4));
    });

    behaviour('all captures of a key are found at once, however long their URLs are', async (catalog) => {
      const url = `http://example.com/${'x'.repeat(600)}`;
      const captures = Array.from({ length: FEW_CAPTURES }, (_, index) => capture(url, { time: index }));
      await write(catalog, { putCaptures: captures });
      assert.deepEqual(await catalog.capturesOf(urlKey(url)), captures);
      assert.deepEqual(await catalog.nearest(urlKey(url), 1e9), captures.at(-1));
    });

    behaviour('a scan gives pages of at most the requested size, and can be stopped early', async (catalog) => {
      const captures = Array.from({ length: 25 }, (_, index) => captureAt('a', { time: index }));
      await write(catalog, { putCaptures: captures });
      for await (const page of catalog.captures({}, 10)) assert.ok(page.length <= 10);
      for await (const page of catalog.captures({}, 10)) {
        assert.deepEqual(page, captures.slice(0, page.length));
        break;
      }
      await write(catalog, { removeCaptures: captures });
      assert.deepEqual(await all(catalog.captures({})), []);
    });

    behaviour('captures are found by key and exact time, in the order of the questions', async (catalog) => {
      const [one, two, other] = [
        captureAt('a', { time: 5 }),
        captureAt('a', { time: 5 }),
        captureAt('ab', { time: 5 }),
      ];
      await write(catalog, {
        putCaptures: [one, two, other, captureAt('a', { time: 6 }), captureAt('a', { time: 5001 })],
      });
      const ask = (key: string, time: number) => ({ urlKey: key as UrlKey, time });
      assert.deepEqual(
        await catalog.findCaptures([ask('ab', 5), ask('a', 5), ask('a', 4), ask('b', 5), ask('a', 5), ask('a', 5000)]),
        [[other], [one, two], [], [], [one, two], []],
      );
      assert.deepEqual(await catalog.findCaptures([]), []);
    });

    behaviour('captures of one time are found by hash and by place', async (catalog) => {
      const long = `b${'x'.repeat(600)}`;
      const captures = ['a', long].flatMap((key) =>
        Array.from({ length: 1200 }, (_, index) =>
          captureAt(key, {
            time: 5,
            hash: index % 400,
            place: { segment: 1 + (index % 3), offset: index, length: 10 },
          }),
        ),
      );
      await write(catalog, { putCaptures: captures });
      const inOrder = await all(catalog.captures({}));
      for (const key of ['a', long] as UrlKey[]) {
        const own = inOrder.filter(({ urlKey }) => urlKey === key);
        const moment = { urlKey: key, time: 5 };
        const [one, other] = [own[10]!, own[1100]!];
        const found = await catalog.findCaptures([
          { ...moment, ofHash: one.hash },
          { ...moment, at: other.place },
          { ...moment, ofHash: 399 },
          { ...moment, ofHash: 400 },
          { ...moment, at: { ...other.place, segment: 4 } },
          { ...moment, time: 6, at: other.place },
          { ...moment, time: 6, ofHash: one.hash },
          { ...moment, time: 0.5, at: other.place },
          { ...moment, at: other.place },
        ]);
        const ofHash = (hash: number) => own.filter((capture) => capture.hash === hash);
        assert.equal(ofHash(399).length, 3);
        assert.deepEqual(found, [ofHash(one.hash), [other], ofHash(399), [], [], [], [], [], [other]]);
        assert.deepEqual(await catalog.findCaptures([{ ...moment, ofHash: 1 }, moment]), [ofHash(1), own]);
      }
    });

    behaviour('captures are found by key and range of times, at most the requested number', async (catalog) => {
      const captures = Array.from({ length: 70 }, (_, index) => captureAt('a', { time: 990 + index }));
      await write(catalog, {
        putCaptures: [...captures, captureAt('ab', { time: 1000 }), captureAt('Z', { time: 1000 })],
      });
      const ask = (time: number, timeTo: number, limit?: number) => ({
        urlKey: 'a' as UrlKey,
        time,
        timeTo,
        ...(limit !== undefined && { limit }),
      });
      const questions = [
        ask(1000, 1009),
        ask(0, 5000),
        ask(0, 5000, 64),
        ask(990, 990),
        ask(2000, 5000),
        ask(1001, 1000),
      ];
      const found = [captures.slice(10, 20), captures, captures.slice(0, 64), captures.slice(0, 1), [], []];
      assert.deepEqual(await catalog.findCaptures(questions), found);
    });

    behaviour(
      'the nearest capture is the earlier of two equally near ones, and the last of several at one time',
      async (catalog) => {
        const captures = [10, 10, 20, 30, 30].map((time) => captureAt('k', { time }));
        await write(catalog, {
          putCaptures: [...captures, captureAt('j', { time: 15 }), captureAt('k\0', { time: 15 })],
        });
        const nearest = async (time: number, side?: 'either' | 'notAfter') => {
          const found = await catalog.nearest('k' as UrlKey, time, side);
          return found && captures.findIndex((item) => item.place.offset === found.place.offset);
        };
        const either: [number, number][] = [
          [-5, 1],
          [10, 1],
          [14, 1],
          [15, 1],
          [16, 2],
          [20, 2],
          [25, 2],
          [26, 4],
          [30, 4],
          [99, 4],
        ];
        for (const [time, index] of either) assert.equal(await nearest(time), index, `nearest to ${time}`);
        assert.equal(await nearest(8.64e15), 4);
        assert.equal(await nearest(-8.64e15), 1);
        assert.equal(await nearest(9, 'notAfter'), undefined);
        assert.equal(await nearest(10, 'notAfter'), 1);
        assert.equal(await nearest(29, 'notAfter'), 2);
        assert.equal(await nearest(30, 'notAfter'), 4);
        assert.equal(await catalog.nearest('i' as UrlKey, 10), undefined);
      },
    );

    behaviour(
      '`capturesOf` gives all captures of a key when they are few, and undefined when they are many',
      async (catalog) => {
        const few = Array.from({ length: FEW_CAPTURES }, (_, index) => captureAt('few', { time: index % 7 }));
        const many = Array.from({ length: FEW_CAPTURES + 1 }, (_, index) => captureAt('many', { time: index }));
        await write(catalog, { putCaptures: [...few, ...many, captureAt('few\0'), captureAt('fe')] });
        const inOrder = few.toSorted((a, b) => a.time - b.time || a.place.offset - b.place.offset);
        assert.deepEqual(await catalog.capturesOf('few' as UrlKey), inOrder);
        assert.equal(await catalog.capturesOf('many' as UrlKey), undefined);
        assert.deepEqual(await catalog.capturesOf('none' as UrlKey), []);
      },
    );

    behaviour('repeated questions for the captures of a key see every change', async (catalog) => {
      const key = 'asked again' as UrlKey;
      const [first, second] = [1, 2].map((time) => captureAt(key, { time }));
      assert.deepEqual(await catalog.capturesOf(key), []);
      await write(catalog, { putCaptures: [first!] });
      assert.deepEqual(await catalog.capturesOf(key), [first]);
      const [meanwhile] = await Promise.all([
        catalog.capturesOf(key),
        write(catalog, { putCaptures: [second!], removeCaptures: [first!] }),
      ]);
      assert.ok(meanwhile?.length === 1);
      assert.deepEqual(await catalog.capturesOf(key), [second]);
      assert.deepEqual(await catalog.nearest(key, 0), second);
      await catalog.clear();
      assert.deepEqual(await catalog.capturesOf(key), []);
    });

    behaviour('the nearest capture is found among one capture of its key and among many', async (catalog) => {
      const times = [5, 9, 9, 14, 20, 21, 21, 21, 40];
      for (const copies of [1, 7]) {
        const key = `copies ${copies}`;
        const captures = times.flatMap((time) => Array.from({ length: copies }, () => captureAt(key, { time })));
        await write(catalog, { putCaptures: captures });
        for (let time = 0; time < 60; time++) {
          for (const side of ['either', 'notAfter'] as const) {
            const allowed = captures.filter((item) => side === 'either' || item.time <= time);
            const distance = Math.min(...allowed.map((item) => Math.abs(item.time - time)));
            const near = allowed.filter((item) => Math.abs(item.time - time) === distance);
            const wanted = near.filter((item) => item.time === near[0]!.time).at(-1);
            assert.deepEqual(await catalog.nearest(key as UrlKey, time, side), wanted, `${copies} ${side} ${time}`);
          }
        }
      }
    });
  });

  describe(`${name}: blocks`, () => {
    behaviour('blocks are found by digest with all their overflows, in the order of the digests', async (catalog) => {
      const blocks = [block(3), block(1), block(2, { size: 2 ** 45 })].map(unreferenced);
      const overflows = [2, 1]
        .map((overflow) => block(1, { key: { digest: digest(1), overflow }, size: overflow }))
        .map(unreferenced);
      await write(catalog, { putBlocks: [...blocks, ...overflows] });
      const [three, one, two] = blocks;
      const [second, first] = overflows;
      assert.deepEqual(await catalog.findBlocks([digest(1), digest(9), digest(3), digest(1)]), [
        [one, first, second],
        [],
        [three],
        [one, first, second],
      ]);
      assert.deepEqual(await catalog.getBlocks([second!.key, { digest: digest(3), overflow: 1 }, two!.key]), [
        second,
        undefined,
        two,
      ]);
      assert.deepEqual(await all(catalog.blocks(2)), [one, first, second, two, three]);
    });

    behaviour('I7: digests that differ only in their last byte are different blocks', async (catalog) => {
      const near = (last: number) => Uint8Array.from({ length: 32 }, (_, index) => (index === 31 ? last : 7));
      const blocks = [5, 4, 6].map((last) => block(last, { key: { digest: near(last), overflow: 0 } }));
      const captures = blocks.map((item) => capture('http://a.com/', { block: item.key }));
      await write(catalog, { putBlocks: blocks, putCaptures: captures });
      assert.deepEqual(await catalog.findBlocks([near(4), near(5), near(6), near(7)]), [
        [blocks[1]],
        [blocks[0]],
        [blocks[2]],
        [],
      ]);
      assert.deepEqual(await all(catalog.captures({})), captures);
      assert.deepEqual(await all(catalog.blocks(1)), [blocks[1], blocks[0], blocks[2]]);
    });

    behaviour('a capture whose block is missing does not get another block with a similar digest', async (catalog) => {
      const near = (last: number) => Uint8Array.from({ length: 32 }, (_, index) => (index === 31 ? last : 7));
      const [one, two] = [1, 2].map((last) => block(last, { key: { digest: near(last), overflow: 0 } }));
      const first = capture('http://a.com/', { block: one!.key });
      const second = capture('http://b.com/', { block: two!.key });
      await write(catalog, { putCaptures: [first] });
      await write(catalog, { putBlocks: [two!], putCaptures: [second] });
      assert.deepEqual(await all(catalog.captures({})), [first, second]);
      assert.deepEqual(await catalog.findBlocks([near(1), near(2)]), [[], [two]]);
      await write(catalog, { removeCaptures: [first] });
      await write(catalog, { putCaptures: [first] });
      assert.deepEqual(await all(catalog.captures({})), [first, second]);
      assert.deepEqual(await all(catalog.blocks()), [two]);
    });

    behaviour('one call can look up hundreds of digests', async (catalog) => {
      const blocks = Array.from({ length: 700 }, (_, index) =>
        block(1, { key: { digest: digest(index >> 8, index & 255, 1), overflow: 0 }, size: index, references: 0 }),
      );
      await write(catalog, { putBlocks: blocks });
      const asked = blocks.map((item) => item.key.digest).reverse();
      assert.deepEqual(
        await catalog.findBlocks(asked),
        blocks.toReversed().map((item) => [item]),
      );
    });
  });

  describe(`${name}: aliases`, () => {
    behaviour('blocks are found by the aliases that records declared for them', async (catalog) => {
      const declared = (first: number) => Uint8Array.from({ length: 20 }, (_, index) => first + index);
      const [one, two]: BlockKey[] = [block(1).key, { digest: digest(1), overflow: 1 }];
      await write(catalog, {
        putBlocks: [block(1)],
        putAliases: [
          { declared: declared(5), block: two! },
          { declared: declared(5), block: one! },
          { declared: declared(6), block: one! },
          { declared: declared(6), block: one! },
        ],
      });
      assert.deepEqual(await catalog.findAliases([declared(6), declared(5), declared(7)]), [[one], [one, two], []]);
      await write(catalog, { putAliases: [{ declared: declared(6), block: one! }] });
      await write(catalog, { removeAliases: [{ declared: declared(6), block: one! }] });
      assert.deepEqual(await catalog.findAliases([declared(6), declared(5)]), [[], [one, two]]);
      await write(catalog, {
        removeAliases: [
          { declared: declared(6), block: one! },
          { declared: declared(5), block: two! },
        ],
      });
      assert.deepEqual(await catalog.findAliases([declared(5)]), [[one]]);
    });

    behaviour(
      'an alias still names its block after the block is removed and one with a similar digest is put',
      async (catalog) => {
        const near = (last: number) => Uint8Array.from({ length: 32 }, (_, index) => (index === 31 ? last : 7));
        const alias = { declared: digest(9), block: { digest: near(1), overflow: 0 } };
        await write(catalog, { putBlocks: [block(1, { key: alias.block })], putAliases: [alias] });
        await write(catalog, { removeBlocks: [alias.block] });
        await write(catalog, { putBlocks: [block(2, { key: { digest: near(2), overflow: 0 } })] });
        assert.deepEqual(await catalog.findAliases([digest(9)]), [[alias.block]]);
      },
    );
  });

  catalogNotes(name, behaviour);
  catalogBatches(name, behaviour);
}

function unreferenced(of: Block): Block {
  return { ...of, references: 0 };
}
