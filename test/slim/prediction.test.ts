/**
 * Predictions before a run, in place and with a target. A dry run reports exactly the numbers of the run, and an
 * assessment reports the possible saving.
 */
import assert from 'node:assert/strict';
import { existsSync, linkSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { seededRandom } from '../../src/base/index.ts';
import { slimAssess, slimRun } from '../../src/slim/index.ts';
import type { Coding } from '../../src/warc/index.ts';
import { arcOf, bodyOf, SampleWriter } from './sample-collection.ts';
import { filesBelow, inDirectory, runOptions } from './slim-options.ts';

const CODINGS: readonly [name: string, coding: Coding][] = [
  ['one.warc.gz', 'gzip'],
  ['two.warc', 'none'],
  ['three.warc.zst', 'zstd'],
];

/**
 * A collection with every kind of duplicate that is not replaced: small, with other codings, with a wrong digest of the
 * original, in ARC files.
 */
async function writeMixture(directory: string, seed: number): Promise<void> {
  mkdirSync(directory);
  const random = seededRandom(seed);
  const some = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)]!;
  for (const [number, [name, coding]] of CODINGS.entries()) {
    const sample = await SampleWriter.create(join(directory, name), coding, seed * 10 + number);
    for (let page = 0; page < 30; page++) {
      const content = Math.floor(random() * 4);
      const isCoded = random() < 0.5;
      const plain = bodyOf(content, some([40, 300, 700, 3000]));
      await sample.page({
        uri: `http://site.example/${number}/${page}`,
        body: isCoded ? gzipSync(plain) : plain,
        head: isCoded && random() < 0.7 ? 'Content-Encoding: gzip\r\n' : 'Content-Type: text/html\r\n',
        isChunked: random() < 0.3,
        withDigest: random() < 0.8,
        ...(random() < 0.1 && { digest: 'sha1:nonsense' }),
      });
    }
    await sample.finish();
  }
  const uris = ['a', 'b', 'c'].map((name) => `http://old.example/${name}`);
  writeFileSync(join(directory, 'old.arc'), arcOf(uris, bodyOf(Math.floor(random() * 4), 3000)));
}

for (const seed of [1, 2, 3, 4, 5]) {
  for (const isInPlace of [true, false]) {
    test(`a dry run reports the numbers of the run, changes nothing and leaves no files: ${isInPlace ? 'in place' : 'with a target'}, seed ${seed}`, async () => {
      await inDirectory(async (directory) => {
        const [source, target] = [join(directory, 'source'), isInPlace ? undefined : join(directory, 'target')];
        await writeMixture(source, seed);
        const images = filesBelow(source).map((path) => readFileSync(path));
        const how = { target, minSavingBytes: seed * 40 };
        const dry = runOptions(source, { ...how, dryRun: true });
        const told = await slimRun(dry.options);
        assert.equal(existsSync(dry.options.workDirectory), false);
        assert.equal(target !== undefined && existsSync(target), false);
        assert.deepEqual(
          filesBelow(source).map((path) => readFileSync(path)),
          images,
        );
        const killed = join(dry.options.workDirectory, 'dry-run', 'file-1');
        mkdirSync(killed, { recursive: true });
        const real = runOptions(source, how);
        const done = await slimRun(real.options);
        assert.equal(existsSync(killed), false);
        assert.deepEqual(told, done);
        assert.deepEqual(dry.findings, real.findings);
        assert.ok(done.revisits > 0 && done.stayed.small > 0 && done.stayed.coding > 0);
        const bytes = filesBelow(target ?? source).reduce((sum, path) => sum + statSync(path).size, 0);
        assert.equal(told.bytesAfter, bytes);
      });
    });
  }
}

test('a file with two names in the collection is not rewritten in place, and an assessment leaves out its savings', async () => {
  await inDirectory(async (directory) => {
    for (const [number, name] of ['first', 'second'].entries()) {
      const sample = await SampleWriter.create(join(directory, `${name}.warc.gz`), 'gzip', number + 1);
      for (const page of [1, 2, 2]) await sample.page({ uri: `http://a.example/${name}/${page}`, body: bodyOf(page) });
      await sample.finish();
    }
    const names = [join(directory, 'first.warc.gz'), join(directory, 'linked.warc.gz')] as const;
    linkSync(...names);
    const files = filesBelow(directory).map((path) => ({ path, bytes: statSync(path).size }));
    const assessed = await slimAssess({
      ...runOptions(directory).options,
      files,
      sample: 1,
      directory: join(directory, 'spill'),
    });
    assert.equal(assessed.contents.duplicates, 7);
    assert.equal(assessed.inPlace.duplicates, 1);
    const sampled = await slimAssess({
      ...runOptions(directory).options,
      files: files.filter(({ path }) => path !== join(directory, 'second.warc.gz')),
      sample: 0.1,
      directory: join(directory, 'spill'),
    });
    assert.deepEqual([sampled.filesRead, sampled.contents.duplicates, sampled.inPlace.duplicates], [1, 1, 0]);
    const { options, findings } = runOptions(directory);
    const summary = await slimRun(options);
    assert.equal(summary.revisits, assessed.inPlace.duplicates);
    assert.equal(summary.filesAside, 2);
    assert.deepEqual(
      findings.map(({ code, file }) => [code, file]),
      names.map((name) => ['slim-file-linked', name]),
    );
    assert.equal(statSync(names[0]).ino, statSync(names[1]).ino);
  });
});

test('an assessment shows the saving of a run in place without ARC files, and that of a run that converts them', async () => {
  await inDirectory(async (directory) => {
    const uris = ['a', 'b', 'c'].map((name) => `http://old.example/${name}`);
    writeFileSync(join(directory, 'old.arc'), arcOf(uris, bodyOf(1)));
    const sample = await SampleWriter.create(join(directory, 'new.warc.gz'), 'gzip', 1);
    for (const name of ['d', 'e']) await sample.page({ uri: `http://new.example/${name}`, body: bodyOf(1) });
    await sample.finish();
    const files = filesBelow(directory).map((path) => ({ path, bytes: statSync(path).size }));
    const { options } = runOptions(directory);
    const assessed = await slimAssess({ ...options, files, sample: 1, directory: join(directory, 'spill') });
    assert.equal(assessed.contents.duplicates, 4);
    assert.equal(assessed.inPlace.duplicates, 1);
    assert.ok(assessed.inPlace.savedBytes > 0 && assessed.inPlace.savedBytes < assessed.contents.savedBytes);
    assert.equal((await slimRun(options)).revisits, assessed.inPlace.duplicates);
  });
});
