/** ARC files in a run with a target, which converts them to WARC files. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { slimResolve, slimRun, slimSum } from '../../src/slim/index.ts';
import { type ArchivedRecord, capturesOf, originalOf, readAll } from './archived-captures.ts';
import { arcOf, bodyOf, SampleWriter } from './sample-collection.ts';
import { filesBelow, inDirectory, runOptions } from './slim-options.ts';

for (const algorithm of ['sha256', 'sha512', 'sha1', 'md5'] as const) {
  test(`an ARC file becomes a WARC file with revisits, compared by ${algorithm}, which name the digests of the converted records`, async () => {
    await inDirectory(async (directory) => {
      const [source, target] = [join(directory, 'source'), join(directory, 'target')];
      mkdirSync(source);
      const uris = ['http://a.example/1', 'http://a.example/2', 'http://a.example/3'];
      writeFileSync(join(source, 'one.arc'), arcOf(uris, bodyOf(1)));
      const verify = algorithm.startsWith('sha') && algorithm !== 'sha1' ? 'digest' : 'bytes';
      const { options, findings, failures } = runOptions(source, { target, algorithm, verify });
      await slimRun(options);
      assert.deepEqual([findings, failures], [[], []]);
      const later = await readAll(filesBelow(target));
      const declaredBy = ({ fields }: ArchivedRecord) =>
        fields.find(({ name }) => name === 'WARC-Payload-Digest')?.value;
      const captures = uris.map((uri) => later.find((record) => record.uri === uri)!);
      assert.deepEqual(
        captures.map(({ type }) => type),
        ['response', 'revisit', 'revisit'],
      );
      assert.equal(new Set(captures.map(declaredBy)).size, 1);
      for (const { refersToUri } of captures.slice(1)) assert.equal(refersToUri, uris[0]);
    });
  });
}

test('an ARC file that is excluded from a run is copied unchanged under its own name', async () => {
  await inDirectory(async (directory) => {
    const [source, target] = [join(directory, 'source'), join(directory, 'target')];
    mkdirSync(source);
    const whole = arcOf(['http://a.example/1', 'http://a.example/2'], bodyOf(1));
    const damaged = whole.subarray(0, whole.length - 500);
    writeFileSync(join(source, 'damaged.arc'), damaged);
    writeFileSync(join(source, 'whole.arc'), whole);
    const { options, findings } = runOptions(source, { target });
    const { filesAside } = await slimRun(options);
    assert.equal(filesAside, 1);
    assert.ok(findings.some(({ code }) => code === 'slim-file-damaged'));
    assert.deepEqual(readdirSync(target).sort(), ['.pinakes-slim', 'damaged.arc', 'whole.warc']);
    assert.deepEqual(readFileSync(join(target, 'damaged.arc')), Buffer.from(damaged));
  });
});

for (const name of ['old.arc', 'old.warc']) {
  test(`with manifests, no revisit refers to the records of an ARC file ${name} that is not converted, whether the run names this file or not`, async () => {
    await inDirectory(async (directory) => {
      const paths = [join(directory, name), join(directory, 'new.warc')] as const;
      writeFileSync(paths[0], arcOf(['http://a.example/1', 'http://a.example/2'], bodyOf(1)));
      const sample = await SampleWriter.create(paths[1], 'none', 1);
      await sample.page({ uri: 'http://a.example/3', body: bodyOf(1) });
      await sample.finish();
      const images = paths.map((path) => readFileSync(path));
      const watch = { onFinding: () => {}, onFailure: assert.fail, workers: 1, format: 'parquet' } as const;
      const [summed, resolved] = [join(directory, 'summed'), join(directory, 'resolved')];
      const how = { algorithm: 'sha256', trustHeaders: false, keepEmpty: false } as const;
      await slimSum({ ...watch, ...how, files: paths, out: summed });
      await slimResolve({ ...watch, manifests: [summed], out: resolved, verify: 'digest' });
      for (const named of [paths, [paths[1]]]) {
        for (const trustOriginals of [true, false]) {
          const inputs = named.map((path) => ({ path, root: directory }));
          const { options } = runOptions(directory, { inputs });
          await slimRun({ ...options, resolved: { manifests: [resolved], trustOriginals } });
          assert.deepEqual(
            paths.map((path) => readFileSync(path)),
            images,
          );
        }
      }
      const { options } = runOptions(directory, { target: join(directory, '.target') });
      await slimRun({ ...options, resolved: { manifests: [resolved], trustOriginals: false } });
      const later = await readAll(filesBelow(join(directory, '.target')));
      const pages = (records: readonly ArchivedRecord[]) =>
        capturesOf(records).filter((line) => line.startsWith('response'));
      assert.deepEqual(pages(later), pages(await readAll(paths)));
      const revisits = later.filter(({ type }) => type === 'revisit');
      assert.equal(revisits.length, name === 'old.arc' ? 2 : 0);
      for (const revisit of revisits) assert.equal(revisit.refersTo, originalOf(revisit, later)?.recordId);
    });
  });
}

test('a run with manifests copies a damaged ARC file unchanged, and no revisit refers to it', async () => {
  await inDirectory(async (directory) => {
    const [source, target] = [join(directory, 'source'), join(directory, 'target')];
    mkdirSync(source);
    const whole = arcOf(['http://a.example/1', 'http://a.example/2'], bodyOf(1));
    const paths = [join(source, 'damaged.arc'), join(source, 'whole.arc')];
    for (const path of paths) writeFileSync(path, whole);
    const watch = { onFinding: () => {}, onFailure: assert.fail, workers: 1, format: 'parquet' } as const;
    const [summed, resolved] = [join(directory, 'summed'), join(directory, 'resolved')];
    const how = { algorithm: 'sha256', trustHeaders: false, keepEmpty: false } as const;
    await slimSum({ ...watch, ...how, files: paths, out: summed });
    await slimResolve({ ...watch, manifests: [summed], out: resolved, verify: 'digest' });
    const damaged = whole.subarray(0, whole.length - 500);
    writeFileSync(paths[0]!, damaged);
    const { options, findings } = runOptions(source, { target });
    const summary = await slimRun({ ...options, resolved: { manifests: [resolved], trustOriginals: true } });
    assert.deepEqual([summary.filesAside, summary.revisits], [1, 0]);
    assert.ok(findings.some(({ code }) => code === 'slim-file-damaged'));
    assert.deepEqual(readdirSync(target).sort(), ['.pinakes-slim', 'damaged.arc', 'whole.warc']);
    assert.deepEqual(readFileSync(join(target, 'damaged.arc')), Buffer.from(damaged));
  });
});
