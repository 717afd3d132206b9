/** Readers, numbers and memory of archives on a bucket. */
import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createArchive } from '../../src/archive/index.ts';
import { PinakesError } from '../../src/base/index.ts';
import type { MemoryBucket } from '../../src/volume/index.ts';
import { assertHas, begin, openBeside, openOn, openOnVolume, storeAll, take, urlOf } from './bucket-trial.ts';
import { BucketVolume } from './memory-bucket.ts';
import { bytesOf, contentOf, NOON, page, temporaryDirectory } from './trial-archive.ts';

test('H1: readers of an open segment go on while it is sealed', async (t) => {
  const { archive } = await begin(t, { segmentBytesMax: 12_000 });
  await storeAll(archive, ['a', 'bb', 'ccc']);
  const [segment] = await archive.segments();
  const whole = await bytesOf(archive.segmentBytes(segment!.name));
  const reading = archive.segmentBytes(segment!.name);
  const first = Buffer.from((await reading.next()).value!);
  await storeAll(archive, ['eeeee', 'ffffff', 'ggggggg', 'hhhhhhhh', 'iiiiiiiii', 'jjjjjjjjjj']);
  assert.equal((await archive.segments())[0]!.state, 'sealed');
  assert.deepEqual(Buffer.concat([first, await bytesOf(reading)]), whole);
});

test('a large record that is being read stays readable while its segment is sealed', async (t) => {
  const { archive } = await begin(t, { segmentBytesMax: 30_000_000 });
  const big = new Uint8Array(20_000_000);
  for (let at = 0; at < big.length; at += 65_536)
    crypto.getRandomValues(big.subarray(at, Math.min(big.length, at + 65_536)));
  await archive.store(page(urlOf('big'), NOON, big), { collection: 'web' });
  const { payload } = await archive.get(urlOf('big'));
  const iterator = payload[Symbol.asyncIterator]();
  let bytes = ((await iterator.next()).value as Uint8Array).length;
  big[0]! ^= 1;
  await archive.store(page(urlOf('other'), NOON + 1, big), { collection: 'web' });
  await archive.store(page(urlOf('x'), NOON + 1, contentOf('x')), { collection: 'web' });
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) bytes += next.value.length;
  assert.equal(bytes, 20_000_000);
});

test('a former owner that knows it puts nothing more into the bucket', async (t) => {
  const { bucket, archive: former } = await begin(t);
  await storeAll(former, ['a']);
  const elsewhere = await temporaryDirectory(t);
  await createArchive(elsewhere);
  await take(bucket, elsewhere);
  await assert.rejects(storeAll(former, ['first']), { code: 'VOLUME_TAKEN' });
  const before = bucket.size;
  for (let more = 0; more < 5; more++)
    await assert.rejects(storeAll(former, [`late${more}`]), { code: 'VOLUME_TAKEN' });
  assert.equal(bucket.size, before);
});

class CountedReads extends BucketVolume {
  calls = 0;

  override async read(...[ranges, call]: Parameters<BucketVolume['read']>): Promise<Uint8Array[]> {
    this.calls++;
    return super.read(ranges, call);
  }
}

test('the records that the duplicates of a commit refer to are read together', async (t) => {
  const directory = await temporaryDirectory(t);
  await createArchive(directory);
  const volume = new CountedReads('main', new Map());
  const archive = await openOnVolume(directory, volume);
  t.after(() => archive.close().catch(() => {}));
  const storeTwenty = (site: string) =>
    Promise.all(
      Array.from({ length: 20 }, (_, n) => archive.store(page(`http://${site}.example/${n}`, NOON, contentOf(`${n}`)))),
    );
  await storeTwenty('one');
  volume.calls = 0;
  const stored = await storeTwenty('two');
  assert.deepEqual([stored.some(({ isNew }) => isNew), volume.calls], [false, 1]);
  const { errors } = await archive.verify();
  assert.equal(errors, 0);
});

class Flapping extends BucketVolume {
  isDown = false;

  override async *list(prefix = '') {
    if (this.isDown) throw new PinakesError('VOLUME_IO', { where: 'volume far', detail: 'status 503' });
    yield* super.list(prefix);
  }
}

test('a bucket whose server fails during an opening costs only its own contents', async (t) => {
  const directory = await temporaryDirectory(t);
  await createArchive(directory);
  const first = await openBeside(t, directory, new BucketVolume('far', new Map()));
  await first.store(page(urlOf('a'), NOON, contentOf('a')), { collection: 'web', volume: 'main' });
  await first.close();
  const far = new Flapping('far', new Map());
  far.isDown = true;
  const archive = await openBeside(t, directory, far);
  await assertHas(archive, ['a']);
});

test('R4: after millions of openings, sequence numbers are still whole numbers', async (t) => {
  const bucket: MemoryBucket = new Map();
  const directory = await temporaryDirectory(t);
  await createArchive(directory);
  await (await openOn(directory, bucket)).close();
  const owner = JSON.parse(Buffer.from(bucket.get('_pinakes/owner')!).toString()) as object;
  bucket.set('_pinakes/owner', Buffer.from(JSON.stringify({ ...owner, number: 3_000_000 })));
  const path = join(directory, 'owned-volumes.json');
  const own = JSON.parse(await readFile(path, 'utf8')) as object;
  await writeFile(path, JSON.stringify({ ...own, numbers: { main: 3_000_000 } }));
  const second = await openOn(directory, bucket);
  await storeAll(second, ['a']);
  await second.close();
  await rm(join(directory, 'catalog'), { recursive: true });
  const third = await openOn(directory, bucket, { seed: 8 });
  t.after(() => third.close());
  await storeAll(third, ['bb']);
  assert.ok((await third.segments()).every(({ sequence }) => Number.isSafeInteger(sequence)));
  await third.rebuild();
  await assertHas(third, ['a', 'bb']);
});

class Hooked extends BucketVolume {
  hook: (() => Promise<void>) | undefined;

  override async put(name: string, bytes: readonly Uint8Array[]): Promise<void> {
    await super.put(name, bytes);
    await this.hook?.();
  }
}

test('I9: behind a slow bucket, stores wait before they read their bodies', async (t) => {
  const directory = await temporaryDirectory(t);
  await createArchive(directory);
  const volume = new Hooked('main', new Map());
  const archive = await openOnVolume(directory, volume);
  t.after(() => archive.close());
  const gate = Promise.withResolvers<void>();
  volume.hook = () => gate.promise;
  let read = 0;
  const body = async function* (seed: number) {
    const bytes = new Uint8Array(1 << 20).fill(seed % 251);
    bytes[0] = seed >> 8;
    read += bytes.length;
    yield bytes;
  };
  const stores = Array.from({ length: 100 }, (_, index) =>
    archive.store(page(urlOf(`s${index}`), NOON + index, body(index)), { collection: 'web' }),
  );
  let before = -1;
  while (before !== read) {
    before = read;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  gate.resolve();
  await Promise.all(stores);
  assert.ok(before <= 66 << 20, `${before >> 20} MiB of bodies were read`);
});

test('one commit puts the parts of several collections at the same time', async (t) => {
  const directory = await temporaryDirectory(t);
  await createArchive(directory);
  const volume = new Hooked('main', new Map());
  const archive = await openOnVolume(directory, volume);
  t.after(() => archive.close());
  for (let index = 0; index < 6; index++) await storeAll(archive, [`w${index}`], `c${index}`);
  let running = 0;
  let most = 0;
  volume.hook = async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 20));
    running--;
  };
  await Promise.all(
    Array.from({ length: 6 }, (_, index) =>
      archive.store(page(urlOf(`q${index}`), NOON, contentOf(`q${index}`)), { collection: `c${index}` }),
    ),
  );
  assert.ok(most > 1, `at most ${most} at a time`);
});
