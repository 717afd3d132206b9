/** Contents that share a digest and are not the same are never merged (I7). Digests are made to collide by letting only their first bytes count. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { slimRefs, slimResolve, slimRun, slimSum } from '../../src/slim/index.ts';
import { capturesOf, readAll, storedAs } from './archived-captures.ts';
import { bodyOf, SampleWriter, writeSampleCollection } from './sample-collection.ts';
import { filesBelow, inDirectory, runOptions } from './slim-options.ts';

async function inCollection(seed: number, body: (directory: string) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-slim-'));
  try {
    await writeSampleCollection(directory, seed);
    await body(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Contents are of one size for many pages, so the size does not tell them apart. */
for (const digestBytes of [0, 1]) {
  test(`with digests of which ${digestBytes} bytes count, contents stay apart and duplicates are still found`, async () => {
    await inCollection(11, async (directory) => {
      const earlier = await readAll(filesBelow(directory));
      const responses = earlier.filter(({ type }) => type === 'response');
      const contents = new Set(responses.map(storedAs));
      const sizes = new Set(responses.map(({ payload, isChunked }) => `${payload!.split(' ')[1]} ${isChunked}`));
      assert.ok(sizes.size < contents.size, 'some contents share their size, or nothing can collide');

      const { options, findings } = runOptions(directory, { algorithm: 'sha1', verify: 'bytes', digestBytes });
      const summary = await slimRun(options);
      const later = await readAll(filesBelow(directory));
      assert.deepEqual(capturesOf(later), capturesOf(earlier));
      assert.equal(later.filter(({ type }) => type === 'response').length, contents.size);
      assert.equal(summary.duplicates, responses.length - contents.size);
      if (digestBytes === 0) assert.ok(summary.collisions > 0);
      assert.equal(findings.filter(({ code }) => code === 'slim-collision').length, summary.collisions);
    });
  });
}

test('a digest with known collisions is never trusted alone', async () => {
  await inCollection(1, async (directory) => {
    for (const algorithm of ['md5', 'sha1'] as const) {
      const { options } = runOptions(directory, { algorithm, verify: 'digest' });
      await assert.rejects(slimRun(options), { code: 'BAD_ARGUMENT' });
    }
  });
});

test('records that cannot be compared join no cluster, however many rounds it takes to see that', async () => {
  await inDirectory(async (directory) => {
    const names = ['1', '1-again', '2', '2-again'];
    for (const [number, name] of names.entries()) {
      const sample = await SampleWriter.create(join(directory, `${name}.warc.gz`), 'gzip', number + 1);
      await sample.page({
        uri: `http://a.example/${name}`,
        body: bodyOf(Number(name[0]), 300_000).subarray(0, 300_000),
      });
      await sample.finish();
    }
    const watch = { onFinding: () => {}, onFailure: assert.fail };
    const [manifest, resolved] = [join(directory, 'manifest'), join(directory, 'resolved')];
    const how = { algorithm: 'md5', trustHeaders: false, keepEmpty: false, workers: 1, digestBytes: 0 } as const;
    await slimSum({ ...watch, ...how, files: filesBelow(directory), out: manifest, format: 'parquet' });
    // The first record of each content cannot be read to its end any more, so nothing can be said of the second.
    for (const name of ['1', '2']) {
      const path = join(directory, `${name}.warc.gz`);
      truncateSync(path, statSync(path).size - 20_000);
    }
    const options = { manifests: [manifest], out: resolved, verify: 'bytes', format: 'parquet', workers: 1 } as const;
    assert.equal((await slimResolve({ ...watch, ...options })).duplicates, 0);
  });
});

test('the stages apart tell colliding contents apart as well, by extension', async () => {
  await inCollection(11, async (directory) => {
    const earlier = await readAll(filesBelow(directory));
    const work = `${directory}-manifests`;
    const watch = { onFinding: () => {}, onFailure: assert.fail };
    try {
      const [manifest, resolved] = [join(work, 'manifest.parquet'), join(work, 'resolved.parquet')];
      await slimSum({
        ...watch,
        files: filesBelow(directory),
        out: manifest,
        format: 'parquet',
        algorithm: 'md5',
        trustHeaders: false,
        keepEmpty: false,
        workers: 2,
        digestBytes: 0,
      });
      // Bytes are compared although digests were asked for: MD5 is not to be trusted.
      const how = { verify: 'digest', format: 'parquet', workers: 2 } as const;
      const report = await slimResolve({ ...watch, ...how, manifests: [manifest], out: resolved });
      assert.equal(report.comparedBytes, true);
      assert.ok(report.collisions > 0);
      const { options } = runOptions(directory, { digestBytes: 0 });
      await slimRefs({ ...options, resolved: { manifests: [resolved], trustOriginals: false } });
      const later = await readAll(filesBelow(directory));
      assert.deepEqual(capturesOf(later), capturesOf(earlier));
      const contents = new Set(earlier.filter(({ type }) => type === 'response').map(storedAs));
      assert.equal(later.filter(({ type }) => type === 'response').length, contents.size);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  });
});
