import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { openLinkedVolume } from '../../src/volume/index.ts';
import { writeWacz } from '../../src/warc/index.ts';
import {
  bodyOf,
  contentOf,
  gather,
  lostDays,
  openSample,
  problemsOf,
  samplePages,
  scratch,
  segmentFiles,
  textOf,
  writePages,
} from './archive-sample.ts';

const PAGES = samplePages(24);
const FIRST = PAGES.slice(0, 12);
const SECOND = PAGES.slice(12);

test('files that are added in place are readable, unchanged and not copied', async (t) => {
  const directory = scratch(t);
  const files = { 'one.warc.gz': 'gzip', 'two.warc.zst': 'zstd', 'three.warc': 'none' } as const;
  const pages = samplePages(36);
  const parts = Object.entries(files).map(([name, coding], index) => ({ name: join(directory, name), coding, index }));
  for (const { name, coding, index } of parts) await writePages(name, pages.slice(index * 12, index * 12 + 12), coding);
  const before = parts.map(({ name }) => readFileSync(name).toString('latin1'));
  const archive = await openSample(join(directory, 'archive'));
  const report = await archive.add(
    parts.map(({ name }) => name),
    { inPlace: true },
  );
  assert.deepEqual([report.files, report.captures, report.duplicates], [3, 36, 24]);
  assert.deepEqual(segmentFiles(join(directory, 'archive')), []);
  assert.deepEqual(await lostDays(archive, pages), []);
  assert.deepEqual(await problemsOf(archive), []);
  await archive.rebuild();
  assert.deepEqual(await lostDays(archive, pages), []);
  assert.deepEqual(await problemsOf(archive), []);
  await archive.close();
  assert.deepEqual(
    parts.map(({ name }) => readFileSync(name).toString('latin1')),
    before,
  );
});

test('a file that was added in place before adds nothing', async (t) => {
  const directory = scratch(t);
  const file = join(directory, 'one.warc.gz');
  await writePages(file, FIRST);
  const archive = await openSample(join(directory, 'archive'));
  await archive.add([file], { inPlace: true });
  const totals = await archive.totals();
  const again = await archive.add([file], { inPlace: true });
  assert.deepEqual([again.filesKnown, again.captures], [1, 0]);
  assert.deepEqual(await archive.totals(), totals);
  assert.equal((await archive.segments()).length, 1);
  await archive.close();
});

test('a capture of a content that is held in place is stored as a revisit', async (t) => {
  const directory = scratch(t);
  await writePages(join(directory, 'one.warc.gz'), FIRST);
  const later = FIRST.map((page) => ({ ...page, day: page.day + 50 }));
  await writePages(join(directory, 'later.warc.gz'), later);
  const archive = await openSample(join(directory, 'archive'));
  await archive.add([join(directory, 'one.warc.gz')], { inPlace: true });
  const report = await archive.add([join(directory, 'later.warc.gz')]);
  assert.equal(report.duplicates, later.length);
  assert.deepEqual(await lostDays(archive, [...FIRST, ...later]), []);
  assert.deepEqual(await problemsOf(archive), []);
  await archive.close();
});

test('a linked file that changed or is missing is named in the error, and other files can be read', async (t) => {
  const directory = scratch(t);
  for (const [name, pages] of Object.entries({ one: FIRST, two: SECOND }))
    await writePages(join(directory, `${name}.warc.gz`), pages);
  const files = ['one', 'two'].map((name) => join(directory, `${name}.warc.gz`));
  const before = await openSample(join(directory, 'archive'));
  await before.add(files, { inPlace: true });
  await before.close();
  appendFileSync(files[0]!, 'x');
  const archive = await openSample(join(directory, 'archive'));
  assert.deepEqual(await lostDays(archive, SECOND), []);
  await assert.rejects(bodyOf(archive, FIRST[2]!), { code: 'OBJECT_CHANGED', where: files[0]! });
  const problems = await problemsOf(archive);
  assert.deepEqual(
    problems.map(({ code, leaning }) => ({ code, leaning })),
    [{ code: 'segment-unreadable', leaning: 12 }],
  );
  await archive.close();
  rmSync(files[0]!);
  rmSync(join(directory, 'archive/catalog'), { recursive: true });
  const { findings, onFinding } = gather();
  const rebuilt = await openSample(join(directory, 'archive'), { onFinding });
  const reported = findings.filter(({ level }) => level === 'error').map(({ code }) => code);
  assert.deepEqual([...new Set(reported)], ['segment-not-healed']);
  assert.deepEqual(await lostDays(rebuilt, SECOND), []);
  await rebuilt.close();
});

test('a deleted capture stays deleted although its record is in a read-only file', async (t) => {
  const directory = scratch(t);
  const file = join(directory, 'one.warc.gz');
  await writePages(file, FIRST);
  const archive = await openSample(join(directory, 'archive'));
  await archive.add([file], { inPlace: true });
  await archive.delete({ prefix: 'http://a.test/' });
  const left = FIRST.filter(({ url }) => url.startsWith('http://b.'));
  assert.deepEqual(await lostDays(archive, left), []);
  await archive.rebuild();
  assert.equal((await archive.totals()).captures, left.length);
  assert.deepEqual(await problemsOf(archive), []);
  await archive.close();
});

test('I6 Deleted means gone: a record that is in two linked files is deleted in both, also after a rebuild', async (t) => {
  const directory = scratch(t);
  const files = ['one.warc.gz', 'copy.warc.gz'].map((name) => join(directory, name));
  for (const file of files) await writePages(file, FIRST);
  const archive = await openSample(join(directory, 'archive'));
  await archive.add(files, { inPlace: true });
  assert.deepEqual(await problemsOf(archive), []);
  assert.equal((await archive.totals()).blocks, 4);
  await archive.delete({ prefix: 'http://a.test/' });
  const left = FIRST.filter(({ url }) => url.startsWith('http://b.'));
  for (const isRebuilt of [false, true]) {
    if (isRebuilt) await archive.rebuild();
    assert.deepEqual(
      await lostDays(archive, FIRST),
      FIRST.filter((page) => !left.includes(page)).map(({ day }) => day),
    );
    assert.deepEqual(await problemsOf(archive), []);
  }
  await archive.close();
});

test('I10 records with one id and different contents stay different captures through deletion, compaction and rebuild', async (t) => {
  const directory = scratch(t);
  const file = join(directory, 'careless.warc.gz');
  const pages = [0, 1, 2].map((content) => ({ url: 'http://a.test/', day: 1, content }));
  await writePages(file, [...pages, ...FIRST.slice(2)]);
  const archive = await openSample(join(directory, 'archive'));
  const bodies = async () => {
    const all: string[] = [];
    for await (const capture of archive.capturesOfUrl('http://a.test/'))
      all.push(await textOf((await archive.open(capture)).payload));
    return all.sort();
  };
  assert.equal((await archive.add([file])).captures, 13);
  assert.deepEqual(await bodies(), pages.map(({ content }) => contentOf(content)).sort());
  assert.equal((await archive.add([file])).captures, 0);
  await archive.delete({ url: FIRST[3]!.url });
  await archive.compact();
  assert.deepEqual(await bodies(), pages.map(({ content }) => contentOf(content)).sort());
  assert.deepEqual(await problemsOf(archive), []);
  await archive.rebuild();
  assert.deepEqual(await bodies(), pages.map(({ content }) => contentOf(content)).sort());
  assert.deepEqual(await problemsOf(archive), []);
  await archive.close();
});

test('a file that was linked and not catalogued when the process died is catalogued at the next opening', async (t) => {
  const directory = scratch(t);
  const files = ['one.warc.gz', 'two.warc.gz'].map((name) => join(directory, name));
  await writePages(files[0]!, FIRST);
  await writePages(files[1]!, SECOND);
  const before = await openSample(join(directory, 'archive'));
  await before.add([files[0]!], { inPlace: true });
  await before.close();
  const linked = await openLinkedVolume('linked', join(directory, 'archive/volumes/linked.jsonl'));
  await linked.link(files[1]!, 'default/two.warc.gz');
  await linked.close();
  const archive = await openSample(join(directory, 'archive'));
  assert.deepEqual(await lostDays(archive, PAGES), []);
  assert.deepEqual(await problemsOf(archive), []);
  await archive.close();
});

test('a file of records that share one member, a package, and a file that is not an archive are refused by name, and the others are added', async (t) => {
  const directory = scratch(t);
  const path = (name: string) => join(directory, name);
  await writePages(path('good.warc.gz'), FIRST);
  await writePages(path('plain.warc'), SECOND, 'none');
  writeFileSync(path('whole.warc.gz'), gzipSync(readFileSync(path('plain.warc'))));
  await writeWacz(path('pack.wacz'), {
    software: 'sample/1',
    createdMs: 0,
    warcs: [path('plain.warc')],
    pages: [],
    indexLines: [],
  });
  writeFileSync(path('picture.warc.gz'), Buffer.alloc(1000, 0x5a));
  const archive = await openSample(path('archive'));
  const names = ['whole.warc.gz', 'pack.wacz', 'picture.warc.gz', 'absent.warc.gz', 'good.warc.gz'];
  const report = await archive.add(names.map(path), { inPlace: true });
  assert.deepEqual(
    report.failures.map(({ code }) => code),
    ['NOT_LINKABLE', 'NOT_LINKABLE', 'NOT_WARC', 'FILE_MISSING'],
  );
  assert.deepEqual(await lostDays(archive, FIRST), []);
  await archive.close();
});

test('an ARC file is used in place', async (t) => {
  const directory = scratch(t);
  const document = `HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n${contentOf(1)}`;
  const version = '1 0 ExampleOrg\nURL IP-address Archive-date Content-type Archive-length\n\n';
  const records = [
    `filedesc://demo.arc 0.0.0.0 20240301100000 text/plain ${version.length}\n${version}`,
    `http://arc.test/a 192.0.2.10 20240301100000 text/html ${document.length}\n${document}\n`,
  ];
  writeFileSync(join(directory, 'plain.arc'), records.join(''));
  writeFileSync(join(directory, 'packed.arc.gz'), Buffer.concat(records.map((record) => gzipSync(record))));
  for (const name of ['plain.arc', 'packed.arc.gz']) {
    const archive = await openSample(join(directory, `archive-${name.length}`));
    await archive.add([join(directory, name)], { inPlace: true });
    assert.equal(await textOf((await archive.get('http://arc.test/a')).payload), contentOf(1), name);
    assert.deepEqual(await problemsOf(archive), [], name);
    await archive.close();
  }
});

test('migrating linked files copies them into a volume, removes the links and leaves the files where they were', async (t) => {
  const directory = scratch(t);
  const file = join(directory, 'one.warc.gz');
  await writePages(file, FIRST);
  const archive = await openSample(join(directory, 'archive'));
  await archive.add([file], { inPlace: true });
  const before = readFileSync(file);
  assert.equal((await archive.migrate('linked', 'main')).segments, 1);
  assert.deepEqual(readFileSync(file), before);
  rmSync(file);
  assert.deepEqual(await lostDays(archive, FIRST), []);
  assert.deepEqual(await problemsOf(archive), []);
  await archive.close();
});

test('every WARC file in a package is added by copying, once', async (t) => {
  const directory = scratch(t);
  const warcs = ['one.warc.gz', 'two.warc.gz'].map((name) => join(directory, name));
  await writePages(warcs[0]!, FIRST);
  await writePages(warcs[1]!, SECOND);
  const file = join(directory, 'pack.wacz');
  await writeWacz(file, { software: 'sample/1', createdMs: 0, warcs, pages: [], indexLines: [] });
  const archive = await openSample(join(directory, 'archive'));
  const report = await archive.add([file]);
  assert.deepEqual([report.files, report.captures, report.failures], [1, 24, []]);
  assert.deepEqual(await lostDays(archive, PAGES), []);
  const again = await archive.add([file]);
  assert.deepEqual([again.filesKnown, again.captures], [1, 0]);
  assert.deepEqual(await problemsOf(archive), []);
  await archive.close();
});

test('two additions in place at the same time create the volume of linked files once', async (t) => {
  const directory = scratch(t);
  const files = ['one.warc.gz', 'two.warc.gz'].map((name) => join(directory, name));
  await writePages(files[0]!, FIRST, 'gzip');
  await writePages(files[1]!, SECOND, 'gzip');
  const archive = await openSample(join(directory, 'archive'));
  await Promise.all(files.map((file) => archive.add([file], { inPlace: true, workers: 0 })));
  assert.equal(archive.connector.volumes.filter(({ kind }) => kind === 'linked').length, 1);
  assert.deepEqual(await lostDays(archive, PAGES), []);
  assert.deepEqual(await problemsOf(archive), []);
});
