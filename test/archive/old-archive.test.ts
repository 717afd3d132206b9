/**
 * An archive that an earlier version of the program wrote opens for reading, and everything that was true of it is
 * still true, as it is and after an upgrade. upgrade.test.ts has the upgrade itself.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Archive, upgradeArchive } from '../../src/archive/index.ts';
import { parsePageId } from '../../src/url/index.ts';
import {
  assertDeletedStayAway,
  capturesOf,
  contents,
  copied,
  FIXTURES,
  NEXT_DAY,
  OLD,
  recordIds,
} from './old-archive-sample.ts';
import { openWithParts } from './opened-parts.ts';
import { audit, contentOf, page, trialOptions, walk } from './trial-archive.ts';

/** Opens a copy of the archive as it is. */
async function openedOld(t: TestContext): Promise<Archive> {
  const archive = await openWithParts(await copied(t), trialOptions({ clock: () => NEXT_DAY, seed: 99 }));
  t.after(() => archive.close().catch(() => {}));
  return archive;
}

/** Opens an upgraded copy of the archive. */
async function opened(t: TestContext, given?: string): Promise<Archive> {
  const directory = given ?? (await copied(t));
  const options = trialOptions({ clock: () => NEXT_DAY, seed: 99 });
  await upgradeArchive(directory, options);
  const archive = await openWithParts(directory, options);
  t.after(() => archive.close().catch(() => {}));
  return archive;
}

/** The problems of the archive, without the revisit whose original it never had. */
async function auditOld(archive: Archive): Promise<string[]> {
  return (await audit(archive)).filter((problem) => !problem.includes('http://foreign.example/never'));
}

const WAYS = [
  ['an old archive', openedOld],
  ['an upgraded archive', opened],
] as const;
for (const [way, open] of WAYS)
  test(`${way} has its captures, contents, segments, pages and totals, and no deleted capture`, async (t) => {
    const archive = await open(t);
    assert.deepEqual(await capturesOf(archive), OLD.captures);
    await assertDeletedStayAway(archive);
    assert.deepEqual(await archive.totals(), OLD.totals);
    assert.equal((await archive.stats()).unresolvedRevisits, OLD.stats.unresolvedRevisits);
    const segments = [];
    for (const { volume, name, collection, state, bytes, records, deadBytes } of await archive.segments()) {
      const collectionName = await archive.collections.name(collection);
      segments.push({ volume, name, collection: collectionName, state, bytes, records, deadBytes });
    }
    assert.deepEqual(segments, OLD.segments);
    for (const { url, id } of OLD.pages) assert.equal((await archive.getPage(parsePageId(id)!)).capture.url, url);
    for (const { id, url, time } of OLD.captures) {
      const capture = await archive.captureById(id);
      assert.deepEqual([capture?.url, capture?.time], [url, time]);
    }
    const problems: string[] = [];
    await archive.verify({ onProblem: ({ code }) => void problems.push(code) });
    assert.deepEqual(problems.sort(), OLD.problems);
    assert.deepEqual(await auditOld(archive), []);
  });

test('I8: a named snapshot of an old archive is the same, also after later changes and a rebuild, and old cursors are refused', async (t) => {
  const directory = await copied(t);
  const archive = await opened(t, directory);
  const { name: snapshot, records } = OLD.snapshot;
  const expired = { code: 'CURSOR_EXPIRED', detail: 'an earlier version of Pinakes made it' };
  for (const { order, cursor } of OLD.streams) await assert.rejects(archive.stream({ order, cursor }), expired);
  assert.deepEqual(await recordIds(archive, { snapshot }), records);
  await archive.store(page('http://new.example/', NEXT_DAY, contentOf('new')), { collection: 'spring' });
  await archive.delete({ url: 'http://spring.example/last' });
  await archive.compact();
  await archive.close();
  const again = await opened(t, directory);
  assert.deepEqual(await recordIds(again, { snapshot }), records);
  await again.createSnapshot('newer');
  const newer = await recordIds(again, { snapshot: 'newer' });
  await again.rebuild();
  assert.deepEqual(await recordIds(again, { snapshot }), records);
  assert.deepEqual(await recordIds(again, { snapshot: 'newer' }), newer);
});

test('I5, I6: an old archive is compacted and rebuilt: deleted contents leave it, and everything else stays', async (t) => {
  const archive = await opened(t);
  const wanted = contents(OLD.captures);
  await archive.removeSnapshot(OLD.snapshot.name);
  assert.ok((await archive.compact()).segments > 0);
  assert.deepEqual(contents(await capturesOf(archive)), wanted);
  const linked = new Set((await archive.segments()).flatMap(({ volume, name }) => (volume === 'linked' ? [name] : [])));
  const living = new Set(OLD.captures.map(({ sha256 }) => sha256));
  const gone = new Set(OLD.deleted.map(({ sha256 }) => sha256).filter((sha256) => !living.has(sha256)));
  const kept = (await walk(archive)).filter(
    ({ segment, payloadSha256 }) => !linked.has(segment) && gone.has(payloadSha256),
  );
  assert.deepEqual(kept, []);
  assert.deepEqual(await auditOld(archive), []);
  await archive.rebuild();
  assert.deepEqual(contents(await capturesOf(archive)), wanted);
  await assertDeletedStayAway(archive);
  assert.deepEqual(await auditOld(archive), []);
});

test('an old archive is rebuilt from its segments and tombstones alone', async (t) => {
  const archive = await opened(t);
  await archive.rebuild();
  assert.deepEqual(contents(await capturesOf(archive)), contents(OLD.captures));
  await assertDeletedStayAway(archive);
  assert.deepEqual(await auditOld(archive), []);
});

test('an old archive shares its contents with new captures, and knows the files that were added to it', async (t) => {
  const archive = await opened(t);
  const report = await archive.add([join(FIXTURES, 'archive-1-files/added.warc.gz')], { collection: 'spring' });
  assert.deepEqual([report.filesKnown, report.captures, report.failures], [1, 0, []]);
  const shared = page('http://new.example/', NEXT_DAY, contentOf('spring 3'));
  const { isNew, capture } = await archive.store(shared, { collection: 'autumn' });
  assert.deepEqual([isNew, capture.kind], [false, 'revisit']);
  const open = OLD.segments.filter((segment) => 'state' in segment && segment.state === 'open').length;
  assert.equal(
    (await archive.segments()).filter(({ state }) => state === 'open').length,
    open,
    'its open segments grow on',
  );
  assert.deepEqual(await auditOld(archive), []);
});
