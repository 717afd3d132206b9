import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { concat, PinakesError, type Random, seededRandom, utf8 } from '../base/index.ts';
import { createDirectoryVolume, openDirectoryVolume } from './directory/directory-volume.ts';
import { CHANGES, type Effect, type Fault, FaultyVolume } from './faulty-volume.ts';
import { openMemoryVolume } from './memory-volume.ts';
import type { Volume } from './volume.ts';

const SEED = 7;

function failsWith(code: string): (cause: unknown) => boolean {
  return (cause) => {
    assert.ok(cause instanceof PinakesError, String(cause));
    assert.equal(cause.code, code, cause.message);
    return true;
  };
}

async function contentsOf(volume: Volume, name: string): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of volume.stream(name)) pieces.push(piece.slice());
  return Buffer.from(concat(pieces)).toString();
}

async function faulty(...faults: Fault[]): Promise<{ volume: FaultyVolume; inner: Volume }> {
  const inner = openMemoryVolume('faulty');
  await inner.create('a');
  await inner.append('a', 0, [utf8('durable ')]);
  return { inner, volume: new FaultyVolume(inner, seededRandom(SEED), faults) };
}

test('the n-th operation of the given kinds fails once and is listed afterwards', async () => {
  const { volume } = await faulty({ nth: 2, on: ['create', 'remove'], effect: 'io-error' });
  await volume.create('b');
  await volume.list();
  await assert.rejects(volume.remove(['b']), failsWith('VOLUME_IO'));
  await volume.remove(['b']);
  assert.deepEqual(
    volume.fired.map(({ operation, names }) => [operation, names]),
    [['remove', ['b']]],
  );
  assert.equal(volume.count(), 4);
  assert.equal(volume.count('remove'), 2);
});

test('a lasting fault fails all later operations', async () => {
  const { volume } = await faulty({ nth: 2, on: ['append'], effect: 'disk-full', lasting: true });
  await volume.append('a', 8, [utf8('x')]);
  for (let attempt = 0; attempt < 3; attempt++) {
    await assert.rejects(volume.append('a', 9, [utf8('y')]), failsWith('DISK_FULL'));
  }
  assert.equal(await contentsOf(volume, 'a'), 'durable x');
});

test('every kind of read can fail, and a stream can break off after its first piece', async () => {
  for (const on of ['list', 'stat', 'read', 'stream', 'space'] as const) {
    const { volume } = await faulty({ nth: 1, on: [on], effect: 'io-error' });
    const calls = {
      list: () => volume.list(),
      stat: () => volume.stat(['a']),
      read: () => volume.read([{ name: 'a', offset: 0, length: 1 }]),
      stream: () => contentsOf(volume, 'a'),
      space: () => volume.space(),
    };
    await assert.rejects(calls[on](), failsWith('VOLUME_IO'), on);
    await calls[on]();
  }
  const { volume } = await faulty({ nth: 1, on: ['stream'], effect: 'io-error-after' });
  const pieces = volume.stream('a')[Symbol.asyncIterator]();
  assert.equal((await pieces.next()).value?.length, 8);
  await assert.rejects(pieces.next(), failsWith('VOLUME_IO'));
});

test('a torn append leaves its beginning in the object, which takes no append until it is cut back', async () => {
  const { volume } = await faulty({ nth: 1, on: ['append'], effect: 'disk-full', tornBytes: 3 });
  await assert.rejects(volume.append('a', 8, [utf8('ab'), utf8('cdef')]), failsWith('DISK_FULL'));
  assert.equal(await contentsOf(volume, 'a'), 'durable abc');
  await assert.rejects(volume.append('a', 8, [utf8('x')]), failsWith('OBJECT_MOVED'));
  await assert.rejects(volume.append('a', 11, [utf8('x')]), failsWith('OBJECT_MOVED'));
  await assert.rejects(volume.sync(['a']), failsWith('VOLUME_IO'));
  await assert.rejects(volume.seal('a'), failsWith('VOLUME_IO'));
  await assert.rejects(volume.truncate('a', 9), failsWith('OBJECT_MOVED'));
  await volume.truncate('a', 8);
  await volume.append('a', 8, [utf8('x')]);
  await volume.sync(['a']);
  assert.equal(await contentsOf(volume, 'a'), 'durable x');
});

test('after a failed sync the same bytes are never acknowledged, whether they reached the disk or not', async () => {
  for (const effect of ['io-error', 'io-error-after'] as const) {
    const { volume } = await faulty({ nth: 2, on: ['sync'], effect });
    await volume.append('a', 8, [utf8('synced ')]);
    await volume.sync(['a']);
    await volume.append('a', 15, [utf8('unsynced')]);
    await assert.rejects(volume.sync(['a']), failsWith('VOLUME_IO'));
    await assert.rejects(volume.sync(['a']), failsWith('VOLUME_IO'));
    await assert.rejects(volume.append('a', 23, [utf8('x')]), failsWith('OBJECT_MOVED'));
    await assert.rejects(volume.rename('a', 'b'), failsWith('VOLUME_IO'));
    await assert.rejects(volume.truncate('a', 16), failsWith('OBJECT_MOVED'));
    await volume.truncate('a', 15);
    await volume.append('a', 15, [utf8('again')]);
    await volume.sync(['a']);
    assert.equal(await contentsOf(volume, 'a'), 'durable synced again');
  }
});

test('after power loss every call fails with VOLUME_MISSING, and the crash keeps the synced bytes', async () => {
  const left = new Set<string>();
  for (let seed = 0; seed < 200; seed++) {
    const inner = openMemoryVolume('faulty');
    const volume = new FaultyVolume(inner, seededRandom(seed), [{ nth: 3, on: ['append'], effect: 'power-loss' }]);
    await volume.create('a');
    await volume.append('a', 0, [utf8('12')]);
    await volume.sync(['a']);
    await volume.append('a', 2, [utf8('3')]);
    await assert.rejects(volume.append('a', 3, [utf8('4')]), failsWith('VOLUME_MISSING'));
    await assert.rejects(volume.list(), failsWith('VOLUME_MISSING'));
    await assert.rejects(volume.sync(['a']), failsWith('VOLUME_MISSING'));
    await volume.crash();
    await assert.rejects(volume.create('b'), failsWith('VOLUME_MISSING'));
    left.add(await contentsOf(new FaultyVolume(inner, seededRandom(seed)), 'a'));
  }
  assert.deepEqual([...left].sort(), ['12', '123', '1234']);
});

/**
 * The acknowledgements that the writer received: acknowledged bytes must be there after any crash, and removed objects
 * must not come back.
 */
type Ledger = { readonly synced: Map<string, string>; readonly removed: Set<string>; readonly sealed: Set<string> };

/**
 * A small log writer: two objects, group commits, a seal, a swap by rename, a removal. It stops at the first failure.
 */
async function work(volume: Volume, ledger: Ledger): Promise<void> {
  const ends = new Map([
    ['c/a', ''],
    ['c/b', ''],
  ]);
  for (const name of ends.keys()) await volume.create(name);
  for (let round = 0; round < 3; round++) {
    for (const [name, text] of ends) {
      const added = `${name} ${round};`;
      await volume.append(name, text.length, [utf8(added.slice(0, 4)), utf8(added.slice(4))]);
      ends.set(name, text + added);
    }
    await volume.sync([...ends.keys()]);
    for (const [name, text] of ends) ledger.synced.set(name, text);
  }
  await volume.seal('c/a');
  ledger.sealed.add('c/a');
  await volume.create('c/new');
  await volume.append('c/new', 0, [utf8('compacted')]);
  await volume.seal('c/new');
  ledger.synced.set('c/new', 'compacted');
  // During the rename both the old and the new contents are right.
  ledger.synced.delete('c/a');
  ledger.sealed.delete('c/a');
  ledger.synced.delete('c/new');
  await volume.rename('c/new', 'c/a');
  ledger.synced.set('c/a', 'compacted');
  ledger.sealed.add('c/a');
  const b = ledger.synced.get('c/b')!;
  ledger.synced.delete('c/b');
  await volume.truncate('c/b', 6);
  ledger.synced.set('c/b', b.slice(0, 6));
  ledger.synced.delete('c/b');
  await volume.remove(['c/b']);
  ledger.removed.add('c/b');
}

async function check(volume: Volume, ledger: Ledger): Promise<void> {
  const infos = new Map((await volume.list()).map((info) => [info.name, info]));
  for (const [name, text] of ledger.synced) {
    assert.ok(infos.has(name), `${name} is lost`);
    assert.ok((await contentsOf(volume, name)).startsWith(text), `${name} lost synced bytes`);
  }
  for (const name of ledger.removed) assert.ok(!infos.has(name), `${name} came back`);
  for (const name of ledger.sealed) assert.equal(infos.get(name)?.sealed, true);
}

/**
 * Fails every operation of the work in turn, with or without a crash after it, on new storage each time. Returns the
 * number of operations.
 */
async function failEach(effect: Effect, random: Random, fresh: () => Promise<Volume>, crash: boolean): Promise<number> {
  for (let nth = 1; ; nth++) {
    const inner = await fresh();
    const ledger: Ledger = { synced: new Map(), removed: new Set(), sealed: new Set() };
    const fault = { nth, on: CHANGES, effect, ...(nth % 3 === 0 && { tornBytes: 2 }) };
    const volume = new FaultyVolume(inner, random, [fault]);
    const failure = await work(volume, ledger).then(
      () => undefined,
      (cause: unknown) => cause,
    );
    if (volume.fired.length === 0) {
      assert.equal(failure, undefined);
      await check(volume, ledger);
      return nth - 1;
    }
    assert.ok(failure instanceof PinakesError, `${effect} ${nth}: ${String(failure)}`);
    if (crash) await volume.crash();
    await check(new FaultyVolume(inner, random), ledger);
    await inner.close();
  }
}

for (const effect of ['io-error', 'io-error-after', 'disk-full', 'power-loss'] as const) {
  test(`acknowledged bytes survive ${effect} in any operation, in memory (seed ${SEED})`, async () => {
    const random = seededRandom(SEED);
    for (let run = 0; run < 10; run++) {
      for (const crash of [true, effect === 'power-loss']) {
        assert.equal(await failEach(effect, random, async () => openMemoryVolume('faulty'), crash), 18);
      }
    }
  });
}

test(`acknowledged bytes survive power loss in any operation, in a directory (seed ${SEED})`, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-faulty-'));
  try {
    let serial = 0;
    const fresh = async () => {
      const path = join(directory, String(serial++));
      await createDirectoryVolume('faulty', path);
      return openDirectoryVolume('faulty', path, { writable: true });
    };
    assert.equal(await failEach('power-loss', seededRandom(SEED), fresh, true), 18);
  } finally {
    await rm(directory, { recursive: true });
  }
});
