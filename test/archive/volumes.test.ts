import assert from 'node:assert/strict';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Archive } from '../../src/archive/index.ts';
import {
  bodyOf,
  contentOf,
  filesBelow,
  gather,
  lostDays,
  openSample,
  type Page,
  problemsOf,
  samplePages,
  scratch,
  segmentFiles,
  timeOf,
  writePages,
} from './archive-sample.ts';
import { response, warcinfo, writeForeign } from './foreign-file.ts';
import { catalogOf, leaveTombstones, volumesOf } from './opened-parts.ts';

const PAGES = samplePages(24);
const FIRST = PAGES.slice(0, 12);
const SECOND = PAGES.slice(12);

/** An archive with half of the pages in each of two volumes. */
async function twoVolumes(t: TestContext): Promise<{ directory: string; archive: Archive }> {
  const directory = scratch(t);
  const archive = await openSample(join(directory, 'archive'));
  await archive.addVolume({ name: 'second', path: join(directory, 'second') });
  await addPages(archive, directory, 'first', FIRST, 'main');
  await addPages(archive, directory, 'second', SECOND, 'second');
  return { directory, archive };
}

async function addPages(archive: Archive, directory: string, name: string, pages: readonly Page[], volume: string) {
  const file = join(directory, `${name}.warc.gz`);
  await writePages(file, pages);
  return archive.add([file], { volume, workers: 0 });
}

const segmentVolumes = async (archive: Archive) => (await archive.segments()).map(({ volume }) => volume);

test('contents of other volumes can be read while a volume is missing, and errors name the missing one', async (t) => {
  const { directory, archive: before } = await twoVolumes(t);
  await before.close();
  renameSync(join(directory, 'second'), join(directory, 'unplugged'));
  const archive = await openSample(join(directory, 'archive'));
  assert.deepEqual(await lostDays(archive, FIRST), []);
  await assert.rejects(bodyOf(archive, SECOND[3]!), { code: 'VOLUME_MISSING', message: /volume second/ });
  const states = (await archive.listVolumes()).map(({ name, failure }) => [name, failure?.code]);
  assert.deepEqual(states, [
    ['main', undefined],
    ['second', 'VOLUME_MISSING'],
  ]);
  await archive.store({ kind: 'bytes', time: 0, body: Buffer.from('stores continue') });
  await archive.close();
  renameSync(join(directory, 'unplugged'), join(directory, 'second'));
  const again = await openSample(join(directory, 'archive'));
  assert.deepEqual(await lostDays(again, PAGES), []);
  assert.deepEqual(await problemsOf(again), []);
  await again.close();
});

test('storing and adding name the only writable volume when it is missing', async (t) => {
  const { directory, archive: before } = await twoVolumes(t);
  await before.setVolumeWritable('main', false);
  await before.close();
  renameSync(join(directory, 'second'), join(directory, 'unplugged'));
  const archive = await openSample(join(directory, 'archive'));
  await writePages(join(directory, 'third.warc.gz'), samplePages(3));
  const { failures } = await archive.add([join(directory, 'third.warc.gz')], { collection: 'third' });
  assert.match(failures[0]!.message, /volume second/);
  assert.equal(failures[0]!.code, 'VOLUME_MISSING');
  await assert.rejects(archive.delete({ url: FIRST[0]!.url }), { code: 'VOLUME_MISSING', message: /volume second/ });
  await archive.close();
});

test('a rebuild is refused while a volume is missing, since the catalog would forget its contents', async (t) => {
  const { directory, archive: before } = await twoVolumes(t);
  await before.close();
  renameSync(join(directory, 'second'), join(directory, 'unplugged'));
  const archive = await openSample(join(directory, 'archive'));
  await assert.rejects(archive.rebuild(), { code: 'VOLUME_MISSING' });
  await archive.close();
  renameSync(join(directory, 'unplugged'), join(directory, 'second'));
  const again = await openSample(join(directory, 'archive'));
  assert.deepEqual(await lostDays(again, PAGES), []);
  await again.close();
});

test('a content is kept once, whichever volume it was stored in first', async (t) => {
  const { directory, archive } = await twoVolumes(t);
  const later = FIRST.map((page) => ({ ...page, day: page.day + 100 }));
  const report = await addPages(archive, directory, 'later', later, 'second');
  assert.equal(report.duplicates, later.length);
  assert.equal((await archive.totals()).blocks, 8);
  assert.deepEqual(await lostDays(archive, [...PAGES, ...later]), []);
  await archive.close();
});

test('adding a directory with segments as a volume brings the segments into the archive', async (t) => {
  const directory = scratch(t);
  mkdirSync(join(directory, 'shelf/old'), { recursive: true });
  await writePages(join(directory, 'shelf/old/one.warc.gz'), FIRST);
  await writePages(join(directory, 'shelf/two.warc.gz'), SECOND);
  const archive = await openSample(join(directory, 'archive'));
  await archive.addVolume({ name: 'shelf', path: join(directory, 'shelf'), isReadOnly: true });
  assert.deepEqual(await lostDays(archive, PAGES), []);
  assert.deepEqual((await archive.collections.all()).map(({ name }) => name).sort(), ['default', 'old']);
  assert.deepEqual(await problemsOf(archive), []);
  await assert.rejects(archive.addVolume({ name: 'shelf', path: join(directory, 'x') }), { code: 'BAD_ARGUMENT' });
  await assert.rejects(archive.addVolume({ name: 'again', path: join(directory, 'shelf') }), { code: 'BAD_ARGUMENT' });
  await assert.rejects(archive.addVolume({ name: 'Bad Name', path: join(directory, 'x') }), { code: 'BAD_ARGUMENT' });
  await archive.close();
});

test('nothing is written to a volume that was made read-only, and deletions of its records are kept in another volume', async (t) => {
  const { directory, archive } = await twoVolumes(t);
  await archive.setVolumeWritable('second', false);
  const before = filesBelow(join(directory, 'second')).map((file) => readFileSync(file).toString('latin1'));
  await assert.rejects(addPages(archive, directory, 'refused', samplePages(60).slice(50), 'second'), {
    code: 'VOLUME_READ_ONLY',
  });
  await archive.delete({ url: SECOND[0]!.url, from: timeOf(SECOND[0]!), to: timeOf(SECOND[0]!) });
  await archive.close();
  const after = filesBelow(join(directory, 'second')).map((file) => readFileSync(file).toString('latin1'));
  assert.deepEqual(after, before);
  const again = await openSample(join(directory, 'archive'));
  await again.rebuild();
  assert.deepEqual(await lostDays(again, PAGES), [SECOND[0]!.day]);
  assert.deepEqual(await problemsOf(again), []);
  assert.equal((await again.compact()).readOnly.length, 1);
  // When the volume is writable again, compaction carries out the deletion that was kept in another volume.
  await again.setVolumeWritable('second', true);
  await again.compact();
  await again.rebuild();
  assert.deepEqual(await lostDays(again, PAGES), [SECOND[0]!.day]);
  assert.deepEqual(await problemsOf(again), []);
  await again.close();
});

test('a migration moves every segment unchanged, and every capture can be read afterwards', async (t) => {
  const { directory, archive } = await twoVolumes(t);
  await archive.delete({ url: FIRST[0]!.url, from: timeOf(FIRST[0]!), to: timeOf(FIRST[0]!) });
  const before = await archive.segments();
  const planned = await archive.migrate('main', 'second', { dryRun: true });
  assert.deepEqual(await archive.segments(), before);
  const report = await archive.migrate('main', 'second');
  assert.equal(report.segments, 2, 'one with captures, and one with the record of the deletion');
  assert.deepEqual([planned.segments, planned.bytes], [report.segments, report.bytes]);
  assert.deepEqual(await segmentVolumes(archive), ['second', 'second', 'second']);
  assert.deepEqual(segmentFiles(join(directory, 'archive/volumes/main')), []);
  assert.deepEqual(await lostDays(archive, PAGES), [0]);
  assert.deepEqual(await problemsOf(archive), []);
  await archive.rebuild();
  assert.deepEqual(await lostDays(archive, PAGES), [0]);
  await archive.migrate('second', 'main');
  await archive.delete({ url: FIRST[1]!.url, from: timeOf(FIRST[1]!), to: timeOf(FIRST[1]!) });
  await archive.rebuild();
  assert.deepEqual(await lostDays(archive, PAGES), [0, 1]);
  await archive.migrate('main', 'second');
  await archive.compact();
  assert.deepEqual(await lostDays(archive, PAGES), [0, 1]);
  assert.deepEqual(await problemsOf(archive), []);
  assert.equal((await archive.migrate('main', 'second')).segments, 0);
  await archive.close();
});

test('one copy of each segment counts after an interrupted migration, and the next migration finishes', async (t) => {
  const { directory, archive } = await twoVolumes(t);
  await archive.migrate('main', 'second');
  await archive.migrate('second', 'main');
  const { name } = (await archive.segments())[0]!;
  await archive.close();
  const source = join(directory, 'archive/volumes/main', name);
  const copy = join(directory, 'second', name);
  const whole = readFileSync(source);

  // An unfinished copy is removed at the next opening.
  mkdirSync(dirname(copy), { recursive: true });
  writeFileSync(`${copy}.open`, whole.subarray(0, 1000));
  const second = await openSample(join(directory, 'archive'));
  assert.equal(existsSync(`${copy}.open`), false);
  assert.deepEqual(await lostDays(second, PAGES), []);
  assert.deepEqual(await problemsOf(second), []);
  await second.close();

  // The copy was complete and the catalog not updated. The source counts, even when the catalog is made again.
  mkdirSync(dirname(copy), { recursive: true });
  copyFileSync(source, copy);
  const { findings, onFinding } = gather();
  const third = await openSample(join(directory, 'archive'), { onFinding });
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['segment-doubled'],
  );
  await third.rebuild();
  assert.deepEqual(await lostDays(third, PAGES), []);
  assert.equal((await third.totals()).captures, PAGES.length);
  await third.migrate('main', 'second');
  assert.deepEqual(await segmentVolumes(third), ['second', 'second']);
  assert.deepEqual(segmentFiles(join(directory, 'archive/volumes/main')), []);

  // The catalog was updated, but the source was not removed.
  mkdirSync(dirname(source), { recursive: true });
  copyFileSync(copy, source);
  await third.migrate('main', 'second');
  assert.deepEqual(segmentFiles(join(directory, 'archive/volumes/main')), []);
  assert.deepEqual(await lostDays(third, PAGES), []);
  await third.close();
});

test('a copy that differs from its source never replaces it', async (t) => {
  const { directory, archive } = await twoVolumes(t);
  await archive.migrate('second', 'main');
  const { name } = (await archive.segments())[0]!;
  const other = join(directory, 'second', name);
  mkdirSync(dirname(other), { recursive: true });
  const bytes = readFileSync(join(directory, 'archive/volumes/main', `${name}.open`));
  bytes[100]! ^= 1;
  await archive.close();
  writeFileSync(other, bytes);
  const again = await openSample(join(directory, 'archive'));
  const report = await again.migrate('main', 'second');
  assert.deepEqual(
    report.failures.map(({ code }) => code),
    ['OBJECT_CHANGED'],
  );
  assert.deepEqual(await lostDays(again, PAGES), []);
  await again.close();
});

for (const counting of ['main', 'second']) {
  test(`a second copy that a migration left brings no deleted capture back, when the catalog has the segment in ${counting}`, async (t) => {
    const { directory, archive } = await twoVolumes(t);
    await archive.migrate('main', 'second');
    if (counting === 'main') await archive.migrate('second', 'main');
    const { name } = (await archive.segments()).find(({ number }) => number === 1)!;
    await archive.close();
    const places = [join(directory, 'archive/volumes/main', name), join(directory, 'second', name)];
    if (counting === 'second') places.reverse();
    mkdirSync(dirname(places[1]!), { recursive: true });
    copyFileSync(places[0]!, places[1]!);
    const again = await openSample(join(directory, 'archive'));
    await again.delete({ url: FIRST[1]!.url, from: timeOf(FIRST[1]!), to: timeOf(FIRST[1]!) });
    assert.deepEqual((await again.compact()).doubled, []);
    await again.close();
    const third = await openSample(join(directory, 'archive'));
    assert.equal((await third.totals()).captures, PAGES.length - 1);
    assert.deepEqual(await lostDays(third, PAGES), [1]);
    await third.close();
  });
}

test('tombstones that moved with their segment are not reported as lost after an interrupted migration', async (t) => {
  const { directory, archive } = await twoVolumes(t);
  await archive.delete({ url: FIRST[1]!.url, from: timeOf(FIRST[1]!), to: timeOf(FIRST[1]!) });
  await leaveTombstones(archive, (await archive.segments()).find(({ deadBytes }) => deadBytes > 0)!);
  const catalog = catalogOf(archive);
  const commit = catalog.commit.bind(catalog);
  catalog.commit = (group) =>
    group.removeNotes?.some((note) => note.startsWith('tombstones:'))
      ? Promise.reject(new Error('killed'))
      : commit(group);
  await assert.rejects(archive.migrate('main', 'second'), /killed/);
  await archive.close();
  const codes: string[] = [];
  for (let opening = 0; opening < 3; opening++) {
    const again = await openSample(join(directory, 'archive'), { onFinding: ({ code }) => codes.push(code) });
    await again.migrate('main', 'second');
    await again.close();
  }
  assert.deepEqual(codes, ['segment-doubled']);
});

test('compaction and recompression leave out a segment when another volume has a file of the same name', async (t) => {
  const { directory, archive } = await twoVolumes(t);
  await archive.migrate('second', 'main');
  const { name } = (await archive.segments()).find(({ state }) => state === 'sealed')!;
  await archive.delete({ url: SECOND[1]!.url, from: timeOf(SECOND[1]!), to: timeOf(SECOND[1]!) });
  const other = join(directory, 'second', name);
  mkdirSync(dirname(other), { recursive: true });
  writeFileSync(other, 'something else');
  const { segments, doubled } = await archive.compact();
  assert.deepEqual([segments, doubled], [0, [{ segment: name, volume: 'second' }]]);
  rmSync(other);
  assert.deepEqual((await archive.compact()).doubled, []);
  const [packed] = (await archive.segments()).filter(({ state }) => state === 'sealed');
  mkdirSync(dirname(other), { recursive: true });
  writeFileSync(join(directory, 'second', packed!.name), 'something else');
  const { left } = await archive.recompress({ worthwhileShare: 2 });
  assert.deepEqual(left, [{ segment: packed!.name, why: 'another file of its name is in the volume second' }]);
  assert.deepEqual(await problemsOf(archive), []);
  await archive.close();
});

test('a rebuild prefers a whole segment to an unfinished copy, even one in a volume that is listed first', async (t) => {
  const { directory, archive } = await twoVolumes(t);
  await archive.migrate('second', 'main');
  await archive.migrate('main', 'second');
  const { name } = (await archive.segments())[0]!;
  await archive.close();
  const part = join(directory, 'archive/volumes/main', `${name}.open`);
  mkdirSync(dirname(part), { recursive: true });
  writeFileSync(part, readFileSync(join(directory, 'second', name)).subarray(0, 1500));
  rmSync(join(directory, 'archive/catalog'), { recursive: true });
  const again = await openSample(join(directory, 'archive'));
  assert.deepEqual(await lostDays(again, PAGES), []);
  assert.equal(existsSync(part), false);
  await again.close();
});

test('contents are stored in a volume on request, and an unknown volume is refused', async (t) => {
  const { directory, archive } = await twoVolumes(t);
  const time = 1_700_000_000_000;
  const stored = await archive.store({ kind: 'bytes', time, body: Buffer.from(contentOf(900)) }, { volume: 'second' });
  assert.match(stored.key, /^second:sha256:/);
  await assert.rejects(archive.store({ kind: 'bytes', time, body: Buffer.from(contentOf(901)) }, { volume: 'third' }), {
    code: 'VOLUME_UNKNOWN',
    message: /volume third.*it has main, second/,
  });
  await assert.rejects(archive.migrate('mian', 'second'), { code: 'VOLUME_UNKNOWN', message: /it has main, second/ });
  await assert.rejects(archive.migrate('main', 'secnod'), { code: 'VOLUME_UNKNOWN' });
  await assert.rejects(archive.setVolumeWritable('mian', false), { code: 'VOLUME_UNKNOWN' });
  assert.equal(segmentFiles(join(directory, 'second')).length, 1);
  await archive.close();
});

test('a volume inside of another one, or around it, is refused', async (t) => {
  const { directory, archive } = await twoVolumes(t);
  const inside = join(directory, 'second', 'inside');
  await assert.rejects(archive.addVolume({ name: 'third', path: inside }), /is inside of that of the volume second/);
  assert.ok(!existsSync(inside));
  await assert.rejects(
    archive.addVolume({ name: 'third', path: directory, isReadOnly: true }),
    /is inside of this one/,
  );
  symlinkSync(join(directory, 'second'), join(directory, 'link'));
  await assert.rejects(
    archive.addVolume({ name: 'third', path: join(directory, 'link'), isReadOnly: true }),
    /is inside of that of the volume second/,
  );
  assert.deepEqual(await problemsOf(archive), []);
});

test('files that a volume leaves out because of their names are reported when it is added, and by verify', async (t) => {
  const directory = scratch(t);
  const shared = join(directory, 'shared');
  mkdirSync(join(shared, 'a folder'), { recursive: true });
  await writePages(join(shared, 'good.warc.gz'), FIRST, 'gzip');
  for (const name of ['WEB-1~host~8443.warc.gz', 'a folder/one.warc'])
    copyFileSync(join(shared, 'good.warc.gz'), join(shared, name));
  writeFileSync(join(shared, 'read me.txt'), 'this is not a WARC file');
  const { findings, onFinding } = gather();
  const archive = await openSample(join(directory, 'archive'), { onFinding });
  await archive.addVolume({ name: 'shared', path: shared, isReadOnly: true });
  assert.deepEqual(
    findings.map(({ code, file }) => [code, file]),
    [
      ['segment-misnamed', 'shared: WEB-1~host~8443.warc.gz'],
      ['segment-misnamed', 'shared: a folder/one.warc'],
    ],
  );
  assert.equal((await archive.segments()).length, 1);
  const problems: string[] = [];
  const report = await archive.verify({ onProblem: ({ code, segment }) => void problems.push(`${code} ${segment}`) });
  assert.deepEqual(problems, ['segment-misnamed WEB-1~host~8443.warc.gz', 'segment-misnamed a folder/one.warc']);
  assert.deepEqual([report.errors, report.warnings], [0, 2]);
});

test('a copy of an archive does not write to a volume outside of the archive that the original writes to', async (t) => {
  const { directory, archive } = await twoVolumes(t);
  await archive.close();
  cpSync(join(directory, 'archive'), join(directory, 'copy'), { recursive: true });
  const copy = await openSample(join(directory, 'copy'));
  t.after(() => copy.close());
  const shared = { code: 'VOLUME_TAKEN', message: /archive writes to it; if .* remove .*second\/\.pinakes-archive/ };
  assert.match(volumesOf(copy).failureOf('second')?.message ?? '', shared.message);
  const before = filesBelow(join(directory, 'second'));
  await copy.delete({ url: SECOND[3]!.url, from: timeOf(SECOND[3]!), to: timeOf(SECOND[3]!) });
  assert.deepEqual(filesBelow(join(directory, 'second')), before);
  await assert.rejects(copy.rebuild(), shared);
  await copy.setVolumeWritable('second', false);
  assert.deepEqual(await lostDays(copy, PAGES), [SECOND[3]!.day]);
  await assert.rejects(copy.setVolumeWritable('second', true), shared);
  assert.deepEqual(await lostDays(copy, PAGES), [SECOND[3]!.day], 'it stays as it was');
  await copy.close();
  const again = await openSample(join(directory, 'archive'));
  t.after(() => again.close());
  assert.deepEqual(volumesOf(again).failures(), []);
  assert.deepEqual(await lostDays(again, PAGES), []);
  assert.deepEqual(await problemsOf(again), []);
});

test('an archive does not write to a volume of another archive, under any name', async (t) => {
  const { directory, archive } = await twoVolumes(t);
  await archive.close();
  const other = await openSample(join(directory, 'other'));
  t.after(() => other.close());
  for (const name of ['second', 'mine'])
    await assert.rejects(other.addVolume({ name, path: join(directory, 'second') }), { code: 'VOLUME_TAKEN' });
  assert.deepEqual(volumesOf(other).failures(), [], 'it is not a volume of this archive');
  await other.addVolume({ name: 'theirs', path: join(directory, 'second'), isReadOnly: true });
  assert.deepEqual(await lostDays(other, SECOND), []);
  const again = await openSample(join(directory, 'archive'));
  t.after(() => again.close());
  assert.deepEqual(volumesOf(again).failures(), []);
});

test('a restored archive says which file to remove to take over a volume, and takes it over after that', async (t) => {
  const { directory, archive } = await twoVolumes(t);
  await archive.close();
  cpSync(join(directory, 'archive'), join(directory, 'restored'), { recursive: true });
  writeFileSync(join(directory, 'archive/archive.yaml'), '\0');
  const restored = await openSample(join(directory, 'restored'));
  const [, sign] = /remove (\S+)\)$/.exec(volumesOf(restored).failureOf('second')?.message ?? '') ?? [];
  await restored.close();
  rmSync(sign!);
  const again = await openSample(join(directory, 'restored'));
  t.after(() => again.close());
  assert.deepEqual(volumesOf(again).failures(), []);
  assert.deepEqual(await lostDays(again, PAGES), []);
});

test('a moved archive still writes to its outside volumes, and a copy of the archive to copies of these', async (t) => {
  const { directory, archive } = await twoVolumes(t);
  await archive.close();
  renameSync(join(directory, 'archive'), join(directory, 'moved'));
  const moved = await openSample(join(directory, 'moved'));
  assert.deepEqual(volumesOf(moved).failures(), []);
  await moved.close();
  cpSync(join(directory, 'moved'), join(directory, 'copy'), { recursive: true });
  cpSync(join(directory, 'second'), join(directory, 'second-copy'), { recursive: true });
  const connector = join(directory, 'copy/archive.yaml');
  writeFileSync(connector, readFileSync(connector, 'utf8').replace('/second', '/second-copy'));
  for (const name of ['copy', 'moved', 'copy']) {
    const opened = await openSample(join(directory, name));
    assert.deepEqual(volumesOf(opened).failures(), [], name);
    assert.deepEqual(await lostDays(opened, PAGES), []);
    await opened.close();
  }
});

test('files that begin with a long warcinfo can be a volume', async (t) => {
  const directory = scratch(t);
  const archive = await openSample(join(directory, 'archive'));
  t.after(() => archive.close());
  mkdirSync(join(directory, 'theirs'));
  const info = warcinfo();
  const long = { ...info, block: Buffer.concat([info.block, Buffer.alloc(100_000, 'note: x\r\n')]) };
  await writeForeign(join(directory, 'theirs/long.warc.gz'), [
    long,
    response('http://a.example/', 0, Buffer.from(contentOf(1))),
  ]);
  await archive.addVolume({ name: 'theirs', path: join(directory, 'theirs'), isReadOnly: true });
  assert.equal((await archive.totals()).captures, 1);
});
