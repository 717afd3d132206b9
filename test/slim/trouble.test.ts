/**
 * Damaged input, busy files, a full disk, changes during the run. The affected file stays unchanged, and the run
 * continues with the others.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { slimRun } from '../../src/slim/index.ts';
import { capturesOf, readAll } from './archived-captures.ts';
import { bodyOf, SampleWriter, writeSampleCollection } from './sample-collection.ts';
import { filesBelow, inDirectory, runOptions } from './slim-options.ts';
import type { SmallDisk } from './small-disk-child.ts';

/** Files with the pages of the given numbers. Each file is later than the one before. */
async function writeFiles(directory: string, files: Record<string, readonly number[]>, bytes = 3000): Promise<void> {
  for (const [number, [name, pages]] of Object.entries(files).entries()) {
    const sample = await SampleWriter.create(join(directory, name), 'gzip', number + 1);
    for (const page of pages) await sample.page({ uri: `http://a.example/${name}/${page}`, body: bodyOf(page, bytes) });
    await sample.finish();
  }
}

test('a damaged file is reported and left out of the run', async () => {
  await inDirectory(async (directory) => {
    await writeFiles(directory, { 'a.warc.gz': [1, 2, 3], 'b.warc.gz': [1, 2, 4], 'c.warc.gz': [1, 2, 4] });
    const damaged = join(directory, 'a.warc.gz');
    const image = readFileSync(damaged);
    image[image.length - 300]! ^= 0x55;
    writeFileSync(damaged, image);
    const { options, findings, failures } = runOptions(directory);
    const summary = await slimRun(options);
    assert.deepEqual(readFileSync(damaged), image);
    assert.deepEqual(failures, []);
    assert.ok(findings.some(({ level, file }) => level === 'error' && file === damaged));
    assert.ok(findings.some(({ code, file }) => code === 'slim-file-damaged' && file === damaged));
    assert.equal(summary.filesAside, 1);
    const revisits = (await readAll(filesBelow(directory))).filter(({ type }) => type === 'revisit');
    assert.equal(revisits.length, 3);
    for (const revisit of revisits) assert.match(revisit.refersToUri, /b\.warc\.gz/);
  });
});

test('a file of a single gzip member stays unchanged, in place and in a target', async () => {
  await inDirectory(async (directory) => {
    const source = join(directory, 'source');
    mkdirSync(source);
    await writeFiles(source, { 'a.warc.gz': [1, 2], 'b.warc.gz': [1, 2, 1] });
    const shared = join(source, 'a.warc.gz');
    const image = gzipSync(gunzipSync(readFileSync(shared)));
    writeFileSync(shared, image);
    const target = join(directory, 'target');
    const { options, findings } = runOptions(source, { target });
    await slimRun(options);
    assert.deepEqual(readFileSync(join(target, 'a.warc.gz')), image);
    assert.ok(findings.some(({ code, file }) => code === 'slim-member-shared' && file === shared));
    await slimRun(runOptions(source).options);
    assert.deepEqual(readFileSync(shared), image);
    const revisits = (await readAll([join(source, 'b.warc.gz')])).filter(({ type }) => type === 'revisit');
    assert.equal(revisits.length, 1);
  });
});

test('a file that another process has open for writing is refused', {
  skip: !existsSync('/proc/self/fdinfo') && 'the system does not list open files',
}, async () => {
  await inDirectory(async (directory) => {
    await writeFiles(directory, { 'a.warc.gz': [1, 2], 'b.warc.gz': [1, 2] });
    const busy = join(directory, 'b.warc.gz');
    const image = readFileSync(busy);
    const holder = spawn('sh', ['-c', 'exec 3>>"$0"; echo ready; exec sleep 60', busy], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      await new Promise((resolve) => holder.stdout.once('data', resolve));
      const { options, findings } = runOptions(directory);
      const summary = await slimRun(options);
      assert.equal(summary.filesRewritten, 0);
      assert.deepEqual(readFileSync(busy), image);
      assert.ok(findings.some(({ code, file }) => code === 'slim-file-busy' && file === busy));
    } finally {
      holder.kill('SIGKILL');
      await once(holder, 'exit');
    }
    const summary = await slimRun(runOptions(directory).options);
    assert.equal(summary.revisits, 2);
  });
});

test('a file that grows during the run stays unchanged', async () => {
  await inDirectory(async (directory) => {
    await writeFiles(directory, { 'a.warc.gz': [1, 2], 'b.warc.gz': [1, 2], 'c.warc.gz': [1, 2] });
    const growing = join(directory, 'b.warc.gz');
    let isGrown = false;
    const { options, findings } = runOptions(directory, {
      onProgress: (phase) => {
        if (phase !== 'resolve' || isGrown) return;
        isGrown = true;
        appendFileSync(growing, readFileSync(join(directory, 'a.warc.gz')));
      },
    });
    const summary = await slimRun(options);
    assert.equal(isGrown, true);
    assert.equal(summary.filesRewritten, 1);
    assert.ok(findings.some(({ code, file }) => code === 'slim-file-busy' && file === growing));
    assert.equal((await readAll([growing])).filter(({ type }) => type === 'revisit').length, 0);
  });
});

test('when the file with the originals disappears, the files with the duplicates stay unchanged', async () => {
  await inDirectory(async (directory) => {
    await writeFiles(directory, { 'z.warc.gz': [1, 2], 'a.warc.gz': [1, 2], 'b.warc.gz': [1, 2] });
    const originals = join(directory, 'z.warc.gz');
    const { options, findings } = runOptions(directory, {
      workers: 1,
      onProgress: (phase) => {
        if (phase === 'rewrite') rmSync(originals, { force: true });
      },
    });
    const image = readFileSync(join(directory, 'b.warc.gz'));
    const summary = await slimRun(options);
    assert.equal(summary.filesRewritten, 1);
    assert.deepEqual(readFileSync(join(directory, 'b.warc.gz')), image);
    assert.ok(findings.some(({ code, message }) => code === 'slim-file-busy' && message.includes('z.warc.gz')));
    assert.deepEqual(
      readdirSync(directory).filter((name) => name.includes('slim-new')),
      [],
    );
  });
});

test('a run is refused while another one runs, and continues the work of a killed one', async () => {
  await inDirectory(async (directory) => {
    await writeSampleCollection(directory, 1);
    const keptDirectory = join(directory, '.kept');
    const child = fileURLToPath(new URL('./slimming-child.ts', import.meta.url));
    const other = spawn(process.execPath, [child, directory, keptDirectory], { stdio: ['ignore', 'pipe', 'ignore'] });
    await once(other.stdout, 'data');
    other.kill('SIGSTOP');
    const { options } = runOptions(directory, { keptDirectory });
    await assert.rejects(slimRun(options), { code: 'SLIM_LOCKED' });
    other.kill('SIGKILL');
    await once(other, 'exit');
    assert.ok((await slimRun(options)).revisits > 0);
    assert.deepEqual(readdirSync(options.workDirectory), ['run-0001']);
  });
});

test('the second of two runs in the same directory and process is refused', async () => {
  await inDirectory(async (directory) => {
    await writeSampleCollection(directory, 1);
    const { options } = runOptions(directory);
    const ends = await Promise.allSettled([slimRun(options), slimRun(options)]);
    assert.deepEqual(
      ends.map((end) => (end.status === 'fulfilled' ? 'done' : end.reason.code)),
      ['done', 'SLIM_LOCKED'],
    );
  });
});

test("two runs over the same files with separate journals do not use each other's new files", async () => {
  await inDirectory(async (directory) => {
    const names = Array.from({ length: 24 }, (_, number) => `${String(number).padStart(2, '0')}.warc.gz`);
    await writeFiles(directory, Object.fromEntries(names.map((name) => [name, [1, 2, 3, 4]])));
    const earlier = capturesOf(await readAll(filesBelow(directory)));
    const runs = ['one', 'other'].map((name) => runOptions(directory, { workDirectory: join(directory, `.${name}`) }));
    await Promise.all(runs.map(({ options }) => slimRun(options)));
    assert.deepEqual(
      runs.flatMap(({ failures }) => failures),
      [],
    );
    assert.deepEqual(capturesOf(await readAll(filesBelow(directory))), earlier);
  });
});

test('an interrupted run continues only with the same options', async () => {
  await inDirectory(async (directory) => {
    await writeSampleCollection(directory, 1);
    const stop = new AbortController();
    const { options } = runOptions(directory, {
      signal: stop.signal,
      onProgress: (phase) => phase === 'resolve' && stop.abort(),
    });
    await assert.rejects(slimRun(options), { name: 'AbortError' });
    await assert.rejects(slimRun(runOptions(directory, { minSavingBytes: 9 }).options), { code: 'SLIM_UNFINISHED' });
    assert.ok((await slimRun(runOptions(directory).options)).revisits > 0);
  });
});

test('an interrupted run continues only when all its files are named again, and reports files that are new', async () => {
  await inDirectory(async (directory) => {
    const [mine, yours] = [join(directory, 'mine'), join(directory, 'yours')];
    for (const path of [mine, yours]) {
      mkdirSync(path);
      await writeFiles(path, { 'a.warc.gz': [1, 2], 'b.warc.gz': [1, 2] });
    }
    const stop = new AbortController();
    const begun = runOptions(directory, {
      signal: stop.signal,
      onProgress: (phase) => phase === 'resolve' && stop.abort(),
    });
    await assert.rejects(slimRun(begun.options), { name: 'AbortError' });
    const images = filesBelow(directory).map((path) => readFileSync(path));
    const { workDirectory } = begun.options;
    await assert.rejects(slimRun(runOptions(mine, { workDirectory }).options), { code: 'SLIM_UNFINISHED' });
    assert.deepEqual(
      filesBelow(directory).map((path) => readFileSync(path)),
      images,
    );
    await writeFiles(mine, { 'c.warc.gz': [1, 2] });
    const { options, findings } = runOptions(directory);
    assert.equal((await slimRun(options)).files, 4);
    assert.deepEqual(
      findings.map(({ code, file }) => [code, file]),
      [['slim-file-later', join(mine, 'c.warc.gz')]],
    );
  });
});

test('a file of the same name in the target is not replaced', async () => {
  await inDirectory(async (directory) => {
    const [source, target] = [join(directory, 'source'), join(directory, 'target')];
    for (const path of [source, target]) mkdirSync(path);
    await writeFiles(source, { 'a.warc.gz': [1, 2], 'b.warc.gz': [1, 2] });
    writeFileSync(join(target, 'b.warc.gz'), 'precious');
    const { options, failures } = runOptions(source, { target });
    await slimRun(options);
    assert.deepEqual(
      failures.map(({ code }) => code),
      ['FILE_EXISTS'],
    );
    assert.equal(readFileSync(join(target, 'b.warc.gz'), 'utf8'), 'precious');
  });
});

test('a file without read permission does not stop the others', async () => {
  await inDirectory(async (directory) => {
    await writeFiles(directory, { 'a.warc.gz': [1, 2], 'b.warc.gz': [1, 2], 'c.warc.gz': [1] });
    const { options, failures } = runOptions(directory);
    rmSync(join(directory, 'c.warc.gz'));
    mkdirSync(join(directory, 'c.warc.gz'));
    const summary = await slimRun(options);
    assert.deepEqual(
      failures.map(({ code }) => code),
      ['FILE_IS_DIRECTORY'],
    );
    assert.equal(summary.revisits, 2);
  });
});

const mayMount = spawnSync('unshare', ['-rm', 'sh', '-c', 'mount -t tmpfs -o size=1m none /mnt']).status === 0;

for (const [what, freeBytes] of [
  ['the new file', 100_000],
  ['the lock and the journal', 0],
] as const)
  test(`a disk too full for ${what} is reported, the old file is intact, and with free space the run continues`, {
    skip: !mayMount && 'this user may not mount a small disk',
  }, async () => {
    await inDirectory(async (directory) => {
      await writeFiles(directory, { 'one.warc.gz': [1, 2, 1, 2] }, 200_000);
      const mount = join(directory, 'mount');
      mkdirSync(mount);
      const script = 'mount -t tmpfs -o size=4m none "$2" && exec "$0" "$1" "$2" "$3" "$4"';
      const child = join(import.meta.dirname, 'small-disk-child.ts');
      const args = [
        '-rm',
        'sh',
        '-c',
        script,
        process.execPath,
        child,
        mount,
        join(directory, 'one.warc.gz'),
        String(freeBytes),
      ];
      const { status, stdout, stderr } = spawnSync('unshare', args);
      assert.equal(status, 0, String(stderr));
      const seen = JSON.parse(String(stdout)) as SmallDisk;
      assert.deepEqual(seen, { codes: ['DISK_FULL'], isIntact: true, revisitsAfterwards: 2 });
    });
  });

test('two paths to the same file are one file of the collection', async () => {
  await inDirectory(async (directory) => {
    await writeFiles(directory, { 'a.warc.gz': [1, 2] });
    const path = join(directory, 'a.warc.gz');
    const { options } = runOptions(directory, {
      inputs: [path, path, join(directory, '.', 'a.warc.gz')].map((name) => ({ path: name, root: directory })),
    });
    const summary = await slimRun(options);
    assert.equal(summary.files, 1);
    assert.equal(summary.duplicates, 0);
  });
});

test('the records of a copied file become revisits with unique ids', async () => {
  await inDirectory(async (directory) => {
    await writeFiles(directory, { 'a.warc.gz': [1, 2] });
    mkdirSync(join(directory, 'copy'));
    for (const name of ['copy/a.warc.gz', 'copy/b.warc.gz']) {
      writeFileSync(join(directory, name), readFileSync(join(directory, 'a.warc.gz')));
    }
    const earlier = await readAll(filesBelow(directory));
    await slimRun(runOptions(directory).options);
    const later = await readAll(filesBelow(directory));
    assert.deepEqual(capturesOf(later), capturesOf(earlier));
    const revisits = later.filter(({ type }) => type === 'revisit');
    assert.equal(revisits.length, 4);
    assert.equal(new Set(revisits.map(({ recordId }) => recordId)).size, 4);
  });
});
