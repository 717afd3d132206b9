/** When a file changes during `add`, or the archive cannot be written to, the report says exactly what was added. */
import assert from 'node:assert/strict';
import { appendFileSync, copyFileSync, fstatSync, readdirSync, readFileSync, renameSync, truncateSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { PinakesError } from '../../src/base/index.ts';
import { writeWacz } from '../../src/warc/index.ts';
import { type ForeignRecord, response, writeForeign } from './foreign-file.ts';
import { volumeOf } from './opened-parts.ts';
import { allCaptures, audit, contentOf, makeArchive, NOON, temporaryDirectory } from './trial-archive.ts';

function pages(name: string, count: number, bytes: number): ForeignRecord[] {
  return Array.from({ length: count }, (_, n) =>
    response(`http://${name}.example/${n}`, NOON, contentOf(`${name} ${n}`, bytes)),
  );
}

for (const workers of [0, 2])
  for (const left of [0, 5_000_000])
    test(`a file that is cut to ${left} bytes while ${workers} threads read it is reported, and every counted capture is in the archive`, async (t) => {
      const archive = await makeArchive(t);
      const directory = await temporaryDirectory(t);
      const file = await writeForeign(join(directory, 'cut.warc.gz'), pages('cut', 160, 150_000));
      const other = await writeForeign(join(directory, 'other.warc.gz'), pages('other', 3, 2000));
      let isCut = false;
      const onProgress = () => {
        if (!isCut) truncateSync(file, left);
        isCut = true;
      };
      const report = await archive.add([file, other], { workers, onProgress });
      assert.deepEqual(
        report.failures.map(({ code, where }) => [code, where?.replace(/:\d+$/, '')]),
        [['FILE_CHANGED', file]],
        'with the offset of a record, or without',
      );
      const captures = await allCaptures(archive);
      assert.ok(captures.length > 3 && captures.length < 163, String(captures.length));
      assert.deepEqual([report.captures, report.records], [captures.length, captures.length]);
      assert.equal(captures.filter(({ url }) => url.startsWith('http://other.')).length, 3);
      assert.deepEqual(await audit(archive), []);
    });

for (const [how, replace] of [
  ['is replaced by another', renameSync],
  ['is overwritten', copyFileSync],
] as const)
  test(`a file that ${how} after it was read and before it is copied is reported, and no record mixes the two versions`, async (t) => {
    const archive = await makeArchive(t);
    const directory = await temporaryDirectory(t);
    const first = await writeForeign(join(directory, 'first.warc.gz'), pages('first', 1500, 1500));
    const file = await writeForeign(join(directory, 'file.warc.gz'), pages('file', 300, 1500));
    const other = await writeForeign(join(directory, 'other.warc.gz'), pages('other', 300, 1700));
    let isReplaced = false;
    // The threads have read the second file when the first one is copied.
    const onProgress = () => {
      if (!isReplaced) replace(other, file);
      isReplaced = true;
    };
    const { failures } = await archive.add([first, file], { workers: 2, onProgress });
    assert.deepEqual(
      failures.map(({ code, where }) => [code, where]),
      [['FILE_CHANGED', file]],
    );
    assert.equal((await archive.verify()).errors, 0);
    assert.equal((await archive.add([file])).captures, 300);
    assert.deepEqual(await audit(archive), []);
  });

test('a file that is replaced between the reading of two of its ranges is reported, and no record mixes the two files', async (t) => {
  const archive = await makeArchive(t);
  const directory = await temporaryDirectory(t);
  const file = await writeForeign(join(directory, 'file.warc.gz'), pages('file', 220, 50_000));
  const other = await writeForeign(join(directory, 'other.warc.gz'), pages('other', 210, 50_000));
  let isReplaced = false;
  const onProgress = () => {
    if (!isReplaced) renameSync(other, file);
    isReplaced = true;
  };
  const { failures, captures } = await archive.add([file], { workers: 0, onProgress });
  assert.deepEqual(
    failures.map(({ code, where }) => [code, where]),
    [['FILE_CHANGED', file]],
  );
  assert.ok(captures > 0, 'what was added before stays');
  assert.deepEqual(await audit(archive), []);
});

for (const count of [0, 2, 300])
  test(`a file of ${count} records that grows during add is added as far as it was read; the next add completes it`, async (t) => {
    const archive = await makeArchive(t);
    const directory = await temporaryDirectory(t);
    const first = await writeForeign(join(directory, 'first.warc.gz'), pages('first', 1500, 1500));
    const file = await writeForeign(join(directory, 'file.warc.gz'), pages('file', count, 1500));
    const more = readFileSync(await writeForeign(join(directory, 'more.warc.gz'), pages('more', 3, 1500)));
    let isGrown = false;
    // The threads have most likely read the second file when the first one is copied.
    const onProgress = () => {
      if (!isGrown) appendFileSync(file, more);
      isGrown = true;
    };
    const { failures, captures } = await archive.add([first, file], { workers: 2, onProgress });
    assert.deepEqual(failures, []);
    assert.equal(captures + (await archive.add([file])).captures, 1500 + count + 3);
    assert.equal((await archive.verify()).errors, 0);
  });

test('a file that is overwritten while it is copied is reported, and no record mixes the two versions', async (t) => {
  const archive = await makeArchive(t);
  const directory = await temporaryDirectory(t);
  const file = await writeForeign(join(directory, 'file.warc.gz'), pages('file', 200, 50_000));
  const other = await writeForeign(join(directory, 'other.warc.gz'), pages('other', 220, 50_000));
  const volume = volumeOf(archive);
  const append = volume.append.bind(volume);
  volume.append = async (...given) => {
    if (given[1] > 0) copyFileSync(other, file);
    return append(...given);
  };
  const { failures } = await archive.add([file], { workers: 0 });
  assert.deepEqual(
    failures.map(({ code, where }) => [code, where]),
    [['FILE_CHANGED', file]],
  );
  assert.equal((await archive.verify()).errors, 0);
  assert.deepEqual(await audit(archive), []);
});

test('a segment that cannot be written to ends the add, since the fault is not in the added file', async (t) => {
  const archive = await makeArchive(t);
  const file = await writeForeign(join(archive.directory, 'a.warc.gz'), pages('a', 3, 2000));
  const volume = volumeOf(archive);
  const create = volume.create.bind(volume);
  const where = 'volume main, object default/a.warc.gz';
  volume.create = () => Promise.reject(new PinakesError('FILE_UNWRITABLE', { where }));
  await assert.rejects(archive.add([file]), { code: 'FILE_UNWRITABLE', where });
  volume.create = create;
  assert.equal((await archive.add([file])).captures, 3);
  assert.deepEqual(await audit(archive), []);
});

for (const at of ['the beginning', 'the middle'])
  test(`a file that the disk cannot read from ${at} on does not stop the others`, async (t) => {
    const archive = await makeArchive(t);
    const directory = await temporaryDirectory(t);
    const file = await writeForeign(join(directory, 'file.warc.gz'), pages('file', 200, 50_000));
    const other = await writeForeign(join(directory, 'other.warc.gz'), pages('other', 3, 2000));
    const handle = await open(file);
    const { ino } = await handle.stat();
    const reads = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    const read = reads.read as (this: FileHandle, ...given: [Buffer, number, number, number]) => Promise<unknown>;
    let isBroken = at === 'the beginning';
    // The system's error for a bad sector. Only samples and copies are read by this function.
    t.mock.method(reads, 'read', async function (this: FileHandle, ...given: [Buffer, number, number, number]) {
      if (isBroken && fstatSync(this.fd).ino === ino)
        throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO', syscall: 'read' });
      return read.apply(this, given);
    });
    const volume = volumeOf(archive);
    const append = volume.append.bind(volume);
    volume.append = async (...given) => {
      isBroken ||= at === 'the middle';
      return append(...given);
    };
    const { failures } = await archive.add([file, other], { workers: 0 });
    assert.deepEqual(
      failures.map(({ code, where }) => [code, where]),
      [['DEVICE_FAILED', file]],
    );
    assert.equal((await allCaptures(archive)).filter(({ url }) => url.startsWith('http://other.')).length, 3);
    volume.append = append;
    isBroken = false;
    assert.deepEqual((await archive.add([file, other], { workers: 0 })).failures, []);
    assert.equal((await allCaptures(archive)).length, 203);
    assert.deepEqual(await audit(archive), []);
  });

test('a full disk ends an add of packages, since every later package would fail too', async (t) => {
  const archive = await makeArchive(t);
  const directory = await temporaryDirectory(t);
  const warc = await writeForeign(join(directory, 'a.warc.gz'), pages('a', 3, 2000));
  const packages = ['one', 'two'].map((name) => join(directory, `${name}.wacz`));
  for (const path of packages)
    await writeWacz(path, { software: 'test', createdMs: 0, warcs: [warc], pages: [], indexLines: [] });
  const volume = volumeOf(archive);
  const create = volume.create.bind(volume);
  const where = 'volume main, object default/a.warc.gz';
  volume.create = () => Promise.reject(new PinakesError('DISK_FULL', { where }));
  await assert.rejects(archive.add(packages), { code: 'DISK_FULL', where });
  volume.create = create;
  assert.equal((await archive.add(packages)).captures, 3);
});

test('a file in a package may have a name of any allowed length', async (t) => {
  const archive = await makeArchive(t);
  const directory = await temporaryDirectory(t);
  const warc = await writeForeign(join(directory, `${'a'.repeat(247)}.warc.gz`), pages('a', 3, 2000));
  const path = join(directory, 'long.wacz');
  await writeWacz(path, { software: 'test', createdMs: 0, warcs: [warc], pages: [], indexLines: [] });
  const { failures, captures } = await archive.add([path]);
  assert.deepEqual([failures, captures], [[], 3]);
});

test('a failure in a file of a package is reported with the name of that file in the package', async (t) => {
  const archive = await makeArchive(t);
  const directory = await temporaryDirectory(t);
  const path = join(directory, 'p.wacz');
  const warc = await writeForeign(join(directory, 'a.warc.gz'), pages('a', 200, 50_000));
  await writeWacz(path, { software: 'test', createdMs: 0, warcs: [warc], pages: [], indexLines: [] });
  const volume = volumeOf(archive);
  const append = volume.append.bind(volume);
  const spool = archive.scratch;
  volume.append = async (...given) => {
    for (const name of readdirSync(spool)) if (name.startsWith('package-')) truncateSync(join(spool, name), 0);
    return append(...given);
  };
  const { failures } = await archive.add([path], { workers: 0 });
  assert.deepEqual(
    failures.map(({ code, where }) => [code, where?.replace(/:\d+$/, '')]),
    [['FILE_CHANGED', `${path}!archive/a.warc.gz`]],
  );
});
