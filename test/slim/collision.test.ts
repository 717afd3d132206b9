/**
 * Different contents with the same digest are never merged (I7). In these tests digests collide, because only their
 * first bytes are compared.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { slimResolve, slimRun, slimSum } from '../../src/slim/index.ts';
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

/** Many contents have the same size, so that the size does not distinguish them. */
for (const digestBytes of [0, 1]) {
  test(`with digests of ${digestBytes} bytes, slim distinguishes contents and finds all duplicates`, async () => {
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

test('a run that compares only by a digest with known collisions is refused', async () => {
  await inCollection(1, async (directory) => {
    for (const algorithm of ['md5', 'sha1'] as const) {
      const { options } = runOptions(directory, { algorithm, verify: 'digest' });
      await assert.rejects(slimRun(options), { code: 'BAD_ARGUMENT' });
    }
  });
});

const watch = { onFinding: () => {}, onFailure: assert.fail };
/** All contents have the same digest. */
const COLLIDING = { algorithm: 'md5', trustHeaders: false, keepEmpty: false, workers: 1, digestBytes: 0 } as const;

for (const format of ['parquet', 'warcsum'] as const) {
  test(`records that cannot be compared join no cluster, after any number of rounds, by ${format}`, async () => {
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
      const [manifest, resolved] = [join(directory, 'manifest'), join(directory, 'resolved')];
      await slimSum({ ...watch, ...COLLIDING, files: filesBelow(directory), out: manifest, format: 'parquet' });
      // The first record of each content is cut off, so the second cannot be compared with it.
      for (const name of ['1', '2']) {
        const path = join(directory, `${name}.warc.gz`);
        truncateSync(path, statSync(path).size - 20_000);
      }
      const options = { manifests: [manifest], out: resolved, verify: 'bytes', format, workers: 1 } as const;
      assert.equal((await slimResolve({ ...watch, ...options })).duplicates, 0);
      const images = filesBelow(directory).map((path) => readFileSync(path));
      const run = runOptions(directory, { digestBytes: 0 }).options;
      const summary = await slimRun({ ...run, resolved: { manifests: [resolved], trustOriginals: false } });
      assert.equal(summary.duplicates, 0);
      assert.deepEqual(
        filesBelow(directory).map((path) => readFileSync(path)),
        images,
      );
    });
  });

  test(`colliding contents of separately resolved manifests are compared again when the manifests are resolved together, by ${format}`, async () => {
    await inDirectory(async (directory) => {
      const resolved: string[] = [];
      const resolve = (manifests: readonly string[], out: string) =>
        slimResolve({ ...watch, manifests, out, verify: 'bytes', format, workers: 1 });
      for (const [number, pages] of [
        [1, 2],
        [1, 3],
        [1, 2],
      ].entries()) {
        const path = join(directory, `${number}.warc.gz`);
        const sample = await SampleWriter.create(path, 'gzip', number + 1);
        for (const page of pages)
          await sample.page({ uri: `http://a.example/${number}/${page}`, body: bodyOf(page).subarray(0, 3000) });
        await sample.finish();
        const out = join(directory, `${number}-resolved`);
        await slimSum({ ...watch, ...COLLIDING, files: [path], out: join(directory, `${number}-sum`), format });
        assert.equal((await resolve([join(directory, `${number}-sum`)], out)).collisions, 1);
        resolved.push(out);
      }
      const { duplicates } = await resolve(resolved, join(directory, 'all'));
      assert.equal(duplicates, 3);
      const earlier = capturesOf(await readAll(filesBelow(directory)));
      const run = runOptions(directory, { digestBytes: 0 }).options;
      await slimRun({ ...run, resolved: { manifests: [join(directory, 'all')], trustOriginals: false } });
      const later = await readAll(filesBelow(directory));
      assert.deepEqual(capturesOf(later), earlier);
      assert.equal(later.filter(({ type }) => type === 'revisit').length, 3);
    });
  });
}

test('the separate stages also distinguish colliding contents, by extension', async () => {
  await inCollection(11, async (directory) => {
    const earlier = await readAll(filesBelow(directory));
    const work = `${directory}-manifests`;
    try {
      const [manifest, resolved] = [join(work, 'manifest.parquet'), join(work, 'resolved.parquet')];
      await slimSum({ ...watch, ...COLLIDING, files: filesBelow(directory), out: manifest, format: 'parquet' });
      // Bytes are compared although --verify digest was given, because MD5 has known collisions.
      const how = { verify: 'digest', format: 'parquet', workers: 2 } as const;
      const report = await slimResolve({ ...watch, ...how, manifests: [manifest], out: resolved });
      assert.equal(report.comparedBytes, true);
      assert.ok(report.collisions > 0);
      const { options } = runOptions(directory, { digestBytes: 0 });
      await slimRun({ ...options, resolved: { manifests: [resolved], trustOriginals: false } });
      const later = await readAll(filesBelow(directory));
      assert.deepEqual(capturesOf(later), capturesOf(earlier));
      const contents = new Set(earlier.filter(({ type }) => type === 'response').map(storedAs));
      assert.equal(later.filter(({ type }) => type === 'response').length, contents.size);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  });
});
