/**
 * The contract of a volume, as tests that every implementation runs. `volumeContract` is for volumes that can be
 * written to. Its `reopen` simulates a crash or a restart: it must return a new volume on the same storage, without
 * closing the old one.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AssertionError, concat, PinakesError, seededRandom, utf8 } from '../../src/base/index.ts';
import type { Volume } from '../../src/volume/index.ts';

export type OpenVolume = {
  readonly volume: Volume;
  /** The same storage, opened again after a crash or a restart. */
  reopen(): Promise<Volume>;
  dispose(): Promise<void>;
};

export type ErrorCodeName = PinakesError['code'];

/** A failure with this code, in this volume, that names the object. */
export function failsWith(code: ErrorCodeName, named?: string): (cause: unknown) => boolean {
  return (cause) => {
    assert.ok(cause instanceof PinakesError, `not a PinakesError: ${String(cause)}`);
    assert.equal(cause.code, code, cause.message);
    if (named !== undefined) assert.ok(cause.message.includes(named), `${cause.message} does not name ${named}`);
    return true;
  };
}

const isBug = (cause: unknown): boolean => cause instanceof AssertionError;

const BAD_NAMES = [
  '',
  '.',
  '..',
  '../a',
  'a/../b',
  '/a',
  'a/',
  'a//b',
  'a b',
  'a\\b',
  'a\0',
  '\u00e9',
  '.a',
  'a/.b',
  'a.open',
  'a.open/b',
];
const ODD_NAMES = [
  '-',
  '_',
  'a..b',
  '-rf',
  '0',
  'a.b.c/-/_/Z9',
  'con.warc.gz',
  'x'.repeat(200),
  `${'y/'.repeat(100)}z`,
  'a.opened',
  'open',
];

export function randomBytes(length: number): Uint8Array {
  const random = seededRandom(length);
  const words = new Uint32Array(Math.ceil(length / 4));
  for (let at = 0; at < words.length; at++) words[at] = random() * 2 ** 32;
  return new Uint8Array(words.buffer, 0, length);
}

export async function collect(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const copies: Uint8Array[] = [];
  for await (const piece of pieces) copies.push(piece.slice());
  return concat(copies);
}

export async function contentsOf(volume: Volume, name: string): Promise<string> {
  return Buffer.from(await collect(volume.stream(name))).toString();
}

export async function put(volume: Volume, name: string, text: string | Uint8Array): Promise<void> {
  await volume.create(name);
  await volume.append(name, 0, [typeof text === 'string' ? utf8(text) : text]);
  await volume.sync([name]);
}

export function volumeContract(title: string, open: () => Promise<OpenVolume>, manyObjects = 3_000): void {
  const rule = (sentence: string, body: (opened: OpenVolume) => Promise<void>) =>
    test(sentence, async () => {
      const opened = await open();
      try {
        await body(opened);
      } finally {
        await opened.dispose();
      }
    });

  describe(`the contract of a volume: ${title}`, () => {
    rule('appended bytes can be read at once, and synced bytes also after a restart', async ({ volume, reopen }) => {
      await volume.create('a/one');
      await volume.append('a/one', 0, [utf8('alpha'), utf8(''), utf8('beta')]);
      assert.equal(await contentsOf(volume, 'a/one'), 'alphabeta');
      await volume.append('a/one', 9, [utf8('gamma')]);
      await volume.sync(['a/one']);
      const again = await reopen();
      assert.deepEqual(await again.stat(['a/one']), [{ name: 'a/one', bytes: 14, sealed: false }]);
      assert.equal(await contentsOf(again, 'a/one'), 'alphabetagamma');
      await again.append('a/one', 14, [utf8('!')]);
      assert.equal(await contentsOf(again, 'a/one'), 'alphabetagamma!');
    });

    rule('an object that was synced exists after a restart, even when it is empty', async ({ volume, reopen }) => {
      await volume.create('deep/er/empty');
      await volume.sync(['deep/er/empty']);
      assert.deepEqual(await (await reopen()).list(), [{ name: 'deep/er/empty', bytes: 0, sealed: false }]);
    });

    rule(
      'after a restart an object has its synced bytes and a beginning of its unsynced ones',
      async ({ volume, reopen }) => {
        const synced = randomBytes(5000);
        const unsynced = randomBytes(7000);
        await put(volume, 'a', synced);
        await volume.append('a', 5000, [unsynced]);
        const held = await collect((await reopen()).stream('a'));
        assert.ok(held.length >= 5000);
        assert.deepEqual(held, concat([synced, unsynced]).slice(0, held.length));
      },
    );

    rule('an append that expects another end fails with OBJECT_MOVED and writes nothing', async ({ volume }) => {
      await put(volume, 'a', 'hello');
      for (const at of [0, 4, 6, 5000]) {
        await assert.rejects(volume.append('a', at, [utf8('X')]), failsWith('OBJECT_MOVED', 'a'));
      }
      await assert.rejects(volume.append('a', 4, []), failsWith('OBJECT_MOVED', 'a'));
      await volume.append('a', 5, []);
      assert.equal(await contentsOf(volume, 'a'), 'hello');
    });

    rule('exactly one of many writers that expect the same end succeeds', async ({ volume }) => {
      await volume.create('a');
      const texts = Array.from({ length: 20 }, (_, index) => `writer-${index};`.repeat(index + 1));
      const outcomes = await Promise.allSettled(texts.map((text) => volume.append('a', 0, [utf8(text)])));
      const won = outcomes.flatMap(({ status }, index) => (status === 'fulfilled' ? [texts[index]] : []));
      assert.equal(won.length, 1);
      assert.equal(await contentsOf(volume, 'a'), won[0]);
      for (const outcome of outcomes) if (outcome.status === 'rejected') failsWith('OBJECT_MOVED')(outcome.reason);
    });

    rule('operations on one object run in the order of the calls', async ({ volume, reopen }) => {
      const pending = [volume.create('a')];
      let expected = '';
      for (let index = 0; index < 50; index++) {
        const text = `${index},`;
        pending.push(volume.append('a', expected.length, [utf8(text)]));
        expected += text;
      }
      pending.push(volume.sync(['a']));
      await Promise.all(pending);
      assert.equal(await contentsOf(await reopen(), 'a'), expected);
    });

    rule('appends to different objects at the same time do not affect each other', async ({ volume, reopen }) => {
      const names = Array.from({ length: 100 }, (_, index) => `c${index % 7}/object-${index}`);
      const expected = new Map<string, Uint8Array>();
      await Promise.all(
        names.map(async (name, index) => {
          await volume.create(name);
          const parts = Array.from({ length: 5 }, (_, part) => randomBytes(100 + index * 13 + part * 1500));
          for (let at = 0, part = 0; part < parts.length; at += parts[part++]!.length) {
            await volume.append(name, at, [parts[part]!]);
          }
          expected.set(name, concat(parts));
        }),
      );
      await volume.sync(names);
      const again = await reopen();
      for (const name of names) assert.deepEqual(await collect(again.stream(name)), expected.get(name));
    });

    rule('an append of thousands of small and large parts writes all of them', async ({ volume }) => {
      const parts = Array.from({ length: 3000 }, (_, index) => randomBytes(index % 100 === 0 ? 9000 : index % 5));
      await volume.create('a');
      await volume.append('a', 0, parts);
      assert.deepEqual(await collect(volume.stream('a')), concat(parts));
    });

    rule(
      'creating an object under an existing name fails with OBJECT_EXISTS and changes nothing',
      async ({ volume }) => {
        await put(volume, 'a', 'open');
        await put(volume, 'b', 'sealed');
        await volume.seal('b');
        for (const name of ['a', 'b']) await assert.rejects(volume.create(name), failsWith('OBJECT_EXISTS', name));
        assert.equal(await contentsOf(volume, 'a'), 'open');
        assert.equal(await contentsOf(volume, 'b'), 'sealed');
      },
    );

    rule('exactly one of many callers that create the same object at the same time succeeds', async ({ volume }) => {
      const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => volume.create('x/y')));
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
      for (const outcome of outcomes) if (outcome.status === 'rejected') failsWith('OBJECT_EXISTS')(outcome.reason);
    });

    rule('operations on a missing object fail with OBJECT_MISSING and its name', async ({ volume }) => {
      await put(volume, 'here', 'x');
      const missing = failsWith('OBJECT_MISSING', 'not/here');
      await assert.rejects(volume.append('not/here', 0, [utf8('x')]), missing);
      await assert.rejects(volume.sync(['here', 'not/here']), missing);
      await assert.rejects(volume.truncate('not/here', 0), missing);
      await assert.rejects(volume.seal('not/here'), missing);
      await assert.rejects(volume.rename('not/here', 'b'), missing);
      await assert.rejects(volume.read([{ name: 'not/here', offset: 0, length: 1 }]), missing);
      await assert.rejects(collect(volume.stream('not/here')), missing);
      assert.deepEqual(await volume.stat(['not/here', 'here']), [undefined, { name: 'here', bytes: 1, sealed: false }]);
      assert.deepEqual(await volume.list(), [{ name: 'here', bytes: 1, sealed: false }]);
    });

    rule('a sealed object never changes again, and stays sealed after a restart', async ({ volume, reopen }) => {
      await volume.create('a/b');
      await volume.append('a/b', 0, [utf8('for good')]);
      await volume.seal('a/b');
      for (const when of ['before', 'after']) {
        const at = when === 'before' ? volume : await reopen();
        await at.seal('a/b');
        await assert.rejects(at.append('a/b', 8, [utf8('!')]), failsWith('OBJECT_MOVED', 'a/b'));
        await assert.rejects(at.truncate('a/b', 3), failsWith('OBJECT_MOVED', 'a/b'));
        await assert.rejects(at.truncate('a/b', 8), failsWith('OBJECT_MOVED', 'a/b'));
        await at.sync(['a/b']);
        assert.deepEqual(await at.list(), [{ name: 'a/b', bytes: 8, sealed: true }]);
        assert.equal(await contentsOf(at, 'a/b'), 'for good');
      }
    });

    rule('sealing makes bytes durable that were appended but not synced', async ({ volume, reopen }) => {
      const bytes = randomBytes(30_000);
      await volume.create('a');
      await volume.append('a', 0, [bytes]);
      await volume.seal('a');
      assert.deepEqual(await collect((await reopen()).stream('a')), bytes);
    });

    rule(
      'a cut of an object is durable, and the object can be appended to at its new end',
      async ({ volume, reopen }) => {
        await volume.create('a');
        await volume.append('a', 0, [utf8('one two three')]);
        await assert.rejects(volume.truncate('a', 14), failsWith('OBJECT_MOVED', 'a'));
        await volume.truncate('a', 7);
        const again = await reopen();
        assert.equal(await contentsOf(again, 'a'), 'one two');
        await again.append('a', 7, [utf8(' 3')]);
        assert.equal(await contentsOf(again, 'a'), 'one two 3');
        await again.truncate('a', 9);
        await again.truncate('a', 0);
        assert.deepEqual(await again.stat(['a']), [{ name: 'a', bytes: 0, sealed: false }]);
      },
    );

    for (const from of ['open', 'sealed'] as const) {
      for (const to of ['absent', 'open', 'sealed'] as const) {
        rule(
          `renaming a${from === 'open' ? 'n open' : ' sealed'} object to a name that is ${to} durably keeps its contents and its seal`,
          async ({ volume, reopen }) => {
            await put(volume, 'x/from', 'the new one');
            if (from === 'sealed') await volume.seal('x/from');
            if (to !== 'absent') await put(volume, 'y/to', 'the old one, which is longer');
            if (to === 'sealed') await volume.seal('y/to');
            // Reads all objects before the change, so that a volume that keeps files open has to notice it.
            for (const { name } of await volume.list()) await contentsOf(volume, name);
            await volume.rename('x/from', 'y/to');
            const check = async (at: Volume) => {
              assert.deepEqual(await at.list(), [{ name: 'y/to', bytes: 11, sealed: from === 'sealed' }]);
              assert.equal(await contentsOf(at, 'y/to'), 'the new one');
              assert.deepEqual(await at.stat(['x/from']), [undefined]);
            };
            await check(volume);
            const again = await reopen();
            await check(again);
            if (from === 'sealed') {
              await assert.rejects(again.append('y/to', 11, [utf8('.')]), failsWith('OBJECT_MOVED'));
            } else {
              await again.append('y/to', 11, [utf8('.')]);
              assert.equal(await contentsOf(again, 'y/to'), 'the new one.');
            }
            await again.create('x/from');
          },
        );
      }
    }

    rule(
      'renaming makes unsynced bytes durable, and renaming an object to its own name changes nothing',
      async ({ volume, reopen }) => {
        await volume.create('a');
        await volume.append('a', 0, [utf8('unsynced')]);
        await volume.rename('a', 'b');
        await volume.append('b', 8, [utf8(' more')]);
        await volume.rename('b', 'b');
        const again = await reopen();
        assert.equal(await contentsOf(again, 'b'), 'unsynced more');
        assert.equal((await again.list()).length, 1);
      },
    );

    rule('a removed object is gone after a restart, and its name can be used again', async ({ volume, reopen }) => {
      await put(volume, 'c/a', 'open');
      await put(volume, 'c/b', 'sealed');
      await volume.seal('c/b');
      await put(volume, 'keep', 'kept');
      await contentsOf(volume, 'c/a');
      await volume.remove(['c/a', 'c/b', 'c/b', 'never/was', 'c/a']);
      await assert.rejects(contentsOf(volume, 'c/a'), failsWith('OBJECT_MISSING', 'c/a'));
      const again = await reopen();
      assert.deepEqual(await again.list(), [{ name: 'keep', bytes: 4, sealed: false }]);
      await put(again, 'c/a', 'anew');
      assert.equal(await contentsOf(again, 'c/a'), 'anew');
      await again.remove([]);
    });

    rule(
      'a reader sees the old or the new object during a replacement, and only the new one afterwards',
      async ({ volume }) => {
        let going = true;
        const seen = new Set<string>();
        const readers = Array.from({ length: 4 }, async () => {
          while (going) {
            const [bytes] = await volume.read([{ name: 'a', offset: 0, length: 10 }]).catch(() => []);
            if (bytes) seen.add(Buffer.from(bytes).toString());
            // A turn of the event loop, so that other calls run too when the volume has no real input and output.
            await new Promise(setImmediate);
          }
        });
        const texts = Array.from({ length: 30 }, (_, index) => `text ${index}`);
        for (const text of texts) {
          await put(volume, 'new', text);
          await volume.rename('new', 'a');
          await new Promise(setImmediate);
          assert.equal(await contentsOf(volume, 'a'), text);
          const range = { name: 'a', offset: 0, length: 10 };
          assert.equal(Buffer.from((await volume.read([range]))[0]!).toString(), text);
          if (texts.indexOf(text) % 2 > 0) continue;
          await volume.remove(['a']);
          await assert.rejects(volume.read([range]), failsWith('OBJECT_MISSING', 'a'));
        }
        going = false;
        await Promise.all(readers);
        assert.ok(seen.size > 0);
        for (const text of seen) assert.ok(texts.includes(text), text);
      },
    );

    rule('a stream that has begun continues when its object is renamed or removed', async ({ volume }) => {
      const bytes = randomBytes(1_000_000);
      await put(volume, 'a', bytes);
      const pieces = volume.stream('a')[Symbol.asyncIterator]();
      const first = (await pieces.next()).value!.slice();
      await put(volume, 'b', randomBytes(2_000_000));
      await volume.rename('b', 'a');
      await volume.remove(['a']);
      assert.deepEqual(concat([first, await collect({ [Symbol.asyncIterator]: () => pieces })]), bytes);
    });

    rule('an invalid object name is a bug of the caller', async ({ volume }) => {
      for (const name of BAD_NAMES) {
        await assert.rejects(volume.create(name), isBug, name);
        await assert.rejects(volume.append(name, 0, []), isBug, name);
        await assert.rejects(volume.rename('a', name), isBug, name);
        await assert.rejects(volume.remove([name]), isBug, name);
        await assert.rejects(volume.stat([name]), isBug, name);
        await assert.rejects(volume.sync([name]), isBug, name);
        await assert.rejects(volume.read([{ name, offset: 0, length: 0 }]), isBug, name);
        await assert.rejects(collect(volume.stream(name)), isBug, name);
      }
      for (const prefix of ['..', '../', '/', 'a//', './a', 'a b'])
        await assert.rejects(volume.list(prefix), isBug, prefix);
      assert.deepEqual(await volume.list(), []);
    });

    rule('odd names work for open and sealed objects, also after a restart', async ({ volume, reopen }) => {
      for (const name of ODD_NAMES) await put(volume, name, name);
      for (const name of ODD_NAMES.slice(0, 5)) await volume.seal(name);
      const again = await reopen();
      assert.deepEqual(
        (await again.list()).map(({ name, sealed }) => [name, sealed]),
        ODD_NAMES.map((name, index) => [name, index < 5]).sort(([a], [b]) => (a! < b! ? -1 : 1)),
      );
      for (const name of ODD_NAMES) assert.equal(await contentsOf(again, name), name);
    });

    rule(
      `${manyObjects} objects are listed in order, by prefix, and statted in the requested order`,
      async ({ volume, reopen }) => {
        const names = Array.from(
          { length: manyObjects },
          (_, index) => `c${index % 10}/n${(index * 7919) % manyObjects}`,
        );
        for (let at = 0; at < names.length; at += 500) {
          await Promise.all(names.slice(at, at + 500).map((name) => volume.create(name)));
        }
        await volume.append(names[17]!, 0, [utf8('some')]);
        await volume.sync(names);
        const again = await reopen();
        const listed = await again.list();
        assert.deepEqual(
          listed.map(({ name }) => name),
          names.toSorted(),
        );
        assert.equal(listed.find(({ name }) => name === names[17])!.bytes, 4);
        const prefixed = (prefix: string) => names.filter((name) => name.startsWith(prefix)).sort();
        for (const prefix of ['c3/', 'c3/n99', 'c', 'c3/n1234', 'd', 'd/e/f', 'c3/n/']) {
          assert.deepEqual(
            (await again.list(prefix)).map(({ name }) => name),
            prefixed(prefix),
          );
        }
        const asked = [...names.slice(0, 300), 'c0/absent'].reverse();
        assert.deepEqual(
          (await again.stat(asked)).map((info) => info?.name),
          [undefined, ...names.slice(0, 300).reverse()],
        );
        await again.remove(names);
        assert.deepEqual(await again.list(), []);
      },
    );

    rule('free space is at most the total space', async ({ volume }) => {
      const { freeBytes, totalBytes } = await volume.space();
      assert.ok(freeBytes > 0 && freeBytes <= totalBytes);
    });

    rule(
      'closing waits for running operations, and later ones fail because the volume is closed',
      async ({ volume, reopen }) => {
        const bytes = randomBytes(2_000_000);
        await volume.create('a');
        let appended = false;
        const append = volume.append('a', 0, [bytes]).then(() => {
          appended = true;
        });
        const sync = volume.sync(['a']);
        await volume.close();
        assert.ok(appended);
        await Promise.all([append, sync, volume.close()]);
        await assert.rejects(volume.append('a', bytes.length, [bytes]), failsWith('ARCHIVE_CLOSED'));
        await assert.rejects(volume.list(), failsWith('ARCHIVE_CLOSED'));
        assert.deepEqual(await collect((await reopen()).stream('a')), bytes);
      },
    );

    rule('an abandoned stream does not keep the volume from closing', async ({ volume }) => {
      await put(volume, 'a', randomBytes(1_500_000));
      const pieces = volume.stream('a')[Symbol.asyncIterator]();
      assert.ok((await pieces.next()).value!.length > 0);
      await volume.close();
      await assert.rejects(
        (async () => {
          for (let piece = await pieces.next(); !piece.done; piece = await pieces.next());
        })(),
        failsWith('ARCHIVE_CLOSED'),
      );
    });
  });

  volumeReadContract(title, async (objects) => {
    const opened = await open();
    for (const [name, bytes] of objects) {
      await put(opened.volume, name, bytes);
      await opened.volume.seal(name);
    }
    return opened;
  });
}

/** The rules of reading for every volume, including read-only ones. */
export function volumeReadContract(
  title: string,
  open: (objects: ReadonlyMap<string, Uint8Array>) => Promise<{ volume: Volume; dispose(): Promise<void> }>,
): void {
  const large = randomBytes(1_000_000);
  const objects = new Map([
    ['r/large', large],
    ['r/small', utf8('0123456789')],
    ['empty', new Uint8Array(0)],
  ]);
  const rule = (sentence: string, body: (volume: Volume) => Promise<void>) =>
    test(sentence, async () => {
      const { volume, dispose } = await open(objects);
      try {
        await body(volume);
      } finally {
        await dispose();
      }
    });

  describe(`the contract of reading from a volume: ${title}`, () => {
    rule('sealed objects are listed in order, with length and seal', async (volume) => {
      const expected = [
        { name: 'empty', bytes: 0, sealed: true },
        { name: 'r/large', bytes: 1_000_000, sealed: true },
        { name: 'r/small', bytes: 10, sealed: true },
      ];
      assert.deepEqual(await volume.list(), expected);
      assert.deepEqual(await volume.list('r/s'), expected.slice(2));
      assert.deepEqual(await volume.stat(['r/small', 'gone', 'empty']), [expected[2], undefined, expected[0]]);
    });

    rule(
      'ranges are read in the requested order, shorter at the end of the object and empty beyond it',
      async (volume) => {
        const read = await volume.read([
          { name: 'r/small', offset: 2, length: 3 },
          { name: 'r/large', offset: 999_990, length: 1 << 30 },
          { name: 'r/small', offset: 8, length: 100 },
          { name: 'r/small', offset: 10, length: 1 },
          { name: 'r/small', offset: 2 ** 40, length: 2 ** 40 },
          { name: 'r/small', offset: 3, length: 0 },
          { name: 'empty', offset: 0, length: 5 },
          { name: 'r/large', offset: 0, length: 1_000_000 },
        ]);
        assert.deepEqual(
          read.map((bytes) => [...bytes.subarray(0, 20)].length),
          [3, 10, 2, 0, 0, 0, 0, 20],
        );
        assert.deepEqual(read[0], new Uint8Array(utf8('234')));
        assert.deepEqual(read[1], large.slice(-10));
        assert.deepEqual(read[2], new Uint8Array(utf8('89')));
        assert.deepEqual(read[7], large);
        assert.deepEqual(await volume.read([]), []);
      },
    );

    rule('the caller may change the bytes that it read without an effect on later reads', async (volume) => {
      const range = { name: 'r/small', offset: 0, length: 10 };
      const [first, second] = await volume.read([range, range]);
      first!.fill(0);
      assert.deepEqual(second, new Uint8Array(utf8('0123456789')));
      assert.deepEqual((await volume.read([range]))[0], second);
      assert.equal(second!.buffer.byteLength, 10);
    });

    rule('a thousand ranges can be read at once', async (volume) => {
      const random = seededRandom(11);
      const ranges = Array.from({ length: 1000 }, () => ({
        name: 'r/large',
        offset: Math.floor(random() * 1_001_000),
        length: Math.floor(random() * 3000),
      }));
      const read = await volume.read(ranges);
      ranges.forEach(({ offset, length }, index) => {
        assert.deepEqual(read[index], large.slice(offset, offset + length));
      });
    });

    rule('a stream gives the bytes of the requested range, in pieces of bounded size', async (volume) => {
      for await (const piece of volume.stream('r/large')) assert.ok(piece.length > 0 && piece.length <= 1 << 20);
      for (const [from, to] of [
        [0, undefined],
        [1, 999_999],
        [262_144, 524_288],
        [999_999, 5_000_000],
        [1_000_000, undefined],
        [2_000_000, undefined],
        [500, 500],
        [700, 600],
      ] as const) {
        assert.deepEqual(
          await collect(volume.stream('r/large', from, to)),
          large.slice(from, Math.max(from, to ?? 1e9)),
        );
      }
      assert.equal((await collect(volume.stream('empty'))).length, 0);
    });

    rule('a stream can be abandoned in the middle, and many streams can run at once', async (volume) => {
      for await (const piece of volume.stream('r/large')) {
        assert.ok(piece.length > 0);
        break;
      }
      const all = await Promise.all(Array.from({ length: 20 }, () => collect(volume.stream('r/large'))));
      for (const bytes of all) assert.deepEqual(bytes, large);
    });

    rule('negative, fractional and infinite offsets are a bug of the caller', async (volume) => {
      for (const bad of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
        await assert.rejects(volume.read([{ name: 'empty', offset: bad, length: 1 }]), isBug);
        await assert.rejects(volume.read([{ name: 'empty', offset: 0, length: bad }]), isBug);
        await assert.rejects(collect(volume.stream('empty', bad)), isBug);
      }
    });

    rule('a read of several objects fails with the name of a missing one', async (volume) => {
      const ranges = ['empty', 'r/gone', 'r/small'].map((name) => ({ name, offset: 0, length: 1 }));
      await assert.rejects(volume.read(ranges), failsWith('OBJECT_MISSING', 'r/gone'));
      await assert.rejects(collect(volume.stream('r/gone')), failsWith('OBJECT_MISSING', 'r/gone'));
    });
  });
}
