/** A second copy becomes equal to the slimmed collection, and has every capture at every moment on the way. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { slimRun, slimSync } from '../../src/slim/index.ts';
import { capturesOf, readAll } from './archived-captures.ts';
import { arcOf, bodyOf, SampleWriter, writeSampleCollection } from './sample-collection.ts';
import { filesBelow, inDirectory, runOptions, syncOptions } from './slim-options.ts';

const CHILD = join(import.meta.dirname, 'syncing-child.ts');

const imagesOf = (directory: string): Map<string, Buffer> =>
  new Map(filesBelow(directory).map((path) => [path.slice(directory.length), readFileSync(path)]));

/** The lines of the notes about the records of a directory that revisits refer to. */
function notesIn(directory: string): string[] {
  const place = join(directory, '.pinakes-slim');
  const names = existsSync(place) ? readdirSync(place).filter((name) => name.startsWith('leaned-')) : [];
  return names.flatMap((name) => readFileSync(join(place, name), 'utf8').split('\n')).sort();
}

/** A slimmed collection, and a copy of it from before. */
async function slimmedPair(base: string): Promise<{ slimmed: string; second: string }> {
  const [slimmed, second] = [join(base, 'slimmed'), join(base, 'second')];
  await writeSampleCollection(slimmed, 5, { pages: 6, captures: 8 });
  // Only originals, so that the run leaves this file as it is.
  mkdirSync(join(slimmed, '0'));
  const earliest = await SampleWriter.create(join(slimmed, '0/first.warc.gz'), 'gzip', 1);
  await earliest.page({ uri: 'http://earliest.example/', body: bodyOf(1) });
  await earliest.finish();
  cpSync(slimmed, second, { recursive: true });
  await slimRun(runOptions(slimmed).options);
  return { slimmed, second };
}

test('a second copy that is killed at every step of the way goes on, and is complete all the time', () =>
  inDirectory(async (base) => {
    const { slimmed, second } = await slimmedPair(base);
    const [old, fresh] = [imagesOf(second), imagesOf(slimmed)];
    const captures = capturesOf(await readAll(filesBelow(second)));
    assert.notDeepEqual(old, fresh);
    let replaced = 0;
    for (let kill = 0; ; kill++) {
      const child = spawn(process.execPath, [CHILD, slimmed, second], { stdio: ['ignore', 'pipe', 'inherit'] });
      const closed = once(child, 'close');
      let last = '';
      for await (const line of createInterface(child.stdout)) {
        last = line;
        // First while the files are compared, later after the first file that was replaced.
        if (line === (kill === 0 ? 'compare' : 'copy')) child.kill('SIGKILL');
      }
      await closed;
      const now = imagesOf(second);
      assert.deepEqual([...now.keys()], [...old.keys()]);
      for (const [name, bytes] of now)
        assert.ok(bytes.equals(old.get(name)!) || bytes.equals(fresh.get(name)!), `${name} is neither version`);
      assert.deepEqual(capturesOf(await readAll(filesBelow(second))), captures, `after kill ${kill}`);
      if (last.startsWith('{')) break;
      const count = [...now].filter(([name, bytes]) => !bytes.equals(old.get(name)!)).length;
      assert.ok(kill === 0 ? count === 0 : count > replaced, `${count} files are replaced after kill ${kill}`);
      replaced = count;
      assert.ok(kill < 10);
    }
    assert.ok(replaced > 0);
    assert.deepEqual(imagesOf(second), fresh);
    // Later runs over some of its files leave the originals, because the notes came along.
    for (const name of ['0', 'a', 'b']) assert.deepEqual(notesIn(join(second, name)), notesIn(join(slimmed, name)));
    assert.notDeepEqual(notesIn(join(second, '0')), []);
    const again = await slimSync(syncOptions(slimmed, second).options);
    assert.deepEqual([again.filesEqual, again.filesReplaced], [again.files, 0]);
  }));

test('a second copy with a capture more, a capture fewer or other bytes is refused unchanged', () =>
  inDirectory(async (base) => {
    const { slimmed, second } = await slimmedPair(base);
    const sample = await SampleWriter.create(join(base, 'more.warc.gz'), 'gzip', 99);
    await sample.page({ uri: 'http://more.example/', body: bodyOf(99) });
    await sample.finish();
    const target = join(second, 'a/first.warc.gz');
    const [pristine, page] = [readFileSync(target), readFileSync(join(base, 'more.warc.gz'))];

    const refused = async (expected: { missing: number; added: number; filesDiffering: number }) => {
      const before = imagesOf(second);
      const { options, differences, findings } = syncOptions(slimmed, second);
      const { missing, added, filesDiffering, filesReplaced } = await slimSync(options);
      assert.deepEqual({ missing, added, filesDiffering }, expected);
      assert.equal(filesReplaced, 0);
      assert.equal(findings.filter(({ code }) => code === 'slim-copy-differs').length, filesDiffering);
      assert.deepEqual(imagesOf(second), before);
      return differences;
    };

    appendFileSync(target, page);
    const [more] = await refused({ missing: 1, added: 0, filesDiffering: 1 });
    assert.deepEqual([more?.kind, more?.uri], ['missing', 'http://more.example/']);
    writeFileSync(target, pristine);

    writeFileSync(join(second, 'extra.warc.gz'), page);
    await refused({ missing: 1, added: 0, filesDiffering: 1 });
    rmSync(join(second, 'extra.warc.gz'));

    appendFileSync(join(slimmed, 'a/first.warc.gz'), page);
    const [fewer] = await refused({ missing: 0, added: 1, filesDiffering: 1 });
    assert.deepEqual([fewer?.kind, fewer?.uri], ['added', 'http://more.example/']);
  }));

test('a request that only the second copy has is seen, although manifests do not list it', () =>
  inDirectory(async (base) => {
    const { slimmed, second } = await slimmedPair(base);
    const target = join(second, 'a/plain.warc');
    const text = readFileSync(target, 'latin1');
    assert.ok(text.includes('GET / HTTP/1.1'));
    writeFileSync(target, text.replace('GET / HTTP/1.1', 'GET / HTTP/1.0'), 'latin1');
    const { options, findings, differences } = syncOptions(slimmed, second);
    const report = await slimSync(options);
    assert.deepEqual([report.filesDiffering, report.filesReplaced], [1, 0]);
    assert.deepEqual(differences, []);
    assert.equal(findings.find(({ code }) => code === 'slim-copy-differs')?.file, join(slimmed, 'a/plain.warc'));
  }));

test('ARC files that became WARC files are replaced by them, also when only some of them were', () =>
  inDirectory(async (base) => {
    const [second, slimmed] = [join(base, 'second'), join(base, 'slimmed')];
    mkdirSync(second);
    for (const name of ['a', 'b'])
      writeFileSync(
        join(second, `${name}.arc`),
        arcOf([`http://${name}.example/1`, `http://${name}.example/2`], bodyOf(1)),
      );
    await slimRun(runOptions(second, { target: slimmed }).options);
    rmSync(join(second, '.pinakes-slim'), { recursive: true, force: true });
    cpSync(join(slimmed, 'a.warc'), join(second, 'a.warc'));
    const dry = syncOptions(slimmed, second, { dryRun: true });
    const before = imagesOf(second);
    assert.equal((await slimSync(dry.options)).filesReplaced, 2);
    assert.deepEqual(imagesOf(second), before);
    const { options, differences, findings, failures } = syncOptions(slimmed, second);
    const report = await slimSync(options);
    assert.deepEqual({ differences, findings, failures }, { differences: [], findings: [], failures: [] });
    assert.equal(report.filesReplaced, 2);
    assert.deepEqual(imagesOf(second), imagesOf(slimmed));
  }));

test('an unfinished run, and a second copy inside the slimmed collection, are refused', () =>
  inDirectory(async (base) => {
    const { slimmed, second } = await slimmedPair(base);
    const inside = join(slimmed, 'b');
    await assert.rejects(slimSync(syncOptions(slimmed, inside).options), { code: 'BAD_ARGUMENT' });
    await assert.rejects(slimSync(syncOptions(slimmed, slimmed).options), { code: 'BAD_ARGUMENT' });
    const journal = join(slimmed, '.pinakes-slim/run-0001/journal.jsonl');
    const text = readFileSync(journal, 'utf8');
    writeFileSync(journal, text.replace('{"kind":"finished"}\n', ''));
    await assert.rejects(slimSync(syncOptions(slimmed, second).options), { code: 'SLIM_UNFINISHED' });
    renameSync(journal, `${journal}.away`);
    assert.ok((await slimSync(syncOptions(slimmed, second).options)).filesReplaced > 0);
  }));
