/** ARC files in a run with a target, where they become WARC files. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { utf8 } from '../../src/base/index.ts';
import { slimRun } from '../../src/slim/index.ts';
import { type ArchivedRecord, readAll } from './archived-captures.ts';
import { bodyOf } from './sample-collection.ts';
import { filesBelow, inDirectory, runOptions } from './slim-options.ts';

/** A file of HTTP messages with one body. */
function arcOf(uris: readonly string[], body: Uint8Array): Uint8Array {
  const about = '1 0 a-sample\nURL IP-address Archive-date Content-type Archive-length\n\n';
  const parts = [utf8(`filedesc://one.arc 0.0.0.0 20240101000000 text/plain ${about.length}\n${about}\n`)];
  for (const [index, uri] of uris.entries()) {
    const message = Buffer.concat([utf8('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n'), body]);
    parts.push(utf8(`${uri} 192.0.2.1 2024010100000${index} text/html ${message.length}\n`), message, utf8('\n'));
  }
  return Buffer.concat(parts);
}

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
