/** Files whose captures were deleted are added again. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { type ForeignRecord, requestOf, response, warcinfo, writeForeign } from './foreign-file.ts';
import { allCaptures, audit, contentOf, makeArchive, NOON, walk } from './trial-archive.ts';

function site(name: string, count: number, from = 0): ForeignRecord[] {
  const records = [warcinfo()];
  for (let n = from; n < from + count; n++) {
    const one = response(`http://${name}.example/${n}`, NOON + n * 1000, contentOf(`${name} ${n}`));
    records.push(one, requestOf(one));
  }
  return records;
}

test('a file whose captures were deleted since it was added is reported, and can be added again', async (t) => {
  const archive = await makeArchive(t);
  const file = await writeForeign(join(archive.directory, 'a.warc.gz'), site('gone', 3));
  assert.equal((await archive.add([file])).deletedSince, 0);
  assert.equal((await archive.add([file])).deletedSince, 0);
  await archive.delete({ prefix: 'http://gone.example/' });
  const known = await archive.add([file]);
  assert.deepEqual([known.filesKnown, known.captures, known.deletedSince], [1, 0, 3]);
  const again = await archive.add([file], { again: true });
  assert.deepEqual([again.filesKnown, again.captures, again.deletedSince], [0, 3, 0]);
  const last = await archive.add([file]);
  assert.deepEqual([last.filesKnown, last.captures, last.deletedSince], [1, 0, 0]);
  await archive.compact();
  assert.equal((await allCaptures(archive)).length, 3);
  assert.deepEqual(await audit(archive), []);
});

test('deleted captures that are added again stay through compaction and rebuilds, and can be deleted again', async (t) => {
  const archive = await makeArchive(t);
  const shared = response('http://gone.example/shared', NOON, contentOf('page 0 of gone'));
  const file = await writeForeign(join(archive.directory, 'a.warc.gz'), [...site('gone', 3), shared]);
  const urls = async () => (await allCaptures(archive)).map(({ url }) => url).sort();
  await archive.add([file]);
  const all = await urls();
  for (let round = 1; round <= 3; round++) {
    await archive.delete({ prefix: 'http://gone.example/' });
    if (round === 2) await archive.compact();
    await archive.rebuild();
    const without = await archive.add([file]);
    assert.deepEqual([without.captures, without.capturesDeleted], [0, 4], `round ${round}`);
    assert.equal((await archive.add([file], { again: true })).captures, 4, `round ${round}`);
    const ids = (await walk(archive)).flatMap(({ head }) => head.get('pinakes-capture-id') ?? []);
    assert.ok(
      ids.some((id) => id.startsWith(`again:${round}:`) && !id.includes('again', 1)),
      `${ids}`,
    );
    assert.deepEqual(await urls(), all);
    const repeated = await archive.add([file], { again: true });
    assert.deepEqual([repeated.captures, repeated.capturesKnown], [0, 4], `round ${round}`);
    await archive.rebuild();
    await archive.compact();
    await archive.rebuild();
    assert.deepEqual(await urls(), all);
    assert.deepEqual(await audit(archive), []);
  }
});

test('deleted captures of a file that is used in place stay out, and are counted', async (t) => {
  const archive = await makeArchive(t);
  const file = await writeForeign(join(archive.directory, 'a.warc.gz'), site('gone', 3));
  await archive.add([file], { collection: 'one' });
  await archive.delete({ url: 'http://gone.example/1' });
  const report = await archive.add([file], { collection: 'one', inPlace: true, again: true });
  assert.deepEqual([report.captures, report.capturesDeleted], [2, 1]);
  await archive.rebuild();
  assert.ok(!(await allCaptures(archive)).some(({ url }) => url === 'http://gone.example/1'));
  assert.deepEqual(await audit(archive), []);
});
