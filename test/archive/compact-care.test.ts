/** Compaction leaves unreadable segments, segments with missing tombstones, and the records of kept captures alone. */
import assert from 'node:assert/strict';
import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Archive, openArchive } from '../../src/archive/index.ts';
import { type ForeignRecord, foreignId, requestOf, response, warcinfo, writeForeign } from './foreign-file.ts';
import {
  allCaptures,
  contentOf,
  makeArchive,
  NOON,
  page,
  payloadAt,
  trialOptions,
  type WalkedRecord,
  walk,
} from './trial-archive.ts';

const urlOf = (name: string) => `http://x.example/${name}`;

async function store(archive: Archive, names: readonly string[], volume = 'main'): Promise<void> {
  for (const name of names) await archive.store(page(urlOf(name), NOON, contentOf(name)), { volume });
}

async function namesIn(archive: Archive): Promise<string[]> {
  return (await allCaptures(archive)).map(({ url }) => new URL(url).pathname.slice(1)).sort();
}

test('compaction names a segment with unreadable bytes, leaves it as it is, and continues with the others', async (t) => {
  const archive = await makeArchive(t);
  await store(archive, ['goes', 'hurt', 'stays']);
  const [segment] = await archive.segments();
  const path = join(archive.directory, 'volumes/main', `${segment!.name}.open`);
  const bytes = await readFile(path);
  const hurt = (await allCaptures(archive)).find(({ url }) => url === urlOf('hurt'))!;
  const damaged = Buffer.from(bytes);
  damaged.fill(0, hurt.place.offset, hurt.place.offset + hurt.place.length);
  await archive.store(page(urlOf('other'), NOON, contentOf('other')), { collection: 'second' });
  await archive.store(page(urlOf('another'), NOON, contentOf('another')), { collection: 'second' });
  for (const name of ['goes', 'other']) await archive.delete({ url: urlOf(name) });
  await writeFile(path, damaged);
  const report = await archive.compact();
  assert.deepEqual(
    report.damaged.map((one) => one.segment),
    [segment!.name],
  );
  assert.match(report.damaged[0]!.why, /1 of its 4 records cannot be found/);
  assert.equal(report.segments, 1);
  const files = await readdir(join(archive.directory, 'volumes/main/default'));
  assert.deepEqual(files, [segment!.name.split('/')[1]]);
  // Once the bytes are restored, everything is as before.
  await writeFile(join(archive.directory, 'volumes/main', segment!.name), bytes);
  assert.deepEqual((await archive.compact()).damaged, []);
  for (const name of ['hurt', 'stays', 'another'])
    assert.ok((await payloadAt(archive, urlOf(name))).equals(contentOf(name)), name);
});

test('segments with deleted records are not compacted while a volume is missing, and deleted captures stay deleted', async (t) => {
  const archive = await makeArchive(t);
  const second = join(archive.directory, 'second');
  await archive.addVolume({ name: 'second', path: second });
  await store(archive, ['takedown', 'other', 'stays'], 'second');
  await archive.setVolumeWritable('second', false);
  await archive.delete({ url: urlOf('takedown') });
  await archive.setVolumeWritable('second', true);
  await archive.delete({ url: urlOf('other') });
  await archive.close();
  const [main, away] = [join(archive.directory, 'volumes/main'), join(archive.directory, 'away')];
  await rename(main, away);
  const without = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  const report = await without.compact();
  assert.deepEqual([report.segments, report.waiting.length], [0, 1]);
  assert.equal((await without.recompress({ worthwhileShare: 5 })).segments, 0);
  await without.close();
  await rename(away, main);
  const again = await openArchive(archive.directory, trialOptions({ seed: 3 }));
  t.after(() => again.close());
  assert.equal((await again.compact()).segments, 1);
  await again.rebuild();
  assert.deepEqual(await namesIn(again), ['stays']);
});

test('the request of a page stays when another record that names the page is deleted', async (t) => {
  const archive = await makeArchive(t);
  const original = response(urlOf('page'), NOON, contentOf('page'));
  const named = [{ name: 'WARC-Concurrent-To', value: original.record.recordId }];
  const shot = response(urlOf('screenshot'), NOON + 1000, contentOf('screenshot'), named);
  const records = [warcinfo(), original, requestOf(original), shot, requestOf(shot)];
  await archive.add([await writeForeign(join(archive.directory, 'f.warc.gz'), records)], { workers: 0 });
  await archive.delete({ url: urlOf('screenshot') });
  await archive.compact();
  const requests = (await walk(archive)).filter(({ head }) => head.type === 'request');
  assert.deepEqual(
    requests.map(({ head }) => head.targetUri),
    [urlOf('page')],
  );
});

test('the request of a capture stays when another capture with the same id is deleted', async (t) => {
  const archive = await makeArchive(t);
  const [one, two] = [response(urlOf('one'), NOON, contentOf('one')), response(urlOf('two'), NOON, contentOf('two'))];
  const same: ForeignRecord = { ...two, record: { ...two.record, recordId: one.record.recordId } };
  const records = [warcinfo(), one, requestOf(one), same];
  await archive.add([await writeForeign(join(archive.directory, 'f.warc.gz'), records)], { workers: 0 });
  await archive.delete({ url: urlOf('two') });
  await archive.compact();
  assert.equal((await walk(archive)).filter(({ head }) => head.type === 'request').length, 1);
});

/** The warcinfo records of the segments with captures. */
async function infosOf(archive: Archive): Promise<WalkedRecord[]> {
  return (await walk(archive)).filter(
    ({ segment, head }) => head.type === 'warcinfo' && !segment.startsWith('_deletions/'),
  );
}

for (const filename of [undefined, 'foreign.warc.gz'])
  test(`the warcinfo of another crawler at the beginning of a segment is kept${filename ? ', also one that names its file' : ''}`, async (t) => {
    const archive = await makeArchive(t);
    await archive.close();
    const [stays, goes] = ['stays', 'goes'].map((name) => response(urlOf(name), NOON, contentOf(name)));
    const info = warcinfo();
    const fields = filename === undefined ? [] : [{ name: 'WARC-Filename', value: filename }];
    const records: ForeignRecord[] = [
      { ...info, record: { ...info.record, recordId: foreignId(), fields } },
      { ...stays!, record: { ...stays!.record, fields: [{ name: 'WARC-Warcinfo-ID', value: info.record.recordId }] } },
      goes!,
    ];
    const folder = join(archive.directory, 'volumes/main');
    await writeForeign(join(folder, 'foreign.warc.gz'), records);
    const again = await openArchive(archive.directory, trialOptions({ seed: 2 }));
    t.after(() => again.close());
    await again.delete({ url: urlOf('goes') });
    assert.equal((await again.compact()).segments, 1);
    const blocks = await infosOf(again);
    assert.equal(blocks.length, 2);
    assert.ok(blocks.some(({ head }) => head.recordId === records[0]!.record.recordId));
    await again.delete({ url: urlOf('stays') });
    await again.compact();
    assert.equal((await infosOf(again)).length, 2);
  });
