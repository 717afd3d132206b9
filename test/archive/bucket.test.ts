/** Archives on a volume of immutable objects, where an open segment is a list of parts. */
import assert from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Archive, createArchive } from '../../src/archive/index.ts';
import type { MemoryBucket } from '../../src/volume/index.ts';
import {
  begin,
  assertHas as hasAll,
  openBeside,
  openOn,
  partsIn,
  segmentsIn,
  storeAll,
  urlOf,
} from './bucket-trial.ts';
import { BucketVolume } from './memory-bucket.ts';
import { audit, bytesOf, contentOf, NOON, page, temporaryDirectory } from './trial-archive.ts';

async function assertHas(archive: Archive, names: readonly string[]): Promise<void> {
  await hasAll(archive, names);
  const problems: string[] = [];
  await archive.verify({ onProblem: ({ code, message }) => void problems.push(`${code} ${message}`) });
  assert.deepEqual(problems, []);
}

test('an archive on a bucket stores, is opened again, and goes on with its open segment', async (t) => {
  const { directory, bucket, archive: first } = await begin(t);
  await storeAll(first, ['a', 'b', 'c']);
  await assertHas(first, ['a', 'b', 'c']);
  await first.close();
  assert.equal(partsIn(bucket).length, 3);
  const archive = await openOn(directory, bucket);
  t.after(() => archive.close());
  await assertHas(archive, ['a', 'b', 'c']);
  await storeAll(archive, ['d']);
  await assertHas(archive, ['a', 'b', 'c', 'd']);
  assert.equal((await archive.segments()).length, 1);
});

test('an archive on a bucket seals into one plain WARC file, and no parts are left', async (t) => {
  const { bucket, archive } = await begin(t, { segmentBytesMax: 4000 });
  await storeAll(archive, ['a', 'b']);
  const [segment] = await archive.segments();
  assert.equal(segment!.state, 'open');
  const before = await bytesOf(archive.segmentBytes(segment!.name));
  await storeAll(archive, ['c']);
  assert.deepEqual(Buffer.from(bucket.get(segment!.name)!), before);
  assert.equal(partsIn(bucket).filter((name) => name.includes(segment!.name)).length, 0);
  await assertHas(archive, ['a', 'b', 'c']);
  await audit(archive);
});

test('I8, R3: after the catalog was lost, everything is back, and what was open is sealed under another name', async (t) => {
  const { directory, bucket, archive: first } = await begin(t);
  await storeAll(first, ['a', 'b', 'c']);
  const [begun] = await first.segments();
  await first.close();
  await rm(join(directory, 'catalog'), { recursive: true });
  const archive = await openOn(directory, bucket);
  t.after(() => archive.close());
  await assertHas(archive, ['a', 'b', 'c']);
  const [sealed] = await archive.segments();
  assert.equal(sealed!.state, 'sealed');
  assert.notEqual(sealed!.name, begun!.name);
  // The former owner's seal arrives late.
  bucket.set(begun!.name, Uint8Array.from(bucket.get(sealed!.name)!));
  await archive.rebuild();
  await assertHas(archive, ['a', 'b', 'c']);
  await archive.compact();
  assert.deepEqual(segmentsIn(bucket), [sealed!.name]);
});

test('a deletion and its compaction leave no bytes of it in the bucket', async (t) => {
  const { bucket, archive } = await begin(t);
  await storeAll(archive, ['keep', 'secret']);
  await archive.delete({ url: urlOf('secret') });
  await archive.compact();
  await assertHas(archive, ['keep']);
  assert.equal(segmentsIn(bucket).filter((name) => name.startsWith('web/')).length, 1);
  await archive.rebuild();
  await assertHas(archive, ['keep']);
});

test('R1: what arrives late of a segment that was compacted away is not counted, also by a rebuild', async (t) => {
  const { directory, bucket, archive: first } = await begin(t, { segmentBytesMax: 4000 });
  await storeAll(first, ['keep', 'secret']);
  const [part] = partsIn(bucket);
  const late = Uint8Array.from(bucket.get(part!)!);
  await storeAll(first, ['next']);
  const [old] = await first.segments();
  const lateObject = Uint8Array.from(bucket.get(old!.name)!);
  await first.delete({ url: urlOf('secret') });
  await first.compact();
  await first.close();
  assert.ok(!bucket.has(old!.name));
  for (const [name, bytes] of [
    [part!, late],
    [old!.name, lateObject],
  ] as const) {
    bucket.set(name, bytes);
    const archive = await openOn(directory, bucket);
    await assertHas(archive, ['keep', 'next']);
    assert.ok((await archive.segments()).every((segment) => segment.name !== old!.name));
    await archive.rebuild();
    await assertHas(archive, ['keep', 'next']);
    assert.equal(
      (await archive.segments()).reduce((sum, { deadBytes }) => sum + deadBytes, 0),
      0,
    );
    await archive.close();
    bucket.delete(name);
  }
});

test('P1: a former owner that is still running can acknowledge nothing, and its successor has what it acknowledged', async (t) => {
  const { directory, bucket, archive: former } = await begin(t);
  await storeAll(former, ['a', 'b']);
  const elsewhere = await temporaryDirectory(t);
  await cp(join(directory, 'archive.yaml'), join(elsewhere, 'archive.yaml'));
  await assert.rejects(openOn(elsewhere, bucket, { seed: 2 }), { code: 'VOLUME_TAKEN', message: /volume take main/ });
  const archive = await openOn(elsewhere, bucket, { seed: 2, takesOver: true });
  t.after(() => archive.close());
  await assertHas(archive, ['a', 'b']);
  await assert.rejects(storeAll(former, ['late']), { code: 'VOLUME_TAKEN' });
  await storeAll(archive, ['c']);
  await former.close().catch(() => {});
  await assertHas(archive, ['a', 'b', 'c']);
  // What the former owner put is in no segment that counts.
  await archive.rebuild();
  await assertHas(archive, ['a', 'b', 'c']);
  assert.ok(
    partsIn(bucket).some((name) => name.endsWith('-16777217.part')),
    'a late part of the former owner is there',
  );
  await archive.compact();
  assert.ok(!partsIn(bucket).some((name) => name.endsWith('-16777217.part')), 'and is removed');
  await assertHas(archive, ['a', 'b', 'c']);
  await assert.rejects(openOn(directory, bucket), { code: 'VOLUME_TAKEN' });
});

test('an archive that was restored from a copy is refused, because it does not know what was written since', async (t) => {
  const { directory, bucket, archive: first } = await begin(t);
  await storeAll(first, ['a']);
  await first.close();
  const copy = await temporaryDirectory(t);
  await cp(directory, copy, { recursive: true });
  const second = await openOn(directory, bucket);
  await storeAll(second, ['b']);
  await second.close();
  await assert.rejects(openOn(copy, bucket), { code: 'VOLUME_TAKEN' });
});

test('segments move from a directory to a bucket and back, and each capture is read from where it is', async (t) => {
  const directory = await temporaryDirectory(t);
  await createArchive(directory);
  const bucket: MemoryBucket = new Map();
  const archive = await openBeside(t, directory, new BucketVolume('far', bucket));
  for (const name of ['a', 'b'])
    await archive.store(page(urlOf(name), NOON, contentOf(name)), { collection: 'web', volume: 'main' });
  await archive.migrate('main', 'far');
  assert.equal(segmentsIn(bucket).length, 1);
  assert.deepEqual(partsIn(bucket), []);
  await assertHas(archive, ['a', 'b']);
  await archive.migrate('far', 'main');
  assert.deepEqual(segmentsIn(bucket), []);
  await assertHas(archive, ['a', 'b']);
});
