/** Files after a run in place: the old files are kept for undo, and the new files have the same owner. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { digestOf, type Finding, utf8 } from '../../src/base/index.ts';
import { slimRun, slimUndo } from '../../src/slim/index.ts';
import { bodyOf, SampleWriter, writeSampleCollection } from './sample-collection.ts';
import { filesBelow, inDirectory, runOptions } from './slim-options.ts';

test('undo restores every file', async () => {
  await inDirectory(async (directory) => {
    const collection = join(directory, 'collection');
    const keptDirectory = join(directory, 'kept');
    await writeSampleCollection(collection, 2);
    const images = filesBelow(collection).map((path) => readFileSync(path));
    const { options } = runOptions(collection, { keptDirectory });
    await slimRun(options);
    const { workDirectory } = options;
    const findings: unknown[] = [];
    const onFinding = (finding: unknown) => findings.push(finding);
    const slimmed = filesBelow(collection).map((path) => readFileSync(path));
    assert.deepEqual(await slimUndo({ workDirectory, dryRun: true, onFinding }), { restored: 4, left: 0 });
    assert.deepEqual(
      filesBelow(collection).map((path) => readFileSync(path)),
      slimmed,
    );
    assert.deepEqual(await slimUndo({ workDirectory, onFinding }), { restored: 4, left: 0 });
    assert.deepEqual(
      filesBelow(collection).map((path) => readFileSync(path)),
      images,
    );
    assert.deepEqual(readdirSync(keptDirectory), []);
    assert.deepEqual(findings, []);
    await assert.rejects(slimUndo({ workDirectory, onFinding }), { code: 'SLIM_NOT_KEPT' });
  });
});

test('undo of a killed run leaves no other files, at whatever step it was killed', async () => {
  await inDirectory(async (directory) => {
    const collection = join(directory, 'collection');
    const keptDirectory = join(directory, 'kept');
    await writeSampleCollection(collection, 2);
    const names = () =>
      readdirSync(collection, { recursive: true, encoding: 'utf8' }).filter((name) => !name.includes('slim/'));
    const before = names();
    const images = filesBelow(collection).map((path) => readFileSync(path));
    const { options } = runOptions(collection, { keptDirectory });
    await slimRun(options);
    const [first, second] = filesBelow(collection) as [string, string];
    // Killed after the old file was kept and before the new file was installed. Both names belong to the old file.
    rmSync(first);
    linkSync(join(keptDirectory, first.slice(collection.length)), first);
    // The names of new files contain eight digits of their run.
    const run = Buffer.from(digestOf('sha256', utf8(join(options.workDirectory, 'run-0001'))).bytes).toString('hex');
    for (const path of [first, second])
      for (const remains of ['slim-new', 'slim-new.log'])
        writeFileSync(join(dirname(path), `.${basename(path)}.${run.slice(0, 8)}.${remains}`), 'half a file');
    writeFileSync(`${second}.slim-old`, 'half a file');
    const { workDirectory } = options;
    assert.deepEqual(await slimUndo({ workDirectory, onFinding: ({ code }) => assert.fail(code) }), {
      restored: 4,
      left: 0,
    });
    assert.deepEqual(
      filesBelow(collection).map((path) => readFileSync(path)),
      images,
    );
    assert.deepEqual(
      names().filter((name) => name !== '.pinakes-slim'),
      before,
    );
    assert.deepEqual(filesBelow(keptDirectory), []);
  });
});

/** A directory on another device than `directory`, where hard links are not possible; undefined when there is none. */
function elsewhere(directory: string): string | undefined {
  const [here, there] = [statSync(directory), statSync('/dev/shm', { throwIfNoEntry: false })];
  return there && there.dev !== here.dev ? mkdtempSync('/dev/shm/pinakes-slim-') : undefined;
}

test('undo restores a file from another device with its time, permissions and owner, at whatever step it was killed', async (t) => {
  await inDirectory(async (directory) => {
    const other = elsewhere(directory);
    if (other === undefined) return t.skip('there is no second device');
    try {
      const collection = join(directory, 'collection');
      await writeSampleCollection(collection, 2);
      const isRoot = process.getuid?.() === 0;
      for (const [index, path] of filesBelow(collection).entries()) {
        utimesSync(path, 1_500_000_000, 1_400_000_000.5 + index);
        if (isRoot) chownSync(path, 12_345, 23_456);
        chmodSync(path, 0o440);
      }
      const look = () =>
        filesBelow(collection).map((path) => {
          const { mtimeMs, mode, uid, gid } = statSync(path);
          return { path, mtimeMs, mode, uid, gid, bytes: readFileSync(path) };
        });
      const before = look();
      const { options } = runOptions(collection, { keptDirectory: other });
      const { workDirectory } = options;
      assert.equal((await slimRun(options)).filesRewritten, 4);
      // Killed after the first file was restored, but before the journal entry and before the kept file was removed.
      const first = before[0]!.path;
      rmSync(first);
      copyFileSync(join(other, relative(collection, first)), first);
      chmodSync(first, 0o440);
      utimesSync(first, 1_500_000_000, 1_400_000_000.5);
      if (isRoot) chownSync(first, 12_345, 23_456);
      const onFinding = ({ code }: Finding) => assert.fail(code);
      assert.deepEqual(await slimUndo({ workDirectory, onFinding }), { restored: 4, left: 0 });
      assert.deepEqual(look(), before);
      assert.deepEqual(filesBelow(other), []);
    } finally {
      rmSync(other, { recursive: true });
    }
  });
});

test('several runs over the same file are undone one after the other, also from another device', async (t) => {
  await inDirectory(async (directory) => {
    const other = elsewhere(directory);
    if (other === undefined) return t.skip('there is no second device');
    try {
      const write = async (name: string, seed: number, contents: readonly number[]) => {
        const sample = await SampleWriter.create(join(directory, name), 'gzip', seed);
        for (const content of contents) await sample.page({ uri: `http://${name}/${content}`, body: bodyOf(content) });
        await sample.finish();
      };
      await write('third.warc.gz', 3, [1, 2]);
      await write('second.warc.gz', 2, [2]);
      const look = () => readFileSync(join(directory, 'third.warc.gz'));
      const images = [look()];
      for (const [run, name] of ['one', 'two'].entries()) {
        if (run === 1) await write('first.warc.gz', 1, [1]);
        const { options } = runOptions(directory, { keptDirectory: join(other, name) });
        assert.equal((await slimRun(options)).revisits, 1);
        images.push(look());
      }
      const workDirectory = join(directory, '.pinakes-slim');
      for (const image of [images[1]!, images[0]!]) {
        assert.deepEqual(await slimUndo({ workDirectory, onFinding: () => {} }), { restored: 1, left: 0 });
        assert.deepEqual(look(), image);
      }
    } finally {
      rmSync(other, { recursive: true });
    }
  });
});

test('a run is refused before any work when the directory for old files has other files of the same names', async () => {
  await inDirectory(async (directory) => {
    const collection = join(directory, 'collection');
    const keptDirectory = join(directory, 'kept');
    await writeSampleCollection(collection, 2);
    mkdirSync(join(keptDirectory, 'a'), { recursive: true });
    const other = join(keptDirectory, 'a/first.warc.gz');
    writeFileSync(other, 'another file');
    const images = filesBelow(collection).map((path) => readFileSync(path));
    const { options } = runOptions(collection, { keptDirectory });
    await assert.rejects(slimRun(options), { code: 'SLIM_KEPT_BEFORE', where: other });
    assert.deepEqual(
      filesBelow(collection).map((path) => readFileSync(path)),
      images,
    );
    assert.equal(existsSync(options.workDirectory), false);
    const { revisits } = await slimRun({ ...options, keptDirectory: join(directory, 'kept-elsewhere') });
    assert.ok(revisits > 0);
    assert.equal(readFileSync(other, 'utf8'), 'another file');
  });
});

test('old and new files cannot be in a directory inside the collection, since the next run would read them', async () => {
  await inDirectory(async (directory) => {
    const collection = join(directory, 'collection');
    await writeSampleCollection(collection, 2);
    symlinkSync(collection, join(directory, 'link'));
    const images = filesBelow(collection).map((path) => readFileSync(path));
    for (const place of ['collection', 'collection/a', 'collection/new/kept', 'link/kept']) {
      for (const option of ['keptDirectory', 'target'] as const) {
        const workDirectory = join(directory, 'work');
        const { options } = runOptions(collection, { [option]: join(directory, place), workDirectory });
        await assert.rejects(slimRun(options), { code: 'BAD_ARGUMENT' }, `${option} ${place}`);
        assert.equal(existsSync(workDirectory), false);
      }
    }
    assert.deepEqual(
      filesBelow(collection).map((path) => readFileSync(path)),
      images,
    );
    const { options } = runOptions(collection, { keptDirectory: join(collection, '.kept') });
    assert.ok((await slimRun(options)).revisits > 0);
  });
});

test('the old files cannot be kept in the directory of the collection, even when the run names single files', async () => {
  await inDirectory(async (directory) => {
    await writeSampleCollection(directory, 2);
    const [path] = filesBelow(directory) as [string];
    const image = readFileSync(path);
    const { options } = runOptions(directory, { inputs: [{ path, root: path }], keptDirectory: dirname(path) });
    await assert.rejects(slimRun(options), { code: 'SLIM_KEPT_BEFORE', where: path });
    assert.deepEqual(readFileSync(path), image);
  });
});

test('undo restores nothing when the directory of kept files is the collection itself', async () => {
  await inDirectory(async (directory) => {
    const collection = join(directory, 'collection');
    const keptDirectory = join(directory, 'kept');
    await writeSampleCollection(collection, 2);
    const { options } = runOptions(collection, { keptDirectory });
    const { filesRewritten } = await slimRun(options);
    const images = filesBelow(collection).map((path) => readFileSync(path));
    rmSync(keptDirectory, { recursive: true });
    symlinkSync(collection, keptDirectory);
    const { workDirectory } = options;
    assert.deepEqual(await slimUndo({ workDirectory, onFinding: () => {} }), { restored: 0, left: filesRewritten });
    assert.deepEqual(
      filesBelow(collection).map((path) => readFileSync(path)),
      images,
    );
  });
});

test('a file that is rewritten in place keeps its permissions, and its owner where the user may change owners', async () => {
  await inDirectory(async (directory) => {
    await writeSampleCollection(directory, 2);
    const isRoot = process.getuid?.() === 0;
    for (const path of filesBelow(directory)) {
      if (isRoot) chownSync(path, 12_345, 23_456);
      chmodSync(path, 0o662);
    }
    const of = (path: string) => {
      const { mode, uid, gid } = statSync(path);
      return [(mode & 0o7777).toString(8), uid, gid];
    };
    const before = filesBelow(directory).map(of);
    const { filesRewritten } = await slimRun(runOptions(directory).options);
    assert.equal(filesRewritten, before.length);
    assert.deepEqual(filesBelow(directory).map(of), before);
  });
});
