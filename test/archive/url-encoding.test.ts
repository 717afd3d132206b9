/** URLs whose bytes are not UTF-8 are read without loss. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Archive } from '../../src/archive/index.ts';
import { allCaptures, audit, bytesOf, contentOf, makeArchive, payloadAt } from './trial-archive.ts';

/** A member with a response. The letters of the URL are its bytes. */
function member(id: string, url: string, body: Uint8Array): Buffer {
  const lines = [
    'WARC/1.1',
    'WARC-Type: response',
    `WARC-Record-ID: <urn:latin:${id}>`,
    'WARC-Date: 2024-03-01T10:00:00Z',
    `WARC-Target-URI: ${url}`,
    'Content-Type: application/http; msgtype=response',
    `Content-Length: ${body.length + 19}`,
  ];
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\nHTTP/1.1 200 OK\r\n\r\n`, 'latin1');
  return gzipSync(Buffer.concat([head, body, Buffer.from('\r\n\r\n')]));
}

async function addMembers(archive: Archive, members: readonly Buffer[]) {
  const file = join(archive.directory, 'a.warc.gz');
  await writeFile(file, Buffer.concat(members));
  return archive.add([file]);
}

async function stored(archive: Archive): Promise<Buffer> {
  const [segment] = await archive.segments();
  return bytesOf(archive.segmentBytes(segment!.name));
}

test('I4 Bytes pass through: records with different URLs that are not UTF-8 are different captures, copied unchanged', async (t) => {
  const archive = await makeArchive(t);
  const members = [
    member('1', 'http://a.example/caf\xe9', contentOf('same')),
    member('2', 'http://a.example/caf\xe8', contentOf('same')),
  ];
  const report = await addMembers(archive, members);
  assert.deepEqual([report.captures, report.duplicates, report.failures], [2, 0, []]);
  assert.deepEqual((await allCaptures(archive)).map(({ url }) => url).sort(), [
    'http://a.example/caf\u00e8',
    'http://a.example/caf\u00e9',
  ]);
  assert.deepEqual(await payloadAt(archive, 'http://a.example/caf\u00e8'), Buffer.from(contentOf('same')));
  assert.ok((await stored(archive)).includes(Buffer.concat(members)));
  assert.deepEqual(await audit(archive), []);
});
