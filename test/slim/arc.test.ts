/** ARC files in a run with a target, where they become WARC files. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { slimRun } from '../../src/slim/index.ts';
import { type ArchivedRecord, readAll } from './archived-captures.ts';
import { arcOf, bodyOf } from './sample-collection.ts';
import { filesBelow, inDirectory, runOptions } from './slim-options.ts';

for (const algorithm of ['sha256', 'sha512', 'sha1', 'md5'] as const) {
  test(`an ARC file becomes a WARC file with revisits, told apart by ${algorithm}, under the digests that its records then declare`, async () => {
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

test('an ARC file that has no part in a run is copied as it is, under the name it has', async () => {
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
