/** Mirrors: a second copy from which alone the archive comes back with the same answers. */
import assert from 'node:assert/strict';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Archive, openArchive, restoreMirror } from '../../src/archive/index.ts';
import { seededRandom, toHex } from '../../src/base/index.ts';
import { MemoryPartVolume } from '../../src/volume/index.ts';
import { response, warcinfo, writeForeign } from './foreign-file.ts';
import {
  answers,
  audit,
  bytesOf,
  contentOf,
  makeArchive,
  NOON,
  page,
  temporaryDirectory,
  trialOptions,
} from './trial-archive.ts';

const clock = () => NOON;
const DAY_MS = 24 * 3600 * 1000;

async function makeMirrored(t: TestContext, options: Parameters<typeof makeArchive>[1] = {}, mirror = {}) {
  const archive = await makeArchive(t, options);
  const target = join(await temporaryDirectory(t), 'attic');
  await archive.mirrors.add({ name: 'attic', target, ...mirror });
  return { archive, target };
}

/** Everything that an archive answers, beside its captures one by one: index lines, figures, snapshots. */
async function otherAnswers(archive: Archive) {
  const { catalogBytes: _, ...stats } = await archive.stats();
  return {
    stats,
    index: await Array.fromAsync(archive.exportCdxj({})),
    snapshots: archive.listSnapshots(),
    collections: (await archive.collections.all()).map(({ name }) => name).sort(),
    takedowns: (await archive.takedownLog.read()).takedowns,
    barred: (await archive.takedowns()).contents,
  };
}

async function restored(t: TestContext, target: string, options: { readonly until?: number } = {}) {
  const directory = join(await temporaryDirectory(t), 'restored');
  await restoreMirror({ target }, directory, { clock: () => NOON, ...options });
  const archive = await openArchive(directory, trialOptions({ seed: 99 }));
  t.after(() => archive.close().catch(() => {}));
  return archive;
}

async function assertSame(one: Archive, other: Archive): Promise<void> {
  assert.deepEqual(await answers(other), await answers(one));
  assert.deepEqual(await otherAnswers(other), await otherAnswers(one));
  assert.deepEqual(await audit(other), []);
  assert.equal((await other.verify()).errors, 0);
}

test('an archive restored from its mirror alone answers every capture, index line, figure and snapshot the same', async (t) => {
  const seed = 7;
  const random = seededRandom(seed);
  t.diagnostic(`seed ${seed}`);
  const { archive, target } = await makeMirrored(t, { policies: { segmentBytesMax: 40_000 } });
  await archive.addVolume({ name: 'second', path: await temporaryDirectory(t) });
  const storeSome = async (from: number) => {
    for (let n = from; n < from + 30; n++)
      await archive.store(
        page(`http://e${n % 5}.example/${n % 20}`, NOON + n * 1000, contentOf(`c${Math.floor(random() * 20)}`)),
        {
          collection: `c${n % 3}`,
          volume: n % 2 === 0 ? 'main' : 'second',
        },
      );
  };
  await storeSome(0);
  await archive.createSnapshot('first');
  const first = await archive.mirrors.sync('attic');
  assert.ok(first.copied > 5 && first.barred.length === 0);
  await assertSame(archive, await restored(t, target));
  await storeSome(100);
  await archive.delete({ url: 'http://e1.example/1' });
  await archive.takeDown({ urls: ['http://e2.example/2'] }, { reason: 'asked', by: 'Ana' });
  await archive.removeSnapshot('first');
  await archive.compact();
  await archive.createSnapshot('second');
  const second = await archive.mirrors.sync('attic');
  assert.ok(second.removed > 0);
  await assertSame(archive, await restored(t, target));
  // What has not changed is not copied again: only the manifest is new.
  const third = await archive.mirrors.sync('attic');
  assert.deepEqual([third.copied, third.removed, third.objects], [0, 0, second.objects]);
  assert.deepEqual((await archive.mirrors.check('attic')).problems, []);
});

test('the mirror takes what is committed of open segments, in pieces, and whole segments as plain files', async (t) => {
  const { archive, target } = await makeMirrored(t);
  for (let n = 0; n < 4; n++) {
    await archive.store(page(`http://a.example/${n}`, NOON, contentOf(`a${n}`)));
    assert.equal((await archive.mirrors.sync('attic')).copied, n === 0 ? 2 : 1);
  }
  const [{ name } = assert.fail()] = await archive.segments();
  const pieces = await readdir(join(target, 'parts', 'main', name));
  assert.equal(pieces.length, 4);
  await assertSame(archive, await restored(t, target));
  await archive.setVolumeWritable('main', false);
  await archive.setVolumeWritable('main', true);
  await archive.mirrors.sync('attic');
  const copy = await readFile(join(target, 'volumes', 'main', name));
  assert.ok(copy.equals(await bytesOf(archive.segmentBytes(name))));
  await assertSame(archive, await restored(t, target));
});

test('a sync that dies anywhere leaves the former state restorable, and the next goes on where it was', async (t) => {
  const { archive, target } = await makeMirrored(t, { policies: { segmentBytesMax: 4000 } });
  for (let n = 0; n < 5; n++) await archive.store(page(`http://a.example/${n}`, NOON, contentOf(`a${n}`)));
  await archive.mirrors.sync('attic');
  const before = await answers(archive);
  for (let n = 5; n < 10; n++) await archive.store(page(`http://a.example/${n}`, NOON, contentOf(`a${n}`)));
  await archive.delete({ url: 'http://a.example/1' });
  await archive.compact();
  let steps = 0;
  let copied = 0;
  for (let isDone = false; !isDone; steps++) {
    const controller = new AbortController();
    let seen = 0;
    const onProgress = () => {
      if (++seen > 3) controller.abort();
    };
    const report = await archive.mirrors
      .sync('attic', { signal: controller.signal, onProgress })
      .catch((error: Error) => {
        assert.equal(error.name, 'AbortError');
      });
    if (report) copied = report.copied;
    else assert.deepEqual(await answers(await restored(t, target)), before);
    isDone = report !== undefined;
    assert.ok(steps < 50);
  }
  assert.ok(steps > 2 && copied < 4, `${steps} steps, the last copied ${copied}`);
  await assertSame(archive, await restored(t, target));
  // A torn manifest does not count either.
  const manifests = (await readdir(join(target, 'manifests'))).sort();
  const newest = join(target, 'manifests', manifests.at(-1)!);
  const whole = await readFile(newest);
  await writeFile(newest.replace(/\d{9}/, '999999998'), whole.subarray(0, whole.length - 20));
  await assertSame(archive, await restored(t, target));
  assert.equal((await archive.mirrors.check('attic')).problems[0]?.kind, 'manifest damaged');
  await archive.mirrors.sync('attic');
  assert.deepEqual((await archive.mirrors.check('attic')).problems, []);
});

test('segments that are compacted while a sync copies them are read again, and stores go on meanwhile', async (t) => {
  const { archive, target } = await makeMirrored(t, { policies: { segmentBytesMax: 6000 } });
  for (let n = 0; n < 12; n++) await archive.store(page(`http://a.example/${n}`, NOON, contentOf(`a${n}`)));
  for (let n = 0; n < 12; n += 2) await archive.delete({ url: `http://a.example/${n}` });
  let changing: Promise<unknown> | undefined;
  const onProgress = () => {
    changing ??= Promise.all([
      archive.compact(),
      ...[1, 2, 3].map((n) => archive.store(page(`http://b.example/${n}`, NOON, contentOf(`b${n}`)))),
    ]);
  };
  await archive.mirrors.sync('attic', { onProgress });
  await changing;
  const early = await restored(t, target);
  assert.deepEqual(await audit(early), []);
  assert.equal((await early.verify()).errors, 0);
  await archive.mirrors.sync('attic');
  await assertSame(archive, await restored(t, target));
});

test('damage in a mirror is found, is never restored, and is repaired from the archive', async (t) => {
  const { archive, target } = await makeMirrored(t, { policies: { segmentBytesMax: 4000 } });
  for (let n = 0; n < 6; n++) await archive.store(page(`http://a.example/${n}`, NOON, contentOf(`a${n}`)));
  await archive.mirrors.sync('attic');
  const [one, two] = (await archive.segments()).map(({ name }) => join(target, 'volumes', 'main', name));
  const bytes = await readFile(one!);
  bytes[1000]! ^= 1;
  await writeFile(one!, bytes);
  await rm(two!);
  const kinds = async (repair = false) =>
    (await archive.mirrors.check('attic', { repair })).problems.map(({ kind }) => kind);
  assert.deepEqual((await kinds()).sort(), ['damaged', 'missing']);
  const directory = join(await temporaryDirectory(t), 'restored');
  await assert.rejects(restoreMirror({ target }, directory, { clock }), (error: { code?: string }) =>
    ['MIRROR_DAMAGED', 'OBJECT_MISSING'].includes(error.code ?? ''),
  );
  await assert.rejects(openArchive(directory, trialOptions()), { code: 'ARCHIVE_MISSING' });
  await kinds(true);
  assert.equal((await archive.mirrors.sync('attic')).copied, 2);
  assert.deepEqual(await kinds(), []);
  // The restore that failed goes on.
  await restoreMirror({ target }, directory, { clock }).catch(() => rm(directory, { recursive: true }));
  await assertSame(archive, await restored(t, target));
});

test('a restore that was interrupted goes on, and no restore overwrites anything', async (t) => {
  const { archive, target } = await makeMirrored(t, { policies: { segmentBytesMax: 4000 } });
  for (let n = 0; n < 6; n++) await archive.store(page(`http://a.example/${n}`, NOON, contentOf(`a${n}`)));
  await archive.mirrors.sync('attic');
  const directory = join(await temporaryDirectory(t), 'restored');
  for (let stop = 1; ; stop++) {
    const controller = new AbortController();
    let seen = 0;
    const onProgress = () => {
      if (++seen > stop * 3) controller.abort();
    };
    const isDone = await restoreMirror({ target }, directory, { clock, signal: controller.signal, onProgress }).then(
      () => true,
      () => false,
    );
    if (isDone) break;
    await assert.rejects(openArchive(directory, trialOptions()), { code: 'ARCHIVE_MISSING' });
  }
  const again = await openArchive(directory, trialOptions({ seed: 5 }));
  await assertSame(archive, again);
  await again.close();
  await assert.rejects(restoreMirror({ target }, directory, { clock }), { code: 'ARCHIVE_EXISTS' });
  await assert.rejects(restoreMirror({ target: await temporaryDirectory(t) }, join(directory, 'new'), { clock }), {
    code: 'MIRROR_MISSING',
  });
});

test('with a delay, the state from before a deletion can be restored until the delay has passed', async (t) => {
  let now = NOON;
  const { archive, target } = await makeMirrored(t, { clock: () => (now += 1000) }, { delayMs: 30 * DAY_MS });
  for (let n = 0; n < 6; n++) await archive.store(page(`http://a.example/${n}`, NOON, contentOf(`a${n}`)));
  await archive.mirrors.sync('attic');
  const until = now;
  const before = await answers(archive);
  now += DAY_MS;
  await archive.delete({ url: 'http://a.example/1' });
  await archive.compact();
  assert.equal((await archive.mirrors.sync('attic')).earlier, 1);
  assert.deepEqual(await answers(await restored(t, target, { until })), before);
  await assertSame(archive, await restored(t, target));
  now += 29 * DAY_MS;
  assert.equal((await archive.mirrors.sync('attic')).earlier, 2);
  now += 2 * DAY_MS;
  const last = await archive.mirrors.sync('attic');
  assert.ok(last.removed > 0);
  await assert.rejects(restored(t, target, { until }), { code: 'MIRROR_MISSING' });
});

test('D3 what is taken down leaves the mirror with the first sync after compaction, whatever the delay', async (t) => {
  const { archive, target } = await makeMirrored(t, {}, { delayMs: 30 * DAY_MS });
  const { key } = await archive.store(page('http://a.example/', NOON, contentOf('secret')));
  await archive.store(page('http://b.example/', NOON, contentOf('kept')));
  await archive.mirrors.sync('attic');
  const { takedown } = await archive.takeDown({ keys: [key] }, { reason: 'asked', by: 'Ana' });
  const early = await archive.mirrors.sync('attic');
  assert.equal(early.barred.length, 1);
  const placesOf = async () => {
    const { findings, isGone } = await archive.takedownLog.check(takedown, { by: 'Ana' });
    return [isGone, findings.map(({ place }) => place).sort()];
  };
  assert.deepEqual(await placesOf(), [false, ['mirror attic', 'volume main']]);
  await archive.compact();
  assert.deepEqual(await placesOf(), [false, ['mirror attic']]);
  const late = await archive.mirrors.sync('attic');
  assert.deepEqual([late.barred, late.earlier], [[], 0]);
  assert.deepEqual(await placesOf(), [true, []]);
  // The statement is in the log, which is in the mirror too.
  await archive.mirrors.sync('attic');
  const again = await restored(t, target);
  await assertSame(archive, again);
  await assert.rejects(again.store(page('http://c.example/', NOON, contentOf('secret'))), { code: 'CONTENT_BARRED' });
});

test('files that were added in place are named as absent, or copied and linked in the restored archive', async (t) => {
  const { archive, target } = await makeMirrored(t);
  const whole = join(await temporaryDirectory(t), 'whole');
  await archive.mirrors.add({ name: 'whole', target: whole, withLinked: true });
  const records = [warcinfo(), response('http://f.example/', NOON, contentOf('f'))];
  const file = await writeForeign(join(await temporaryDirectory(t), 'f.warc.gz'), records);
  await archive.add([file], { inPlace: true });
  assert.equal((await archive.mirrors.sync('attic')).absent, 1);
  assert.match((await archive.mirrors.check('attic')).absent[0]!.why, /added in place/);
  assert.equal((await archive.mirrors.sync('whole')).absent, 0);
  await assertSame(archive, await restored(t, target));
  const before = [await answers(archive), await otherAnswers(archive)];
  await archive.close();
  await rm(file);
  const again = await restored(t, whole);
  assert.deepEqual([await answers(again), await otherAnswers(again)], before);
});

/** A directory with a file of somebody. */
async function full(t: TestContext): Promise<string> {
  const directory = await temporaryDirectory(t);
  await writeFile(join(directory, 'letter.txt'), 'Dear');
  return directory;
}

test('a place that is not the mirror, or not mounted, is never written to', async (t) => {
  const { archive, target } = await makeMirrored(t);
  await archive.store(page('http://a.example/', NOON, contentOf('a')));
  const other = await makeMirrored(t, { seed: 2 });
  for (const [place, code] of [
    [target, 'MIRROR_TAKEN'],
    [other.target, 'MIRROR_TAKEN'],
    [await full(t), 'MIRROR_TAKEN'],
    [join(archive.directory, 'inside'), 'MIRROR_TAKEN'],
    [join(archive.directory, 'volumes', 'main', 'inside'), 'MIRROR_TAKEN'],
  ] as const)
    await assert.rejects(archive.mirrors.add({ name: 'more', target: place }), { code }, place);
  await rm(target, { recursive: true });
  await mkdir(target);
  await assert.rejects(archive.mirrors.sync('attic'), { code: 'MIRROR_MISSING' });
  assert.deepEqual(await readdir(target), []);
  await cp(other.target, target, { recursive: true });
  await assert.rejects(archive.mirrors.sync('attic'), { code: 'MIRROR_TAKEN' });
  await assert.rejects(archive.mirrors.sync('none'), { code: 'MIRROR_UNKNOWN' });
  await archive.mirrors.remove('attic');
  assert.deepEqual(await archive.mirrors.list(), []);
  assert.deepEqual(await readdir(target), await readdir(other.target));
});

test('an archive that lost its segments does not empty its mirror, and segments that are missing stay in it', async (t) => {
  const { archive, target } = await makeMirrored(t, { policies: { segmentBytesMax: 900_000 } });
  for (let n = 0; n < 3; n++) await archive.store(page(`http://a.example/${n}`, NOON, contentOf(`a${n}`, 1_900_000)));
  await archive.mirrors.sync('attic');
  const before = await answers(archive);
  const [first] = await archive.segments();
  await archive.close();
  await rm(join(archive.directory, 'volumes', 'main', first!.name));
  const damaged = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  await damaged.mirrors.sync('attic');
  assert.deepEqual(await answers(await restored(t, target)), before);
  await damaged.close();
  await rm(join(archive.directory, 'catalog'), { recursive: true });
  for (const name of await readdir(join(archive.directory, 'volumes', 'main', 'default')))
    await rm(join(archive.directory, 'volumes', 'main', 'default', name));
  const empty = await openArchive(archive.directory, trialOptions({ seed: 3 }));
  t.after(() => empty.close());
  await assert.rejects(empty.mirrors.sync('attic'), { code: 'MIRROR_SHRUNK' });
  assert.deepEqual(await answers(await restored(t, target)), before);
  await empty.mirrors.sync('attic', { mayShrink: true });
  assert.equal((await (await restored(t, target)).totals()).captures, 0);
});

test('a mirror may be on a volume of immutable objects, and gives ranges of segments back', async (t) => {
  const volume = () => new MemoryPartVolume('far', bucket);
  const bucket = new Map<string, Uint8Array>();
  const openRemote = async () => volume();
  const { archive } = await makeMirrored(t, { openRemote, policies: { segmentBytesMax: 8000 } });
  await archive.mirrors.add({ name: 'far', target: 'memory://far' });
  for (let n = 0; n < 5; n++) {
    await archive.store(page(`http://a.example/${n}`, NOON, contentOf(`a${n}`)));
    await archive.mirrors.sync('far');
  }
  const directory = join(await temporaryDirectory(t), 'restored');
  await restoreMirror({ target: 'memory://far' }, directory, { clock, remote: openRemote });
  const again = await openArchive(directory, trialOptions({ seed: 4 }));
  t.after(() => again.close());
  await assertSame(archive, again);
  await using reader = await archive.mirrors.open('far');
  for (const { name, bytes } of await archive.segments()) {
    const whole = await bytesOf(archive.segmentBytes(name));
    for (const [from, length] of [
      [0, bytes],
      [10, bytes - 20],
      [bytes - 5, 5],
    ] as const)
      assert.equal(toHex((await reader.read(name, from, length))!), toHex(whole.subarray(from, from + length)));
    assert.equal(await reader.read(name, bytes - 5, 6), undefined);
  }
  assert.equal(await reader.read('none', 0, 1), undefined);
});
