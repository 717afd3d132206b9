/**
 * The contract of a volume of immutable objects, as tests that every implementation runs. See part-volume.ts in the
 * sources.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AssertionError, concat, seededRandom, utf8 } from '../../src/base/index.ts';
import type { ObjectInfo, PartVolume, ReadRange } from '../../src/volume/index.ts';
import { collect, failsWith, randomBytes } from './volume.ts';

const MIB = 1024 * 1024;

export type OpenPartVolume = {
  readonly volume: PartVolume;
  /** The same storage, opened again. */
  reopen(): Promise<PartVolume>;
  dispose(): Promise<void>;
};

export type PartVolumeTraits = {
  /** Objects that the test of pages puts: more than a page. */
  readonly manyObjects: number;
  readonly hasPages?: boolean;
  /** Some servers never end their answer to a range of an empty object. */
  readonly answersRangesOfEmpty?: boolean;
  /** Some servers list folder by folder. */
  readonly sortsNames?: boolean;
};

const isBug = (cause: unknown): boolean => cause instanceof AssertionError;

const BAD_NAMES = ['', '.', '../a', 'a/../b', '/a', 'a/', 'a//b', 'a b', 'a\\b', 'a\0', '\u00e9', '.a', 'a.open'];
const ODD_NAMES = ['-', '_', 'a..b', '-rf', '0', 'a.b.c/-/_/Z9', 'x'.repeat(200), `${'y/'.repeat(100)}z`];

export async function namesIn(volume: PartVolume, prefix?: string): Promise<string[]> {
  return (await objectsIn(volume, prefix)).map(({ name }) => name);
}

async function objectsIn(volume: PartVolume, prefix?: string): Promise<ObjectInfo[]> {
  return (await Array.fromAsync(volume.list(prefix))).flat();
}

async function text(volume: PartVolume, name: string): Promise<string> {
  return Buffer.from(await collect(volume.stream(name))).toString();
}

export function partVolumeContract(
  title: string,
  open: () => Promise<OpenPartVolume>,
  { manyObjects, hasPages = true, answersRangesOfEmpty = true, sortsNames = true }: PartVolumeTraits,
  skip: string | false = false,
): void {
  const rule = (sentence: string, body: (opened: OpenPartVolume) => Promise<void>) =>
    test(sentence, { skip }, async () => {
      const opened = await open();
      try {
        await body(opened);
      } finally {
        await opened.dispose();
      }
    });

  describe(`the contract of a volume of immutable objects: ${title}`, () => {
    rule('an object that was put has all its pieces in order, also when the volume is opened again', async (opened) => {
      const { volume } = opened;
      await volume.put('a/one', [utf8('alpha'), utf8(''), utf8('beta')]);
      await volume.put('a/empty', []);
      const again = await opened.reopen();
      assert.deepEqual(await again.stat(['a/one', 'missing', 'a/empty']), [
        { name: 'a/one', bytes: 9, sealed: true },
        undefined,
        { name: 'a/empty', bytes: 0, sealed: true },
      ]);
      assert.equal(await text(again, 'a/one'), 'alphabeta');
      assert.equal(await text(again, 'a/empty'), '');
    });

    rule('putting the same object again succeeds and leaves it as it is', async ({ volume }) => {
      const bytes = randomBytes(100_000);
      await volume.put('a', [bytes]);
      await volume.put('a', [bytes.subarray(0, 7), bytes.subarray(7)]);
      assert.deepEqual(await collect(volume.stream('a')), bytes);
    });

    rule('a piece that the caller changes after the call does not change the object', async ({ volume }) => {
      const bytes = utf8('as it was put');
      await volume.put('a', [bytes]);
      bytes.fill(0);
      assert.equal(await text(volume, 'a'), 'as it was put');
    });

    rule('odd names are names, and bad names are bugs', async ({ volume }) => {
      for (const name of ODD_NAMES) await volume.put(name, [utf8(name)]);
      assert.deepEqual(await namesIn(volume), [...ODD_NAMES].sort());
      for (const name of ODD_NAMES) assert.equal(await text(volume, name), name);
      for (const name of BAD_NAMES) {
        await assert.rejects(volume.put(name, []), isBug, name);
        await assert.rejects(volume.read([{ name, offset: 0, length: 1 }]), isBug, name);
        await assert.rejects(async () => volume.stat([name]), isBug, name);
        await assert.rejects(volume.remove([name]), isBug, name);
        await assert.rejects(collect(volume.stream(name)), isBug, name);
      }
    });

    rule('a list has every object below the prefix once, in order of name', async ({ volume }) => {
      for (const name of ['b/1', 'a/2', 'a/10', 'a/1', 'ab/1']) await volume.put(name, [utf8(name)]);
      if (sortsNames) await volume.put('a-b', [utf8('a-b')]);
      assert.deepEqual(await objectsIn(volume), [
        ...(sortsNames ? [{ name: 'a-b', bytes: 3, sealed: true }] : []),
        { name: 'a/1', bytes: 3, sealed: true },
        { name: 'a/10', bytes: 4, sealed: true },
        { name: 'a/2', bytes: 3, sealed: true },
        { name: 'ab/1', bytes: 4, sealed: true },
        { name: 'b/1', bytes: 3, sealed: true },
      ]);
      assert.deepEqual(await namesIn(volume, 'a/'), ['a/1', 'a/10', 'a/2']);
      assert.deepEqual(await namesIn(volume, 'a/1'), ['a/1', 'a/10']);
      assert.deepEqual(await namesIn(volume, 'nothing/'), []);
    });

    rule(`a list of ${manyObjects} objects comes in pages, and all of them can be removed`, async ({ volume }) => {
      const names = Array.from({ length: manyObjects }, (_, index) => `many/${String(index).padStart(5, '0')}`);
      for (let at = 0; at < names.length; at += 50)
        await Promise.all(names.slice(at, at + 50).map((name) => volume.put(name, [utf8(name)])));
      await volume.put('other', [utf8('stays')]);
      const pages = await Array.fromAsync(volume.list('many/'));
      assert.equal(pages.length > 1, hasPages);
      assert.deepEqual(
        pages.flat().map(({ name }) => name),
        names,
      );
      await volume.remove(names);
      assert.deepEqual(await namesIn(volume), ['other']);
    });

    rule('ranges are read in the order of the call, and are shorter where the object ends', async ({ volume }) => {
      const bytes = randomBytes(200_000);
      await volume.put('a', [bytes]);
      await volume.put('b', [utf8('beta')]);
      const ranges: ReadRange[] = [
        { name: 'a', offset: 150_000, length: 10 },
        { name: 'b', offset: 1, length: 2 },
        { name: 'a', offset: 0, length: 10 },
        { name: 'a', offset: 5, length: 10 },
        { name: 'a', offset: 5, length: 10 },
        { name: 'a', offset: 0, length: 200_000 },
        { name: 'a', offset: 199_999, length: 10 },
        { name: 'a', offset: 200_000, length: 10 },
        { name: 'a', offset: 900_000, length: 10 },
        { name: 'b', offset: 3, length: 0 },
        { name: 'b', offset: 100, length: 0 },
        { name: 'a', offset: 16_000, length: 1 },
      ];
      const beta = new Uint8Array(utf8('beta'));
      const expected = ranges.map(({ name, offset, length }) =>
        (name === 'a' ? bytes : beta).slice(offset, offset + length),
      );
      assert.deepEqual(await volume.read(ranges), expected);
      const read = await volume.read(ranges);
      for (const piece of read) piece.fill(0);
      assert.deepEqual(await volume.read(ranges), expected, 'a result belongs to the caller');
      assert.deepEqual(await volume.read([]), []);
    });

    if (answersRangesOfEmpty)
      rule('ranges of an empty object are empty', async ({ volume }) => {
        await volume.put('empty', []);
        assert.deepEqual(await volume.read([{ name: 'empty', offset: 0, length: 10 }]), [new Uint8Array(0)]);
        assert.deepEqual(await collect(volume.stream('empty', 0, 10)), new Uint8Array(0));
      });

    rule('random ranges of random objects are those bytes', async ({ volume }) => {
      const seed = 20240611;
      const random = seededRandom(seed);
      const upTo = (max: number) => Math.floor(random() * max);
      const objects = new Map(['a', 'b', 'c'].map((name, index) => [name, randomBytes(1 + index * 70_000)]));
      for (const [name, bytes] of objects) await volume.put(name, [bytes]);
      for (let round = 0; round < 10; round++) {
        const ranges = Array.from({ length: upTo(20) }, () => {
          const name = ['a', 'b', 'c'][upTo(3)]!;
          return { name, offset: upTo(150_000), length: upTo(random() < 0.5 ? 50 : 60_000) };
        });
        const expected = ranges.map(({ name, offset, length }) => objects.get(name)!.slice(offset, offset + length));
        assert.deepEqual(await volume.read(ranges), expected, `seed ${seed}, round ${round}`);
      }
    });

    rule('a stream gives the bytes from one place to another', async ({ volume }) => {
      const bytes = randomBytes(1_000_000);
      await volume.put('a', [bytes]);
      for (const [from, to] of [
        [0, undefined],
        [0, 1],
        [999_999, undefined],
        [123, 456_789],
        [5, 5],
        [10, 5],
        [1_000_000, undefined],
        [2_000_000, 3_000_000],
      ] as const)
        assert.deepEqual(
          await collect(volume.stream('a', from, to)),
          bytes.slice(from, Math.max(from, to ?? Infinity)),
        );
      for await (const piece of volume.stream('a')) {
        assert.ok(piece.length > 0);
        break;
      }
      assert.equal((await collect(volume.stream('a', 999_990))).length, 10, 'after a stream that was left');
    });

    rule('an operation on a missing object fails and names it, except stat and remove', async ({ volume }) => {
      const missing = failsWith('OBJECT_MISSING', 'a/missing');
      await assert.rejects(volume.read([{ name: 'a/missing', offset: 0, length: 4 }]), missing);
      await assert.rejects(volume.read([{ name: 'a/missing', offset: 0, length: 0 }]), missing);
      await assert.rejects(collect(volume.stream('a/missing')), missing);
      await assert.rejects(volume.join('a/joined', [{ name: 'a/missing', offset: 0, length: 4 }]), missing);
      await volume.remove(['a/missing', 'a/other']);
      assert.deepEqual(await volume.stat(['a/missing']), [undefined]);
      assert.deepEqual(await namesIn(volume), []);
    });

    rule('an object that was removed is gone, and a name can be put again', async ({ volume }) => {
      await volume.put('a', [utf8('one')]);
      await volume.put('b', [utf8('two')]);
      await volume.remove(['a', 'missing', 'b']);
      assert.deepEqual(await volume.stat(['a', 'b']), [undefined, undefined]);
      await volume.remove([]);
      await volume.put('a', [utf8('one')]);
      await volume.remove(['a']);
      assert.deepEqual(await namesIn(volume), []);
    });

    rule('joined objects have the bytes of the ranges in order, and the joined ones stay', async ({ volume }) => {
      await volume.put('p/0', [utf8('alpha')]);
      await volume.put('p/5', [utf8('beta')]);
      const ranges = [
        { name: 'p/0', offset: 1, length: 4 },
        { name: 'p/5', offset: 0, length: 4 },
        { name: 'p/0', offset: 0, length: 0 },
        { name: 'p/0', offset: 0, length: 5 },
      ];
      await volume.join('joined', ranges);
      assert.equal(await text(volume, 'joined'), 'lphabetaalpha');
      await volume.join('joined', ranges);
      assert.equal(await text(volume, 'joined'), 'lphabetaalpha');
      assert.equal(await text(volume, 'p/5'), 'beta');
      await volume.join('nothing', []);
      assert.equal(await text(volume, 'nothing'), '');
    });

    rule('large and small ranges are joined in any mixture', async ({ volume }) => {
      const seed = 20240612;
      const random = seededRandom(seed);
      const small = randomBytes(300_000);
      const large = randomBytes(6 * MIB);
      await volume.put('small', [small]);
      await volume.put('large', [large]);
      const source = { small, large };
      for (const sizes of ['lsl', 'sssll'] as const) {
        const ranges = [...sizes].map((size) => {
          const name = size === 'l' ? 'large' : 'small';
          const offset = Math.floor(random() * 1000);
          return { name, offset, length: source[name].length - offset - Math.floor(random() * 1000) } as const;
        });
        await volume.join(`joined-${sizes}`, ranges);
        const expected = concat(
          ranges.map(({ name, offset, length }) => source[name].subarray(offset, offset + length)),
        );
        const joined = await collect(volume.stream(`joined-${sizes}`));
        assert.equal(Buffer.compare(joined, expected), 0, `seed ${seed}, ${sizes}`);
      }
    });

    rule('a range that its object does not have is not joined', async ({ volume }) => {
      await volume.put('a', [utf8('alpha')]);
      await assert.rejects(
        volume.join('joined', [{ name: 'a', offset: 2, length: 4 }]),
        failsWith('OBJECT_MOVED', 'a'),
      );
      assert.deepEqual(await volume.stat(['joined']), [undefined]);
    });

    rule('a call whose signal is aborted fails with its reason', async ({ volume }) => {
      await volume.put('a', [randomBytes(3_000_000)]);
      const signal = AbortSignal.abort(new Error('not wanted'));
      const isReason = (error: unknown) => error === signal.reason;
      await assert.rejects(async () => volume.stat(['a'], { signal }), isReason);
      await assert.rejects(volume.put('b', [utf8('b')], { signal }), isReason);
      await assert.rejects(volume.join('b', [{ name: 'a', offset: 0, length: 1 }], { signal }), isReason);
      await assert.rejects(volume.read([{ name: 'a', offset: 0, length: 1 }], { signal }), isReason);
      await assert.rejects(volume.remove(['a'], { signal }), isReason);
      await assert.rejects(Array.fromAsync(volume.list('', { signal })), isReason);
      const control = new AbortController();
      const stream = volume.stream('a', 0, undefined, { signal: control.signal })[Symbol.asyncIterator]();
      await stream.next();
      control.abort(signal.reason);
      await assert.rejects(async () => {
        while (!(await stream.next()).done);
      }, isReason);
      assert.deepEqual(await namesIn(volume), ['a']);
    });

    rule('a closed volume refuses every call', async ({ volume }) => {
      await volume.put('a', [utf8('alpha')]);
      await volume.close();
      const closed = failsWith('ARCHIVE_CLOSED');
      await assert.rejects(Array.fromAsync(volume.list()), closed);
      await assert.rejects(async () => volume.stat(['a']), closed);
      await assert.rejects(volume.put('a', [utf8('alpha')]), closed);
      await assert.rejects(volume.read([{ name: 'a', offset: 0, length: 1 }]), closed);
      await assert.rejects(collect(volume.stream('a')), closed);
      await assert.rejects(volume.remove(['a']), closed);
      await volume.close();
    });
  });
}
