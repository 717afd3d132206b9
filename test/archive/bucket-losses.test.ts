/** What happens beside an archive on a bucket must not cost it a capture, and must not bring a deleted one back. */
import assert from 'node:assert/strict';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Archive, createArchive } from '../../src/archive/index.ts';
import { PinakesError } from '../../src/base/index.ts';
import { openLevelCatalog } from '../../src/catalog/index.ts';
import type { MemoryBucket } from '../../src/volume/index.ts';
import {
  assertHas,
  begin,
  openBeside,
  openOn,
  openOnVolume,
  segmentsIn,
  storeAll,
  take,
  urlOf,
} from './bucket-trial.ts';
import { BucketVolume } from './memory-bucket.ts';
import { openWithParts } from './opened-parts.ts';
import { contentOf, NOON, page, temporaryDirectory, trialOptions } from './trial-archive.ts';

const DAY_MS = 25 * 3600 * 1000;
const withoutLock = { recursive: true, filter: (path: string) => !path.endsWith('LOCK') } as const;

async function directoryOf(t: TestContext, segmentBytesMax?: number): Promise<string> {
  const directory = await temporaryDirectory(t);
  await createArchive(directory, { policies: segmentBytesMax === undefined ? {} : { segmentBytesMax } });
  return directory;
}

test('a segment that moves to a bucket after a rebuild outlives the next rebuild', async (t) => {
  const bucket: MemoryBucket = new Map();
  let now = NOON;
  const archive = await openBeside(t, await directoryOf(t), new BucketVolume('far', bucket), {
    clock: () => (now += 1000),
  });
  await archive.store(page(urlOf('a'), NOON, contentOf('a')), { collection: 'web', volume: 'main' });
  await archive.rebuild();
  await archive.migrate('main', 'far');
  await archive.rebuild();
  await archive.compact();
  now += DAY_MS;
  await archive.compact();
  await assertHas(archive, ['a']);
  assert.equal(segmentsIn(bucket).length, 1);
});

test('R2: what an archive writes to a bucket that lists a higher incarnation outlives a rebuild', async (t) => {
  const { bucket, archive: first } = await begin(t);
  await storeAll(first, ['a']);
  await first.rebuild();
  await first.rebuild();
  await first.close();
  const elsewhere = await directoryOf(t);
  const far = new BucketVolume('far', bucket);
  const archive = await openBeside(t, elsewhere, far, { takesOver: true, seed: 99 });
  await archive.store(page(urlOf('own'), NOON, contentOf('own')), { collection: 'web', volume: 'far' });
  await archive.rebuild();
  await assertHas(archive, ['a', 'own']);
});

test('H4: a file that the archivist puts into a bucket is never removed, and is catalogued at the next opening', async (t) => {
  let now = NOON;
  const clock = () => (now += 1000);
  const { directory, bucket, archive } = await begin(t, {}, { clock });
  await storeAll(archive, ['a']);
  await archive.rebuild();
  const other = await begin(t, { segmentBytesMax: 100 }, { seed: 3 });
  await storeAll(other.archive, ['bb', 'ccc'], 'other');
  const [name] = segmentsIn(other.bucket);
  bucket.set(name!, other.bucket.get(name!)!);
  await archive.compact();
  now += DAY_MS;
  await archive.compact();
  assert.ok(bucket.has(name!));
  await archive.close();
  const again = await openOn(directory, bucket, { seed: 9, clock });
  t.after(() => again.close());
  assert.ok((await again.segments()).some((segment) => segment.name === name));
});

for (const kind of ['compaction', 'recompression'] as const)
  test(`a catalog that was restored from before a ${kind} loses nothing of the bucket`, async (t) => {
    const { directory, bucket, archive: first } = await begin(t, { segmentBytesMax: 4000 });
    await storeAll(first, ['a', 'bb', 'ccc', 'dddd']);
    await first.close();
    // The state of a running archive has the number of its owner.
    const running = await openOn(directory, bucket);
    const copy = await temporaryDirectory(t);
    await cp(directory, copy, withoutLock);
    if (kind === 'compaction') {
      await running.delete({ url: urlOf('bb') });
      await running.compact();
    } else await running.recompress({ worthwhileShare: 2 });
    await running.close();
    const findings: string[] = [];
    const restored = await openOn(copy, bucket, { onFinding: ({ code }) => findings.push(code) });
    t.after(() => restored.close());
    assert.ok(findings.includes('segment-missing'));
    await restored.compact();
    await restored.rebuild();
    await assertHas(restored, kind === 'compaction' ? ['a', 'ccc', 'dddd'] : ['a', 'bb', 'ccc', 'dddd']);
  });

class Hooked extends BucketVolume {
  hook: ((name: string) => Promise<void>) | undefined;

  override async put(name: string, bytes: readonly Uint8Array[]): Promise<void> {
    await super.put(name, bytes);
    await this.hook?.(name);
  }
}

test('a catalog that was restored from the middle of a compaction loses nothing of the bucket', async (t) => {
  const bucket: MemoryBucket = new Map();
  const directory = await directoryOf(t, 4000);
  const copy = await temporaryDirectory(t);
  const volume = new Hooked('main', bucket);
  const archive = await openOnVolume(directory, volume);
  await storeAll(archive, ['a', 'bb', 'ccc', 'dddd']);
  await archive.delete({ url: urlOf('bb') });
  volume.hook = async (name) => {
    if (!name.endsWith('.part')) return;
    volume.hook = undefined;
    await cp(directory, copy, withoutLock);
  };
  await archive.compact();
  await archive.close();
  const restored = await openOn(copy, bucket, { seed: 4 });
  t.after(() => restored.close());
  await restored.rebuild();
  await assertHas(restored, ['a', 'ccc', 'dddd']);
});

test('a take-over that was killed before the catalog was made again is refused until it is repeated', async (t) => {
  const { directory, bucket, archive: first } = await begin(t, { segmentBytesMax: 4000 });
  await storeAll(first, ['a', 'bb', 'ccc', 'dddd']);
  await first.close();
  const copy = await temporaryDirectory(t);
  await cp(directory, copy, { recursive: true });
  const second = await openOn(directory, bucket);
  await second.delete({ url: urlOf('bb') });
  await second.compact();
  await second.close();
  await take(bucket, copy);
  await assert.rejects(openOn(copy, bucket, { seed: 5 }), { code: 'VOLUME_TAKEN' });
});

test('R3: a take-over that is killed before it has sealed what was open does not go on under its name', async (t) => {
  const { directory, bucket, archive: former } = await begin(t);
  await storeAll(former, ['a', 'bb']);
  const [begun] = await former.segments();
  // The former owner is stopped while it seals: its object is on its way.
  const late = Buffer.concat(await Array.fromAsync(former.segmentBytes(begun!.name)));
  const elsewhere = await temporaryDirectory(t);
  await cp(join(directory, 'archive.yaml'), join(elsewhere, 'archive.yaml'));
  await take(bucket, elsewhere);
  const catalog = await openLevelCatalog(join(elsewhere, 'catalog'));
  const commit = catalog.commit.bind(catalog);
  catalog.commit = (group) => {
    if (group.segments?.some(({ to }) => to?.state === 'sealing')) throw new Error('killed');
    return commit(group);
  };
  await assert.rejects(openWithCatalog(elsewhere, bucket, catalog), /killed/);
  const archive = await openOn(elsewhere, bucket, { seed: 3, takesOver: true });
  await storeAll(archive, ['ccc']);
  await archive.close();
  bucket.set(begun!.name, late);
  const again = await openOn(elsewhere, bucket, { seed: 4, takesOver: true });
  t.after(() => again.close());
  await assertHas(again, ['a', 'bb', 'ccc']);
  await again.rebuild();
  await assertHas(again, ['a', 'bb', 'ccc']);
});

async function openWithCatalog(directory: string, bucket: MemoryBucket, catalog: never | object): Promise<Archive> {
  const { VolumeSet } = await import('../../src/archive/index.ts');
  const options = trialOptions({ seed: 2 });
  const volume = new BucketVolume('main', bucket);
  const volumes = await VolumeSet.ofBucket(volume, { directory, ...options, takesOver: true });
  return openWithParts(directory, { ...options, volumes, catalog: catalog as never });
}

class LateRemovals extends BucketVolume {
  readonly late: (() => Promise<void>)[] = [];

  override async remove(names: readonly string[]): Promise<void> {
    if (!names.some((name) => name.endsWith('.warc.gz'))) return super.remove(names);
    this.late.push(() => super.remove(names));
    throw new PinakesError('VOLUME_IO', { where: 'volume far', detail: 'no answer' });
  }
}

test('a removal from a bucket that is carried out late removes nothing that counts', async (t) => {
  const far = new LateRemovals('far', new Map());
  const archive = await openBeside(t, await directoryOf(t), far);
  await archive.store(page(urlOf('a'), NOON, contentOf('a')), { collection: 'web', volume: 'far' });
  await archive.migrate('far', 'main').catch(() => {});
  const { failures } = await archive.migrate('main', 'far');
  assert.equal(failures.length, 1);
  for (const remove of far.late) await remove();
  archive.forgetRecentRecords();
  await assertHas(archive, ['a']);
});

class Away extends BucketVolume {
  /** An object that cannot be read, or `all` when the bucket cannot be listed once. */
  away: string | undefined;

  override async *list(prefix = '') {
    if (this.away === 'all' && prefix === '') {
      this.away = undefined;
      throw new PinakesError('VOLUME_MISSING', { where: 'volume main', detail: 'refused' });
    }
    yield* super.list(prefix);
  }

  override async *stream(name: string, from?: number, to?: number) {
    if (name === this.away) throw new PinakesError('VOLUME_MISSING', { where: 'volume main', detail: 'refused' });
    yield* super.stream(name, from, to);
  }
}

for (const what of ['a segment', 'the bucket'])
  test(`${what} that was away for a moment during a rebuild comes in again, and stays`, async (t) => {
    const bucket: MemoryBucket = new Map();
    const directory = await directoryOf(t, 100);
    let now = NOON;
    const clock = () => (now += 1000);
    const volume = new Away('main', bucket);
    const archive = await openOnVolume(directory, volume, { clock });
    await storeAll(archive, ['a', 'bb', 'ccc', 'dddd']);
    volume.away = what === 'the bucket' ? 'all' : segmentsIn(bucket).sort()[1];
    await archive.rebuild().catch(() => {});
    assert.ok(archive.unreadSegments.size > 0);
    volume.away = undefined;
    await archive.close();
    const again = await openOn(directory, bucket, { clock });
    t.after(() => again.close());
    await assertHas(again, ['a', 'bb', 'ccc', 'dddd']);
    await again.rebuild();
    await again.compact();
    now += DAY_MS;
    await again.compact();
    await assertHas(again, ['a', 'bb', 'ccc', 'dddd']);
  });
