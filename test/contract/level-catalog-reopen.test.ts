/** What a catalog on LevelDB knows of its commits and leases after it was closed and opened again. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { PinakesError } from '../../src/base/index.ts';
import { ADOPTION_LEASE, type Bar, firstSequenceOf, openLevelCatalog } from '../../src/catalog/index.ts';
import { capture, captureAt, digest } from './catalog-fixture.ts';

function directoryOf(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-catalog-reopen-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const segment = (name: string) => ({ volume: 'main', name, collection: 1 });

test('what was dealt before is not dealt again', async (t) => {
  const directory = directoryOf(t);
  const first = await openLevelCatalog(directory);
  const one = await first.listSegment(segment('a'));
  assert.equal(await first.collectionNumber('news'), 1);
  await first.commit({ segments: [{ number: 1, from: { state: 'open', bytes: 0, volume: 'main' }, to: undefined }] });
  await first.close();
  const second = await openLevelCatalog(directory);
  const two = await second.listSegment(segment('a'));
  assert.deepEqual([one?.number, one?.sequence, two?.number, two?.sequence], [1, 1, 2, 2]);
  assert.deepEqual([await second.collectionNumber('art'), await second.collectionNumber('news')], [2, 1]);
  await second.close();
});

test('a lease ends with the process that has the catalog open, and its epoch is not given again', async (t) => {
  const directory = directoryOf(t);
  const first = await openLevelCatalog(directory, { clock: () => 1000 });
  const lease = (await first.takeLease('compaction', 'first', 1e9))!;
  assert.equal(await first.takeLease('compaction', 'other'), undefined);
  assert.equal(await first.renewLease(lease, 1e9), true);
  const unending = (await first.takeLease('writer', 'first'))!;
  await first.close();
  const second = await openLevelCatalog(directory, { clock: () => 1001 });
  assert.equal(await second.renewLease(lease, 1e9), false);
  assert.deepEqual(await second.commit({ lease: unending }), { kind: 'fenced', why: 'lease' });
  assert.deepEqual(
    (await second.leases()).map(({ name, epoch, isLiving }) => [name, epoch, isLiving]),
    [
      ['compaction', 1, false],
      ['writer', 1, false],
    ],
  );
  assert.deepEqual(await second.takeLease('compaction', 'second'), { name: 'compaction', epoch: 2, incarnation: 1 });
  await second.close();
});

test('a lease ends by the clock', async (t) => {
  let now = 0;
  const catalog = await openLevelCatalog(directoryOf(t), { clock: () => now });
  const lease = (await catalog.takeLease('writer', 'test', 100))!;
  now = 99;
  assert.equal((await catalog.commit({ lease })).kind, 'committed');
  now = 100;
  assert.deepEqual(await catalog.commit({ lease }), { kind: 'fenced', why: 'lease' });
  assert.equal((await catalog.takeLease('writer', 'other', 100))?.epoch, 2);
  await catalog.close();
});

test('bars and marks are checked after the next opening, and an adoption goes on', async (t) => {
  const directory = directoryOf(t);
  const mark = new Uint8Array(16).fill(3);
  const bars: Bar[] = [
    { kind: 'content', digest: digest(9) },
    { kind: 'url', urlKey: captureAt('b'.repeat(2000)).urlKey },
  ];
  const first = await openLevelCatalog(directory);
  await first.commit({ deletedMarks: [mark], bars });
  await first.beginIncarnation(5);
  await first.close();
  const second = await openLevelCatalog(directory);
  assert.deepEqual(await second.bars(), bars);
  const deleted = { capture: capture('http://a.com/'), marks: [mark] };
  assert.deepEqual(await second.commit({ captures: [deleted] }), { kind: 'known', captures: [], deleted: [0] });
  const barred = [
    { capture: captureAt('b'.repeat(2000)) },
    { capture: captureAt(`${'b'.repeat(2000)}c`) },
    { capture: capture('http://c.com/', { block: { digest: digest(9), overflow: 1 } }) },
  ];
  assert.deepEqual(await second.commit({ captures: barred }), { kind: 'barred', captures: [0, 2] });
  assert.equal(await second.incarnation(), 5);
  assert.deepEqual(await second.commit({ bars }), { kind: 'fenced', why: 'adopting' });
  const lease = (await second.takeLease(ADOPTION_LEASE, 'test'))!;
  assert.equal((await second.commit({ bars, lease })).kind, 'committed');
  assert.equal(await second.endAdoption(lease), true);
  assert.equal((await second.listSegment(segment('c')))?.sequence, firstSequenceOf(5));
  await second.clear();
  assert.deepEqual([await second.bars(), await second.incarnation(), await second.isAdopting()], [[], 5, false]);
  assert.equal((await second.listSegment(segment('d')))?.sequence, firstSequenceOf(5) + 1);
  await second.close();
});

test('a commit that fails in the write stops the catalog', async (t) => {
  const directory = join(directoryOf(t), 'catalog');
  const catalog = await openLevelCatalog(directory);
  await rm(directory, { recursive: true });
  const large = { putNotes: { large: 'x'.repeat(6_000_000) } };
  await assert.rejects(async () => {
    for (let count = 0; count < 10; count++) await catalog.commit(large);
  });
  const isStopped = (error: unknown) => error instanceof PinakesError && error.code === 'CATALOG_STOPPED';
  assert.ok(isStopped(catalog.refusal));
  await assert.rejects(catalog.commit({ putNotes: { small: 'x' } }), isStopped);
  await assert.rejects(catalog.listSegment(segment('a')), isStopped);
  await assert.rejects(catalog.takeLease('writer', 'test'), isStopped);
  await catalog.close();
});
